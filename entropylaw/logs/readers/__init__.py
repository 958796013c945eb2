"""The formats, a module per format: bytes in, a table out."""
