"""Choosing the columns that an analysis is about, one for each role, and pairing entropy with reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from entropylaw.arguments import of_kind, text_or_none
from entropylaw.errors import InputError, UsageError
from entropylaw.ingest import catalog, regime
from entropylaw.ingest.joining import averaged
from entropylaw.ingest.pairing import MOST_NATS, Pairs, noise_of, pair_values
from entropylaw.ingest.run import Run, Series
from entropylaw.ingest.steps import folded, require_column
from entropylaw.ingest.trainers import Key
from entropylaw.ingest.values import FloatArray
from entropylaw.ingest.wording import counted, listing, nearest, shown, shown_cell, shown_path
from entropylaw.results.columns import Choice, Meaning
from entropylaw.results.fields import replace
from entropylaw.results.findings import Finding, caution

# Below this many, training rewards say more about the run than its validation does.
ENOUGH_PAIRS = 5
# Below this many validation pairs, a training reward that has as many is offered.
ANSWERING_PAIRS = 12
# A sampled estimate of a collapsed policy's entropy may fall this far below zero by rounding.
_ROUNDING = 1e-6
_NUMBERS = "or write numbers without unit and with a decimal point"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """A column for one role, its values (of an entropy with the sign undone), and what was decided."""

    choice: Choice
    values: FloatArray
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenReward(Chosen):
    """The reward column, how it pairs and with what result.

    ``offer`` names a training reward that has many pairs where this column has few; it changes nothing.
    """

    pair: str
    pair_why: str
    pairs: Pairs
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

    Returns
    -------
    Series
        At least one pair, finite, the entropy in nats and not negative beyond rounding. ``dropped`` and
        ``notes`` are the selection's own; what reading dropped and decided stands in the run.

    Raises
    ------
    InputError
        ``no-entropy-column``, ``no-reward-column``, ``column-not-found``, ``column-not-numeric``,
        ``column-empty``, ``entropy-both-signs``, ``entropy-not-a-mean``, ``no-pairs`` or
        ``entropy-sd-missing``.
    UsageError
        ``pair-unknown``, ``same-column`` or ``bad-entropy-sd``.
    """
    run = of_kind(run, Run, "run")
    pair, entropy_sd = text_or_none(pair, "pair"), text_or_none(entropy_sd, "entropy_sd")
    chosen = choose_entropy(run, text_or_none(entropy, "entropy"))
    rewarded = choose_reward(run, chosen, text_or_none(reward, "reward"), pair)
    pairs = rewarded.pairs
    if not len(pairs):
        there = (run.step[np.isfinite(one.values)] for one in (chosen, rewarded))
        first, second = (", ".join(f"{s:g}" for s in at[:4]) + ", …" * (len(at) > 4) for at in there)
        reasons = "; ".join(f"{reason}: {number}" for reason, number in pairs.dropped.items())
        what = f"run {shown(run.name)}: no step has both. {shown(chosen.choice.column)} is there at steps "
        what += f"{first}, {shown(rewarded.choice.column)} at steps {second} ({reasons})"
        hint = "try --pair same or --pair next, or other columns with --entropy and --reward"
        raise InputError("no-pairs", what, rewarded.offer.sentence if rewarded.offer else hint)
    settings = regime.regime_of(run)
    return Series(
        run=run.name,
        source=run.source,
        step=pairs.step,
        entropy=pairs.entropy,
        reward=pairs.reward,
        entropy_choice=chosen.choice,
        reward_choice=rewarded.choice,
        pair=rewarded.pair,
        dropped=pairs.dropped,
        notes=(*chosen.notes, *regime.notes(settings), *rewarded.notes),
        findings=regime.findings(settings, run, chosen.values),
        offer=rewarded.offer,
        entropy_sd=None if entropy_sd is None else noise_of(run, pairs, entropy_sd),
    )


def choose_entropy(run: Run, wanted: str | None = None) -> Chosen:
    """Choose the entropy column and undo its sign.

    Raises
    ------
    InputError
        As :func:`select`, save what concerns rewards.
    """
    if wanted is not None:
        return as_entropy(run, named(run, wanted, "--entropy"), "named by the user", own=True)
    known = catalog.found(run, "entropy")
    usable = [match for match in known if finite(run, match.column).size]
    if not usable:
        raise _missing(run, known, "entropy")
    match = min(usable, key=lambda m: m.rank)
    others = [m.column for m in usable if m is not match]
    why = f"{match.key.meaning.trainer}'s key {shown(match.key.template)}"
    why += f", preferred to {listing(others, 4)}" if others else ""
    return as_entropy(run, match.column, why)


def as_entropy(run: Run, column: str, why: str, option: str = "--entropy", *, own: bool = False) -> Chosen:
    """Take a column for an entropy: its meaning, its sign, and the errors where it is none.

    ``own`` says that the user, or a name of the two-phase curves, vouches for a sum that a trainer logs.
    """
    match = next((match for match in catalog.found(run, "entropy") if match.column == column), None)
    meaning = match.key.meaning if match else Meaning(role="entropy", trainer="user")
    settings = regime.regime_of(run)
    where = f"{shown(column)} of run {shown(run.name)}"
    if settings.is_sum:
        assert settings.aggregation is not None
        value, name = settings.aggregation.value, settings.aggregation.name
        what = f"{where} is a sum over tokens: its configuration has {value} for {shown(name)}"
        hint = "log the token mean (verl: actor.loss_agg_mode=token-mean)"
        raise InputError("entropy-not-a-mean", what, hint)
    if meaning.aggregation == "sequence sum" and not own:
        what = (
            f"{where} is {meaning.trainer}'s sum over the tokens of a response, and the law is about the mean"
        )
        hint = f"divide it by the mean response length, or take it as it is with --entropy {column}"
        raise InputError("entropy-not-a-mean", what, hint)
    if settings.mean and meaning.aggregation:
        meaning = replace(meaning, aggregation=settings.mean)
    sign, high = _sign(run, column, option)
    notes = [f"{shown(column)} is not positive: it is minus the entropy, its sign was turned"] * (sign < 0)
    if sign > 0 > meaning.sign and high > _ROUNDING:
        notes = [f"{shown(column)} is not negated here, though its trainer negates it"]
    values = run.columns[column]
    usable = finite(run, column).size
    choice = Choice(column=column, meaning=replace(meaning, sign=sign), why=why, usable=usable)
    return Chosen(choice=choice, values=-values if sign < 0 else values, notes=tuple(notes))


def _sign(run: Run, column: str, option: str) -> tuple[int, float]:
    """Return the sign of a column of entropies, and its greatest value."""
    _require_values(run, column, option)
    values = finite(run, column)
    low, high = float(values.min()), float(values.max())
    where = f"{shown(column)} of run {shown(run.name)}"
    if low < -_ROUNDING and high > _ROUNDING:
        below, above = int((values < 0).sum()), int((values > 0).sum())
        what = f"{where} goes from {low:.6g} to {high:.6g} ({below} values below 0, {above} above); "
        hint = f"name the policy's entropy with {option} COLUMN"
        raise InputError("entropy-both-signs", f"{what}an entropy has one sign", hint)
    sign = -1 if low < -_ROUNDING else 1
    if (middle := float(np.median(values * sign))) > MOST_NATS:
        what = (
            f"{where} has a median of {middle:.6g}; a mean entropy per token is at most about {MOST_NATS:g} "
        )
        hint = "divide it by the mean response length, or log the token mean "
        hint += "(verl: actor.loss_agg_mode=token-mean)"
        raise InputError("entropy-not-a-mean", f"{what}nats, so that this is a sum over tokens", hint)
    return sign, high


class _Reward(NamedTuple):
    """A column that may be the reward: how it pairs with the entropy, why so, and the pairs."""

    match: catalog.Match
    how: str
    why: str
    averaged: bool
    pairs: Pairs

    @property
    def training(self) -> bool:
        return self.match.key.meaning.kind == "training"

    @property
    def known_as(self) -> str:
        meaning = self.match.key.meaning
        return f"{meaning.trainer}'s {meaning.kind} key {shown(self.match.key.template)}"


def choose_reward(
    run: Run, entropy: Chosen, wanted: str | None = None, pair: str | None = None
) -> ChosenReward:
    """Choose the reward column by the pairs that it gives, validation first.

    Raises
    ------
    InputError
        As :func:`select`, save what concerns the entropy alone. A column without any pair is returned.
    """
    if pair not in (None, "same", "next"):
        what = f"--pair is {shown(pair)}; same or next was expected"
        raise UsageError("pair-unknown", what, "use same or next")
    own = entropy.choice.column
    known = [match for match in catalog.found(run, "validation", "training") if match.column != own]
    usable = [_paired(run, entropy, match, pair) for match in known if finite(run, match.column).size]
    if wanted is None:
        best, why = _best_reward(run, known, usable)
    else:
        column, why = named(run, wanted, "--reward"), "named by the user"
        if column == own:
            what = f"{shown(column)} is named as entropy and as reward; two columns are needed"
            raise UsageError("same-column", what, "name another one with --entropy or --reward")
        _require_values(run, column)
        key = Key(template=column, meaning=Meaning(role="reward", trainer="user"))
        unknown = catalog.Match(column=column, key=key, rank=0)
        match = next((match for match in known if match.column == column), unknown)
        best = _paired(run, entropy, match, pair)
    # Where this one has few pairs, a training reward that has many is offered.
    few = len(best.pairs) < ANSWERING_PAIRS and not best.training
    longer = (one for one in usable if few and one.training and len(one.pairs) >= ANSWERING_PAIRS)
    return _settled(run, best, why, next(longer, None))


def _settled(run: Run, best: _Reward, why: str, longer: _Reward | None) -> ChosenReward:
    """Decide for one column; ``longer`` is offered and changes nothing."""
    match, pairs, column = best.match, best.pairs, best.match.column
    notes = [f"the reward is a training reward ({shown(column)})"] * best.training
    if pairs.initial:
        before = shown(catalog.initial_column(match.key, column, run.columns))
        note = (
            f"{counted(pairs.initial, 'evaluation')} from before training, logged as {before}, stands beside "
        )
        notes.append(f"{note}the entropy of its own step")
    if best.how == "next" and best.averaged:
        what = (
            f"--pair next would pair points of run {shown(run.name)} that are means over different buckets "
        )
        hint = "use --pair same, or export the whole history in place of a chart"
        raise UsageError("pair-across-buckets", f"{what}of steps", hint)
    offer = None
    if longer is not None:
        numbers = {"evaluations": len(longer.pairs), "used": len(pairs)}
        offer = caution("training-reward-longer", **numbers, column=longer.match.column)
    return ChosenReward(
        choice=Choice(column=column, meaning=match.key.meaning, why=why, usable=finite(run, column).size),
        values=run.columns[column],
        pair=best.how,
        pair_why=best.why,
        pairs=pairs,
        notes=tuple(notes),
        offer=offer,
    )


def _paired(run: Run, entropy: Chosen, match: catalog.Match, pair: str | None) -> _Reward:
    """Pair one column as the user, or else its key says."""
    # Pairing points of a chart with the next step would leave the bucket that each is the mean of.
    average = any(averaged(run, name).any() for name in (entropy.choice.column, match.column))
    if pair is not None:
        how, why = pair, "named by the user"
    elif match.key.pair == "same":
        how = "same"
        why = "entropy and reward of the same policy stand on the same row, as far as the catalog knows"
    elif average:
        how, why = "same", "points are means over buckets of steps, and none is paired beyond its bucket"
    else:
        how = "next"
        why = "the row holds the entropy from before its update and the evaluation from after it"
    before = catalog.initial_column(match.key, match.column, run.columns)
    initial = run.columns[before] if before else None
    pairs = pair_values(run.step, entropy.values, run.columns[match.column], how, initial)
    return _Reward(match, how, why, average, pairs)


def _best_reward(run: Run, known: Sequence[catalog.Match], usable: Sequence[_Reward]) -> tuple[_Reward, str]:
    """Choose a validation, or the training reward where that gives too few pairs and fewer than training."""
    trainings = [one for one in usable if one.training]
    validations = [one for one in usable if not one.training]
    # By the catalog's order, then by pairs, then by name.
    validations.sort(key=lambda one: (one.match.rank, -len(one.pairs), one.match.column))
    enough = next((one for one in validations if len(one.pairs) >= ENOUGH_PAIRS), None)
    if enough is not None:
        others = [one.match.column for one in validations if one is not enough]
        more = f"; other validation columns: {listing(others, 4)}" if others else ""
        return enough, f"{enough.known_as} ({counted(len(enough.pairs), 'pair')}){more}"
    few, fewest = "the log has no validation reward", 0
    best = max(validations, key=lambda one: len(one.pairs), default=None)
    if best is not None:
        fewest = len(best.pairs)
        few = f"validation column {shown(best.match.column)} gives only {counted(fewest, 'pair')}, "
        few += f"{ENOUGH_PAIRS} are needed"
    longer = next((one for one in trainings if len(one.pairs) > fewest), None)
    if longer is None and best is not None:
        return best, f"{best.known_as}; no training reward gives more pairs"
    if not trainings:
        raise _missing(run, known, "reward")
    longer = longer or trainings[0]
    return longer, f"training reward: {few}; {longer.known_as}"


def finite(run: Run, column: str) -> FloatArray:
    """Return the finite values of a column."""
    return run.columns[column][np.isfinite(run.columns[column])]


def named(run: Run, wanted: str, option: str) -> str:
    """Return the column that the user names.

    Raises
    ------
    InputError
        ``column-not-found``, or ``column-not-numeric`` for one that holds text.
    """
    if wanted not in run.columns and wanted in run.texts:
        first = shown_cell(run.texts[wanted])
        what = f"{shown(wanted)} of run {shown(run.name)} holds no number: its first cell is {first}"
        raise InputError("column-not-numeric", what, f"name another column with {option}, {_NUMBERS}")
    return require_column(wanted, tuple(run.columns), run.source.path, option)


def _require_values(run: Run, column: str, option: str = "--entropy") -> None:
    if not finite(run, column).size:
        steps = counted(len(run.step), "step")
        what = f"{shown(column)} of run {shown(run.name)} has no finite value on any of {steps}"
        raise InputError("column-empty", what, f"name another column with {option} or --reward")


def _missing(run: Run, known: Sequence[catalog.Match], role: str) -> InputError:
    """Make the error where no column can play a role: empty, text, or not there, with the nearest names."""
    where = f"{shown_path(run.source.path)} (run {shown(run.name)})"
    if known:
        empty, steps = listing([match.column for match in known], 4), counted(len(run.step), "step")
        what = f"{where}: {empty} would be the {role} and has no finite value on any of {steps}"
        return InputError("column-empty", what, f"name another column with --{role} COLUMN")
    text = next(filter(catalog.is_metric, run.texts), None)
    if text is not None:
        what = f"{where}: {shown(text)} holds no number, its first cell is {shown_cell(run.texts[text])}"
        return InputError("column-not-numeric", what, f"name another column with --{role}, {_NUMBERS}")
    hint = f"name it with --{role} COLUMN; `entropylaw columns LOG` lists what was found"
    trainer = catalog.detect(run.names).trainer
    if trainer.halves:
        hint = f"{trainer.title} logs entropy and reward by two processes: name the folder with both logs"
    elif run.partial:
        hint = f"the file is a part of a log: name the file with the {role}, too, or the folder of both"
    columns = run.names[1:]
    if role == "entropy":
        hint += f". {trainer.absent}" if trainer.absent else ""
        alike, exact = list(filter(catalog.decoy, columns)), catalog.exact_names("entropy")
    else:
        alike = [name for name in columns if "reward" in folded(name)]
        exact = catalog.exact_names("validation", "training")
    close = list(dict.fromkeys([*alike, *nearest(exact, columns)]))[:12]
    near = (
        f"nearest by name: {listing(close)}"
        if close
        else f"none of {counted(len(columns), 'column')} is near"
    )
    near = near if columns else "it has no column beside its steps"
    what = f"{where} has no {role} column that the catalog knows; {near}"
    return InputError(f"no-{role}-column", what, hint)
