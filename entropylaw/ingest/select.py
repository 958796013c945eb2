"""Choosing the columns that an analysis is about, one for each role, pairing them, and saying why these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from entropylaw.arguments import of_kind, text_or_none
from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.ingest import catalog, regime
from entropylaw.ingest.joining import averaged
from entropylaw.ingest.pairing import MOST_NATS, Pairs, noise_of, pair_values
from entropylaw.ingest.run import Run, Series
from entropylaw.ingest.steps import folded, require_column
from entropylaw.ingest.trainers import Key
from entropylaw.ingest.values import FloatArray
from entropylaw.ingest.wording import counted, listing, nearest, shown, shown_cell, shown_path
from entropylaw.results.columns import Candidate, Choice, ColumnReport, Decoy, Meaning, Refusal
from entropylaw.results.fields import replace
from entropylaw.results.findings import Finding, caution, sentences

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


class Paired(NamedTuple):
    """A column that may be the reward: how it pairs with the entropy, why so, and the pairs."""

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
        """What the catalog knows it as."""
        meaning = self.match.key.meaning
        return f"{meaning.trainer}'s {meaning.kind} key {shown(self.match.key.template)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenReward(Chosen):
    """The reward column, how it pairs and with what result; ``offer`` names one with more pairs, if any."""

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
    ``dropped`` and ``notes`` are the selection's own; what reading dropped and decided stands in the run.

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
    settings = regime.regime_of(run)
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
        notes=(*chosen.notes, *regime.notes(settings), *rewarded.notes),
        findings=regime.findings(settings, run, chosen.values),
        offer=rewarded.offer,
        entropy_sd=None if entropy_sd is None else noise_of(run, pairs, entropy_sd),
    )


def choose_entropy(run: Run, wanted: str | None = None) -> Chosen:
    """Choose the entropy column and undo its sign; errors as of :func:`select`."""
    if wanted is not None:
        return as_entropy(run, named(run, wanted, "--entropy"), "named by the user", own=True)
    known = catalog.found(run, "entropy")
    usable = [match for match in known if finite(run, match.column).size]
    if not usable:
        raise _missing(run, known, "entropy")
    key, others = usable[0].key, [match.column for match in usable[1:]]
    why = f"{key.meaning.trainer}'s key {shown(key.template)}"
    why += f", preferred to {listing(others, 4)}" if others else ""
    return as_entropy(run, usable[0].column, why)


def as_entropy(run: Run, column: str, why: str, option: str = "--entropy", *, own: bool = False) -> Chosen:
    """Take a column for an entropy: its meaning, its sign, and the errors where it is none.

    ``own`` says that the user, or a name of the two-phase curves, vouches for a sum that a trainer logs.
    """
    match = next((match for match in catalog.found(run, "entropy") if match.column == column), None)
    meaning = match.key.meaning if match else Meaning(role="entropy", trainer="user")
    settings = regime.regime_of(run)
    where = f"{shown(column)} of run {shown(run.name)}"
    if settings.is_sum and settings.aggregation is not None:
        name, value = settings.aggregation
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
    values, usable = run.columns[column], finite(run, column).size
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


def choose_reward(
    run: Run, entropy: Chosen, wanted: str | None = None, pair: str | None = None
) -> ChosenReward:
    """Choose the reward column by the pairs that it gives, validation first; errors as of :func:`select`.

    A column without any pair is returned.
    """
    if pair not in (None, "same", "next"):
        what = f"--pair is {shown(pair)}; same or next was expected"
        raise UsageError("pair-unknown", what, "use same or next")
    own = entropy.choice.column
    known = [match for match in catalog.found(run, "validation", "training") if match.column != own]
    usable = [_paired(run, entropy, match, pair) for match in known if finite(run, match.column).size]
    trainings, validations = ([one for one in usable if one.training is kind] for kind in (True, False))
    if wanted is None:
        best, why = _best_reward(run, known, validations, trainings)
    else:
        column, why = named(run, wanted, "--reward"), "named by the user"
        if column == own:
            what = f"{shown(column)} is named as entropy and as reward; two columns are needed"
            raise UsageError("same-column", what, "name another one with --entropy or --reward")
        _require_values(run, column)
        unknown = catalog.Match(column, Key(column, Meaning(role="reward", trainer="user")), 0)
        match = next((match for match in known if match.column == column), unknown)
        best = _paired(run, entropy, match, pair)
    return _settled(run, best, why, trainings)


def _settled(run: Run, best: Paired, why: str, trainings: Sequence[Paired]) -> ChosenReward:
    """Decide for one column; where it has few pairs, a training reward that has many is offered."""
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
    few, offer = len(pairs) < ANSWERING_PAIRS and not best.training, None
    longer = next((one for one in trainings if few and len(one.pairs) >= ANSWERING_PAIRS), None)
    if longer is not None:
        numbers = {"evaluations": len(longer.pairs), "used": len(pairs)}
        offer = caution("training-reward-longer", **numbers, column=longer.match.column)
    return ChosenReward(
        choice=Choice(column=column, meaning=match.key.meaning, why=why, usable=finite(run, column).size),
        values=run.columns[column],
        best=best,
        notes=tuple(notes),
        offer=offer,
    )


def _paired(run: Run, entropy: Chosen, match: catalog.Match, pair: str | None) -> Paired:
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
    return Paired(match, how, why, average, pairs)


def _best_reward(
    run: Run, known: Sequence[catalog.Match], validations: list[Paired], trainings: Sequence[Paired]
) -> tuple[Paired, str]:
    """Choose a validation, or the training reward where that gives too few pairs and fewer than training."""
    # By the catalog's order, then by pairs, then by name.
    validations.sort(key=lambda one: (one.match.rank, -len(one.pairs), one.match.column))
    enough = next((one for one in validations if len(one.pairs) >= ENOUGH_PAIRS), None)
    if enough is not None:
        others = [one.match.column for one in validations if one is not enough]
        more = f"; other validation columns: {listing(others, 4)}" if others else ""
        return enough, f"{enough.known_as} ({counted(len(enough.pairs), 'pair')}){more}"
    if not (validations or trainings):
        raise _missing(run, known, "reward")
    if not validations:
        longer = next((one for one in trainings if len(one.pairs)), trainings[0])
        return longer, f"training reward: the log has no validation reward; {longer.known_as}"
    best = max(validations, key=lambda one: len(one.pairs))
    longest = next((one for one in trainings if len(one.pairs) > len(best.pairs)), None)
    if longest is None:
        return best, f"{best.known_as}; no training reward gives more pairs"
    few = f"validation column {shown(best.match.column)} gives only {counted(len(best.pairs), 'pair')}, "
    return longest, f"training reward: {few}{ENOUGH_PAIRS} are needed; {longest.known_as}"


def finite(run: Run, column: str) -> FloatArray:
    """Return the finite values of a column."""
    return run.columns[column][np.isfinite(run.columns[column])]


def named(run: Run, wanted: str, option: str) -> str:
    """Return the column that the user names; raises ``column-not-found`` or ``column-not-numeric``."""
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


def explain(
    run: Run, *, entropy: str | None = None, reward: str | None = None, pair: str | None = None
) -> ColumnReport:
    """Say what :func:`select` would do with the same arguments, and why; an error is reported, not raised."""
    chosen: Chosen | None = None
    rewarded: ChosenReward | None = None
    problem: Refusal | None = None
    try:
        chosen = choose_entropy(run, entropy)
        rewarded = choose_reward(run, chosen, reward, pair)
        select(run, entropy=entropy, reward=reward, pair=pair)
    except EntropyLawError as error:
        problem = Refusal(slug=error.slug, message=error.message, hint=error.hint)
    found = catalog.detect(run.names)
    entropies = _candidates(run, catalog.found(run, "entropy"), chosen)
    rewards = _candidates(run, catalog.found(run, "validation", "training"), rewarded, before=entropies)
    listed = {candidate.column for candidate in (*entropies, *rewards)}
    reasons = ((name, catalog.decoy(name)) for name in (*run.columns, *run.texts) if name not in listed)
    decoys = tuple(Decoy(column=name, why=why) for name, why in reasons if why)
    weights = {name: finite(run, name) for name in catalog.coefficients(run.columns)}
    settings = regime.regime_of(run)
    notes = [*run.notes, *(chosen.notes if chosen else ()), *regime.notes(settings)]
    findings = [*regime.findings(settings, run, chosen.values if chosen else None)]
    paired: dict[str, Any] = {}
    if rewarded is not None:
        notes, findings = [*notes, *rewarded.notes], [*findings, *filter(None, [rewarded.offer])]
        pairs = rewarded.best.pairs
        paired = {"pair": rewarded.best.how, "pair_why": rewarded.best.why, "pairs": len(pairs)}
        paired |= {"unpaired_entropy": pairs.unpaired_entropy, "dropped": pairs.dropped}
    others = set(run.names) - listed - {decoy.column for decoy in decoys} - set(weights) - {run.step_column}
    return ColumnReport(
        run=run.name,
        source=run.source,
        trainer=found.trainer.name,
        trainer_why=found.why,
        step_column=run.step_column,
        step_why=run.step_why,
        steps=len(run.step),
        first_step=float(run.step[0]),
        last_step=float(run.step[-1]),
        entropy=entropies,
        reward=rewards,
        decoys=decoys,
        coefficients={name: (float(x[0]), float(x[-1])) for name, x in weights.items() if x.size},
        read_dropped=run.dropped,
        notes=tuple(notes),
        cautions=sentences(findings, "caution"),
        other_columns=len(others),
        texts=tuple(run.texts),
        problem=problem,
        **paired,
    )


def _candidates(
    run: Run, matches: Sequence[catalog.Match], chosen: Chosen | None, before: Sequence[Candidate] = ()
) -> tuple[Candidate, ...]:
    """List the used one first, then the catalog's order; a column that the user names joins in."""
    used = chosen.choice if chosen else None
    taken = {candidate.column for candidate in before}
    meanings = {used.column: used.meaning} if used else {}
    for match in matches:
        if match.column not in taken:
            meanings.setdefault(match.column, match.key.meaning)
    return tuple(_candidate(run, column, meaning, used) for column, meaning in meanings.items())


def _candidate(run: Run, column: str, meaning: Meaning, used: Choice | None) -> Candidate:
    values = finite(run, column)
    is_used = used is not None and used.column == column
    why = f"{meaning.trainer}'s {meaning.kind or 'entropy'} column{'; another one is used' if used else ''}"
    return Candidate(
        column=column,
        meaning=meaning,
        usable=values.size,
        low=float(values.min()) if values.size else None,
        high=float(values.max()) if values.size else None,
        used=is_used,
        why=used.why if used and is_used else why if values.size else "no finite value",
    )
