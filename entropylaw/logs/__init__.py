"""Any log that a trainer writes, to runs of columns, texts, settings and notes; every decision is on record.

Nothing here knows of the law: which columns are the entropy and the reward is decided in
:mod:`entropylaw.roles`.
"""
