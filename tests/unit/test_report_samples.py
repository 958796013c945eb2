"""Runs and documents that the report tests render; and that they are what they are taken for."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from entropylaw import Estimate, Fit, FitError, Forecast, Run
from entropylaw.analysis.entropy_ahead import entropy_drop
from entropylaw.documents.document import Entry, FitDocument
from entropylaw.logs.source import Source
from entropylaw.options import FitOptions
from entropylaw.results import Curve, Verdict, Why
from entropylaw.results.columns import Choice
from entropylaw.results.law import LawFit
from entropylaw.results.result import Finding, replace
from entropylaw.results.state import State
from entropylaw.roles.series import Series
from tests.findings import made, stated
from tests.laws import fit_arrays

HOSTILE = "../../etc/<script>alert('x')</script>\"|`a` [b](http://c.example)\n# $x$ 日本"


def choice(role: str, column: str, kind: str | None = None) -> Choice:
    entropy = role == "entropy"
    meaning = {
        "role": role,
        "trainer": "verl",
        "kind": kind,
        "unit": "nats" if entropy else None,
        "aggregation": "token mean" if entropy else None,
        "timing": "before the update",
    }
    return made(
        Choice,
        column=column,
        meaning=meaning,
        why="the catalog knows it",
        usable=40,
        pair=None if entropy else "same",
        unit="" if entropy else "rate",
        sort="" if entropy else "score",
    )


def read(
    name: str, path: str, step: Any, entropy: Any, reward: Any, dropped: dict[str, int]
) -> tuple[Run, Series]:
    source = Source(path=path, format="csv", sha256="ab" * 32, rows=120)
    series = Series(
        run=name,
        source=source,
        step=step,
        entropy=entropy,
        reward=reward,
        entropy_choice=choice("entropy", "actor/entropy"),
        reward_choice=choice("reward", "val/acc", "validation"),
        dropped=dropped,
        notes=("steps fall from 40 to 31 at row 52: resumed run",),
    )
    return Run(name=name, source=source, step=np.asarray(step), columns={}), series


@cache
def synthetic(
    name: str = "sample", *, a: float = 0.3, b: float = 0.9, n: int = 40, noise: float = 0.01, h0: float = 1.2
) -> Entry:
    random = np.random.default_rng(1)
    step = np.arange(n) * 10.0
    entropy = h0 * np.exp(-3.0 * step / step[-1]) + 0.02 * random.random(n)
    reward = b - a * np.exp(entropy) + noise * random.standard_normal(n)
    fit = fit_arrays(entropy, reward, step, name=name)
    series = read(name, "logs/sample.csv", step, entropy, reward, {"no reward at that step": 80})
    drop = entropy_drop(fit.law.step, fit.law.entropy, level=fit.level)
    return Entry.of(*series, result=replace(fit, drop_per_100_steps=drop))


def falling() -> Entry:
    """A run in which reward falls as entropy falls: the law fails."""
    return synthetic("falling", a=-0.2, b=0.3, noise=0.03)


def refused(name: str = "short") -> Entry:
    nothing = np.zeros(3)
    error = FitError(
        "too-few-evaluations", "3 usable evaluations, expected at least 5", "evaluate more often"
    )
    return Entry.of(*read(name, "logs/short.csv", nothing, nothing, nothing, {"no entropy": 12}), error=error)


def document(*runs: Entry, warnings: tuple[str, ...] = ()) -> FitDocument:
    paths = sorted({run.path for run in runs})
    return made(
        FitDocument,
        inputs=[{"path": path, "sha256": "ab" * 32, "format": "csv", "rows": 120} for path in paths],
        settings=FitOptions(),
        runs=runs,
        warnings=warnings,
        version="0.0.0",
    )


def estimate(value: float | None, low: float | None, high: float | None, note: str | None = None) -> Estimate:
    return Estimate(
        value=value, low=low, high=high, level=0.95, method="drift + noise, integrated out", note=note
    )


def state_by_hand(word: str = "rising", **changed: Any) -> State:
    """A state whose every number is chosen here; what belongs to the word is ``changed``."""
    fields = {
        "word": word,
        "since": 60.0,
        "last_step": 90.0,
        "change": estimate(0.0312, 0.021, 0.0414),
        "would_show": 0.0151,
        "now": estimate(0.7684, 0.757, 0.779),
        "gained": estimate(0.4843, 0.461, 0.508),
        "gain": 0.01,
        "noise": 0.0123,
        "keep": {"step": 90.0, "level": 0.7684, "p_better": 0.0, "is_last": True},
    }
    return made(State, **(fields | changed))


def lost_by_hand() -> State:
    """That of a run that lost its reward."""
    kept = {"step": 40.0, "level": 0.7513, "p_better": 0.999, "is_last": False}
    now = estimate(0.0123, 0.002, 0.0226)
    return state_by_hand("broken", since=70.0, now=now, keep=kept, lost=(0.7513, 0.0123))


def ahead_by_hand(p_gain: float = 0.71) -> Forecast:
    """A forecast for half as many steps again, with the probability of a gain of .01."""
    return made(
        Forecast,
        run="by hand",
        n=10,
        block=1,
        without_entropy=0,
        last_step=90.0,
        now=0.7684,
        step=(130.0,),
        rewards=(estimate(0.7821, 0.751, 0.8132),),
        p_gains=(p_gain,),
        p_ever=min(p_gain + 0.1, 1.0),
        gain=0.01,
        entropies=(estimate(0.06, 0.02, 0.1),),
        spent=estimate(85.3, 71.2, 104.0),
        law={"rewards": (0.7814,), "error": 0.0131, "last_value_error": 0.0224},
        level=0.95,
        dropped={},
    )


def by_hand(
    *,
    verdict: Verdict = Verdict.holds,
    why: Why | None = None,
    findings: tuple[Finding, ...] | None = None,
    state: State | None = None,
    forecast: Forecast | None = None,
    law: Mapping[str, Any] | None = None,
) -> Fit:
    """An answer whose every number is chosen here, so that its text does not depend on the engine.

    ``law`` has numbers of the law that are others.
    """
    step = np.array([10.0 * i for i in range(10)])
    entropy = np.linspace(1.0, 0.1, 10)
    fitted = 0.8 - 0.3 * np.expm1(entropy)
    grid = (0.0, 0.5, 1.0)
    mean = tuple(float(0.8 - 0.3 * np.expm1(h)) for h in grid)
    probability = {"law": 0.9, "line": 0.08, "rate": 0.0199, "constant": 0.0001}
    forms = [
        {
            "form": name,
            "formula": name,
            "parameters": 2,
            "probability": probability[name],
            "residual_sd": 0.02,
            "shapes": {"k": estimate(1.2, 0.4, 2.1)} if name == "rate" else {},
        }
        for name in probability
    ]
    answer = made(
        LawFit,
        run="by hand",
        n=10,
        verdict=verdict,
        why=why,
        tests={
            "odds_entropy": 41.0,
            "odds_law": 52.0,
            "odds_line": 2.5,
            "odds_step": 1200.0,
            "p_direction": 0.9995,
        },
        a=estimate(0.30012, 0.2741, 0.3265),
        b=estimate(1.1, 1.04, 1.16),
        ceiling=estimate(0.8001, 0.7712, 0.8291),
        correlation=0.93,
        entropy_now=0.1,
        entropy_noise=0.012,
        forms=tuple(forms),
        skipped={"branches": "entropy never rises"},
        p_term=0.21,
        p_first=0.04,
        p_no_curve=0.01,
        residuals={
            "sd": 0.0123,
            "lag1": -0.2,
            "effective_n": 7.81,
            "drift_share": 0.25,
            "long_memory": 0.004,
        },
        r_squared=0.981,
        step=step,
        entropy=entropy,
        smoothed_entropy=entropy,
        smoothing_error=np.full(10, 0.004),
        smoothing_length=2.5,
        reward=fitted + 0.01 * np.cos(step),
        fitted=fitted,
        level=0.95,
        dropped={"a value is missing or not finite": 2},
    )
    answer = replace(answer, **(law or {}))
    fit = Fit(
        run="by hand",
        level=0.95,
        max_reward=answer.max_reward,
        state=state or state_by_hand(),
        gain=0.01,
        forecast=forecast or ahead_by_hand(),
        law=answer,
        findings=stated("caution", "reward looks smoothed") if findings is None else findings,
    )
    # As if it had been computed from the posteriors, which this law does not have.
    vars(fit)["curve"] = Curve(
        entropy=grid,
        mean=mean,
        low=tuple(m - 0.03 for m in mean),
        high=tuple(m + 0.03 for m in mean),
        forms={"law": mean, "line": (0.83, 0.6, 0.3), "rate": mean, "constant": (0.5, 0.5, 0.5)},
    )
    return fit


def without_entropy(name: str = "no entropy") -> Entry:
    """A run whose log has no entropy: it has a state and a forecast, and no law."""
    random = np.random.default_rng(1)
    step = np.arange(40) * 10.0
    reward = 0.3 + 0.5 * (1 - np.exp(-step / 150.0)) + 0.01 * random.standard_normal(40)
    fit = fit_arrays(None, reward, step, name=name)
    log, series = read(name, "logs/none.csv", step, np.full(40, np.nan), reward, {})
    return Entry.of(log, replace(series, entropy_choice=None), result=fit)


def run_by_hand(fit: Fit, name: str = "by hand") -> Entry:
    nothing = np.zeros(0)
    series = read(name, "logs/sample.csv", nothing, nothing, nothing, {"no reward at that step": 80})
    return Entry.of(*series, result=replace(fit, drop_per_100_steps=estimate(0.41, 0.36, 0.46)))


def test_samples_are_what_they_are_taken_for() -> None:
    assert synthetic().verdict == "holds"
    assert synthetic().result.state.word == "flat"
    bad = falling().result.law
    assert (bad.verdict, bad.why) == (Verdict.fails, Why.reverse)
    assert by_hand().flaw() == by_hand().law.flaw() == ""
    bare = without_entropy().result
    assert (bare.state.word, bare.law, bare.no_law.slug) == ("rising", None, "no-entropy")
    assert refused().result is None
    assert refused().verdict == "refused"
