"""What every command prints and writes, kept beside this file: a transcript for each case of ``cases.py``.

``python -m tests.golden`` writes the transcripts anew, ``python -m tests.golden NAME...`` some of them; a
reviewer reads the difference.
"""
