"""Finding the curves of planning and execution in a run, and what is needed beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest import regime
from entropylaw.ingest.pairing import ENTROPY_NOT_FINITE, ENTROPY_TOO_HIGH, MOST_NATS
from entropylaw.ingest.run import Run
from entropylaw.ingest.select import Chosen, as_entropy, choose_entropy, finite, named
from entropylaw.ingest.steps import by_folded_name, folded
from entropylaw.ingest.trainers import names
from entropylaw.ingest.values import FloatArray
from entropylaw.ingest.wording import shown, shown_path
from entropylaw.results.columns import SEMANTIC, TOKEN, PhaseColumn
from entropylaw.results.findings import Finding, caution

#: Why planning's share is not known where one of the curves is a semantic entropy.
NO_SHARE = "no share of the entropy is told: a semantic entropy is no part of the token entropy"
WHOLE = "all tokens"

# Columns that `entropylaw tokens` writes: of one class, and of all tokens or of the other class.
_COUNTS = (("tokens_planning", "tokens"), ("tokens_planning", "tokens_execution"))


@cache
def candidates() -> tuple[str, ...]:
    """Every name that is looked for; a large file is read with these and what the catalog knows."""
    counts = (name for pair in _COUNTS for name in pair)
    others = (name for kind in ("planning_share", "length", "prompt_filter") for name in names(kind))
    return (*_class_names("planning"), *_class_names("execution"), *counts, *others)


def _class_names(kind: str) -> tuple[str, ...]:
    """Names of the entropy of one class of tokens, those in bits among them."""
    found = tuple(name.replace("<class>", kind) for name in names("class_entropy"))
    return found + tuple(f"{name}_bits" for name in found)


def _first_usable(run: Run, wanted: Sequence[str]) -> str | None:
    """Return the first of some names that the run has with a finite value; ``/`` and ``.`` count as ``_``."""
    columns = by_folded_name(run.columns)
    found = (columns[folded(name)] for name in wanted if folded(name) in columns)
    return next((name for name in found if finite(run, name).size), None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhaseSeries:
    """The curves of one run on its steps, arrays of shape (m,) with nan where a value is missing.

    ``step`` rises strictly: every step at which planning or execution has a value, or all tokens where there
    is neither. ``planning``, ``execution`` and ``aggregate`` are in nats, None where there is no such column;
    ``planning_share`` is planning tokens' share of the tokens, 0–1, and ``length`` the tokens of a response.
    The columns say where they come from. ``dropped`` counts values that were left out, by reason; ``notes``
    say what was decided, ``findings`` what may look like a boundary and is none.
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
    findings: tuple[Finding, ...]


def phase_series(
    run: Run, *, planning: str | None = None, execution: str | None = None, entropy: str | None = None
) -> PhaseSeries:
    """Find the curves of a run: by name, or as the user names them.

    ``planning``, ``execution`` and ``entropy`` are columns that the user names: the entropy of planning
    tokens (or a semantic entropy), of execution tokens, of all tokens. None leaves the choice to the names,
    for ``entropy`` to the catalog. The series has at least one curve, each with its own gaps; what is there
    and no entropy is dropped.

    Raises
    ------
    InputError
        ``no-phase-columns`` where there is neither of the two and no curve of all tokens either;
        ``entropy-in-bits``, ``entropy-signs-differ``, and those of a column that the user names or that is no
        entropy, as :func:`entropylaw.ingest.select.select`.
    UsageError
        ``same-column``.
    """
    dropped: dict[str, int] = {}
    classes = _of_class(run, "planning", planning), _of_class(run, "execution", execution)
    _require_two_curves(run, *classes)
    whole, notes = _whole(run, entropy, alone=not any(classes))
    kinds = zip(("planning", "execution", WHOLE), (*classes, whole), strict=True)
    chosen = {kind: curve for kind, curve in kinds if curve is not None}
    values: dict[str, FloatArray] = {}
    for kind, curve in chosen.items():
        notes += curve.notes
        infinite, high = np.isinf(curve.values), np.isfinite(curve.values) & (curve.values > MOST_NATS)
        values[kind] = np.where(infinite | high, np.nan, curve.values)
        losses = {ENTROPY_NOT_FINITE: int(infinite.sum()), ENTROPY_TOO_HIGH: int(high.sum())}
        dropped |= {f"{kind}: {reason}": number for reason, number in losses.items() if number}
    fitted = [each for kind, each in values.items() if kind != WHOLE] or list(values.values())
    there = np.any([np.isfinite(each) for each in fitted], axis=0)
    share, share_column = _share(run)
    columns = {kind: _phase_column(curve) for kind, curve in chosen.items()}
    if any(column.what == SEMANTIC for column in columns.values()):
        # What plans are made is no part of what the next token is: neither shares nor sums of the two exist.
        share, share_column = None, None
        if len(values) > 1:
            values.pop(WHOLE, None)
        notes.append(NO_SHARE)
    length = _first_usable(run, names("length"))
    kept = {kind: each[there] for kind, each in values.items()}
    return PhaseSeries(
        step=run.step[there],
        planning=kept.get("planning"),
        execution=kept.get("execution"),
        aggregate=kept.get(WHOLE),
        planning_share=None if share is None else share[there],
        length=None if length is None else run.columns[length][there],
        planning_column=columns.get("planning"),
        execution_column=columns.get("execution"),
        aggregate_column=columns.get(WHOLE) if WHOLE in values else None,
        share_column=share_column,
        length_column=length,
        dropped=dropped,
        notes=tuple(notes),
        findings=tuple(_findings(run)),
    )


def _of_class(run: Run, kind: str, wanted: str | None) -> Chosen | None:
    """Choose the entropy of one class of tokens, and undo its sign; None where no column has its name."""
    option = f"--{kind}"
    column = _first_usable(run, _class_names(kind)) if wanted is None else named(run, wanted, option)
    if column is None:
        return None
    # An entropy in bits is found, so that it can be refused by name.
    if re.search(r"(?:^|[\W_])bits?(?:$|[\W_])", column, re.IGNORECASE):
        what = f"{shown(column)} of run {shown(run.name)} is in bits by its name; "
        hint = "multiply the entropies of both classes by ln 2 = 0.693147 and name them without bits"
        raise InputError("entropy-in-bits", f"{what}every entropy here is in nats", hint)
    why = "by its name" if wanted is None else "named by the user"
    return as_entropy(run, column, why, option, own=True)


def _phase_column(chosen: Chosen) -> PhaseColumn:
    choice = chosen.choice
    what = SEMANTIC if "semantic" in folded(choice.column) else TOKEN
    return PhaseColumn(column=choice.column, what=what, why=choice.why, usable=choice.usable)


def _require_two_curves(run: Run, planning: Chosen | None, execution: Chosen | None) -> None:
    """Refuse one column for both classes, and two classes of one logger's tokens that differ in sign."""
    if planning is None or execution is None:
        return
    one, other = _phase_column(planning), _phase_column(execution)
    if one.column == other.column:
        what = f"{shown(one.column)} of run {shown(run.name)} is named as planning and as execution; "
        hint = "name another one with --planning or --execution"
        raise UsageError("same-column", f"{what}two columns are needed", hint)
    sign = planning.choice.meaning.sign
    # Two kinds of entropy may come from two loggers.
    if one.what == other.what and sign != execution.choice.meaning.sign:
        less, more = (one, other) if sign < 0 else (other, one)
        what = f"{shown(less.column)} of run {shown(run.name)} is negative and {shown(more.column)} is "
        hint = "one of the two is no entropy of its class, or was logged as a loss: name two columns of one "
        hint += "logger with --planning and --execution"
        raise InputError("entropy-signs-differ", f"{what}positive; entropies of one sign were expected", hint)


def _whole(run: Run, wanted: str | None, *, alone: bool) -> tuple[Chosen | None, list[str]]:
    """The curve of all tokens; an error only where the user names it, or nothing else is there."""
    try:
        return choose_entropy(run, wanted), []
    except InputError as error:
        lacking = error.slug == "no-entropy-column"
        if alone and lacking:
            what = (
                f"{shown_path(run.source.path)} (run {shown(run.name)}) has no entropy of planning tokens, "
            )
            what += "none of execution tokens and none of all tokens"
            hint = "name the columns with --planning and --execution, or make them with `entropylaw tokens`"
            raise InputError("no-phase-columns", what, hint) from error
        if wanted is not None or alone:
            raise
        # Beside the two classes it is not needed; a column that is there and no entropy gets a note.
        return None, [] if lacking else [f"no curve of all tokens: {error.message}"]


def _share(run: Run) -> tuple[FloatArray | None, str | None]:
    """Planning's share of the tokens, as logged or from counts; shares outside 0–1 are none."""
    name = _first_usable(run, names("planning_share"))
    columns = by_folded_name(run.columns)
    counts = next(((one, other) for one, other in _COUNTS if one in columns and other in columns), None)
    if name is not None:
        share = run.columns[name]
    elif counts is not None:
        part, other = (run.columns[columns[count]] for count in counts)
        name = f"{columns[counts[0]]} / {columns[counts[1]]}"
        with np.errstate(divide="ignore", invalid="ignore"):
            share = part / (other if counts[1] == "tokens" else part + other)
    else:
        return None, None
    with np.errstate(invalid="ignore"):
        return np.where((share >= 0) & (share <= 1), share, np.nan), name


def _findings(run: Run) -> Iterator[Finding]:
    """What bends an entropy curve and is no phase."""
    if any("resumed run" in note for note in run.notes):
        yield caution("run-resumed")
    name = _first_usable(run, names("prompt_filter"))
    if name is not None:
        values = finite(run, name)
        if values.max() > values.min():
            yield caution("prompts-filtered", name=name, low=float(values.min()), high=float(values.max()))
    weight = regime.regime_of(run).entropy_weight
    if weight:
        yield caution("entropy-term-bends-curves", weight=weight.value, name=weight.name)
