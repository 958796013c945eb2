"""The evaluations of a run that can be fitted, without missing values and gross errors, or a refusal.

The rule for gross errors is about slips of logging (one or two neighbouring evaluations), not about the run
itself: an entropy that is large for twenty evaluations is no outlier, and neither is the first evaluation,
which may well differ from the rest. Least squares and the drift alike would follow a slip; so it is left out
and reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entropylaw.arguments import as_floats, as_number, with_unpaired
from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.engine.levels import SmoothedEntropy, as_logged, smoothed_entropy
from entropylaw.errors import FitError
from entropylaw.results.columns import Refusal
from entropylaw.results.result import Finding, note

FEWEST_EVALUATIONS = 5
"""Below this nothing is fitted: two coefficients and a residual need at least as many."""

LARGEST = 1e100
"""Limit of rewards and steps, and its inverse of their differences: beyond it squares cannot be added up."""

ROUNDING = 1e-13
"""Relative differences that are rounding, not change."""


SMALLEST_ENTROPY = 1e-12
"""Entropies, in nats, that differ by less do not move by anything that a logger writes."""

HIGHEST_ENTROPY = 12.0
"""Nats; about the logarithm of the largest vocabularies. No token distribution has more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluations:
    """Evaluations of a run, each array of shape (n,), and how many others were left out for which reason.

    ``logged`` are the steps of all logged entropies, and these, shapes (m,); None where they are no more.
    ``unpaired`` are the steps and values of rewards without an entropy, None without any, and ``end`` is the
    last step of the log, None where that is not known.
    """

    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    dropped: dict[str, int]
    logged: tuple[FloatArray, FloatArray] | None = None
    unpaired: tuple[FloatArray, FloatArray] | None = None
    end: float | None = None

    def all_rewards(self) -> Evaluations:
        """The same with the rewards that have no entropy, for which it is nan: what a forecast is made of."""
        step, entropy, reward = with_unpaired(self.step, self.entropy, self.reward, self.unpaired)
        return Evaluations(step=step, entropy=entropy, reward=reward, dropped={})

    def first(self, number: int) -> Evaluations:
        """The rewards of the first evaluations, without an entropy."""
        return Evaluations(
            step=self.step[:number],
            entropy=np.full(self.step[:number].size, np.nan),
            reward=self.reward[:number],
            dropped={},
        )

    def smoothed(self) -> SmoothedEntropy:
        """The entropy at the evaluations, smoothed over every logged step."""
        step, entropy = (self.step, self.entropy) if self.logged is None else self.logged
        smoothed = smoothed_entropy(step, entropy, self.step)
        if np.ptp(smoothed.entropy) > 0:
            return smoothed
        return as_logged(self.entropy)


def usable(
    entropy: Any,
    reward: Any,
    step: Any,
    *,
    keep_outliers: bool,
    logged: tuple[FloatArray, FloatArray] | None = None,
    unpaired: tuple[FloatArray, FloatArray] | None = None,
    end: float | None = None,
) -> Evaluations:
    """The evaluations that can be fitted; raises as :func:`paired`.

    ``logged`` are steps and entropies (m,) of every logged step, over which the entropy is smoothed;
    ``unpaired`` steps and rewards without an entropy, which count for all but the law; ``end`` is the last
    step of the log.
    """
    used = paired(entropy, reward, step, logged, unpaired, end)
    if keep_outliers:
        return used
    outliers = gross_outliers(used.step, used.entropy, used.reward)
    if not outliers:
        return used
    wrong = [outlier.values["step"] for outlier in outliers if outlier.values["column"] == "entropy"]
    every = used.logged
    if every is not None:
        right = ~np.isin(every[0], np.array(wrong, dtype=float))
        every = (every[0][right], every[1][right])
    keep = ~np.isin(used.step, np.array([outlier.values["step"] for outlier in outliers], dtype=float))
    return Evaluations(
        step=used.step[keep],
        entropy=used.entropy[keep],
        reward=used.reward[keep],
        dropped=used.dropped | {outlier.sentence: 1 for outlier in outliers},
        logged=every,
        unpaired=used.unpaired,
        end=used.end,
    )


def paired(
    entropy: Any,
    reward: Any,
    step: Any,
    logged: tuple[FloatArray, FloatArray] | None = None,
    unpaired: tuple[FloatArray, FloatArray] | None = None,
    end: float | None = None,
) -> Evaluations:
    """The evaluations without a missing value, and how many others there are.

    An ``entropy`` of None stands for a run without one.

    Raises :class:`FitError` ``lengths-differ`` and :class:`UsageError` ``bad-argument``.
    """
    if entropy is None:
        entropy = np.full(as_floats(reward, "reward").size, np.nan)
    s, h, r = _columns(step, entropy, reward)
    if end is None and s.size and np.isfinite(s).all():
        end = float(s[-1])
    keep, lost = _present({"step": s, "entropy": h, "reward": r})
    # Entropies of rows without a reward count as logged, rewards of rows without an entropy as unpaired.
    steps, entropies = _joined((s, h), logged)
    fine = np.isfinite(steps) & np.isfinite(entropies) & (np.abs(entropies) <= HIGHEST_ENTROPY)
    # Of a step that is there twice the first is taken: that of the evaluation.
    steps, first = np.unique(steps[fine], return_index=True)
    every_entropy = (steps, entropies[fine][first]) if steps.size > keep.sum() else None
    alone = ~np.isfinite(h)
    steps, rewards = _joined((s[alone], r[alone]), unpaired)
    fine = np.isfinite(steps) & np.isfinite(rewards)
    return Evaluations(
        step=s[keep],
        entropy=h[keep],
        reward=r[keep],
        dropped=lost,
        logged=every_entropy,
        unpaired=(steps[fine], rewards[fine]) if fine.any() else None,
        end=end,
    )


def rewarded(step: Any, entropy: Any, reward: Any) -> Evaluations:
    """The evaluations with a step and a reward; an entropy may be missing, or all, and is then nan.

    Raises as :func:`paired`.
    """
    if entropy is None:
        entropy = np.full(as_floats(reward, "reward").size, np.nan)
    s, h, r = _columns(step, entropy, reward)
    keep, lost = _present({"step": s, "reward": r})
    return Evaluations(step=s[keep], entropy=h[keep], reward=r[keep], dropped=lost)


def _columns(step: Any, entropy: Any, reward: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Step, entropy and reward as arrays of one length (n,)."""
    r = as_floats(reward, "reward")
    h = as_floats(entropy, "entropy")
    s = np.arange(h.size, dtype=float) if step is None else as_floats(step, "step")
    if not h.size == r.size == s.size:
        raise FitError(
            "lengths-differ",
            f"{h.size} entropies, {r.size} rewards and {s.size} steps, expected one of each per evaluation",
            "pass arrays of the same length",
        )
    return s, h, r


def _present(columns: dict[str, FloatArray]) -> tuple[BoolArray, dict[str, int]]:
    """Rows without a missing value in any of some columns (n,), and reason → how many others there are."""
    rows = np.ones(columns["step"].size, dtype=bool)
    lost: dict[str, int] = {}
    for name, values in columns.items():
        for cause, bad in (("missing or not a number", np.isnan(values)), ("infinite", np.isinf(values))):
            if number := int((rows & bad).sum()):
                lost[f"{name} is {cause}"] = number
            rows &= ~bad
    return rows, lost


def _joined(
    of_rows: tuple[FloatArray, FloatArray], given: tuple[FloatArray, FloatArray] | None
) -> tuple[FloatArray, FloatArray]:
    """Steps and values of rows, and those that are given besides."""
    if given is None:
        return of_rows
    return np.concatenate([of_rows[0], given[0]]), np.concatenate([of_rows[1], given[1]])


def check_evaluations(
    run: Evaluations,
    *,
    fewest: int = 0,
    needs: str = "expected",
    remedy: str = "evaluate more often, or fit",
) -> None:
    """Raise where there are fewer than ``fewest`` evaluations, or no number can be made of their rewards.

    ``needs`` and ``remedy`` are parts of the message and of its hint.
    """
    if run.step.size < fewest:
        raise FitError(
            "too-few-evaluations",
            f"{run.step.size} usable evaluations, {needs} at least {fewest}",
            f"{remedy} the training reward with --reward",
        )
    check_steps(run.step)
    check_scale("reward", run.reward)


def check_reward_moves(reward: FloatArray) -> None:
    """Raise where all rewards are the same."""
    if is_constant(reward):
        raise FitError(
            "reward-constant",
            f"reward is {reward[0]:g} in all {reward.size} evaluations, expected one that moves",
            "check the reward function, or name another column with --reward",
        )


def why_no_law(run: Evaluations) -> Refusal | None:
    """Why the law cannot be fitted; None where it can."""
    entropy = run.entropy
    try:
        check_evaluations(run, fewest=FEWEST_EVALUATIONS)
        check_entropy(entropy)
        check_scale("entropy", entropy, SMALLEST_ENTROPY)
        if is_constant(entropy):
            raise FitError(
                "entropy-constant",
                f"entropy is {entropy[0]:g} in all {entropy.size} evaluations, expected one that moves",
                "check the logger (some write 0.0 where entropy is not computed), or name another column",
            )
        check_reward_moves(run.reward)
    except FitError as error:
        return Refusal(slug=error.slug, message=error.message, hint=error.hint)
    return None


def check_entropy(entropy: FloatArray) -> None:
    """Raise where one of some entropies, which are all known, is too large for a mean over tokens."""
    if np.abs(entropy).max(initial=0.0) > HIGHEST_ENTROPY:
        largest = entropy[np.abs(entropy).argmax()]
        raise FitError(
            "entropy-not-a-mean",
            f"entropy reaches {largest:.4g}, expected nats per token, at most {HIGHEST_ENTROPY:g}",
            "this looks like a sum over tokens: divide it by the response length",
        )


def is_constant(values: FloatArray) -> bool:
    """Whether values (n,) differ by no more than rounding."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def check_steps(step: FloatArray) -> None:
    """Raise where steps do not increase, or squares of them cannot be added up."""
    check_scale("step", step)
    if not np.all(np.diff(step) > 0):
        at = int(np.flatnonzero(~(np.diff(step) > 0))[0])
        raise FitError(
            "steps-not-increasing",
            f"step {step[at + 1]:g} follows step {step[at]:g}, expected increasing steps",
            "sort the run by step and keep one evaluation per step",
        )


def check_scale(name: str, values: FloatArray, least: float = 1 / LARGEST) -> None:
    """Raise where finite values are too large, or lie too close together, for sums of their squares."""
    if values.size and (np.abs(values).max() > LARGEST or 0 < np.ptp(values) < least):
        raise FitError(
            "out-of-scale",
            f"{name} runs from {values.min():.3g} to {values.max():.3g}, "
            "expected a scale on which squares can be added up",
            f"rescale the {name}",
        )


def check_rewards(reward: FloatArray, most: float | None) -> None:
    """Refuse a largest possible reward below one of the rewards (n,).

    Raises FitError (``reward-above-max``), and as :func:`entropylaw.arguments.as_number`.
    """
    if most is None:
        return
    check_scale("max_reward", np.array([as_number(most, "max_reward")]))
    if most < reward.max():
        message = f"max_reward {most:g}, and the run has a reward of {reward.max():g}"
        raise FitError(
            "reward-above-max", message, "give the largest reward that is possible, or leave it out"
        )


FAR = 10.0
"""Robust standard deviations outside of its neighbours' range from which a value is an outlier."""

SIZEABLE = 0.2
"""Share of the column's range (5th to 95th percentile) by which an outlier is outside, too."""

WINDOW = 10
"""Evaluations on either side over which the local noise is estimated."""

MOST = 3, 0.025
"""Most outliers that are left out of a run: so many, or this share of it; with more, none is."""

FLOOR = 1e-3
"""Share of the median entropy below which entropies count as equal: a logger's 0 has no logarithm."""


def gross_outliers(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> tuple[Finding, ...]:
    """The evaluations with a gross error in the entropy or the reward, in the order of the steps.

    The logarithm of the entropy, whose scatter is often a share of it, and the reward are judged. A value is
    an outlier where it is outside of the range between the median of the three evaluations before and the
    median of the three after it, so that two slips in a row are both detected: by more than :data:`FAR`
    robust standard deviations and by more than :data:`SIZEABLE` of the column's range. The standard deviation
    is that of the noise between neighbours, which a trend does not change: 1.4826 times the median of
    |x[t] − (x[t−1] + x[t+1])/2| / √1.5, over the run or over :data:`WINDOW` evaluations on either side,
    whichever is larger. A steady fall or rise, however steep, is never outside; the first and the last
    evaluation, which have neighbours on one side only, are not tested. There are none with fewer than 10
    evaluations, where more than :data:`MOST` would be outliers (which are no slips then), or where most
    neighbours are equal. How often an honest run loses one, and how many slips are found:
    ``docs/benchmarks/outliers.md``.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,), in the order of the steps; entropy in nats.

    Returns
    -------
    A finding for each: its ``step``, the ``column`` ("entropy" or "reward"), the ``value`` as logged, the
    medians of the evaluations before and after it (``low`` and ``high``, the smaller first), and its distance
    from their range, in robust standard deviations of the noise there (``distance``).
    """
    if step.size < 10:
        return ()
    outliers = []
    logarithm = np.log(np.maximum(entropy, max(FLOOR * float(np.median(entropy)), SMALLEST_ENTROPY)))
    for name, column, judged in (("entropy", entropy, logarithm), ("reward", reward, reward)):
        noise = _noise(judged)
        if not noise.all():
            continue
        low, high = _sides(judged)
        beyond = np.maximum(judged - high, low - judged)
        least = np.maximum(SIZEABLE * float(np.subtract(*np.percentile(judged, [95, 5]))), FAR * noise)
        if not (beyond > least).any():
            continue
        rows = np.column_stack([step, column, *_sides(column), beyond / noise])[beyond > least].tolist()
        names = ("step", "value", "low", "high", "distance")
        outliers += [
            note("gross-outlier", column=name, limit=FAR, **dict(zip(names, row, strict=True)))
            for row in rows
        ]
    if len({outlier.values["step"] for outlier in outliers}) > max(MOST[0], MOST[1] * step.size):
        return ()
    return tuple(sorted(outliers, key=lambda outlier: float(outlier.values["step"])))  # type: ignore[arg-type]


def _noise(column: FloatArray) -> FloatArray:
    """Standard deviation of the noise around each of n ≥ 3 values; all 0 where most neighbours are equal."""
    deviation = np.abs(column[1:-1] - 0.5 * (column[2:] + column[:-2]))
    wide = min(WINDOW, deviation.size - 1)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(deviation, wide + 1, mode="reflect"), 2 * wide + 1
    )
    everywhere = float(np.median(deviation))
    local = np.median(windows, axis=1) if everywhere else np.zeros(column.size)
    return np.asarray(1.4826 * np.maximum(local, everywhere) / np.sqrt(1.5))


def _sides(column: FloatArray) -> FloatArray:
    """Medians of the three values before and after each (n,), the smaller first, shape (2, n).

    At the ends of fewer, and of the first and the last value itself.
    """
    sides = []
    for values in (column, column[::-1]):
        first, second, third = values[:-3], values[1:-2], values[2:-1]
        middle = np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))
        sides.append(np.concatenate([values[[0, 0]], [np.median(values[:2])], middle]))
    return np.sort([sides[0], sides[1][::-1]], axis=0)
