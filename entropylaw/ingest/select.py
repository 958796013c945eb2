"""Choosing the columns that an analysis is about, one for each role, and pairing entropy with reward."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entropylaw.arguments import of_kind, text_or_none
from entropylaw.errors import InputError, UsageError
from entropylaw.ingest import catalog, regime
from entropylaw.ingest.joining import averaged
from entropylaw.ingest.pairing import MOST_NATS, Pairs, noise_of, pair_values
from entropylaw.ingest.run import Run, Series
from entropylaw.ingest.steps import by_folded_name, folded, require_column
from entropylaw.ingest.trainers import Key, names
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
        listed = [", ".join(f"{s:g}" for s in steps[:4]) + ", …" * (len(steps) > 4) for steps in there]
        reasons = "; ".join(f"{reason}: {number}" for reason, number in pairs.dropped.items())
        raise InputError(
            "no-pairs",
            f"run {shown(run.name)}: no step has both. {shown(chosen.choice.column)} is there at steps "
            f"{listed[0]}, {shown(rewarded.choice.column)} at steps {listed[1]} ({reasons})",
            rewarded.offer.sentence
            if rewarded.offer
            else "try --pair same or --pair next, or other columns with --entropy and --reward",
        )
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
        return _as_entropy(run, _named(run, wanted, "--entropy"), "named by the user", named=True)
    known = catalog.matches("entropy", tuple(run.columns), catalog.detect(run.names).trainer)
    usable = [match for match in known if _finite(run, match.column)]
    if not usable:
        raise _missing(run, known, "entropy")
    match = min(usable, key=lambda m: m.rank)
    others = [m.column for m in usable if m.column != match.column]
    why = f"{match.key.meaning.trainer}'s key {shown(match.key.template)}"
    why += f", preferred to {listing(others, 4)}" if others else ""
    return _as_entropy(run, match.column, why)


def choose_class(run: Run, kind: str, wanted: str | None = None) -> Chosen | None:
    """Choose the entropy of one class of tokens, ``kind`` "planning" or "execution", and undo its sign.

    None where no column has its name.

    Raises
    ------
    InputError
        As :func:`choose_entropy` with a column named; ``entropy-in-bits``.
    """
    option = f"--{kind}"
    column = first_usable(run, class_names(kind)) if wanted is None else _named(run, wanted, option)
    if column is None:
        return None
    # An entropy in bits is found, so that it can be refused by name.
    if re.search(r"(?:^|[\W_])bits?(?:$|[\W_])", column, re.IGNORECASE):
        raise InputError(
            "entropy-in-bits",
            f"{shown(column)} of run {shown(run.name)} is in bits by its name; every entropy here is in nats",
            "multiply the entropies of both classes by ln 2 = 0.693147 and name them without bits",
        )
    why = "by its name" if wanted is None else "named by the user"
    return _as_entropy(run, column, why, option, named=True)


def class_names(kind: str) -> tuple[str, ...]:
    """Names of the entropy of one class of tokens, those in bits among them."""
    found = tuple(name.replace("<class>", kind) for name in names("class_entropy"))
    return found + tuple(f"{name}_bits" for name in found)


def first_usable(run: Run, wanted: Sequence[str]) -> str | None:
    """Return the first of some names that the run has with a finite value; ``/`` and ``.`` count as ``_``."""
    columns = by_folded_name(run.columns)
    found = (columns[folded(name)] for name in wanted if folded(name) in columns)
    return next((name for name in found if _finite(run, name)), None)


def _as_entropy(run: Run, column: str, why: str, option: str = "--entropy", *, named: bool = False) -> Chosen:
    """Take a column for an entropy: its meaning, its sign, and the errors where it is none."""
    known = catalog.matches("entropy", tuple(run.columns), catalog.detect(run.names).trainer)
    unknown = Meaning(role="entropy", trainer="user")
    meaning = next((match.key.meaning for match in known if match.column == column), unknown)
    settings = regime.regime_of(run)
    if settings.is_sum:
        assert settings.aggregation is not None
        raise InputError(
            "entropy-not-a-mean",
            f"{shown(column)} of run {shown(run.name)} is a sum over tokens: its configuration has "
            f"{settings.aggregation.value} for {shown(settings.aggregation.name)}",
            "log the token mean (verl: actor.loss_agg_mode=token-mean)",
        )
    if meaning.aggregation == "sequence sum" and not named:
        raise InputError(
            "entropy-not-a-mean",
            f"{shown(column)} of run {shown(run.name)} is {meaning.trainer}'s sum over the tokens of a "
            "response, and the law is about the mean",
            f"divide it by the mean response length, or take it as it is with --entropy {column}",
        )
    if settings.mean and meaning.aggregation:
        meaning = replace(meaning, aggregation=settings.mean)
    values, sign, notes = _upright(run, column, option, negated=meaning.sign < 0)
    meaning = replace(meaning, sign=sign)
    choice = Choice(column=column, meaning=meaning, why=why, usable=_finite(run, column))
    return Chosen(choice=choice, values=values, notes=notes)


def _upright(run: Run, column: str, option: str, *, negated: bool) -> tuple[FloatArray, int, tuple[str, ...]]:
    """Return the column as an entropy, the sign that was applied, and a note where that is not expected."""
    _require_values(run, column, option)
    values = run.columns[column]
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    if low < -_ROUNDING and high > _ROUNDING:
        raise InputError(
            "entropy-both-signs",
            f"{shown(column)} of run {shown(run.name)} goes from {low:.6g} to {high:.6g} "
            f"({int((finite < 0).sum())} values below 0, {int((finite > 0).sum())} above); "
            "an entropy has one sign",
            f"name the policy's entropy with {option} COLUMN",
        )
    sign = -1 if low < -_ROUNDING else 1
    if (middle := float(np.median(finite * sign))) > MOST_NATS:
        raise InputError(
            "entropy-not-a-mean",
            f"{shown(column)} of run {shown(run.name)} has a median of {middle:.6g}; a mean entropy per "
            f"token is at most about {MOST_NATS:g} nats, so that this is a sum over tokens",
            "divide it by the mean response length, or log the token mean "
            "(verl: actor.loss_agg_mode=token-mean)",
        )
    if sign < 0:
        note = f"{shown(column)} is not positive: it is minus the entropy, its sign was turned"
        return -values, -1, (note,)
    note = f"{shown(column)} is not negated here, though its trainer negates it"
    return values, 1, (note,) if negated and high > _ROUNDING else ()


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
        raise UsageError(
            "pair-unknown", f"--pair is {shown(pair)}; same or next was expected", "use same or next"
        )
    rewards = _Rewards(run, entropy, pair)
    if wanted is not None:
        column = _named(run, wanted, "--reward")
        if column == entropy.choice.column:
            what = f"{shown(column)} is named as entropy and as reward; two columns are needed"
            raise UsageError("same-column", what, "name another one with --entropy or --reward")
        key = Key(template=column, meaning=Meaning(role="reward", trainer="user"))
        unknown = catalog.Match(column=column, key=key, rank=0)
        match = next((match for match in rewards.known if match.column == column), unknown)
        return rewards.settle(match, "named by the user")
    tried = [(match, rewards.pairs(match)) for match in rewards.validations]
    # By the catalog's order, then by pairs, then by name.
    tried.sort(key=lambda item: (item[0].rank, -len(item[1]), item[0].column))
    enough = [(match, len(pairs)) for match, pairs in tried if len(pairs) >= ENOUGH_PAIRS]
    if not enough:
        return _training_reward(rewards, tried)
    match, number = enough[0]
    others = [other.column for other, _ in tried if other is not match]
    more = f"; other validation columns: {listing(others, 4)}" if others else ""
    return rewards.settle(match, f"{_as_key(match)} ({counted(number, 'pair')}){more}")


def _training_reward(rewards: _Rewards, tried: Sequence[tuple[catalog.Match, Pairs]]) -> ChosenReward:
    """Choose the training reward, or the validation where even that gives more pairs."""
    best, pairs = max(tried, key=lambda item: len(item[1]), default=(None, ()))
    match = next((match for match in rewards.trainings if len(rewards.pairs(match)) > len(pairs)), None)
    if match is None and best is not None:
        return rewards.settle(best, f"{_as_key(best)}; no training reward gives more pairs")
    if not rewards.trainings:
        raise _missing(rewards.run, rewards.known, "reward")
    few = "the log has no validation reward"
    if best is not None:
        few = f"validation column {shown(best.column)} gives only {counted(len(pairs), 'pair')}, "
        few += f"{ENOUGH_PAIRS} are needed"
    match = match or rewards.trainings[0]
    return rewards.settle(match, f"training reward: {few}; {_as_key(match)}")


class _Rewards:
    """The reward columns of one run, the best first, and their pairs with its entropy.

    ``known`` are all, ``validations`` and ``trainings`` those with a finite value.
    """

    def __init__(self, run: Run, entropy: Chosen, pair: str | None) -> None:
        self.run, self.entropy, self.pair = run, entropy, pair
        columns = tuple(name for name in run.columns if name != entropy.choice.column)
        trainer = catalog.detect(run.names).trainer
        roles = ("validation", "training")
        validations, trainings = (catalog.matches(role, columns, trainer) for role in roles)
        self.known = (*validations, *trainings)
        self.validations = [match for match in validations if _finite(run, match.column)]
        self.trainings = [match for match in trainings if _finite(run, match.column)]

    def pairs(self, match: catalog.Match) -> Pairs:
        """Pair one column as the user, or else its key says."""
        columns = self.run.columns
        before = catalog.initial_column(match.key, match.column, columns)
        initial = columns[before] if before else None
        reward = columns[match.column]
        return pair_values(self.run.step, self.entropy.values, reward, self._how(match)[0], initial)

    def settle(self, match: catalog.Match, why: str) -> ChosenReward:
        """Decide for one column."""
        run = self.run
        _require_values(run, match.column)
        pairs = self.pairs(match)
        notes = []
        if match.key.meaning.kind == "training":
            notes.append(f"the reward is a training reward ({shown(match.column)})")
        if pairs.initial:
            before = catalog.initial_column(match.key, match.column, run.columns)
            notes.append(
                f"{counted(pairs.initial, 'evaluation')} from before training, logged as {shown(before)}, "
                "stands beside the entropy of its own step"
            )
        how, how_why = self._how(match)
        if how == "next" and self._averaged(match):
            raise UsageError(
                "pair-across-buckets",
                f"--pair next would pair points of run {shown(run.name)} that are means over different "
                "buckets of steps",
                "use --pair same, or export the whole history in place of a chart",
            )
        # Where this one has few pairs, a training reward that has many is offered.
        offer, few = None, len(pairs) < ANSWERING_PAIRS and match.key.meaning.kind != "training"
        for other in self.trainings if few else ():
            if (many := len(self.pairs(other))) >= ANSWERING_PAIRS:
                offer = caution(
                    "training-reward-longer", evaluations=many, used=len(pairs), column=other.column
                )
                break
        usable = _finite(run, match.column)
        return ChosenReward(
            choice=Choice(column=match.column, meaning=match.key.meaning, why=why, usable=usable),
            values=run.columns[match.column],
            pair=how,
            pair_why=how_why,
            pairs=pairs,
            notes=tuple(notes),
            offer=offer,
        )

    def _how(self, match: catalog.Match) -> tuple[str, str]:
        """Say how a column pairs, and why."""
        if self.pair is not None:
            return self.pair, "named by the user"
        if match.key.pair == "same":
            return "same", (
                "entropy and reward of the same policy stand on the same row, as far as the catalog knows"
            )
        if self._averaged(match):
            return "same", "points are means over buckets of steps, and none is paired beyond its bucket"
        return "next", "the row holds the entropy from before its update and the evaluation from after it"

    def _averaged(self, match: catalog.Match) -> bool:
        """Whether pairing with the next step would leave the bucket of steps that a point is the mean of."""
        return any(averaged(self.run, name).any() for name in (self.entropy.choice.column, match.column))


def _as_key(match: catalog.Match) -> str:
    return f"{match.key.meaning.trainer}'s {match.key.meaning.kind} key {shown(match.key.template)}"


def _finite(run: Run, column: str) -> int:
    return int(np.isfinite(run.columns[column]).sum())


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


def _require_values(run: Run, column: str, option: str = "--entropy") -> None:
    if not _finite(run, column):
        raise InputError(
            "column-empty",
            f"{shown(column)} of run {shown(run.name)} has no finite value on any of "
            f"{counted(len(run.step), 'step')}",
            f"name another column with {option} or --reward",
        )


def _missing(run: Run, known: Sequence[catalog.Match], role: str) -> InputError:
    """Make the error where no column can play a role: empty, text, or not there, with the nearest names."""
    where = f"{shown_path(run.source.path)} (run {shown(run.name)})"
    if known:
        return InputError(
            "column-empty",
            f"{where}: {listing([m.column for m in known], 4)} would be the {role} and has no finite value "
            f"on any of {counted(len(run.step), 'step')}",
            f"name another column with --{role} COLUMN",
        )
    text = next((name for name in run.texts if catalog.is_metric(name)), None)
    if text is not None:
        what = f"{where}: {shown(text)} holds no number, its first cell is {shown_cell(run.texts[text])}"
        hint = f"name another column with --{role}, or write numbers without unit and with a decimal point"
        return InputError("column-not-numeric", what, hint)
    hint = f"name it with --{role} COLUMN; `entropylaw columns LOG` lists what was found"
    trainer = catalog.detect(run.names).trainer
    if trainer.halves:
        hint = f"{trainer.title} logs entropy and reward by two processes: name the folder with both logs"
    elif run.partial:
        hint = f"the file is a part of a log: name the file with the {role}, too, or the folder of both"
    columns = run.names[1:]
    if role == "entropy":
        hint += f". {trainer.absent}" if trainer.absent else ""
        alike = [name for name in columns if catalog.decoy(name) is not None]
        close = [*alike, *nearest(catalog.exact_names("entropy"), columns)]
    else:
        alike = [name for name in columns if "reward" in folded(name)]
        close = [*alike, *nearest(catalog.exact_names("validation", "training"), columns)]
    near = f"none of {counted(len(columns), 'column')} is near"
    near = near if columns else "it has no column beside its steps"
    near = f"nearest by name: {listing(list(dict.fromkeys(close))[:12])}" if close else near
    what = f"{where} has no {role} column that the catalog knows; {near}"
    return InputError(f"no-{role}-column", what, hint)
