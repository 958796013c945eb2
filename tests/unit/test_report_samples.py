"""Runs and documents that the report tests render; and that they are what they are taken for."""

from functools import cache
from typing import Any

import numpy as np

from entropylaw import Estimate, Fit, FitDocument, FitError, LawFit, Run, Series, Verdict, Why
from entropylaw.analysis.entropy_ahead import entropy_drop
from entropylaw.analysis.law.verdict import ODDS
from entropylaw.documents.document import Entry, FitOptions, InputFile
from entropylaw.logs.source import Meaning, Source
from entropylaw.results import Curve, LawTests, Residuals
from entropylaw.results.columns import Choice
from entropylaw.results.fit import FormAnswer
from entropylaw.results.result import Finding, replace
from tests.findings import stated
from tests.laws import fit_arrays

HOSTILE = "../../etc/<script>alert('x')</script>\"|`a` [b](http://c.example)\n# $x$ 日本"


def choice(role: str, column: str, kind: str | None = None) -> Choice:
    entropy = role == "entropy"
    meaning = Meaning(
        role=role,
        trainer="verl",
        kind=kind,
        unit="nats" if entropy else None,
        aggregation="token mean" if entropy else None,
        timing="before the update",
    )
    return Choice(
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
    """A run in which reward falls as entropy falls: no law."""
    return synthetic("falling", a=-0.2, b=0.3, noise=0.03)


def refused(name: str = "short") -> Entry:
    nothing = np.zeros(3)
    error = FitError(
        "too-few-evaluations", "3 usable evaluations, expected at least 5", "evaluate more often"
    )
    return Entry.of(*read(name, "logs/short.csv", nothing, nothing, nothing, {"no entropy": 12}), error=error)


def document(*runs: Entry, warnings: tuple[str, ...] = ()) -> FitDocument:
    paths = sorted({run.path for run in runs})
    return FitDocument(
        inputs=tuple(InputFile(path=path, sha256="ab" * 32, format="csv", rows=120) for path in paths),
        settings=FitOptions(),
        runs=runs,
        warnings=warnings,
        version="0.0.0",
    )


def estimate(value: float | None, low: float | None, high: float | None, note: str | None = None) -> Estimate:
    return Estimate(
        value=value, low=low, high=high, level=0.95, method="drift + noise, integrated out", note=note
    )


def by_hand(
    *,
    verdict: Verdict = Verdict.holds,
    why: Why | None = None,
    findings: tuple[Finding, ...] | None = None,
    law_probability: float = 0.9,
    line_probability: float = 0.08,
    headroom: Estimate | None = None,
    p_headroom: float = 0.981,
    max_reward: float | None = None,
) -> Fit:
    """An answer whose every number is chosen here, so that its text does not depend on the engine."""
    step = np.array([10.0 * i for i in range(10)])
    entropy = np.linspace(1.0, 0.1, 10)
    fitted = 0.8 - 0.3 * np.expm1(entropy)
    grid = (0.0, 0.5, 1.0)
    mean = tuple(float(0.8 - 0.3 * np.expm1(h)) for h in grid)
    ceilings = {
        "law": estimate(0.8001, 0.7712, 0.8291),
        "line": estimate(0.832, 0.801, 0.866),
        "rate": estimate(0.81, 0.75, 0.88),
        "constant": estimate(0.5, 0.3, 0.7),
    }
    probability = {"law": law_probability, "line": line_probability, "rate": 0.0199, "constant": 0.0001}
    forms = (
        FormAnswer(
            form=name,
            formula=name,
            parameters=2,
            ceiling=ceilings[name],
            headroom=estimate(0.0316, 0.0121, 0.0511),
            probability=probability[name],
            residual_sd=0.02,
            shapes={"k": estimate(1.2, 0.4, 2.1)} if name == "rate" else {},
        )
        for name in ceilings
    )
    law = LawFit(
        run="by hand",
        n=10,
        a=estimate(0.30012, 0.2741, 0.3265),
        b=estimate(1.1, 1.04, 1.16),
        ceiling=ceilings["law"],
        correlation=0.93,
        entropy_now=0.1,
        entropy_noise=0.012,
        reward_now=estimate(0.7684, 0.757, 0.779),
        headroom=estimate(0.0315, 0.0287, 0.0343),
        residuals=Residuals(sd=0.0123, lag1=-0.2, effective_n=7.81, drift_share=0.25, long_memory=0.004),
        r_squared=0.981,
        step=step,
        entropy=entropy,
        smoothed_entropy=entropy,
        smoothing_error=np.full(10, 0.004),
        reward=fitted + 0.01 * np.cos(step),
        fitted=fitted,
        level=0.95,
        max_reward=max_reward,
        dropped={"a value is missing or not finite": 2},
    )
    fit = Fit(
        run="by hand",
        verdict=verdict,
        why=why,
        findings=stated("caution", "reward looks smoothed") if findings is None else findings,
        tests=LawTests(
            p_step=0.42,
            p_log_step=0.47,
            spearman=-0.97,
            odds_lagged=0.04,
            **dict.fromkeys((f"odds_{name}" for name in ODDS), 0.04),
        ),
        p_law=0.757,
        ceiling=estimate(0.8027, 0.7712, 0.8661),
        headroom=headroom or estimate(0.0343, 0.0121, 0.0911),
        reward_now=estimate(0.7684, 0.757, 0.779),
        gain=0.01,
        p_headroom=p_headroom,
        p_term=0.21,
        p_first=0.04,
        p_no_curve=0.01,
        forms=tuple(sorted(forms, key=lambda one: -one.probability)),
        skipped={"branches": "entropy never rises"},
        law=law,
    )
    # As if it had been computed from the posteriors, which this law does not have.
    vars(fit)["curve"] = Curve(
        entropy=grid,
        mean=mean,
        low=tuple(m - 0.03 for m in mean),
        high=tuple(m + 0.03 for m in mean),
        forms={"law": mean, "line": (0.83, 0.6, 0.3), "rate": mean, "constant": (0.5, 0.5, 0.5)},
        path_entropy=tuple(law.smoothed_entropy.tolist()),
        path_reward=tuple(law.reward.tolist()),
    )
    return fit


def run_by_hand(fit: Fit, name: str = "by hand") -> Entry:
    nothing = np.zeros(0)
    series = read(name, "logs/sample.csv", nothing, nothing, nothing, {"no reward at that step": 80})
    return Entry.of(*series, result=replace(fit, drop_per_100_steps=estimate(0.41, 0.36, 0.46)))


def test_samples_are_what_they_are_taken_for() -> None:
    assert synthetic().verdict == "holds"
    bad = falling().result
    assert bad is not None
    assert (bad.verdict, bad.why) == (Verdict.fails, Why.no_relation)
    assert by_hand().flaw() == ""
    assert refused().result is None
    assert refused().verdict == "refused"
