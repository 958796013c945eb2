"""What a column of a log means, and why it was chosen."""

from msgspec import Struct


class Meaning(Struct, frozen=True, kw_only=True):
    """What a column of a log means, as far as the catalog knows.

    ``role`` is "entropy" or "reward"; the other fields are None where the catalog does not know. For an
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


class Choice(Struct, frozen=True, kw_only=True):
    """A column that is used, its meaning, and why it was chosen over the others."""

    column: str
    meaning: Meaning
    why: str
    usable: int


class PhaseColumn(Struct, frozen=True, kw_only=True):
    """A column with one of the curves.

    Attributes
    ----------
    column
        Name as logged.
    what
        :data:`TOKEN` or :data:`SEMANTIC`: two things that must not be taken for one another.
    why
        Why this column.
    usable
        Steps at which it has a finite value.
    """

    column: str
    what: str
    why: str
    usable: int
