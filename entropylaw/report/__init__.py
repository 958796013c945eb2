"""Renderers: one a file. A renderer formats what a document holds and computes nothing."""
