"""Results as documents that another program can read, and back again, to the last bit.

What is found beside the numbers stands in a document as ``findings``: a stable ``code``, a ``severity``
("reason", "caution" or "note") and the ``values`` found. Their wording has one home,
:mod:`entropylaw.report.findings`, and is in no document. Documents of version 1, which held sentences, are
read as findings with the code "stated".
"""
