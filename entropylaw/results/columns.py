"""What a log holds: its file, its columns with their meaning, which would be used, and why."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from entropylaw.results.result import Result


class Refusal(Struct, frozen=True, kw_only=True):
    """Why a run, or a file, has no result: the error's slug, message and hint."""

    slug: str
    message: str
    hint: str


class Source(Struct, frozen=True, kw_only=True):
    """The file that a run was read from.

    ``path`` is the path as the user gave it, never made absolute; ``sha256`` is of the file's bytes;
    ``rows`` counts the records that the file holds, over all of its runs. ``parts`` are the files behind a
    run that was joined from several; ``sha256`` is then of their digests, and ``rows`` their sum.
    """

    path: str
    format: str
    sha256: str
    rows: int
    parts: tuple[Source, ...] = ()


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


TOKEN, SEMANTIC = "token entropy", "semantic entropy"
"""What a curve is the entropy of. The first is of the next token, the second of the plans that are made."""


class PhaseColumn(Struct, frozen=True, kw_only=True):
    """A column with one of the curves, and why this one; ``usable`` counts the steps with a finite value.

    ``what`` is :data:`TOKEN` or :data:`SEMANTIC`: two things that must not be taken for one another.
    """

    column: str
    what: str
    why: str
    usable: int


class Candidate(Struct, frozen=True, kw_only=True):
    """A column that could be the entropy or the reward.

    ``usable`` counts its finite values, ``low`` and ``high`` are their range as logged, None where there
    are none. ``why`` says why it is used, or why not.
    """

    column: str
    meaning: Meaning
    usable: int
    low: float | None
    high: float | None
    used: bool
    why: str


class Decoy(Struct, frozen=True, kw_only=True):
    """A column whose name bears entropy and that is not the policy's, and why not."""

    column: str
    why: str


class ColumnReport(Result, frozen=True, kw_only=True):
    """What a run offers and what would be made of it.

    Attributes
    ----------
    run, source, trainer, trainer_why
        Whose columns these are, and the trainer that they point to.
    step_column, step_why, steps, first_step, last_step
        The step column, the number of steps and their range.
    entropy, reward
        Candidates, the best first; one of each is used where ``problem`` is None.
    decoys
        Columns that look like an entropy and are none.
    coefficients
        Weight of an entropy bonus or KL penalty → its first and last value.
    pair, pair_why, pairs
        How they pair, why, and the number of pairs; None, None and 0 where there is nothing to pair.
    unpaired_entropy
        Finite entropies beside which no reward stands; no loss.
    dropped
        Reason → number of rewards that pairing could not use.
    read_dropped, notes, cautions
        What reading dropped and decided, what choosing did, and what the run's settings mean for the law.
    other_columns, texts
        Number of columns that are none of these, and columns that hold text.
    problem
        Why :func:`~entropylaw.ingest.select.select` would refuse the run, None where it would not.
    """

    run: str
    source: Source
    trainer: str
    trainer_why: str
    step_column: str
    step_why: str
    steps: int
    first_step: float
    last_step: float
    entropy: tuple[Candidate, ...]
    reward: tuple[Candidate, ...]
    decoys: tuple[Decoy, ...]
    coefficients: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    pair: str | None = None
    pair_why: str | None = None
    pairs: int = 0
    unpaired_entropy: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    read_dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    other_columns: int = 0
    texts: tuple[str, ...] = ()
    problem: Refusal | None = None
