"""Results as documents that another program can read, and back again, to the last bit."""
