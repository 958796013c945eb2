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
# Where a validation has fewer pairs, a training reward with at least as many is fitted beside it,
ANSWERING_PAIRS = 12
# and also where the entropies of the validation span less than this share of the training reward's.
NARROW_SHARE = 0.5
NAMED = "named by the user"
BY_NAME = "by its name, as the catalog has no column with a value"
# Up to this many evaluations that are dropped for one reason are listed.
MOST_LISTED = 3
# A sampled estimate of a collapsed policy's entropy may be this far below zero by rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """A column for one role, its values (of an entropy with the sign reversed if need be), and notes."""

    choice: Choice
    values: FloatArray
    notes: tuple[str, ...]


class Reward(NamedTuple):
    """A column that may be the reward: how it is paired with the entropy, the reason, and the pairs.

    ``averaged`` says whether the entropy or the reward are means over several steps. ``why`` is the reason
    for the column where it is chosen. ``offer`` says how to name a training reward with many more pairs,
    where this column has few. ``named_unit`` is ``"percent"`` or ``"rate"`` where the user gives it.
    """

    match: catalog.Match
    values: FloatArray
    pairing: str
    pairing_why: str
    averaged: bool
    pairs: Pairs
    why: str = ""
    offer: str = ""
    named_unit: str = ""

    @property
    def unit(self) -> units.RewardUnit:
        """The unit of its values: the one that the user names, or by the column's name and values."""
        if self.named_unit:
            return "rate"  # a percentage was divided by 100
        return units.reward_unit(self.match.column, self.values[np.isfinite(self.values)])

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
            pair=self.pairing,
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
    """Choose the entropy column and make it positive; errors as of :func:`entropylaw.roles.select.select`.

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
    meanings = [match.key.meaning for match in catalog.found(run, "entropy") if match.column == column]
    meaning = meanings[0] if meanings else Meaning(role="entropy", trainer="user")
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
            f"{where} is {meaning.trainer}'s sum over the tokens of a response, and the law is about the "
            "mean",
            f"divide it by the mean response length, or take it as it is with --entropy {column}",
        )
    if aggregation is not None and meaning.aggregation and aggregation.value in run_settings.MEANS:
        meaning = replace(meaning, aggregation=run_settings.MEANS[aggregation.value])
    authority = "as the user says" if unit else "by its name"
    nats, logged_unit = units.nats_per_unit(f"{column}:{unit}" if unit else column)
    sign, notes = _entropy_sign(run, column, option, meaning.sign, nats)
    if logged_unit != "nats":
        meaning = replace(meaning, unit=f"nats, converted from {logged_unit}")
        converted = f"it was multiplied by {nats:.6f}, to nats"
        notes += (f"{shown(column)} is in {logged_unit} {authority}: {converted}",)
    usable = run.finite(column).size
    choice = Choice(column=column, meaning=replace(meaning, sign=sign), why=why, usable=usable)
    return Chosen(choice=choice, values=run.columns[column] * (sign * nats), notes=notes)


def _entropy_sign(
    run: Run, column: str, option: str, expected: int, nats: float
) -> tuple[int, tuple[str, ...]]:
    """The sign of a column of entropies, with a note where it is negative or not as expected.

    ``nats`` is one unit of the column in nats. Raises InputError ``column-empty``, ``entropy-both-signs``;
    ``entropy-not-a-mean`` for values that no mean over tokens can have.
    """
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
    median = float(np.median(values * sign)) * nats
    if median > MOST_NATS:
        hint = (
            "divide it by the mean response length, or log the token mean "
            "(verl: actor.loss_agg_mode=token-mean)"
        )
        if median * units.nats_per_unit("bits")[0] <= MOST_NATS:
            hint += f"; if it is in bits: {option} {in_shell(f'{column}:bits')}"
        raise InputError(
            "entropy-not-a-mean",
            f"{where} has a median of {median:.6g}; a mean entropy per token is at most about "
            f"{MOST_NATS:g} nats, so that this is a sum over tokens",
            hint,
        )
    if sign < 0:
        return sign, (f"{shown(column)} is not positive: it is minus the entropy, its sign was reversed",)
    if expected < 0 and high > _ROUNDING:
        return sign, (f"{shown(column)} is not negated here, though its trainer negates it",)
    return sign, ()


def choose_rewards(
    run: Run, entropy: Chosen, column: str | None = None, pair: str | None = None
) -> list[Reward]:
    """Choose the reward columns by the pairs that they give; the first is the answer's.

    It is the ``column`` that the user names. Without one it is the best of the catalog, a validation where
    there is one; after it come those of its kind on other data sets, and the training reward where the best
    has few pairs, or entropies from a part of the range alone. Columns without any pair are among them.

    Errors as of :func:`entropylaw.roles.select.select`.
    """
    if pair not in (None, "same", "next"):
        raise UsageError(
            "pair-unknown", f"--pair is {shown(pair)}; same or next was expected", "use same or next"
        )
    unit = ""
    if column is not None:
        name = named_column(run, column, "--reward")
        if name != column:
            # The user's name for the column has a unit behind it.
            unit = units.named_unit(column)[1]
            column = name
        if unit == "percent":
            run = replace(run, columns={**run.columns, name: run.columns[name] / 100})
    best, of_catalog = _best(run, entropy, column, pair)
    training = _longer_training(best, [reward for reward in of_catalog if reward.training])
    offer = ""
    if training is not None:
        offer = (
            f"the training reward has {counted(len(training.pairs), 'evaluation')}, this one "
            f"{len(best.pairs)}: --reward {in_shell(training.match.column)}"
        )
    rewards = [best._replace(offer=offer, named_unit=unit)]
    if column is None:
        rewards += _others_of_kind(best, of_catalog)
        if training is not None:
            pairs = counted(len(training.pairs), "pair")
            reason = f"the training reward with {pairs}, fitted with the validation"
            rewards.append(training._replace(why=reason))
    if any(reward.pairing == "next" and reward.averaged for reward in rewards):
        raise UsageError(
            "pair-across-buckets",
            f"--pair next would pair points of run {shown(run.name)} that are means over different buckets "
            "of steps",
            "use --pair same, or export the whole history in place of a chart",
        )
    return rewards


def _others_of_kind(best: Reward, of_catalog: Sequence[Reward]) -> list[Reward]:
    """The other validations of the best one's kind, in the catalog's order; none for a training reward."""
    kind = best.match.key.kind
    if best.training or not kind:
        return []
    of_kind: list[Reward] = []
    for reward in sorted(of_catalog, key=_catalog_order):
        is_other = reward.match != best.match and not reward.training
        if is_other and reward.match.key.kind == kind:
            pairs = counted(len(reward.pairs), "pair")
            of_kind.append(reward._replace(why=f"{reward.known_as} ({pairs})"))
    return of_kind


def _best(run: Run, entropy: Chosen, column: str | None, pair: str | None) -> tuple[Reward, Sequence[Reward]]:
    """The best reward, or the one that the user names; and all of the catalog that have a number."""
    entropy_column = entropy.choice.column
    of_rewards = catalog.found(run, "validation", "training")
    matches = [match for match in of_rewards if match.column != entropy_column]
    of_catalog = [_paired(run, entropy, match, pair) for match in matches if run.finite(match.column).size]
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
        return _paired(run, entropy, named_match, pair, NAMED), of_catalog
    if not any(len(candidate.pairs) for candidate in of_catalog):
        taken = [entropy_column, *(match.column for match in matches)]
        evident = suggest.evident(run, "reward", taken)
        if evident:
            kind = "validation" if catalog.is_evaluation(evident) else "training"
            key = Key(evident, Meaning(role="reward", trainer="generic", kind=kind))
            return _paired(run, entropy, catalog.Match(evident, key, 0), pair, BY_NAME), of_catalog
    if of_catalog:
        return _best_of(of_catalog), of_catalog
    named = {"entropy": entropy_column} if entropy.choice.why == NAMED else {}
    raise suggest.missing(run, matches, "reward", named)


def _longer_training(best: Reward, trainings: Sequence[Reward]) -> Reward | None:
    """The training reward that is fitted beside a validation with few pairs, or with a part of the entropies.

    None where the best is a training reward itself, where it needs no other, and where there is no other.
    """
    with_pairs = [reward for reward in trainings if len(reward.pairs) >= ANSWERING_PAIRS]
    # Means over several steps do not pair with a next step.
    longer = [reward for reward in with_pairs if reward.pairing == "same" or not reward.averaged]
    if best.training or not longer:
        return None
    if len(best.pairs) < ANSWERING_PAIRS:
        return longer[0]
    # The ranges of the entropies, without a twentieth at each end.
    own_range = np.ptp(np.quantile(best.pairs.entropy, (0.05, 0.95)))
    whole_range = np.ptp(np.quantile(longer[0].pairs.entropy, (0.05, 0.95)))
    return longer[0] if own_range < NARROW_SHARE * whole_range else None


def _paired(run: Run, entropy: Chosen, match: catalog.Match, pair: str | None, why: str = "") -> Reward:
    """Pair one column as the user requests, or else as its key says."""
    # Pairing points of a chart with the next step would leave the bucket that each is the mean of.
    average = any(averaged(run, name).any() for name in (entropy.choice.column, match.column))
    if pair is not None:
        pairing = pair
        reason = NAMED
    elif match.key.pair == "same":
        pairing = "same"
        reason = "entropy and reward of the same policy are on the same row, according to the catalog"
    elif average:
        pairing = "same"
        reason = "points are means over buckets of steps, and none is paired beyond its bucket"
    else:
        pairing = "next"
        reason = "the row holds the entropy from before its update and the evaluation from after it"
    before = catalog.initial_column(match.key, match.column, run.columns)
    values = run.columns[match.column]
    pairs = pair_values(
        run.step,
        entropy.values,
        values,
        pairing,
        initial=run.columns[before] if before else None,
        spoiled=run.spoiled.get(match.column),
        spoiled_entropy=run.spoiled.get(entropy.choice.column),
    )
    return Reward(match, values, pairing, reason, average, pairs, why)


def _catalog_order(reward: Reward) -> tuple[int, int, str]:
    """By the catalog's order, then by pairs, then by name."""
    return reward.match.rank, -len(reward.pairs), reward.match.column


def _best_of(candidates: Sequence[Reward]) -> Reward:
    """Choose a validation; a training reward where every validation has too few pairs, and this one more."""
    trainings = [candidate for candidate in candidates if candidate.training]
    validations = sorted((reward for reward in candidates if not reward.training), key=_catalog_order)
    enough = next((candidate for candidate in validations if len(candidate.pairs) >= ENOUGH_PAIRS), None)
    if enough is not None:
        reason = f"{enough.known_as} ({counted(len(enough.pairs), 'pair')})"
        not_chosen = [candidate.match.column for candidate in validations if candidate is not enough]
        if not_chosen:
            reason += f"; other validation columns: {listing(not_chosen, 4)}"
        return enough._replace(why=reason)
    if not validations:
        # The first training reward in the catalog's order with at least half as many pairs as any.
        most = max(len(candidate.pairs) for candidate in trainings)
        training = next(candidate for candidate in trainings if len(candidate.pairs) * 2 >= most)
        reason = f"training reward: the log has no validation reward; {training.known_as}"
        return training._replace(why=reason)
    best = max(validations, key=lambda candidate: len(candidate.pairs))
    longest = next((candidate for candidate in trainings if len(candidate.pairs) > len(best.pairs)), None)
    if longest is None:
        return best._replace(why=f"{best.known_as}; no training reward gives more pairs")
    few = f"validation column {shown(best.match.column)} gives only {counted(len(best.pairs), 'pair')}, "
    return longest._replace(why=f"training reward: {few}{ENOUGH_PAIRS} are needed; {longest.known_as}")


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
