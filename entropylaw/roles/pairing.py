"""Pairing rewards with entropies: values are dropped pair by pair, never row by row, each with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.logs.runs import added
from entropylaw.logs.runs.number_parsing import TEXT
from entropylaw.units import MOST_NATS

REWARD_IS_TEXT = f"reward is {TEXT}"
REWARD_NOT_FINITE = "reward is infinite"
NO_NEXT = "no entropy at the step after"
ENTROPY_NOT_FINITE = "entropy is infinite"
ENTROPY_TOO_HIGH = f"entropy above {MOST_NATS:g} nats"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Paired values of shape (n,) by the reward's step; what could not be paired, by reason.

    ``entropy_row`` is the row of each entropy. ``initial`` counts the pairs whose reward is from before
    training; ``unpaired`` are the steps and values of finite rewards without an entropy, None where there is
    none. ``lost`` has the steps of what is dropped, by reason.
    """

    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    entropy_row: IntArray
    dropped: Mapping[str, int]
    initial: int
    unpaired: tuple[FloatArray, FloatArray] | None
    lost: Mapping[str, FloatArray]

    def __len__(self) -> int:
        return len(self.step)


def pair_values(
    step: FloatArray,
    entropy: FloatArray | None,
    reward: FloatArray,
    how: str,
    initial: FloatArray | None,
    spoiled: Mapping[str, FloatArray],
    spoiled_entropy: Mapping[str, FloatArray],
) -> Pairs:
    """Pair every reward with an entropy; without an entropy every reward is unpaired, which is no loss.

    ``step`` has shape (m,), strictly increasing; ``entropy`` and ``reward`` have nan where a row has none.
    ``how`` is ``"same"`` for the entropy of the same step, or ``"next"`` for the first one that was logged
    after it, at most one median spacing of logged entropies later, which normally is the next step.
    ``initial`` is the same reward for the policy before training. It is used where ``reward`` is missing, and
    is paired with the entropy of the same step, where one was logged. ``spoiled`` are the steps of rewards
    that are no number, by what they are, and ``spoiled_entropy`` those of entropies.
    """
    has_entropy = entropy is not None
    if entropy is None:
        entropy = np.full(len(step), np.nan)
    logged = ~np.isnan(entropy)
    every = np.arange(len(step))
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
    tests = {REWARD_NOT_FINITE: ~np.isfinite(reward[rows])}
    if how == "next":
        tests[NO_NEXT] = partners < 0
    else:
        for cause, at in spoiled_entropy.items():
            tests[f"entropy is {cause}"] = np.isin(step[rows], at)
        tests["no entropy at that step"] = partners < 0
    tests |= {ENTROPY_NOT_FINITE: ~np.isfinite(paired), ENTROPY_TOO_HIGH: paired > MOST_NATS}
    lost = {f"reward is {cause}": at for cause, at in spoiled.items()}
    fine = np.ones(len(rows), dtype=bool)
    for reason, bad in tests.items():
        if has_entropy or reason == REWARD_NOT_FINITE:
            lost[reason] = step[rows[fine & bad]]
        fine &= ~bad
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
