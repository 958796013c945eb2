"""Where a run came from, and what a trainer's key means: the facts of a log that documents keep."""

from __future__ import annotations

from msgspec import Struct


class Source(Struct, frozen=True, kw_only=True):
    """The file that a run was read from.

    ``path`` is the path as the user gave it, never made absolute; ``sha256`` is of the file's bytes;
    ``rows`` counts the records of the file, over all of its runs. ``unread`` is the share of them that could
    not be read, that of its numbers of metrics that have no step, or that of its bytes that are in no whole
    record, whichever is the largest; None where the file breaks off at an unknown place. ``parts`` are the
    files of a run that was joined from several; ``sha256`` is then of their digests, ``rows`` their sum, and
    ``unread`` the largest of theirs.
    """

    path: str
    format: str
    sha256: str
    rows: int
    unread: float | None = 0.0
    parts: tuple[Source, ...] = ()

    @property
    def incomplete(self) -> bool:
        """Whether more of it than :data:`MOST_UNREAD` was not read."""
        return self.unread is None or self.unread > MOST_UNREAD


MOST_UNREAD = 0.01
"""The largest share of a log without which gates on its runs are known."""


class Meaning(Struct, frozen=True, kw_only=True):
    """The meaning of a column of a log in the catalog.

    ``role`` is "entropy" or "reward"; the other fields are None where they are unknown. For an
    entropy: ``unit`` ("nats"), ``aggregation`` ("token mean", "mean of per-response means", "sequence
    sum"), ``estimator`` ("exact" or "sampled"), ``temperature``, ``timing`` ("before the update",
    "during the update"), ``sign`` (+1, or -1 where the logger negates it). For a reward: ``kind``
    ("validation" or "training") and ``timing`` relative to the same row's entropy.
    """

    role: str
    trainer: str
    kind: str | None = None
    unit: str | None = None
    aggregation: str | None = None
    estimator: str | None = None
    temperature: str | None = None
    timing: str | None = None
    sign: int = 1
    note: str | None = None
