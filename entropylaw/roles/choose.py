"""Choice of the columns of entropy and reward of a run.

The user's columns have precedence over those of the catalog. Rewards are chosen by the pairs that they
give with the entropy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from entropylaw import units
from entropylaw.arrays import FloatArray
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, in_shell, listing, places, shown, shown_cell
from entropylaw.logs import catalog, suggest
from entropylaw.logs.catalog import Key
from entropylaw.logs.runs import Run
from entropylaw.logs.runs.joining import averaged
from entropylaw.logs.runs.step_column import folded, require_column
from entropylaw.logs.source import Meaning
from entropylaw.results.columns import Choice
from entropylaw.results.result import replace
from entropylaw.roles import settings as run_settings
from entropylaw.roles.pairing import NO_NEXT, REWARD_IS_TEXT, Pairs, pair_values
from entropylaw.units import MOST_NATS

# With fewer pairs, training rewards are more informative than the validation.
ENOUGH_PAIRS = 5
# So they are with fewer values, where there is no entropy: a state needs as many.
ENOUGH_VALUES = 8
# With fewer validation pairs a training reward with as many pairs is also used.
ANSWERING_PAIRS = 12
# So it is where the validation has entropies over less than this share of the training reward's range.
NARROW = 0.5
NAMED = "named by the user"
BY_NAME = "by its name, as the catalog has no column with a value"
# So many evaluations that are dropped for one reason are listed.
MOST_LISTED = 3
# A sampled estimate of a collapsed policy's entropy may fall this far below zero by rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """A column for one role, its values (of an entropy with the sign reversed if need be), and notes."""

    choice: Choice
    values: FloatArray
    notes: tuple[str, ...]


class Reward(NamedTuple):
    """A column that may be the reward: how it is paired with the entropy, the reason, and the pairs.

    Without an entropy ``pairing`` is empty.

    ``why`` is the reason for the column where it is chosen. ``longer`` names a training reward with many more
    pairs, where this column has few. ``named_unit`` is ``"percent"`` or ``"rate"`` where the user says it.
    """

    match: catalog.Match
    values: FloatArray
    pairing: str
    pairing_why: str
    averaged: bool
    pairs: Pairs
    why: str = ""
    longer: str = ""
    named_unit: str = ""

    @property
    def unit(self) -> units.RewardUnit:
        """The unit of its values: the one that the user names, or by the column's name and values."""
        if self.named_unit:
            return "rate"  # a percentage was divided by 100
        return units.reward_unit(self.match.column, self.values[np.isfinite(self.values)])

    @property
    def size(self) -> int:
        """The number of its pairs; in a log without an entropy of its values."""
        if self.pairing:
            return len(self.pairs)
        return 0 if self.pairs.unpaired is None else self.pairs.unpaired[0].size

    @property
    def is_enough(self) -> bool:
        """Whether there is an answer by that number."""
        return self.size >= (ENOUGH_PAIRS if self.pairing else ENOUGH_VALUES)

    @property
    def counted(self) -> str:
        """That number in words."""
        return counted(self.size, "pair" if self.pairing else "value")

    @property
    def training(self) -> bool:
        """Whether it is a training reward."""
        return self.match.key.meaning.kind == "training"

    @property
    def known_as(self) -> str:
        """Its key in the catalog."""
        meaning = self.match.key.meaning
        return f"{meaning.trainer}'s {meaning.kind} key {shown(self.match.key.template)}"

    @property
    def choice(self) -> Choice:
        """The column with the reasons for it."""
        column = self.match.column
        key = self.match.key
        return Choice(
            column=column,
            meaning=key.meaning,
            why=self.why,
            usable=int(np.isfinite(self.values).sum()),
            pair=self.pairing or None,
            label=key.label(column),
            unit=self.unit,
            sort=units.sort_of_number(column),
        )

    def notes(self, run: Run) -> Iterator[str]:
        """Note that it is a training reward, which evaluations are left out, and how initial ones pair."""
        column = self.match.column
        pairs = self.pairs
        if self.training:
            yield f"the reward is a training reward ({shown(column)})"
        if self.unit == "percent":
            yield f"{shown(column)} is in percent; --reward {in_shell(f'{column}:percent')} makes it a rate"
        for reason, at in pairs.lost.items():
            # The last evaluation of any log has no entropy after it, and reading has a note on text.
            if 0 < at.size <= MOST_LISTED and reason not in (NO_NEXT, REWARD_IS_TEXT):
                yield f"{reason}: {places('step', at.tolist())}"
        if pairs.initial:
            before = shown(catalog.initial_column(self.match.key, column, run.columns))
            evaluations = f"{counted(pairs.initial, 'evaluation')} from before training, logged as {before}"
            verb = "is" if pairs.initial == 1 else "are"
            yield f"{evaluations}, {verb} paired with the entropy of that step"


def choose_entropy(run: Run, column: str | None = None, reward: str | None = None) -> Chosen:
    """Choose the entropy column and make it positive; errors as of :func:`select`.

    ``reward`` is the column that the user names for the reward, which hints repeat.
    """
    if column is not None:
        name = named_column(run, column, "--entropy")
        unit = "" if name == column else units.named_unit(column)[1]
        return as_entropy(run, name, NAMED, accept_sum=True, unit=unit)
    matches = catalog.found(run, "entropy")
    usable = [match for match in matches if run.finite(match.column).size]
    if usable:
        key = usable[0].key
        reason = f"{key.meaning.trainer}'s key {shown(key.template)}"
        if usable[1:]:
            reason += f", preferred to {listing([match.column for match in usable[1:]], 4)}"
        return as_entropy(run, usable[0].column, reason)
    evident = suggest.evident(run, "entropy")
    if evident is None:
        raise suggest.missing(run, matches, "entropy", {"reward": reward} if reward else {})
    return as_entropy(run, evident, BY_NAME)


def as_entropy(
    run: Run, column: str, why: str, option: str = "--entropy", *, accept_sum: bool = False, unit: str = ""
) -> Chosen:
    """Take a column for an entropy: its meaning, its sign, and the errors where it is none.

    ``accept_sum`` accepts a column that a trainer logs as a sum, because of the user or of a class's name.
    ``unit`` is the one that the user gives; without it, the column's name says it.
    """
    match = next((match for match in catalog.found(run, "entropy") if match.column == column), None)
    meaning = match.key.meaning if match else Meaning(role="entropy", trainer="user")
    aggregation = run_settings.entropy_settings(run).aggregation
    where = f"{shown(column)} of run {shown(run.name)}"
    if units.is_perplexity(column):
        raise InputError(
            "entropy-is-perplexity",
            f"{where} is a perplexity by its name, the exponential of an entropy",
            f"name an entropy with {option}, or write the logarithm of the perplexity into a column",
        )
    if aggregation is not None and aggregation.value in run_settings.SUMS:
        raise InputError(
            "entropy-not-a-mean",
            f"{where} is a sum over tokens: its configuration has {aggregation.value} for "
            f"{shown(aggregation.name)}",
            "log the token mean (verl: actor.loss_agg_mode=token-mean)",
        )
    if not accept_sum and meaning.aggregation == "sequence sum":
        raise InputError(
            "entropy-not-a-mean",
            f"{where} is {meaning.trainer}'s sum over the tokens of a response, a mean was expected",
            f"divide it by the mean response length, or take it as it is with --entropy {column}",
        )
    if aggregation is not None and meaning.aggregation and aggregation.value in run_settings.MEANS:
        meaning = replace(meaning, aggregation=run_settings.MEANS[aggregation.value])
    authority = "as the user says" if unit else "by its name"
    nats, unit = units.nats_per_unit(f"{column}:{unit}" if unit else column)
    sign, notes = _entropy_sign(run, column, option, meaning.sign, nats)
    if unit != "nats":
        meaning = replace(meaning, unit=f"nats, converted from {unit}")
        notes += (f"{shown(column)} is in {unit} {authority}: it was multiplied by {nats:.6f}, to nats",)
    usable = run.finite(column).size
    choice = Choice(column=column, meaning=replace(meaning, sign=sign), why=why, usable=usable)
    return Chosen(choice=choice, values=run.columns[column] * (sign * nats), notes=notes)


def _entropy_sign(
    run: Run, column: str, option: str, expected: int, nats: float
) -> tuple[int, tuple[str, ...]]:
    """The sign of a column of entropies, with a note where it is negative or not as expected."""
    _check_values(run, column, option)
    values = run.finite(column)
    low = float(values.min())
    high = float(values.max())
    where = f"{shown(column)} of run {shown(run.name)}"
    if low < -_ROUNDING and high > _ROUNDING:
        below = int((values < 0).sum())
        above = int((values > 0).sum())
        raise InputError(
            "entropy-both-signs",
            f"{where} goes from {low:.6g} to {high:.6g} ({below} values below 0, {above} above); "
            "an entropy has one sign",
            f"name the policy's entropy with {option} COLUMN",
        )
    sign = -1 if low < -_ROUNDING else 1
    if (middle := float(np.median(values * sign)) * nats) > MOST_NATS:
        message = f"{where} has a median of {middle:.6g}; a mean entropy per token is at most about "
        hint = (
            "divide it by the mean response length, or log the token mean "
            "(verl: actor.loss_agg_mode=token-mean)"
        )
        if middle * units.nats_per_unit("bits")[0] <= MOST_NATS:
            hint += f"; if it is in bits: {option} {in_shell(f'{column}:bits')}"
        message += f"{MOST_NATS:g} nats, so that this is a sum over tokens"
        raise InputError("entropy-not-a-mean", message, hint)
    if sign < 0:
        return sign, (f"{shown(column)} is not positive: it is minus the entropy, its sign was reversed",)
    if expected < 0 and high > _ROUNDING:
        return sign, (f"{shown(column)} is not negated here, though its trainer negates it",)
    return sign, ()


def choose_rewards(
    run: Run, entropy: Chosen | None, column: str | None = None, pair: str | None = None
) -> list[Reward]:
    """Choose the reward columns by the pairs that they give, validation first; errors as of :func:`select`.

    Without an entropy they are chosen by their values.

    Without the ``column`` that the user names these are the best, those of its kind on other data sets, and
    the training reward where that one has few pairs or entropies from a part of the range alone. Columns
    without any pair are among them.
    """
    if pair not in (None, "same", "next"):
        raise UsageError(
            "pair-unknown", f"--pair is {shown(pair)}; same or next was expected", "use same or next"
        )
    unit = ""
    if column is not None and (name := named_column(run, column, "--reward")) != column:
        unit = units.named_unit(column)[1]
        column = name
        if unit == "percent":
            run = replace(run, columns={**run.columns, name: run.columns[name] / 100})
    best, usable = _best(run, entropy, column, pair)
    training = _longer_training(best, [reward for reward in usable if reward.training])
    longer = ""
    if training is not None:
        longer = (
            f"the training reward has {counted(training.size, 'evaluation')}, this one "
            f"{best.size}: --reward {in_shell(training.match.column)}"
        )
    rewards = [best._replace(longer=longer, named_unit=unit)]
    if column is None:
        rewards += _others_of_kind(best, usable)
        if training is not None:
            reason = f"the training reward with {training.counted}, fitted with the validation"
            rewards.append(training._replace(why=reason))
    if any(reward.pairing == "next" and reward.averaged for reward in rewards):
        raise UsageError(
            "pair-across-buckets",
            f"--pair next would pair points of run {shown(run.name)} that are means over different buckets "
            "of steps",
            "use --pair same, or export the whole history in place of a chart",
        )
    return rewards


def _others_of_kind(best: Reward, usable: Sequence[Reward]) -> list[Reward]:
    """The other validations of the best one's kind, in the catalog's order; none for a training reward."""
    kind = best.match.key.kind
    of_kind: list[Reward] = []
    for reward in sorted(usable, key=_catalog_order):
        same_kind = kind and reward.match.key.kind == kind and not (best.training or reward.training)
        if same_kind and reward.match != best.match:
            of_kind.append(reward._replace(why=f"{reward.known_as} ({reward.counted})"))
    return of_kind


def _best(
    run: Run, entropy: Chosen | None, column: str | None, pair: str | None
) -> tuple[Reward, Sequence[Reward]]:
    """The best reward, or the one that the user names; and all that the catalog has."""
    entropy_column = "" if entropy is None else entropy.choice.column
    of_rewards = catalog.found(run, "validation", "training")
    matches = [match for match in of_rewards if match.column != entropy_column]
    usable = [_paired(run, entropy, match, pair) for match in matches if run.finite(match.column).size]
    if column is not None:
        if column == entropy_column:
            raise UsageError(
                "same-column",
                f"{shown(column)} is named as entropy and as reward; two columns are needed",
                "name another one with --entropy or --reward",
            )
        _check_values(run, column)
        unknown = catalog.Match(column, Key(column, Meaning(role="reward", trainer="user")), 0)
        named_match = next((match for match in matches if match.column == column), unknown)
        return _paired(run, entropy, named_match, pair, NAMED), usable
    if not any(candidate.size for candidate in usable):
        taken = [entropy_column, *(match.column for match in matches)]
        evident = suggest.evident(run, "reward", taken)
        if evident:
            kind = "validation" if catalog.is_evaluation(evident) else "training"
            key = Key(evident, Meaning(role="reward", trainer="generic", kind=kind))
            return _paired(run, entropy, catalog.Match(evident, key, 0), pair, BY_NAME), usable
    if usable:
        return _best_of(usable), usable
    named = {"entropy": entropy_column} if entropy is not None and entropy.choice.why == NAMED else {}
    raise suggest.missing(run, matches, "reward", named)


def _longer_training(best: Reward, trainings: Sequence[Reward]) -> Reward | None:
    """The training reward that answers where a validation has few pairs, or a part of the entropies alone.

    None where there is none.
    """
    many = (training for training in trainings if training.size >= ANSWERING_PAIRS)
    longer = next((reward for reward in many if reward.pairing == "same" or not reward.averaged), None)
    if best.training or longer is None or best.size < ANSWERING_PAIRS:
        return None if best.training else longer
    if not best.pairing:
        return None
    # The ranges of the entropies, without a twentieth at each end.
    answered, whole = (np.ptp(np.quantile(reward.pairs.entropy, (0.05, 0.95))) for reward in (best, longer))
    return longer if answered < NARROW * whole else None


def _paired(
    run: Run, entropy: Chosen | None, match: catalog.Match, pair: str | None, why: str = ""
) -> Reward:
    """Pair one column as the user requests, or else as its key says; without an entropy nothing is paired."""
    entropy_column = "" if entropy is None else entropy.choice.column
    # Pairing points of a chart with the next step would leave the bucket that each is the mean of.
    average = any(averaged(run, name).any() for name in (entropy_column, match.column))
    if entropy is None:
        pairing = ""
        reason = ""
    elif pair is not None:
        pairing = pair
        reason = NAMED
    elif match.key.pair == "same":
        pairing = "same"
        reason = "the same policy's are on one row, by the catalog"
    elif average:
        pairing = "same"
        reason = "points are means over buckets, paired within them"
    else:
        pairing = "next"
        reason = "the row has the entropy before its update and the evaluation after it"
    before = catalog.initial_column(match.key, match.column, run.columns)
    values = run.columns[match.column]
    pairs = pair_values(
        run.step,
        None if entropy is None else entropy.values,
        values,
        pairing,
        initial=run.columns[before] if before else None,
        spoiled=run.spoiled.get(match.column, {}),
        spoiled_entropy=run.spoiled.get(entropy_column, {}),
    )
    return Reward(match, values, pairing, reason, average, pairs, why)


def _catalog_order(reward: Reward) -> tuple[int, int, str]:
    """By the catalog's order, then by pairs, then by name."""
    return reward.match.rank, -reward.size, reward.match.column


def _best_of(candidates: Sequence[Reward]) -> Reward:
    """Choose a validation, or the training reward where that gives too few pairs and fewer than training."""
    trainings = [candidate for candidate in candidates if candidate.training]
    validations = sorted((c for c in candidates if not c.training), key=_catalog_order)
    enough = next((candidate for candidate in validations if candidate.is_enough), None)
    if enough is not None:
        reason = f"{enough.known_as} ({enough.counted})"
        not_chosen = [candidate.match.column for candidate in validations if candidate is not enough]
        if not_chosen:
            reason += f"; other validation columns: {listing(not_chosen, 4)}"
        return enough._replace(why=reason)
    if not validations:
        # The first training reward in the catalog's order with at least half as many pairs as any.
        most = max(candidate.size for candidate in trainings)
        training = next(candidate for candidate in trainings if candidate.size * 2 >= most)
        return training._replace(
            why=f"training reward: the log has no validation reward; {training.known_as}"
        )
    best = max(validations, key=lambda candidate: candidate.size)
    longest = next((candidate for candidate in trainings if candidate.size > best.size), None)
    if longest is None:
        kind = "pairs" if best.pairing else "values"
        return best._replace(why=f"{best.known_as}; no training reward gives more {kind}")
    few = f"validation column {shown(best.match.column)} gives only {best.counted}, "
    needed = ENOUGH_PAIRS if best.pairing else ENOUGH_VALUES
    return longest._replace(why=f"training reward: {few}{needed} are needed; {longest.known_as}")


def named_column(run: Run, column: str, option: str) -> str:
    """Return the column that the user names.

    Raises ``column-not-found``, ``column-not-numeric``, or ``same-column`` where it counts the steps.
    """
    if column not in (*run.columns, *run.texts):
        column, _ = units.named_unit(column)
    if column not in run.columns and column in run.texts:
        cell = shown_cell(run.texts[column])
        raise InputError(
            "column-not-numeric",
            f"{shown(column)} of run {shown(run.name)} holds no number: its first cell is {cell}",
            f"name another column with {option}, {suggest.NUMBERS}",
        )
    if column not in run.columns and folded(column) == folded(run.step_column):
        raise UsageError(
            "same-column",
            f"{shown(column)}, which {option} names, is the step of run {shown(run.name)} already",
            f"name another column with {option}; those with numbers are {listing(run.names[1:])}",
        )
    return require_column(column, tuple(run.columns), run.source.path, option, width=run.width)


def _check_values(run: Run, column: str, option: str = "--entropy") -> None:
    """Raise ``column-empty`` where a column has no finite value."""
    if not run.finite(column).size:
        steps = counted(len(run.step), "step")
        raise InputError(
            "column-empty",
            f"{shown(column)} of run {shown(run.name)} has no finite value on any of {steps}",
            f"name another column with {option} or --reward",
        )
