"""Files, folders and URLs of logs: each is opened once, and read by the reader of its format."""
