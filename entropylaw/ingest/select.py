"""Choosing one column for each role of an analysis: entropy, reward, and the entropies of token classes.

The user's columns have precedence over those of the catalog. Rewards are chosen by the pairs that they
give with the entropy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from entropylaw.arguments import of_kind, text_or_none
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, listing, quoted_path, shown, shown_cell
from entropylaw.ingest import catalog
from entropylaw.ingest.catalog import Key, config, names
from entropylaw.ingest.runs import PhaseSeries, Run, Series, added
from entropylaw.ingest.runs.joining import averaged
from entropylaw.ingest.runs.pairing import (
    ENTROPY_NOT_FINITE,
    ENTROPY_TOO_HIGH,
    MOST_NATS,
    Pairs,
    noise_of,
    pair_values,
)
from entropylaw.ingest.runs.step_column import by_folded_name, folded, require_column
from entropylaw.results.arrays import FloatArray
from entropylaw.results.columns import SEMANTIC, TOKEN, Choice, Meaning, PhaseColumn
from entropylaw.results.result import Finding, caution, replace

# With fewer pairs, training rewards are more informative than the validation.
ENOUGH_PAIRS = 5
# With fewer validation pairs, a training reward that has as many is offered.
ANSWERING_PAIRS = 12
# A sampled estimate of a collapsed policy's entropy may fall this far below zero by rounding.
_ROUNDING = 1e-6

#: Why planning's share is not known where one of the curves is a semantic entropy.
NO_SHARE = "planning's share is not estimated: a semantic entropy is no part of the token entropy"
WHOLE = "all tokens"

# Columns that `entropylaw tokens` writes: of one class, and of all tokens or of the other class.
_COUNTS = (("tokens_planning", "tokens"), ("tokens_planning", "tokens_execution"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """A column for one role, its values (of an entropy with the sign reversed if need be), and notes."""

    choice: Choice
    values: FloatArray
    notes: tuple[str, ...]


class Paired(NamedTuple):
    """A column that may be the reward: how it is paired with the entropy, the reason, and the pairs."""

    match: catalog.Match
    how: str
    why: str
    averaged: bool
    pairs: Pairs

    @property
    def training(self) -> bool:
        """Whether it is a training reward."""
        return self.match.key.meaning.kind == "training"

    @property
    def known_as(self) -> str:
        """Its key in the catalog."""
        meaning = self.match.key.meaning
        return f"{meaning.trainer}'s {meaning.kind} key {shown(self.match.key.template)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenReward(Chosen):
    """The reward column, how it is paired and with what result; ``offer`` names one with more pairs."""

    best: Paired
    offer: Finding | None


def select(
    run: Run,
    *,
    entropy: str | None = None,
    reward: str | None = None,
    pair: str | None = None,
    entropy_sd: str | None = None,
) -> Series:
    """Choose entropy and reward by the catalog, and pair them.

    Parameters
    ----------
    run
        As read.
    entropy, reward
        Columns that the user names; None leaves the choice to the catalog.
    pair
        ``"same"`` or ``"next"``; None leaves it to the catalog.
    entropy_sd
        The noise of each logged entropy, as a standard deviation in nats: a number, or a column.

    The series has at least one pair, finite, the entropy in nats and not negative beyond rounding. Its
    ``dropped`` and ``notes`` are the selection's own; those of reading are in the run.

    Raises
    ------
    InputError
        ``no-entropy-column``, ``no-reward-column``, ``no-pairs``, ``column-not-found``, ``column-empty``,
        ``column-not-numeric``, ``entropy-both-signs``, ``entropy-not-a-mean``, ``entropy-sd-missing``.
    UsageError
        ``pair-unknown``, ``same-column`` or ``bad-entropy-sd``.
    """
    run = of_kind(run, Run, "run")
    pair, entropy_sd = text_or_none(pair, "pair"), text_or_none(entropy_sd, "entropy_sd")
    chosen = choose_entropy(run, text_or_none(entropy, "entropy"))
    rewarded = choose_reward(run, chosen, text_or_none(reward, "reward"), pair)
    pairs = rewarded.best.pairs
    if not len(pairs):
        there = (run.step[np.isfinite(one.values)] for one in (chosen, rewarded))
        first, second = (", ".join(f"{s:g}" for s in at[:4]) + ", …" * (len(at) > 4) for at in there)
        reasons = "; ".join(f"{reason}: {number}" for reason, number in pairs.dropped.items())
        what = f"run {shown(run.name)}: no step has both. {shown(chosen.choice.column)} is there at steps "
        what += f"{first}, {shown(rewarded.choice.column)} at steps {second} ({reasons})"
        hint = "try --pair same or --pair next, or other columns with --entropy and --reward"
        raise InputError("no-pairs", what, rewarded.offer.sentence if rewarded.offer else hint)
    settings = config.entropy_settings(run)
    return Series(
        run=run.name,
        source=run.source,
        step=pairs.step,
        entropy=pairs.entropy,
        reward=pairs.reward,
        entropy_choice=chosen.choice,
        reward_choice=rewarded.choice,
        pair=rewarded.best.how,
        dropped=pairs.dropped,
        notes=(*chosen.notes, *config.notes(settings), *rewarded.notes),
        findings=config.findings(settings, run, chosen.values),
        offer=rewarded.offer,
        entropy_sd=None if entropy_sd is None else noise_of(run, pairs, entropy_sd),
    )


def choose_entropy(run: Run, column: str | None = None) -> Chosen:
    """Choose the entropy column and make it positive; errors as of :func:`select`."""
    if column is not None:
        return _as_entropy(run, _named(run, column, "--entropy"), "named by the user", accept_sum=True)
    known = catalog.found(run, "entropy")
    usable = [match for match in known if run.finite(match.column).size]
    if not usable:
        raise catalog.missing(run, known, "entropy")
    key, others = usable[0].key, [match.column for match in usable[1:]]
    why = f"{key.meaning.trainer}'s key {shown(key.template)}"
    why += f", preferred to {listing(others, 4)}" if others else ""
    return _as_entropy(run, usable[0].column, why)


def _as_entropy(
    run: Run, column: str, why: str, option: str = "--entropy", *, accept_sum: bool = False
) -> Chosen:
    """Take a column for an entropy: its meaning, its sign, and the errors where it is none.

    ``accept_sum`` accepts a column that a trainer logs as a sum, because of the user or of a class's name.
    """
    match = next((match for match in catalog.found(run, "entropy") if match.column == column), None)
    meaning = match.key.meaning if match else Meaning(role="entropy", trainer="user")
    settings = config.entropy_settings(run)
    where = f"{shown(column)} of run {shown(run.name)}"
    aggregation = settings.aggregation
    if aggregation is not None and aggregation.value in config.SUMS:
        name, value = aggregation
        what = f"{where} is a sum over tokens: its configuration has {value} for {shown(name)}"
        hint = "log the token mean (verl: actor.loss_agg_mode=token-mean)"
        raise InputError("entropy-not-a-mean", what, hint)
    if meaning.aggregation == "sequence sum" and not accept_sum:
        sums = f"{meaning.trainer}'s sum over the tokens of a response"
        hint = f"divide it by the mean response length, or take it as it is with --entropy {column}"
        raise InputError("entropy-not-a-mean", f"{where} is {sums}, and the law is about the mean", hint)
    mean = config.MEANS.get(aggregation.value) if aggregation else None
    if mean and meaning.aggregation:
        meaning = replace(meaning, aggregation=mean)
    sign, notes = _sign(run, column, option, meaning.sign)
    values, usable = run.columns[column] * sign, run.finite(column).size
    choice = Choice(column=column, meaning=replace(meaning, sign=sign), why=why, usable=usable)
    return Chosen(choice=choice, values=values, notes=notes)


def _sign(run: Run, column: str, option: str, expected: int) -> tuple[int, tuple[str, ...]]:
    """Return the sign of a column of entropies, with a note where it is negative or not as expected."""
    _require_values(run, column, option)
    values = run.finite(column)
    low, high = float(values.min()), float(values.max())
    where = f"{shown(column)} of run {shown(run.name)}"
    if low < -_ROUNDING and high > _ROUNDING:
        below, above = int((values < 0).sum()), int((values > 0).sum())
        what = f"{where} goes from {low:.6g} to {high:.6g} ({below} values below 0, {above} above); "
        hint = f"name the policy's entropy with {option} COLUMN"
        raise InputError("entropy-both-signs", f"{what}an entropy has one sign", hint)
    sign = -1 if low < -_ROUNDING else 1
    if (middle := float(np.median(values * sign))) > MOST_NATS:
        what = f"{where} has a median of {middle:.6g}; a mean entropy per token is at most about "
        hint = "divide it by the mean response length, or log the token mean "
        hint += "(verl: actor.loss_agg_mode=token-mean)"
        what += f"{MOST_NATS:g} nats, so that this is a sum over tokens"
        raise InputError("entropy-not-a-mean", what, hint)
    if sign < 0:
        return sign, (f"{shown(column)} is not positive: it is minus the entropy, its sign was reversed",)
    if expected < 0 and high > _ROUNDING:
        return sign, (f"{shown(column)} is not negated here, though its trainer negates it",)
    return sign, ()


def choose_reward(
    run: Run, entropy: Chosen, column: str | None = None, pair: str | None = None
) -> ChosenReward:
    """Choose the reward column by the pairs that it gives, validation first; errors as of :func:`select`.

    A column without any pair is returned.
    """
    if pair not in (None, "same", "next"):
        what = f"--pair is {shown(pair)}; same or next was expected"
        raise UsageError("pair-unknown", what, "use same or next")
    own = entropy.choice.column
    known = [match for match in catalog.found(run, "validation", "training") if match.column != own]
    usable = [_paired(run, entropy, match, pair) for match in known if run.finite(match.column).size]
    trainings, validations = ([one for one in usable if one.training is kind] for kind in (True, False))
    if column is None:
        if not usable:
            raise catalog.missing(run, known, "reward")
        best, why = _best_reward(validations, trainings)
    else:
        column, why = _named(run, column, "--reward"), "named by the user"
        if column == own:
            what = f"{shown(column)} is named as entropy and as reward; two columns are needed"
            raise UsageError("same-column", what, "name another one with --entropy or --reward")
        _require_values(run, column)
        unknown = catalog.Match(column, Key(column, Meaning(role="reward", trainer="user")), 0)
        match = next((match for match in known if match.column == column), unknown)
        best = _paired(run, entropy, match, pair)
    match, pairs, column = best.match, best.pairs, best.match.column
    notes = [f"the reward is a training reward ({shown(column)})"] * best.training
    if pairs.initial:
        before = shown(catalog.initial_column(match.key, column, run.columns))
        note = f"{counted(pairs.initial, 'evaluation')} from before training, logged as {before}, "
        notes.append(f"{note}{'is' if pairs.initial == 1 else 'are'} paired with the entropy of that step")
    if best.how == "next" and best.averaged:
        what = f"--pair next would pair points of run {shown(run.name)} that are means over different "
        hint = "use --pair same, or export the whole history in place of a chart"
        raise UsageError("pair-across-buckets", f"{what}buckets of steps", hint)
    # Where the chosen column has few pairs, a training reward that has many is offered.
    few, offer = len(pairs) < ANSWERING_PAIRS and not best.training, None
    longer = next((one for one in trainings if few and len(one.pairs) >= ANSWERING_PAIRS), None)
    if longer is not None:
        numbers = {"evaluations": len(longer.pairs), "used": len(pairs)}
        offer = caution("training-reward-longer", **numbers, column=longer.match.column)
    return ChosenReward(
        choice=Choice(column=column, meaning=match.key.meaning, why=why, usable=run.finite(column).size),
        values=run.columns[column],
        best=best,
        notes=tuple(notes),
        offer=offer,
    )


def _paired(run: Run, entropy: Chosen, match: catalog.Match, pair: str | None) -> Paired:
    """Pair one column as the user requests, or else as its key says."""
    # Pairing points of a chart with the next step would leave the bucket that each is the mean of.
    average = any(averaged(run, name).any() for name in (entropy.choice.column, match.column))
    if pair is not None:
        how, why = pair, "named by the user"
    elif match.key.pair == "same":
        how = "same"
        why = "entropy and reward of the same policy are on the same row, according to the catalog"
    elif average:
        how, why = "same", "points are means over buckets of steps, and none is paired beyond its bucket"
    else:
        how = "next"
        why = "the row holds the entropy from before its update and the evaluation from after it"
    before = catalog.initial_column(match.key, match.column, run.columns)
    initial = run.columns[before] if before else None
    pairs = pair_values(run.step, entropy.values, run.columns[match.column], how, initial)
    return Paired(match, how, why, average, pairs)


def _best_reward(validations: Sequence[Paired], trainings: Sequence[Paired]) -> tuple[Paired, str]:
    """Choose a validation, or the training reward where that gives too few pairs and fewer than training."""
    # By the catalog's order, then by pairs, then by name.
    ordered = sorted(validations, key=lambda one: (one.match.rank, -len(one.pairs), one.match.column))
    enough = next((one for one in ordered if len(one.pairs) >= ENOUGH_PAIRS), None)
    if enough is not None:
        others = [one.match.column for one in ordered if one is not enough]
        more = f"; other validation columns: {listing(others, 4)}" if others else ""
        return enough, f"{enough.known_as} ({counted(len(enough.pairs), 'pair')}){more}"
    if not ordered:
        longer = next((one for one in trainings if len(one.pairs)), trainings[0])
        return longer, f"training reward: the log has no validation reward; {longer.known_as}"
    best = max(ordered, key=lambda one: len(one.pairs))
    longest = next((one for one in trainings if len(one.pairs) > len(best.pairs)), None)
    if longest is None:
        return best, f"{best.known_as}; no training reward gives more pairs"
    few = f"validation column {shown(best.match.column)} gives only {counted(len(best.pairs), 'pair')}, "
    return longest, f"training reward: {few}{ENOUGH_PAIRS} are needed; {longest.known_as}"


def _named(run: Run, column: str, option: str) -> str:
    """Return the column that the user names; raises ``column-not-found`` or ``column-not-numeric``."""
    if column not in run.columns and column in run.texts:
        first = shown_cell(run.texts[column])
        what = f"{shown(column)} of run {shown(run.name)} holds no number: its first cell is {first}"
        raise InputError("column-not-numeric", what, f"name another column with {option}, {catalog.NUMBERS}")
    return require_column(column, tuple(run.columns), run.source.path, option)


def _require_values(run: Run, column: str, option: str = "--entropy") -> None:
    if not run.finite(column).size:
        steps = counted(len(run.step), "step")
        what = f"{shown(column)} of run {shown(run.name)} has no finite value on any of {steps}"
        raise InputError("column-empty", what, f"name another column with {option} or --reward")


@cache
def candidates() -> tuple[str, ...]:
    """Every name that :func:`phase_series` looks for; a large file is read with these and the catalog's."""
    others = (name for kind in ("planning_share", "length", "prompt_filter") for name in names(kind))
    return (*_class_names("planning"), *_class_names("execution"), *sum(_COUNTS, ()), *others)


def _class_names(kind: str) -> tuple[str, ...]:
    """Names of the entropy of one class of tokens, those in bits among them."""
    found = tuple(name.replace("<class>", kind) for name in names("class_entropy"))
    return found + tuple(f"{name}_bits" for name in found)


def _first_usable(run: Run, candidates: Sequence[str]) -> str | None:
    """Return the first of some names that the run has with a finite value; ``/`` and ``.`` count as ``_``."""
    columns = by_folded_name(run.columns)
    found = (columns[folded(name)] for name in candidates if folded(name) in columns)
    return next((name for name in found if run.finite(name).size), None)


def phase_series(
    run: Run, *, planning: str | None = None, execution: str | None = None, entropy: str | None = None
) -> PhaseSeries:
    """Find the curves of a run: by name, or as the user names them.

    ``planning``, ``execution`` and ``entropy`` are columns that the user names: the entropy of planning
    tokens (or a semantic entropy), of execution tokens, of all tokens. None leaves the choice to the names,
    for ``entropy`` to the catalog. The series has at least one curve, each with its own gaps; values that are
    no entropy are dropped.

    Raises
    ------
    InputError
        ``no-phase-columns`` where there is none of the two and no curve of all tokens either;
        ``entropy-in-bits``, ``entropy-signs-differ``, and those of a column that the user names or that is no
        entropy, as :func:`select`.
    UsageError
        ``same-column``.
    """
    classes = _of_class(run, "planning", planning), _of_class(run, "execution", execution)
    _require_two_curves(run, *classes)
    whole, notes = _whole(run, entropy, alone=not any(classes))
    chosen = dict(zip(("planning", "execution", WHOLE), (*classes, whole), strict=True))
    dropped: dict[str, int] = {}
    values: dict[str, FloatArray] = {}
    columns: dict[str, PhaseColumn] = {}
    for kind, curve in chosen.items():
        if curve is not None:
            notes += curve.notes
            columns[kind] = _phase_column(curve)
            infinite, high = np.isinf(curve.values), np.isfinite(curve.values) & (curve.values > MOST_NATS)
            values[kind] = np.where(infinite | high, np.nan, curve.values)
            losses = {f"{kind}: {ENTROPY_NOT_FINITE}": int(infinite.sum())}
            dropped = added(dropped, losses, {f"{kind}: {ENTROPY_TOO_HIGH}": int(high.sum())})
    fitted = [values[kind] for kind in ("planning", "execution") if kind in values] or [values[WHOLE]]
    there = np.isfinite(fitted).any(axis=0)
    share, share_column = _share(run)
    length = _first_usable(run, names("length"))
    if any(column.what == SEMANTIC for column in columns.values()):
        # A semantic entropy is no part of the token entropy: the two have no shares and no sum.
        share, share_column = None, None
        notes.append(NO_SHARE)
        if len(values) > 1:
            values.pop(WHOLE, None)
            columns.pop(WHOLE, None)
    arrays = {**values, "share": share, "length": run.columns.get(length or "")}
    kept = {kind: array[there] for kind, array in arrays.items() if array is not None}
    return PhaseSeries(
        step=run.step[there],
        planning=kept.get("planning"),
        execution=kept.get("execution"),
        aggregate=kept.get(WHOLE),
        planning_share=kept.get("share"),
        length=kept.get("length"),
        planning_column=columns.get("planning"),
        execution_column=columns.get("execution"),
        aggregate_column=columns.get(WHOLE),
        share_column=share_column,
        length_column=length,
        dropped=dropped,
        notes=tuple(notes),
        findings=tuple(_phase_findings(run)),
    )


def _of_class(run: Run, kind: str, column: str | None) -> Chosen | None:
    """Choose the entropy of one class of tokens; None where no column has its name."""
    option, why = f"--{kind}", "by its name" if column is None else "named by the user"
    found = _first_usable(run, _class_names(kind)) if column is None else _named(run, column, option)
    if found is None:
        return None
    # Names with bits are looked for, so that the error can name the column.
    if re.search(r"(?:^|[\W_])bits?(?:$|[\W_])", found, re.IGNORECASE):
        what = f"{shown(found)} of run {shown(run.name)} is in bits by its name; "
        hint = "multiply the entropies of both classes by ln 2 = 0.693147 and name them without bits"
        raise InputError("entropy-in-bits", f"{what}every entropy here is in nats", hint)
    return _as_entropy(run, found, why, option, accept_sum=True)


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


def _whole(run: Run, column: str | None, *, alone: bool) -> tuple[Chosen | None, list[str]]:
    """Choose the curve of all tokens; an error only where the user names it, or no other curve exists."""
    try:
        return choose_entropy(run, column), []
    except InputError as error:
        lacking = error.slug == "no-entropy-column"
        if alone and lacking:
            what = f"{quoted_path(run.source.path)} (run {shown(run.name)}) has no entropy of planning "
            what += "tokens, none of execution tokens and none of all tokens"
            hint = "name the columns with --planning and --execution, or make them with `entropylaw tokens`"
            raise InputError("no-phase-columns", what, hint) from error
        if column is not None or alone:
            raise
        # Next to the two classes it is optional; a column that exists and is no entropy gets a note.
        return None, [] if lacking else [f"no curve of all tokens: {error.message}"]


def _share(run: Run) -> tuple[FloatArray | None, str | None]:
    """Planning's share of the tokens, as logged or from counts; shares outside 0–1 are none."""
    columns = by_folded_name(run.columns)
    counts = next((pair for pair in _COUNTS if columns.keys() >= set(pair)), None)
    if name := _first_usable(run, names("planning_share")):
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


def _phase_findings(run: Run) -> Iterator[Finding]:
    """Yield what changes the slope of an entropy curve and is no phase."""
    if any("resumed run" in note for note in run.notes):
        yield caution("run-resumed")
    if name := _first_usable(run, names("prompt_filter")):
        values = run.finite(name)
        if values.max() > values.min():
            yield caution("prompts-filtered", name=name, low=float(values.min()), high=float(values.max()))
    if weight := config.entropy_settings(run).entropy_weight:
        yield caution("entropy-term-bends-curves", weight=weight.value, name=weight.name)
