"""Logs written by the real tools, and read by them: needs packages that the other tests do without."""
