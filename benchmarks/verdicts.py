"""How often the law holds, is undecided or fails, whichever curve is true, and what the answer rests on.

python -m benchmarks.verdicts                print the tables
python -m benchmarks.verdicts --write        and put them into docs/benchmarks/verdicts.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.docs import write_block
from benchmarks.verdict_worlds import R_SQUARED, SIZES, TRUTHS, Drawn, draw
from entropylaw import EntropyLawError, LawFit
from entropylaw.analysis.forms import FORMS, entropy_forms
from entropylaw.analysis.law.fitting import law_of_run
from entropylaw.analysis.law.verdict import law_probability, law_tests, rule
from entropylaw.analysis.rivals import FormFits
from entropylaw.analysis.stability import rests_on
from entropylaw.results import Verdict

CURVES = ("the law", "a line", "rate k = 3", "rate k = −3", "H²")
"""Truths of the reliability table, equally many runs of each."""

EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One run: its verdict, and the law's probability for it, among the averaged forms, and by BIC."""

    truth: str
    n: int
    r_squared: float
    residual: str
    verdict: str
    probability: float
    averaged: float
    bic: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=75, help="runs per truth and number of evaluations")
    parser.add_argument("--jobs", type=int, help="processes, one a core where not given")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/benchmarks/verdicts.md"
    )
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        text = tables(pool.map, arguments.runs)
    print(text)
    if arguments.write:
        write_block("verdicts", text)


def tables(mapping: Callable[..., Iterable[Any]], runs: int) -> str:
    """Markdown: verdicts by truth, those of the law by R², n and residual, reliability, and first runs."""
    jobs = [(worlds, truth, n, runs) for worlds in SIZES for truth in TRUTHS for n in SIZES[worlds]]
    found: dict[str, list[Judged]] = {worlds: [] for worlds in SIZES}
    for (worlds, *_), some in zip(jobs, mapping(judged, *zip(*jobs, strict=True)), strict=True):
        found[worlds] += some
    early = [
        (worlds, truth, n, max(runs // 5, 5), burn_in)
        for worlds in SIZES
        for truth in CURVES
        for n in SIZES[worlds]
        for burn_in in (False, True)
    ]
    rests = dict(zip(early, mapping(resting, *zip(*early, strict=True)), strict=True))
    return "\n\n".join((_verdicts(found, runs), _of_the_law(found), _reliability(found), _resting(rests)))


def judged(worlds: str, truth: str, n: int, runs: int) -> list[Judged]:
    """The runs of one cell; one that cannot be fitted is undecided."""
    rng = np.random.default_rng([13, n, list(TRUTHS).index(truth), list(SIZES).index(worlds)])
    found = []
    for _ in range(runs):
        run = draw(truth, n, worlds, rng)
        verdict, probability, averaged, bic = "undecided", np.nan, np.nan, np.nan
        try:
            fit, fits = _fitted(run)
        except EntropyLawError:
            pass
        else:
            verdict, probability = verdict_of(fit, fits)
            averaged, bic = fits.probability["law"], _by_bic(fit)
        found.append(
            Judged(
                truth=truth,
                n=n,
                r_squared=run.r_squared,
                residual=run.residual,
                verdict=verdict,
                probability=probability,
                averaged=averaged,
                bic=bic,
            )
        )
    return found


def _fitted(run: Drawn) -> tuple[LawFit, FormFits]:
    return law_of_run(run.entropy, run.reward, run.step)


def verdict_of(fit: LawFit, fits: FormFits) -> tuple[Verdict, float]:
    """The verdict, and the law's probability that it rests on."""
    h = fit.smoothed_entropy
    tests = law_tests(fit.step, h, fit.reward, fit.residual_covariances, fits)
    known = {"r_squared": fit.r_squared, "among_forms": fits.probability["law"]}
    verdict, _ = rule(tests, fit.a, n=fit.n, span=float(np.ptp(h)), **known)
    return verdict, law_probability(tests)


def _by_bic(fit: LawFit) -> float:
    """Probability of the law by Schwarz' criterion with independent residuals, shapes by least squares."""
    scores = {}
    for form in entropy_forms(fit.smoothed_entropy)[0]:
        if not FORMS[form.name].core:
            continue
        axis = [shape.value(np.linspace(*shape.axis()[[0, -1]], 201)) for shape in form.shapes]
        shapes = axis[0][:, None] if axis else np.zeros((1, 0))
        least = min(
            float(np.sum((fit.reward - x @ np.linalg.lstsq(x, fit.reward, rcond=None)[0]) ** 2))
            for x in form.designs(form.inputs, shapes)
        )
        scores[form.name] = -0.5 * (fit.n * np.log(max(least, 1e-300)) + form.parameters * np.log(fit.n))
    top = max(scores.values())
    return float(np.exp(scores["law"] - top) / sum(np.exp(score - top) for score in scores.values()))


def resting(worlds: str, truth: str, n: int, runs: int, burn_in: bool) -> list[bool]:
    """Of each run whether its answer is said to rest on its first evaluations."""
    rng = np.random.default_rng([12, n, list(TRUTHS).index(truth), list(SIZES).index(worlds), burn_in])
    found = []
    for _ in range(runs):
        fit, fits = _fitted(draw(truth, n, worlds, rng, burn_in=burn_in))
        found.append(any(cut.changed for cut in rests_on(fit, fits)))
    return found


def _shares(runs: Sequence[Judged]) -> str:
    """Per cent that hold, are undecided and fail."""
    counts = [sum(run.verdict == verdict for run in runs) for verdict in Verdict]
    return " / ".join(f"{100 * count / max(len(runs), 1):.1f}" for count in counts)


def _verdicts(found: dict[str, list[Judged]], runs: int) -> str:
    lines = [
        f"{runs} runs per truth and number of evaluations: per cent of runs in which the law holds / is "
        "undecided / fails.",
        "",
        "| truth | worlds of the tuning | other worlds |",
        "| --- | ---: | ---: |",
    ]
    for truth in TRUTHS:
        cells = [_shares([run for run in found[worlds] if run.truth == truth]) for worlds in SIZES]
        lines.append(f"| {truth} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _of_the_law(found: dict[str, list[Judged]]) -> str:
    lines = ["The same where the law is true.", "", "| worlds | runs | holds / undecided / fails |"]
    lines.append("| --- | --- | ---: |")
    for worlds, runs in found.items():
        name = "of the tuning" if worlds == "tuned" else "other"
        law = [run for run in runs if run.truth == "the law"]
        groups = {f"R² {value}": [run for run in law if run.r_squared == value] for value in R_SQUARED}
        groups |= {f"n = {n}": [run for run in law if run.n == n] for n in SIZES[worlds]}
        residuals = sorted({run.residual for run in law})
        groups |= {f"residual: {kind}": [run for run in law if run.residual == kind] for kind in residuals}
        lines += [f"| {name} | {group} | {_shares(some)} |" for group, some in groups.items()]
    return "\n".join(lines)


def _reliability(found: dict[str, list[Judged]]) -> str:
    kinds = {"verdict": "probability", "averaged forms": "averaged", "BIC": "bic"}
    lines = [
        "Reliability of the law's posterior probability, over equally many runs of "
        f"{', '.join(CURVES[:-1])} and {CURVES[-1]}: runs in which a probability is stated, its mean, and "
        "the share of them in which the law is true. The verdict's probability is among ten curves, that of "
        "the averaged forms has no step among them. BIC is Schwarz' criterion over the "
        "averaged forms, with independent residuals.",
        "",
        "| worlds | stated between | " + " | ".join(kinds) + " |",
        "| --- | --- |" + " ---: |" * len(kinds),
    ]
    for worlds, runs in found.items():
        name = "of the tuning" if worlds == "tuned" else "other"
        some = [run for run in runs if run.truth in CURVES and np.isfinite(run.probability)]
        true = np.array([run.truth == "the law" for run in some], dtype=float)
        columns = [np.array([getattr(run, kind) for run in some]) for kind in kinds.values()]
        for low, high in pairwise(EDGES):
            cells = []
            for stated in columns:
                inside = (stated >= low) & ((stated < high) | (high == EDGES[-1]))
                if inside.any():
                    means = f"{stated[inside].mean():.2f} → {true[inside].mean():.2f}"
                cells.append(f"{inside.sum()}: {means}" if inside.any() else "0")
            lines.append(f"| {name} | {low:g}–{high:g} | {' | '.join(cells)} |")
        scores = [f"{np.mean((stated - true) ** 2):.3f}" for stated in columns]
        lines.append(f"| {name} | Brier score | {' | '.join(scores)} |")
    return "\n".join(lines)


def _resting(found: dict[tuple[str, str, int, int, bool], list[bool]]) -> str:
    lines = [
        "Per cent of runs whose answer is said to rest on the first evaluations: without a burn-in / with "
        "one, in which reward is 0.1–0.3 lower at the first entropy over the first 5 % of the evaluations.",
        "",
        "| truth | worlds of the tuning | other worlds |",
        "| --- | ---: | ---: |",
    ]
    for truth in CURVES:
        cells = []
        for worlds in SIZES:
            shares = [
                100
                * np.mean(
                    [
                        one
                        for job, some in found.items()
                        for one in some
                        if job[:2] == (worlds, truth) and job[4] == burn_in
                    ]
                )
                for burn_in in (False, True)
            ]
            cells.append(" / ".join(f"{share:.0f}" for share in shares))
        lines.append(f"| {truth} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
