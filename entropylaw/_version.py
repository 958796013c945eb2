"""The version, in one place that the build and every document read."""

__version__ = "0.1.0"
