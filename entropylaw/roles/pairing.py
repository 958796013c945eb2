"""Pairing rewards with entropies: values are dropped pair by pair, never row by row, each with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, shown
from entropylaw.logs.runs import Run, added
from entropylaw.logs.runs.number_parsing import TEXT
from entropylaw.logs.runs.step_column import require_column
from entropylaw.units import MOST_NATS, nats_per_unit

# Reasons why a value is dropped.
REWARD_IS_TEXT = f"reward is {TEXT}"
NO_NEXT = "no entropy at the step after"
ENTROPY_NOT_FINITE = "entropy is infinite"
ENTROPY_TOO_HIGH = f"entropy above {MOST_NATS:g} nats"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Paired values of shape (n,) by the reward's step; what could not be paired, by reason.

    ``entropy_row`` is the row of each entropy. ``initial`` counts the pairs whose reward is from before
    training; ``unpaired_entropy`` counts finite entropies without a reward, which is no loss; ``unpaired``
    are the steps and values of finite rewards without an entropy, None where there is none. ``lost`` has the
    steps of what is dropped, by reason.
    """

    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    entropy_row: IntArray
    dropped: Mapping[str, int]
    initial: int
    unpaired_entropy: int
    unpaired: tuple[FloatArray, FloatArray] | None
    lost: Mapping[str, FloatArray]

    def __len__(self) -> int:
        return len(self.step)


def pair_values(
    step: FloatArray,
    entropy: FloatArray,
    reward: FloatArray,
    how: str,
    initial: FloatArray | None = None,
    spoiled: Mapping[str, FloatArray] | None = None,
    spoiled_entropy: Mapping[str, FloatArray] | None = None,
) -> Pairs:
    """Pair every reward with an entropy.

    ``step`` has shape (m,), strictly increasing; ``entropy`` and ``reward`` have nan where a row has none.
    ``how`` is ``"same"`` for the entropy of the same step, or ``"next"`` for the first one that was logged
    after it, at most one median spacing of logged entropies later, which normally is the next step.
    ``initial`` is the same reward for the policy before training. It is used where ``reward`` is missing, and
    is paired with the entropy of the same step, where one was logged. ``spoiled`` are the steps of rewards
    that are no number, by what they are, and ``spoiled_entropy`` those of entropies.
    """
    logged = ~np.isnan(entropy)
    every = np.arange(len(step))
    # Of each row, the row whose entropy goes with its reward; -1 for none.
    partner = np.where(logged, every, -1)
    if how == "next":
        partner = _following_entropies(step, np.flatnonzero(logged))
    if initial is None:
        initial = np.full(len(step), np.nan)
    from_initial = np.isnan(reward) & ~np.isnan(initial)
    reward = np.where(from_initial, initial, reward)
    partner = np.where(from_initial & logged, every, partner)
    rows = np.flatnonzero(~np.isnan(reward))
    partners = partner[rows]
    paired = np.where(partners >= 0, entropy[partners], np.nan)
    # Each reason to drop a reward with the rows for which it holds; of several reasons the first counts.
    reasons = {"reward is infinite": ~np.isfinite(reward[rows])}
    if how == "next":
        reasons[NO_NEXT] = partners < 0
    else:
        for cause, at in (spoiled_entropy or {}).items():
            reasons[f"entropy is {cause}"] = np.isin(step[rows], at)
        reasons["no entropy at that step"] = partners < 0
    reasons[ENTROPY_NOT_FINITE] = ~np.isfinite(paired)
    reasons[ENTROPY_TOO_HIGH] = paired > MOST_NATS
    lost = {f"reward is {cause}": at for cause, at in (spoiled or {}).items()}
    fine = np.ones(len(rows), dtype=bool)
    for reason, holds in reasons.items():
        lost[reason] = step[rows[fine & holds]]
        fine &= ~holds
    good = rows[fine]
    partners = partners[fine]
    alone = rows[~fine & np.isfinite(reward[rows])]
    return Pairs(
        step=step[good],
        entropy=paired[fine],
        reward=reward[good],
        entropy_row=partners,
        dropped=added({reason: at.size for reason, at in lost.items()}),
        lost=lost,
        initial=int(from_initial[good].sum()),
        unpaired_entropy=int(np.isfinite(entropy).sum()) - len(np.unique(partners)),
        unpaired=(step[alone], reward[alone]) if alone.size else None,
    )


def _following_entropies(step: FloatArray, logged: IntArray) -> IntArray:
    """Row of the first entropy after each row, at most a median spacing of entropies later; else -1."""
    if not logged.size:
        return np.full(len(step), -1)
    spacing = 1.0
    if logged.size > 1:
        spacing = float(np.median(np.diff(step[logged])))
    index = np.searchsorted(logged, np.arange(len(step)), side="right")
    following = logged[np.minimum(index, logged.size - 1)]
    near = (index < logged.size) & (step[following] - step <= spacing * (1 + 1e-9))
    return np.where(near, following, -1)


def logged_entropies(
    step: FloatArray, entropy: FloatArray, pairs: Pairs
) -> tuple[FloatArray, FloatArray] | None:
    """Every logged entropy (m,) with its step, counted as the evaluations' steps are; None without pairs.

    Where an evaluation is paired with the entropy of the next step, entropies count as logged that much
    earlier.
    """
    if not len(pairs):
        return None
    later = float(np.median(step[pairs.entropy_row] - pairs.step))
    usable = np.isfinite(entropy) & (entropy <= MOST_NATS)
    return step[usable] - later, entropy[usable]


def noise_of(run: Run, pairs: Pairs, given: str) -> FloatArray:
    """Standard deviation of each paired entropy, shape (n,), nats.

    ``given`` is a number for all, or the name of a column on the entropy's rows.

    Raises ``column-not-found``, ``entropy-sd-missing`` where a paired entropy has no sd above 0, and
    ``bad-entropy-sd`` for a number that is not above 0.
    """
    number = number_in(given)
    if number is not None:
        if not 0 < number < math.inf:
            raise UsageError(
                "bad-entropy-sd",
                f"entropy sd {given}, expected a number of nats above 0",
                "give the standard error of one logged entropy, or the column that holds it",
            )
        return np.full(len(pairs), number)
    column = require_column(given, tuple(run.columns), run.source.path, "--entropy-sd", width=run.width)
    values = run.columns[column][pairs.entropy_row] * nats_per_unit(column)[0]
    lacking = ~((values > 0) & np.isfinite(values))
    if lacking.any():
        row = int(np.argmax(lacking))
        raise InputError(
            "entropy-sd-missing",
            f"{shown(column)} of run {shown(run.name)} is {values[row]:g} with the entropy of step "
            f"{pairs.step[row]:g}, and no sd above 0 at {counted(int(lacking.sum()), 'evaluation')}",
            "leave out these rows, or give one number for all: --entropy-sd 0.02",
        )
    return values


def number_in(given: str) -> float | None:
    """The number that is ``given`` for all evaluations; None where it is the name of a column."""
    with suppress(ValueError):
        return float(given)
    return None
