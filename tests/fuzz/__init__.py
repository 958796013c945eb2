"""Damaged copies of every format, which end in runs or in an error that says what is wrong."""
