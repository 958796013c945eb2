"""The columns of a run: which are used and why, and whether numbers of two rewards may be compared."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from entropylaw.errors import InputError
from entropylaw.escaping import shown
from entropylaw.logs.source import Meaning, Source
from entropylaw.results.result import Result
from entropylaw.units import LARGEST, LOSABLE, RewardUnit, unit_factor, written_number


class Refusal(Struct, frozen=True, kw_only=True):
    """Why a run, or a file, has no result: the error's slug, message and hint."""

    slug: str
    message: str
    hint: str


class Choice(Struct, frozen=True, kw_only=True):
    """A column that is used, its meaning, and why it was chosen over the others.

    ``usable`` counts its finite values. ``pair`` says which entropy goes with a reward: ``"same"`` for that
    of the same step, or ``"next"``; None for columns that are not a reward. ``label`` is a short name.

    The last two are of a reward, and empty where they are unknown: ``unit`` is ``"rate"``, ``"percent"`` or
    ``"raw"``, the column's own; ``sort`` is one of :data:`entropylaw.units.SORTS`. ``parts`` are the columns
    of which this is the mean.
    """

    column: str
    meaning: Meaning
    why: str
    usable: int
    pair: str | None = None
    label: str = ""
    unit: RewardUnit = ""
    sort: str = ""
    parts: tuple[str, ...] = ()

    @property
    def is_score(self) -> bool:
        """Whether it is a score or a part of one, which a run can lose; unknown numbers are taken for one."""
        return self.sort in ("", *LOSABLE)


def factor_to(unit_of: Choice, number: Choice) -> float:
    """What numbers of one reward are multiplied by, to be compared with numbers of another, ``unit_of``.

    This is the one place where it is decided whether two numbers of reward may be compared: they are of one
    column, or mean of the same columns; of validation, or of training; of one sort; and in one unit, or a
    rate and a percentage.

    Raises
    ------
    InputError
        ``unlike-rewards``: they may not. The message says in what they differ.
        ``unit-not-known``: one of the two does not say its unit.
    """
    for choice in (unit_of, number):
        if not choice.unit:
            raise _unit_not_known(shown(choice.column))
    properties = (
        ("column", unit_of.column, number.column),
        ("columns of the mean", ", ".join(unit_of.parts), ", ".join(number.parts)),
        ("kind", unit_of.meaning.kind or "unknown", number.meaning.kind or "unknown"),
        ("sort", unit_of.sort or "unknown", number.sort or "unknown"),
    )
    for name, ours, theirs in properties:
        if ours != theirs:
            raise _unlike(name, ours, theirs)
    factor = unit_factor(unit_of.unit, number.unit)
    if factor is None:
        raise _unlike("unit", unit_of.unit, number.unit)
    return factor


def limit_in(unit: str, text: str, column: str = "") -> float:
    """A number as a user writes it, ``0.6`` or ``60%``, to be compared with rewards in a unit.

    A plain number is in that unit, and a percentage is converted into it. ``column`` names the reward in
    errors.

    Raises
    ------
    InputError
        ``unlike-limit``: a percentage, and the rewards are neither rates nor in percent.
        ``unit-not-known``: a percentage, and the unit is not known.
    """
    if not text.endswith("%"):
        return written_number(text)
    name = shown(column) if column else "the reward"
    if not unit:
        raise _unit_not_known(name)
    if unit not in LARGEST:
        raise InputError(
            "unlike-limit",
            f"{name} is neither a rate nor in percent, so {text} of it means nothing",
            "give a number in the column's own unit, without %",
        )
    return float(text[:-1]) if unit == "percent" else written_number(text)


def _unit_not_known(name: str) -> InputError:
    return InputError(
        "unit-not-known",
        f"the document does not say the unit of {name}",
        "fit the log again, which stores the unit",
    )


def _unlike(name: str, ours: str, theirs: str) -> InputError:
    """The error for two rewards that differ in one of their properties, by its name in words."""
    return InputError(
        "unlike-rewards",
        f"two rewards are not compared: their {name} is {shown(ours, 400)} and {shown(theirs, 400)}",
        "name the same column of both with --reward",
    )


TOKEN = "token entropy"
"""The kind of entropy of a curve that is of the next token."""

SEMANTIC = "semantic entropy"
"""The kind of entropy of a curve that is of the plans."""


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
    """A column with entropy in its name that is not the policy's, and why not."""

    column: str
    why: str


class ColumnReport(Result, frozen=True, kw_only=True):
    """The columns of a run and their use.

    Attributes
    ----------
    run, source, trainer, trainer_why
        The run, its file, and the trainer that the columns indicate.
    step_column, step_why, steps, first_step, last_step
        The step column, the number of steps and their range.
    entropy, reward
        Candidates, the best first; one of each is used where ``problem`` is None.
    decoys
        Columns that look like an entropy and are not one.
    coefficients
        Weight of an entropy bonus or KL penalty → its first and last value.
    pair, pair_why, pairs
        How they pair, why, and the number of pairs; None, None and 0 where there is nothing to pair.
    dropped
        Reason → number of rewards that pairing could not use.
    read_dropped, notes, cautions
        Reason → records dropped on reading; decisions in reading and choosing columns; and settings of the
        run that affect the law.
    others
        Every other column → what it could be, empty where nothing is known.
    no_entropy
        Why there is no entropy that can be used, None where there is one.
    problem
        The error of :func:`~entropylaw.roles.select.select` for the run, None where there is none.
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
    dropped: Mapping[str, int] = field(default_factory=dict)
    read_dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)
    no_entropy: Refusal | None = None
    problem: Refusal | None = None
