"""Finding the curves of planning and execution in a run, and what is needed beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest import regime
from entropylaw.ingest.pairing import ENTROPY_NOT_FINITE, ENTROPY_TOO_HIGH, MOST_NATS
from entropylaw.ingest.run import Choice, FloatArray, Run
from entropylaw.ingest.select import choose_entropy
from entropylaw.ingest.steps import folded, require_column
from entropylaw.ingest.trainers import names
from entropylaw.ingest.wording import shown, shown_path

TOKEN, SEMANTIC = "token entropy", "semantic entropy"
"""What a curve is the entropy of. The first is of the next token, the second of the plans that are made."""

# Columns that `entropylaw tokens` writes: of one class, and of all tokens or of the other class.
_COUNTS = (("tokens_planning", "tokens"), ("tokens_planning", "tokens_execution"))
_BITS = re.compile(r"(?:^|[\W_])bits?(?:$|[\W_])", re.IGNORECASE)
RESUMED = "resumed run"
NO_SHARE = "no share of the entropy is told: a semantic entropy is no part of the token entropy"
"""Why planning's share is not known where one of the curves is a semantic entropy."""
WHOLE = "all tokens"


def _of_class(kind: str) -> tuple[str, ...]:
    """Names of the entropy of one class of tokens; those in bits are found, so that they can be refused."""
    found = tuple(name.replace("<class>", kind) for name in names("class_entropy"))
    return found + tuple(f"{name}_bits" for name in found)


@cache
def candidates() -> tuple[str, ...]:
    """Every name that is looked for; a large file is read with these and what the catalog knows."""
    counts = (name for pair in _COUNTS for name in pair)
    others = (name for kind in ("planning_share", "length", "prompt_filter") for name in names(kind))
    return (*_of_class("planning"), *_of_class("execution"), *counts, *others)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseColumn:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhaseSeries:
    """The curves of one run on its steps.

    Attributes
    ----------
    step
        Shape (m,), strictly increasing: every step at which planning or execution has a value, or all
        tokens where there is neither.
    planning, execution, aggregate
        Shape (m,), nats, nan where that curve has no value; None where there is no such column.
    planning_share
        Shape (m,), planning tokens' share of the tokens, 0–1, nan where unknown.
    length
        Shape (m,), tokens of a response, nan where unknown.
    planning_column, execution_column, aggregate_column
        Where they come from.
    share_column, length_column
        The same as names.
    dropped
        Reason → values that were left out.
    notes, cautions
        What was decided, and what may look like a boundary and is none.
    """

    step: FloatArray
    planning: FloatArray | None
    execution: FloatArray | None
    aggregate: FloatArray | None
    planning_share: FloatArray | None
    length: FloatArray | None
    planning_column: PhaseColumn | None
    execution_column: PhaseColumn | None
    aggregate_column: PhaseColumn | None
    share_column: str | None
    length_column: str | None
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Curve:
    column: PhaseColumn
    values: FloatArray
    notes: tuple[str, ...] = ()
    sign: int = 1


def phase_series(
    run: Run, *, planning: str | None = None, execution: str | None = None, entropy: str | None = None
) -> PhaseSeries:
    """Find the curves of a run: by name, or as the user names them.

    Parameters
    ----------
    run
        As read.
    planning, execution, entropy
        Columns that the user names: the entropy of planning tokens (or a semantic entropy), of execution
        tokens, of all tokens. None leaves the choice to the names, for ``entropy`` to the catalog.

    Returns
    -------
    PhaseSeries
        With at least one curve, each with its own gaps. ``dropped`` counts what is there and no entropy.

    Raises
    ------
    InputError
        ``no-phase-columns`` where there is neither of the two and no curve of all tokens either;
        ``entropy-in-bits``, ``entropy-signs-differ``; ``column-not-found``, ``column-not-numeric``,
        ``column-empty``, ``entropy-both-signs`` and ``entropy-not-a-mean`` as
        :func:`entropylaw.ingest.select.choose_entropy`.
    UsageError
        ``same-column``.

    """
    dropped: dict[str, int] = {}
    notes: list[str] = []
    curves = {kind: _class_curve(run, kind, wanted) for kind, wanted in _wanted(planning, execution)}
    _require_two_columns(run, curves["planning"], curves["execution"])
    _require_one_sign(run, curves["planning"], curves["execution"])
    whole = _whole(run, entropy, notes, alone=not any(curves.values()))
    if whole is not None:
        curves[WHOLE] = whole
    values: dict[str, FloatArray] = {}
    for kind, curve in curves.items():
        if curve is not None:
            notes += curve.notes
            values[kind] = _usable(curve.values, kind, dropped)
    fitted = [each for kind, each in values.items() if kind != WHOLE] or list(values.values())
    there = np.any([np.isfinite(each) for each in fitted], axis=0)
    share, share_column = _share(run)
    if any(curve is not None and curve.column.what == SEMANTIC for curve in curves.values()):
        # What plans are made is no part of what the next token is: neither shares nor sums of the two exist.
        share, share_column = None, None
        if len(values) > 1:
            values.pop(WHOLE, None)
        notes.append(NO_SHARE)
    length = _first_usable(run, names("length"))
    return PhaseSeries(
        step=run.step[there],
        planning=_at(values.get("planning"), there),
        execution=_at(values.get("execution"), there),
        aggregate=_at(values.get(WHOLE), there),
        planning_share=_at(share, there),
        length=_at(run.columns[length] if length else None, there),
        planning_column=_told(curves["planning"]),
        execution_column=_told(curves["execution"]),
        aggregate_column=_told(whole) if WHOLE in values else None,
        share_column=share_column,
        length_column=length,
        dropped=dropped,
        notes=tuple(notes),
        cautions=tuple(_cautions(run)),
    )


def _wanted(planning: str | None, execution: str | None) -> Iterator[tuple[str, str | None]]:
    yield "planning", planning
    yield "execution", execution


def _class_curve(run: Run, kind: str, wanted: str | None) -> _Curve | None:
    """The curve of one class of tokens, its sign undone; None where no column has its name."""
    option = f"--{kind}"
    if wanted is not None:
        column = (
            wanted
            if wanted in run.texts
            else require_column(wanted, tuple(run.columns), run.source.path, option)
        )
        why = "named by the user"
    else:
        found = _first_usable(run, _of_class(kind))
        if found is None:
            return None
        column, why = found, "by its name"
    _require_nats(run, column)
    try:
        chosen = choose_entropy(run, column)
    except InputError as error:
        raise InputError(error.slug, error.message, error.hint.replace("--entropy", option)) from error
    return _Curve(
        column=PhaseColumn(column=column, what=_what(column), why=why, usable=chosen.choice.usable),
        values=chosen.values,
        notes=chosen.notes,
        sign=chosen.choice.meaning.sign,
    )


def _require_nats(run: Run, column: str) -> None:
    if _BITS.search(column):
        raise InputError(
            "entropy-in-bits",
            f"{shown(column)} of run {shown(run.name)} is in bits by its name; every entropy here is in nats",
            "multiply the entropies of both classes by ln 2 = 0.693147 and name them without bits",
        )


def _require_one_sign(run: Run, planning: _Curve | None, execution: _Curve | None) -> None:
    """Two classes of one logger's tokens have one sign; two kinds of entropy may come from two loggers."""
    if planning is None or execution is None or planning.sign == execution.sign:
        return
    if planning.column.what != execution.column.what:
        return
    less, other = (planning, execution) if planning.sign < 0 else (execution, planning)
    raise InputError(
        "entropy-signs-differ",
        f"{shown(less.column.column)} of run {shown(run.name)} is negative and "
        f"{shown(other.column.column)} is positive; entropies of one sign were expected",
        "one of the two is no entropy of its class, or was logged as a loss: name two columns of one logger "
        "with --planning and --execution",
    )


def _what(column: str) -> str:
    return SEMANTIC if "semantic" in folded(column) else TOKEN


def _whole(run: Run, wanted: str | None, notes: list[str], *, alone: bool) -> _Curve | None:
    """The curve of all tokens; an error only where the user names it, or nothing else is there."""
    try:
        chosen = choose_entropy(run, wanted)
    except InputError as error:
        if alone and error.slug == "no-entropy-column":
            raise _nothing(run) from error
        if wanted is not None or alone:
            raise
        # Nobody misses it beside the two; one that is there and no entropy is worth a word.
        if error.slug != "no-entropy-column":
            notes.append(f"no curve of all tokens: {error.message}")
        return None
    choice: Choice = chosen.choice
    column = PhaseColumn(
        column=choice.column, what=_what(choice.column), why=choice.why, usable=choice.usable
    )
    return _Curve(column=column, values=chosen.values, notes=chosen.notes)


def _nothing(run: Run) -> InputError:
    return InputError(
        "no-phase-columns",
        f"{shown_path(run.source.path)} (run {shown(run.name)}) has no entropy of planning tokens, none of "
        "execution tokens and none of all tokens",
        "name the columns with --planning and --execution, or make them with `entropylaw tokens`",
    )


def _require_two_columns(run: Run, planning: _Curve | None, execution: _Curve | None) -> None:
    if planning is None or execution is None or planning.column.column != execution.column.column:
        return
    raise UsageError(
        "same-column",
        f"{shown(planning.column.column)} of run {shown(run.name)} is named as planning and as execution; "
        "two columns are needed",
        "name another one with --planning or --execution",
    )


def _first_usable(run: Run, wanted: tuple[str, ...]) -> str | None:
    """The first of ``wanted`` that the run has with a finite value; ``/`` and ``.`` count as ``_``."""
    by_fold = {folded(name): name for name in reversed(tuple(run.columns))}
    found = (by_fold[folded(name)] for name in wanted if folded(name) in by_fold)
    return next((name for name in found if np.isfinite(run.columns[name]).any()), None)


def _usable(values: FloatArray, kind: str, dropped: dict[str, int]) -> FloatArray:
    """The values with nan for those that are no entropy, which are counted."""
    infinite, high = np.isinf(values), np.isfinite(values) & (values > MOST_NATS)
    for reason, bad in ((ENTROPY_NOT_FINITE, infinite), (ENTROPY_TOO_HIGH, high)):
        if bad.any():
            dropped[f"{kind}: {reason}"] = int(bad.sum())
    return np.where(infinite | high, np.nan, values)


def _share(run: Run) -> tuple[FloatArray | None, str | None]:
    """Planning's share of the tokens, as logged or from counts; shares outside 0–1 are none."""
    name = _first_usable(run, names("planning_share"))
    if name is not None:
        return _between(run.columns[name]), name
    by_fold = {folded(column): column for column in run.columns}
    for one, other in _COUNTS:
        if one in by_fold and other in by_fold:
            part, rest = run.columns[by_fold[one]], run.columns[by_fold[other]]
            total = rest if other == "tokens" else part + rest
            with np.errstate(divide="ignore", invalid="ignore"):
                return _between(part / total), f"{by_fold[one]} / {by_fold[other]}"
    return None, None


def _between(share: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.where((share >= 0) & (share <= 1), share, np.nan)


def _at(values: FloatArray | None, there: FloatArray) -> FloatArray | None:
    return None if values is None else values[there]


def _told(curve: _Curve | None) -> PhaseColumn | None:
    return curve.column if curve is not None else None


def _cautions(run: Run) -> Iterator[str]:
    """What bends an entropy curve and is no phase."""
    if any(RESUMED in note for note in run.notes):
        yield "the run was resumed; what changed with it may be what a boundary shows"
    name = _first_usable(run, names("prompt_filter"))
    if name is not None:
        values = run.columns[name][np.isfinite(run.columns[name])]
        if values.max() > values.min():
            yield (
                f"prompts were filtered, and not always as much: {shown(name)} goes from {values.min():g} to "
                f"{values.max():g}; the mix of prompts moves an entropy, too"
            )
    weight = regime.regime_of(run).entropy_weight
    if weight:
        yield (
            f"the loss holds an entropy term of weight {weight.value:g} ({shown(weight.name)}), which moves "
            "the entropy by itself"
        )
