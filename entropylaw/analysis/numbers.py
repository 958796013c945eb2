"""The numbers of a fit: the law's own, reads of its table, and the curve averaged over the functional forms.

A stored fit has no table: it is made again from the evaluations, which takes milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from entropylaw.analysis.forms import FORMS, lag1, r_squared
from entropylaw.analysis.law.estimates import checked_entropies, crossings, tails, unknown
from entropylaw.analysis.law.evaluations import HIGHEST_ENTROPY, Evaluations
from entropylaw.analysis.law.verdict import law_tests, rule
from entropylaw.arguments import as_number, checked_level, with_unpaired
from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import AVERAGED, KEPT_RANGE, MOST_RANGES
from entropylaw.engine.levels import SmoothedEntropy
from entropylaw.engine.reads import Reads
from entropylaw.engine.table import table_of
from entropylaw.engine.threads import one_thread
from entropylaw.errors import UsageError
from entropylaw.results import (
    Curve,
    EntropySet,
    Estimate,
    FormAnswer,
    Prediction,
    Residuals,
    Verdict,
    Why,
)
from entropylaw.results.fit import Fit
from entropylaw.results.law import LawFit

OWN = "drift + noise, integrated out"
"""Method of the law's own numbers."""

AVERAGED_OVER = f"averaged over functional forms; {OWN}"
"""Method of the averaged numbers."""

UNDETERMINED = {"power": "a power of the entropy needs H ≥ 0"}
"""Why a run does not determine a form, where that is known."""


def law_reads(
    step: FloatArray, reward: FloatArray, smoothed: SmoothedEntropy, max_reward: float | None
) -> Reads:
    """The table of evaluations (n,) whose entropy is smoothed; no curve is above the largest reward."""
    table = table_of(
        step,
        smoothed.entropy,
        reward,
        error_sd=smoothed.sd,
        error_length=smoothed.length,
    )
    return Reads(table, np.inf if max_reward is None else max_reward)


@one_thread
def reads_of(law: LawFit, first: int | None = None) -> Reads:
    """The table of a law's evaluations, or of the first of them."""
    smoothed = SmoothedEntropy(
        entropy=law.smoothed_entropy[:first],
        sd=law.smoothing_error[:first],
        noise=law.entropy_noise,
        length=law.smoothing_length,
    )
    return law_reads(law.step[:first], law.reward[:first], smoothed, law.max_reward)


def evaluations(fit: Fit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Step, entropy and reward of all evaluations of a fit; the entropy is nan where none is known."""
    if fit.law is None:
        assert fit.unpaired is not None
        step, reward = fit.unpaired
        return step, np.full(len(step), np.nan), reward
    return with_unpaired(fit.law.step, fit.law.entropy, fit.law.reward, fit.unpaired)


def law_of_run(
    used: Evaluations,
    smoothed: SmoothedEntropy,
    reads: Reads,
    *,
    is_controlled: bool,
    run: str,
    level: float,
    max_reward: float | None,
) -> LawFit:
    """The law's numbers and words.

    Nothing is decided about the law where its entropy ``is_controlled``.
    """
    entropy = smoothed.entropy
    reward = used.reward
    of_a, of_b = reads.coefficients
    a = of_a.estimate(level=level, method=OWN)
    b = of_b.estimate(level=level, method=OWN)
    ceiling = reads.ceiling(reads.law_possible, reads.top).estimate(level=level, method=OWN)
    unknown_because = _why_unknown(used, entropy, a)
    if unknown_because:
        a = b = ceiling = unknown(unknown_because, level=level, method=OWN)
    tests = law_tests(reads)
    verdict, why = rule(tests, n=reward.size, span=float(np.ptp(entropy)))
    if is_controlled:
        verdict = Verdict.undecided
        why = Why.controlled
    elif unknown_because and verdict is Verdict.holds:
        verdict = Verdict.undecided
        why = Why.narrow
    rows_of_forms = {name: reads.table.is_form(name) for name in AVERAGED}
    weights = {name: reads.averaged * rows for name, rows in rows_of_forms.items()}
    weights = {name: weight for name, weight in weights.items() if weight.any()}
    curve, *curves = reads.table.mean_curves(entropy, [reads.law, *weights.values()])
    fitted = np.minimum(curve, reads.top)
    for array in (used.step, used.entropy, entropy, smoothed.sd, reward, fitted):
        array.setflags(write=False)
    return LawFit(
        run=run,
        level=level,
        max_reward=max_reward,
        n=reward.size,
        verdict=verdict,
        why=why,
        tests=tests,
        a=a,
        b=b,
        ceiling=ceiling,
        correlation=reads.correlation(),
        entropy_now=float(entropy[-1]),
        entropy_noise=smoothed.noise,
        forms=_forms(reads, dict(zip(weights, curves, strict=True)), reward, level),
        skipped={
            name: UNDETERMINED.get(name, "the evaluations do not determine it")
            for name, rows in rows_of_forms.items()
            if not rows.any()
        },
        p_term=reads.share(reads.table.term > 0),
        p_first=reads.share(reads.table.first > 0),
        p_no_curve=max(reads.p_no_curve()),
        residuals=_residuals(reads, reward - curve),
        r_squared=r_squared(used.entropy, reward),
        step=used.step,
        entropy=used.entropy,
        smoothed_entropy=entropy,
        smoothing_error=smoothed.sd,
        smoothing_length=smoothed.length,
        reward=reward,
        fitted=fitted,
        dropped=used.dropped,
    )


def _residuals(reads: Reads, residual: FloatArray) -> Residuals:
    """The numbers of the residuals (n,) of the law's curve."""
    drift_share, effective_n = reads.memory()
    return Residuals(
        sd=float(np.sqrt(residual @ residual / (residual.size - 2))),
        lag1=lag1(residual),
        effective_n=min(effective_n * reads.table.group, float(residual.size)),
        drift_share=drift_share,
        long_memory=reads.share(reads.long),
    )


def _why_unknown(used: Evaluations, entropy: FloatArray, a: Estimate) -> str:
    """Why a run has no a and no b; empty where it has: the entropy (n,) is the smoothed one."""
    logged = float(np.ptp(used.entropy))
    kept = float(np.ptp(entropy)) / logged
    if kept < KEPT_RANGE:
        return (
            f"smoothed, the entropy keeps {100 * kept:.0f} % of the {logged:.2g} nats that it was logged over"
        )
    meant = abs(a.value or 0.0) * float(np.ptp(np.expm1(entropy)))
    ranges = meant / float(np.ptp(used.reward))
    if ranges > MOST_RANGES:
        return f"a would mean {ranges:.1f} times the range of the reward: the entropy hardly moved"
    return ""


def _forms(
    reads: Reads, curves: Mapping[str, FloatArray], reward: FloatArray, level: float
) -> tuple[FormAnswer, ...]:
    """Every form with its probability, most probable first; ``curves`` (n,) are their means."""
    answers = []
    probability = reads.probability()
    for name, curve in curves.items():
        residual = reward - curve
        freedom = max(reward.size - FORMS[name].parameters, 1)
        answers.append(
            FormAnswer(
                form=name,
                formula=FORMS[name].formula,
                parameters=FORMS[name].parameters,
                probability=probability[name],
                residual_sd=float(np.sqrt(residual @ residual / freedom)),
                shapes=_shapes(reads, name, level),
            )
        )
    return tuple(sorted(answers, key=lambda answer: (-round(answer.probability, 9), answer.form)))


def _shapes(reads: Reads, name: str, level: float) -> dict[str, Estimate]:
    """The parameter in which a form is not linear: between the listed values it is interpolated."""
    shape = FORMS[name].shape
    if shape is None:
        return {}
    rows = reads.table.is_form(name)
    values, which = np.unique(reads.table.shape[rows], return_inverse=True)
    weight = np.bincount(which, reads.averaged[rows])
    probability = weight / max(weight.sum(), 1e-300)
    middle = np.cumsum(probability) - 0.5 * probability
    low, value, high = np.interp(tails(level), middle, values).tolist()
    method = f"over {values.size} values; {OWN}"
    return {shape: Estimate(value=value, low=low, high=high, level=level, method=method)}


def _curve_of(fit: Fit | LawFit) -> tuple[LawFit, FloatArray, str]:
    """The law of a fit, the weights of the rows that its curve is averaged over, and the method of that."""
    if isinstance(fit, LawFit):
        return fit, fit.reads.law_possible, OWN
    law = fit.lawful()
    return law, law.reads.averaged, AVERAGED_OVER


@one_thread
def predict(fit: Fit | LawFit, entropy: Any, level: float | None) -> Prediction | tuple[Prediction, ...]:
    """:meth:`Predictor.predict <entropylaw.results.law.Predictor.predict>`: the curve, and an evaluation."""
    law, weight, method = _curve_of(fit)
    level = checked_level(law.level if level is None else level)
    values = checked_entropies(entropy)
    means = law.reads.predicted(values, weight)
    observations = law.reads.predicted(values, weight, fresh=True)
    lowest = float(law.smoothed_entropy.min())
    highest = float(law.smoothed_entropy.max())
    predictions = tuple(
        Prediction(
            entropy=at,
            mean=mean.estimate(level=level, method=method),
            observation=observation.estimate(level=level, method=method),
            extrapolated=not lowest <= at <= highest,
        )
        for at, mean, observation in zip(values.tolist(), means, observations, strict=True)
    )
    return predictions[0] if np.ndim(entropy) == 0 else predictions


@one_thread
def curve(fit: Fit) -> Curve:
    """:attr:`Fit.curve <entropylaw.results.fit.Fit.curve>`: from H = 0, or the lowest of a broken run."""
    law = fit.lawful()
    reads = law.reads
    lowest = float(law.entropy.min())
    first = lowest if fit.is_broken else min(0.0, lowest)
    # As many points below the entropy now as for the run.
    below = np.linspace(first, law.entropy_now, 13)
    at = np.union1d(below, np.linspace(law.entropy_now, float(law.entropy.max()), 13))
    at = np.union1d(at, lowest)
    bounds = tails(fit.level)
    bands = np.array([cells.quantiles(bounds) for cells in reads.predicted(at, reads.averaged)])
    drawn = [form.form for form in law.forms if FORMS[form.form].colour or form.form == "law"]
    # The law is the mean of the rows of which a and b are the medians; no prior bounds its slope.
    rows = [reads.law if name == "law" else reads.averaged * reads.table.is_form(name) for name in drawn]
    means = reads.table.mean_curves(at, rows)
    forms = {
        name: tuple(np.minimum(mean, reads.top).tolist()) for name, mean in zip(drawn, means, strict=True)
    }
    return Curve(
        entropy=tuple(at.tolist()),
        mean=tuple(bands[:, 1].tolist()),
        low=tuple(bands[:, 0].tolist()),
        high=tuple(bands[:, 2].tolist()),
        forms=forms,
    )


@one_thread
def entropy_for(fit: Fit | LawFit, reward: float, level: float | None) -> EntropySet:
    """:meth:`Predictor.entropy_for <entropylaw.results.law.Predictor.entropy_for>`: the band inverted."""
    law, weight, method = _curve_of(fit)
    level = checked_level(law.level if level is None else level)
    if isinstance(reward, float) and not math.isfinite(reward):
        raise UsageError("bad-reward", f"target reward {reward!r}, expected a finite number", "give a number")
    reward = as_number(reward, "reward")
    reads = law.reads
    tail = tails(level)[0]
    answer = partial(EntropySet, reward=reward, level=level, method=f"inverted band ({method})")
    if reward > reads.top:
        note = f"a reward of {reward:g} is above {reads.top:g}, the largest that is possible"
        return answer(value=None, intervals=(), note=note)

    def inside(entropy: FloatArray, merge: bool) -> FloatArray:
        below = reads.p_below(entropy, weight, reward, merge=merge)
        return np.asarray(np.minimum(below - tail, 1.0 - tail - below))

    def over_median(entropy: FloatArray, merge: bool) -> FloatArray:
        return np.asarray(reads.p_below(entropy, weight, reward, merge=merge) - 0.5)

    # Where the curve's median is the reward, next to the entropy now.
    value = min(crossings(over_median), key=lambda root: abs(root - law.entropy_now), default=None)
    notes: list[str] = []
    if value is None:
        notes.append(f"the curve gives a reward of {reward:g} at no entropy up to {HIGHEST_ENTROPY:g} nats")
    ends = [0.0] if inside(np.zeros(1), False)[0] >= 0 else []
    ends += crossings(inside, value)
    highs: list[float | None] = [*ends[1::2]]
    if len(ends) % 2:
        highs.append(None)
        notes.append("no upper end: how fast reward falls with entropy is not settled")
    if not ends:
        notes = [f"no entropy from 0 to {HIGHEST_ENTROPY:g} nats is compatible with a reward of {reward:g}"]
    intervals = tuple(zip(ends[::2], highs, strict=True))
    return answer(value=value, intervals=intervals, note="; ".join(notes) or None)
