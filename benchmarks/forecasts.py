"""Do forecasts beat "stays where it is"? Real logs and the lab's runs, first part fitted, rest predicted.

python -m benchmarks.forecasts                      print the table
python -m benchmarks.forecasts --write              and put it into docs/benchmarks/forecasts.md
python -m benchmarks.forecasts --development        the development half alone, for tuning
python -m benchmarks.forecasts --runs               one line for each series too

The prior of a series is learned without its family and about a sixth of the others (``benchmarks.prior``).
The members and features were chosen on the development half; the other half was looked at once, afterwards.
The terms of the bands were chosen on simulated worlds of other seeds, with the bands of all series in view.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.docs import write_block
from benchmarks.finished import Entry, collected
from benchmarks.prior import every_cut, left_out, part, sources
from benchmarks.simulated import curves
from entropylaw.analysis.backtest import backtest_run, skills
from entropylaw.analysis.forecast_prior import Prior
from entropylaw.analysis.forms import design, law_column
from entropylaw.errors import EntropyLawError
from entropylaw.results.forecast import RunBacktest, Skill
from entropylaw.roles.series import Series

WORLDS = {
    "the law, ordinary decay": ("exponential", "law"),
    "the law, a late fall": ("late", "law"),
    "a line": ("exponential", "line"),
    "the step alone": ("exponential", "step"),
    "a random walk": ("exponential", "walk"),
    "turning down after 60 %": ("exponential", "turns"),
}
"""Simulated worlds: shapes of entropy and reward (``benchmarks/simulated.py``)."""

FRESH = 10_000
"""First seed of the worlds: the prior was learned from others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put it into docs/benchmarks/forecasts.md")
    parser.add_argument("--development", action="store_true", help="the development half alone")
    parser.add_argument("--runs", action="store_true", help="a line for each series too")
    parser.add_argument("--worlds", type=int, default=30, help="simulated runs per world")
    arguments = parser.parse_args()
    entries = [entry for entry in collected() if entry.development or not arguments.development]
    priors = left_out(every_cut(sources()))
    with ProcessPoolExecutor() as pool:
        results = list(
            pool.map(
                tested, [entry.series for entry in entries], [priors[part(entry.family)] for entry in entries]
            )
        )
    pairs = [(entry, result) for entry, result in zip(entries, results, strict=True) if result is not None]
    if arguments.runs:
        print("\n".join(run_lines(pairs)) + "\n")
    with ProcessPoolExecutor() as pool:
        simulated = list(pool.map(world_row, WORLDS, [arguments.worlds] * len(WORLDS)))
    text = "\n".join([table(pairs, len(entries) - len(pairs)), "", *WORLD_HEAD, *simulated])
    print(text)
    if arguments.write:
        write_block("forecasts", text)


def tested(series: Series, prior: Prior | None) -> RunBacktest | None:
    """None where the series cannot be tested: too short, or a constant entropy or reward."""
    try:
        return backtest_run(
            series.step,
            series.entropy,
            series.reward,
            max_reward=series.max_reward,
            prior=prior,
            run=series.run,
        )
    except EntropyLawError:
        return None


def table(pairs: Sequence[tuple[Entry, RunBacktest]], refused: int) -> str:
    """Markdown: protocol by half, ratios of RMSE and coverage."""
    averaged = sum(result.block > 1 for _, result in pairs)
    lines = [
        f"{len(pairs)} series ({sum(entry.public for entry, _ in pairs)} of public logs, the others of "
        f"`data/lab`); {refused} more cannot be tested (fewer than 12 evaluations, or an entropy or reward "
        f"that is constant). {averaged} of more than 200 evaluations are averaged over blocks. Ratios are "
        "geometric means over series of the forecast's RMSE to that of the simple method (below 1 the "
        "forecast is better), each at least the noise of the series. Prediction intervals are nominal 95 %; "
        "their width is the median over series, in ranges of the reward; *to band* is the interval score to "
        "that of a normal band about the last value whose sd is that of one-step changes times √(steps "
        "ahead). The prior of each series was learned without its family and about a sixth of the others.",
        "",
        "| fitted | entropy | half | series | to last value | worst | to law | to line | to averaged "
        "| to ScaleRL | covered | covered below 60 % | width | to band |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    halves = {
        "development": [result for entry, result in pairs if entry.development],
        "held out": [result for entry, result in pairs if not entry.development],
        "public logs, both halves": [result for entry, result in pairs if entry.public],
        "the lab, both halves": [result for entry, result in pairs if not entry.public],
        "all": [result for _, result in pairs],
    }
    scored = {half: skills(results) for half, results in halves.items() if results}
    for number in range(len(scored["all"])):
        for half, rows in scored.items():
            missed = sum(one.scores[number].covered < 0.6 for one in halves[half])
            lines.append(_row(half, rows[number], missed))
    return "\n".join(lines)


def _row(half: str, skill: Skill, missed: int) -> str:
    entropy = "forecast" if skill.blind else "observed"
    averaged = "—" if skill.to_averaged is None else f"{skill.to_averaged:.2f}"
    return (
        f"| {skill.protocol} | {entropy} | {half} | {skill.runs} | {skill.to_last_value:.2f} | "
        f"{skill.worst:.2f} | {skill.to_law:.2f} | {skill.to_line:.2f} | {averaged} | "
        f"{skill.to_scalerl:.2f} | {100 * skill.covered:.1f} % | {missed} | {skill.width:.2f} | "
        f"{skill.to_band:.2f} |"
    )


WORLD_HEAD = (
    "Simulated runs of other parameters and seeds than those that the shipped prior was learned from: "
    "coverage of nominal 95 % intervals. In brackets, where the law holds, the median width over that of a "
    "band that knows the law and the sd of the residual (by least squares over the whole run).",
    "",
    "| world | first 15 %, observed | forecast | first third, observed | forecast |",
    "| --- | ---: | ---: | ---: | ---: |",
)


def world_row(name: str, runs: int) -> str:
    """Coverage and width in one world."""
    covered, width = [], []
    for seed in range(FRESH, FRESH + runs):
        _, (step, entropy, reward) = curves(seed, WORLDS[name])
        law = design(law_column(entropy))
        residual = reward - law @ np.linalg.lstsq(law, reward, rcond=None)[0]
        known = 2.0 * 1.96 * float(np.std(residual))
        scores = backtest_run(step, entropy, reward).scores[:4]
        covered.append([score.covered for score in scores])
        width.append([score.width / known for score in scores])
    each = zip(np.mean(covered, axis=0), np.median(width, axis=0), strict=True)
    lawful = WORLDS[name][1] == "law"
    cells = (f"{100 * share:.0f} %" + (f" ({ratio:.1f})" if lawful else "") for share, ratio in each)
    return f"| {name} | {' | '.join(cells)} |"


def run_lines(pairs: Sequence[tuple[Entry, RunBacktest]]) -> list[str]:
    lines = []
    for entry, result in pairs:
        half = "dev " if entry.development else "held"
        column = entry.series.reward_choice.column
        ratios = " ".join(
            f"{score.rmse / score.last_value:5.2f} {score.rmse / score.law:5.2f} {100 * score.covered:4.0f} %"
            for score in result.scores
        )
        lines.append(f"{half} {result.run[:30]:30} {column[-16:]:16} {result.n:4} {ratios}")
    return lines


if __name__ == "__main__":
    main()
