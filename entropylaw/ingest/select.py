"""Choosing the two columns that the law is about, and pairing them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from entropylaw.arguments import of_kind, text_or_none
from entropylaw.errors import InputError, UsageError
from entropylaw.ingest import catalog, regime
from entropylaw.ingest.joining import averaged
from entropylaw.ingest.noise import noise_of
from entropylaw.ingest.pairing import MOST_NATS, Pairs, pair_values
from entropylaw.ingest.run import Choice, Meaning, Run, Series
from entropylaw.ingest.steps import folded, require_column
from entropylaw.ingest.trainers import Key
from entropylaw.ingest.values import FloatArray
from entropylaw.ingest.wording import counted, listing, nearest, shown, shown_cell, shown_path

# Below this many, training rewards say more about the run than its validation does.
ENOUGH_PAIRS = 5
# Below this many validation pairs, a training reward that has as many is offered.
ANSWERING_PAIRS = 12
# A sampled estimate of a collapsed policy's entropy may fall this far below zero by rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenEntropy:
    """The entropy column, its values with the sign undone, and what was decided."""

    choice: Choice
    values: FloatArray
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenReward:
    """The reward column, how it pairs and with what result."""

    choice: Choice
    pair: str
    pair_why: str
    pairs: Pairs
    notes: tuple[str, ...]


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
    if not len(rewarded.pairs):
        raise _no_pairs(run, chosen, rewarded, training_offer(run, chosen, rewarded, pair))
    pairs = rewarded.pairs
    settings = regime.regime_of(run)
    offer = training_offer(run, chosen, rewarded, pair)
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
        cautions=regime.cautions(settings, run, chosen.values),
        offer=offer,
        entropy_sd=None if entropy_sd is None else noise_of(run, pairs, entropy_sd),
    )


def choose_entropy(run: Run, wanted: str | None = None) -> ChosenEntropy:
    """Choose the entropy column and undo its sign.

    Raises
    ------
    InputError
        As :func:`select`, save what concerns rewards.

    """
    trainer = catalog.detect(run.names).trainer
    known = catalog.entropies(tuple(run.columns), trainer)
    if wanted is not None:
        column = _named(run, wanted, "--entropy")
        match = next((m for m in known if m.column == column), None)
        meaning = match.key.meaning if match else Meaning(role="entropy", trainer="user")
        why = "named by the user"
    else:
        usable = [match for match in known if _finite(run, match.column)]
        if not usable:
            raise _no_entropy(run, known)
        match = min(usable, key=lambda m: m.rank)
        column, meaning = match.column, match.key.meaning
        others = [m.column for m in usable if m.column != column]
        why = f"{meaning.trainer}'s key {shown(match.key.template)}"
        why += f", preferred to {listing(others, 4)}" if others else ""
    settings = regime.regime_of(run)
    if settings.is_sum:
        raise _a_sum(run, column, settings)
    if meaning.aggregation == "sequence sum" and wanted is None:
        raise InputError(
            "entropy-not-a-mean",
            f"{shown(column)} of run {shown(run.name)} is {meaning.trainer}'s sum over the tokens of a "
            "response, and the law is about the mean",
            f"divide it by the mean response length, or take it as it is with --entropy {column}",
        )
    if settings.mean and meaning.aggregation:
        meaning = replace(meaning, aggregation=settings.mean)
    values, sign, notes = _upright(run, column, meaning)
    choice = Choice(column=column, meaning=replace(meaning, sign=sign), why=why, usable=_finite(run, column))
    return ChosenEntropy(choice=choice, values=values, notes=notes)


def choose_reward(
    run: Run, entropy: ChosenEntropy, wanted: str | None = None, pair: str | None = None
) -> ChosenReward:
    """Choose the reward column by the pairs that it gives, validation first.

    Raises
    ------
    InputError
        As :func:`select`, save what concerns the entropy alone. A column without any pair is returned.

    """
    if pair not in (None, "same", "next"):
        raise UsageError(
            "pair-unknown", f"--pair is {shown(pair)}; same or next was expected", "use same or next"
        )
    options = _Options(run, entropy, pair)
    columns = tuple(name for name in run.columns if name != entropy.choice.column)
    trainer = catalog.detect(run.names).trainer
    validations = catalog.validations(columns, trainer)
    trainings = [m for m in catalog.trainings(columns, trainer) if m not in validations]
    if wanted is not None:
        column = _named(run, wanted, "--reward")
        if column == entropy.choice.column:
            raise UsageError(
                "same-column",
                f"{shown(column)} is named as entropy and as reward; two columns are needed",
                "name another one with --entropy or --reward",
            )
        match = next((m for m in (*validations, *trainings) if m.column == column), None)
        key = match.key if match else Key(template=column, meaning=Meaning(role="reward", trainer="user"))
        return options.reward(catalog.Match(column=column, key=key, rank=0), "named by the user")
    tried = options.ordered(validations)
    for match, pairs in tried:
        if len(pairs) >= ENOUGH_PAIRS:
            others = [m.column for m, _ in tried if m is not match]
            more = f"; other validation columns: {listing(others, 4)}" if others else ""
            return options.reward(match, f"{_as_key(match)} ({counted(len(pairs), 'pair')}){more}")
    return _training_reward(options, tried, trainings) or _refuse_reward(run, (*validations, *trainings))


def _training_reward(
    options: _Options,
    tried: list[tuple[catalog.Match, Pairs]],
    trainings: Sequence[catalog.Match],
) -> ChosenReward | None:
    """Choose the training reward, or the validation where even that gives more pairs."""
    best = max(tried, key=lambda item: len(item[1]), default=None)
    few = (
        f"training reward: validation column {shown(best[0].column)} gives only "
        f"{counted(len(best[1]), 'pair')}, {ENOUGH_PAIRS} are needed"
        if best
        else "training reward: the log has no validation reward"
    )
    for match in sorted(trainings, key=lambda m: m.rank):
        pairs = options.pairs(match)
        if len(pairs) > (len(best[1]) if best else 0):
            return options.reward(match, f"{few}; {_as_key(match)}")
    if best:
        return options.reward(best[0], f"{_as_key(best[0])}; no training reward gives more pairs")
    usable = [m for m in trainings if _finite(options.run, m.column)]
    return options.reward(usable[0], f"{few}; {_as_key(usable[0])}") if usable else None


def training_offer(run: Run, entropy: ChosenEntropy, reward: ChosenReward, pair: str | None) -> str:
    """Name the training reward that has many pairs where the one that is used has few; empty without any.

    What is used is not changed by it.
    """
    few = len(reward.pairs)
    if few >= ANSWERING_PAIRS or reward.choice.meaning.kind == "training":
        return ""
    options = _Options(run, entropy, pair)
    columns = tuple(name for name in run.columns if name != entropy.choice.column)
    known = catalog.trainings(columns, catalog.detect(run.names).trainer)
    for match in sorted(known, key=lambda m: m.rank):
        many = len(options.pairs(match)) if _finite(run, match.column) else 0
        if many >= ANSWERING_PAIRS:
            flag = f"--reward {shlex.quote(match.column)}"
            return f"the training reward has {counted(many, 'evaluation')}, this one {few}: {flag}"
    return ""


class _Options:
    """Pairs of one run's entropy with any reward column."""

    def __init__(self, run: Run, entropy: ChosenEntropy, pair: str | None) -> None:
        self.run = run
        self.entropy = entropy.values
        self.pair = pair
        self._averaged = bool(averaged(run, entropy.choice.column).any())

    def pairs(self, match: catalog.Match) -> Pairs:
        """Pair one column as the user, or else its key says."""
        run = self.run
        before = catalog.initial_column(match.key, match.column, run.columns)
        return pair_values(
            run.step,
            self.entropy,
            run.columns[match.column],
            self.how(match),
            run.columns[before] if before else None,
        )

    def how(self, match: catalog.Match) -> str:
        """Say how a column pairs."""
        return self.pair or ("same" if self.across_averages(match) else match.key.pair)

    def across_averages(self, match: catalog.Match) -> bool:
        """Whether pairing with the next step would leave the bucket of steps that a point is the mean of."""
        return self._averaged or bool(averaged(self.run, match.column).any())

    def ordered(self, found: Sequence[catalog.Match]) -> list[tuple[catalog.Match, Pairs]]:
        """List columns with a finite value: by the catalog's order, then by pairs, then by name."""
        usable = [(m, self.pairs(m)) for m in found if _finite(self.run, m.column)]
        return sorted(usable, key=lambda item: (item[0].rank, -len(item[1]), item[0].column))

    def reward(self, match: catalog.Match, why: str) -> ChosenReward:
        """Settle on one column."""
        _require_values(self.run, match.column)
        pairs = self.pairs(match)
        notes = []
        if match.key.meaning.kind == "training":
            notes.append(f"the reward is a training reward ({shown(match.column)})")
        if pairs.initial:
            before = catalog.initial_column(match.key, match.column, self.run.columns)
            notes.append(
                f"{counted(pairs.initial, 'evaluation')} from before training, logged as {shown(before)}, "
                "stands beside the entropy of its own step"
            )
        how = self.how(match)
        if how == "next" and self.across_averages(match):
            raise UsageError(
                "pair-across-buckets",
                f"--pair next would pair points of run {shown(self.run.name)} that are means over different "
                "buckets of steps",
                "use --pair same, or export the whole history in place of a chart",
            )
        choice = Choice(
            column=match.column,
            meaning=match.key.meaning,
            why=why,
            usable=_finite(self.run, match.column),
        )
        return ChosenReward(
            choice=choice, pair=how, pair_why=self._why(match), pairs=pairs, notes=tuple(notes)
        )

    def _why(self, match: catalog.Match) -> str:
        if self.pair is None and match.key.pair == "next" and self.across_averages(match):
            return "points are means over buckets of steps, and none is paired beyond its bucket"
        return _pair_why(match.key, self.pair)


def _pair_why(key: Key, asked: str | None) -> str:
    if asked is not None:
        return "named by the user"
    if key.pair == "next":
        return "the row holds the entropy from before its update and the evaluation from after it"
    return "entropy and reward of the same policy stand on the same row, as far as the catalog knows"


def _upright(run: Run, column: str, meaning: Meaning) -> tuple[FloatArray, int, tuple[str, ...]]:
    """Return the column as an entropy, the sign that was applied, and a note where it was -1."""
    _require_values(run, column)
    values = run.columns[column]
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    if low < -_ROUNDING and high > _ROUNDING:
        raise InputError(
            "entropy-both-signs",
            f"{shown(column)} of run {shown(run.name)} goes from {low:.6g} to {high:.6g} "
            f"({int((finite < 0).sum())} values below 0, {int((finite > 0).sum())} above); "
            "an entropy has one sign",
            "name the policy's entropy with --entropy COLUMN",
        )
    sign = -1 if low < -_ROUNDING else 1
    middle = float(np.median(finite * sign))
    if middle > MOST_NATS:
        raise InputError(
            "entropy-not-a-mean",
            f"{shown(column)} of run {shown(run.name)} has a median of {middle:.6g}; a mean entropy per "
            f"token is at most about {MOST_NATS:g} nats, so that this is a sum over tokens",
            "divide it by the mean response length, or log the token mean "
            "(verl: actor.loss_agg_mode=token-mean)",
        )
    if sign > 0:
        expected = meaning.sign < 0 and high > _ROUNDING
        notes = (f"{shown(column)} is not negated here, though its trainer negates it",) if expected else ()
        return values, 1, notes
    return -values, -1, (f"{shown(column)} is not positive: it is minus the entropy, its sign was turned",)


def _a_sum(run: Run, column: str, settings: regime.Regime) -> InputError:
    assert settings.aggregation is not None
    return InputError(
        "entropy-not-a-mean",
        f"{shown(column)} of run {shown(run.name)} is a sum over tokens: its configuration has "
        f"{settings.aggregation.value} for {shown(settings.aggregation.name)}",
        "log the token mean (verl: actor.loss_agg_mode=token-mean)",
    )


def _named(run: Run, wanted: str, option: str) -> str:
    """Return the column that the user names.

    Raises
    ------
    InputError
        ``column-not-found``, or ``column-not-numeric`` for one that holds text.

    """
    if wanted not in run.columns and wanted in run.texts:
        raise InputError(
            "column-not-numeric",
            f"{shown(wanted)} of run {shown(run.name)} holds no number: its first cell is "
            f"{shown_cell(run.texts[wanted])}",
            f"name another column with {option}, or write numbers without unit and with a decimal point",
        )
    return require_column(wanted, tuple(run.columns), run.source.path, option)


def _finite(run: Run, column: str) -> int:
    return int(np.isfinite(run.columns[column]).sum())


def _require_values(run: Run, column: str) -> None:
    if not _finite(run, column):
        rows = len(run.step)
        raise InputError(
            "column-empty",
            f"{shown(column)} of run {shown(run.name)} has no finite value on any of {counted(rows, 'step')}",
            "name another column with --entropy or --reward",
        )


def _as_key(match: catalog.Match) -> str:
    return f"{match.key.meaning.trainer}'s {match.key.meaning.kind} key {shown(match.key.template)}"


def _no_entropy(run: Run, known: Sequence[catalog.Match]) -> InputError:
    return _missing_role(
        run, known, "entropy", catalog.exact_names("entropy"), lambda name: catalog.decoy(name) is not None
    )


def _refuse_reward(run: Run, known: Sequence[catalog.Match]) -> ChosenReward:
    raise _missing_role(
        run,
        known,
        "reward",
        catalog.exact_names("validation", "training"),
        lambda name: "reward" in folded(name),
    )


def _missing_role(
    run: Run,
    known: Sequence[catalog.Match],
    role: str,
    names: Sequence[str],
    resembles: Callable[[str], bool],
) -> InputError:
    """Make the error where no column can play a role: empty, text, or not there, with the nearest names."""
    where = f"{shown_path(run.source.path)} (run {shown(run.name)})"
    if known:
        return InputError(
            "column-empty",
            f"{where}: {listing([m.column for m in known], 4)} would be the {role} and has no finite value "
            f"on any of {counted(len(run.step), 'step')}",
            f"name another column with --{role} COLUMN",
        )
    texts = {name: cell for name, cell in run.texts.items() if catalog.is_metric(name)}
    if texts:
        name, cell = next(iter(texts.items()))
        return InputError(
            "column-not-numeric",
            f"{where}: {shown(name)} holds no number, its first cell is {shown_cell(cell)}",
            f"name another column with --{role}, or write numbers without unit and with a decimal point",
        )
    columns = run.names[1:]
    close = list(dict.fromkeys([*filter(resembles, columns), *nearest(names, columns)]))[:12]
    found = "it has no column beside its steps"
    if columns:
        found = f"none of {counted(len(columns), 'column')} is near"
    if close:
        found = f"nearest by name: {listing(close)}"
    hint = f"name it with --{role} COLUMN; `entropylaw columns LOG` lists what was found"
    trainer = catalog.detect(run.names).trainer
    if trainer.halves:
        hint = f"{trainer.title} logs entropy and reward by two processes: name the folder with both logs"
    elif run.partial:
        hint = f"the file is a part of a log: name the file with the {role}, too, or the folder of both"
    absent = trainer.absent if role == "entropy" else None
    return InputError(
        f"no-{role}-column",
        f"{where} has no {role} column that the catalog knows; {found}",
        f"{hint}. {absent}" if absent else hint,
    )


def _no_pairs(run: Run, entropy: ChosenEntropy, reward: ChosenReward, offer: str) -> InputError:
    def steps(values: FloatArray) -> str:
        there = run.step[np.isfinite(values)]
        return ", ".join(f"{step:g}" for step in there[:4]) + (", …" if len(there) > 4 else "")

    why: Mapping[str, int] = reward.pairs.dropped
    reasons = "; ".join(f"{reason}: {number}" for reason, number in why.items())
    column = reward.choice.column
    return InputError(
        "no-pairs",
        f"run {shown(run.name)}: no step has both. {shown(entropy.choice.column)} is there at steps "
        f"{steps(entropy.values)}, {shown(column)} at steps {steps(run.columns[column])} ({reasons})",
        offer or "try --pair same or --pair next, or other columns with --entropy and --reward",
    )
