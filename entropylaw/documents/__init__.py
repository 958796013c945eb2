"""Results as documents that other programs can read, and back again, to the last bit.

Findings are in a document as a stable ``code``, a ``severity`` ("reason", "caution" or "note") and their
``values``. Their sentences are in :mod:`entropylaw.report.findings` and in no document. Documents of other
versions are refused: the log is fitted again.
"""
