"""What forecasts achieve on finished runs of other people's repositories, the lab, and simulations.

python -m benchmarks.forecasts                     print the tables of the tuning half
python -m benchmarks.forecasts --left-out          and what they achieve on the other half
python -m benchmarks.forecasts --write             and put them into docs/benchmarks/forecasts.md

Runs are cut after 20, 33, 50 and 67 % of their length; the target is half as many steps on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks import finished
from benchmarks.cuts import CUTS, cuts_of, peers
from benchmarks.docs import write_block
from benchmarks.finished import Finished, for_tuning
from benchmarks.simulated import SHAPES, policy, shape
from entropylaw.analysis.forecast import (
    AHEAD,
    SoFar,
    ahead,
    p_ever,
    p_reached,
    so_far,
)
from entropylaw.analysis.state import gain_of, is_share_of_count
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import levels_of

GAINS = (0.01, 0.03)
"""Gains, in units of the largest reward (of a rate 1), or of the range so far where none is known."""

POLICIES = 100
"""Number of simulated policies."""

LEVEL = 0.95
"""Coverage of the intervals."""

BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

FEWEST_CUTS = 20
"""Cuts of a repository from which its own coverage is shown."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A run up to a cut, and what came.

    ``outcome`` is the mean of three evaluations around the target, ``then`` the level there, and ``highest``
    that up to there, by the whole run. ``last`` is the last reward, ``spread`` the range, ``gain`` the gain
    that counts, ``unit`` that of fixed gains, and ``others`` what simple methods say.
    """

    group: str
    arm: str
    done: SoFar
    lead: float
    last: float
    spread: float
    gain: float
    unit: float
    outcome: float
    then: float
    highest: float
    others: dict[str, float | None]


def cases_of(
    run: Finished,
    lead: float = AHEAD,
    shares: Sequence[float] = CUTS,
    compared: bool = False,
    truth: FloatArray | None = None,
) -> list[Case]:
    """The cases of a run, whose level (n,) is the ``truth`` where it is known.

    Simple methods are compared where ``compared``.
    """
    cases = []
    level = level_of(run) if truth is None else truth
    for until, at, nearest in cuts_of(run.step, shares, lead):
        step = run.step[:until]
        reward = run.reward[:until]
        if not np.ptp(reward) > 1e-12 * np.abs(reward).max():
            continue
        is_share = is_share_of_count(reward, run.most)
        levels = levels_of(step, reward, is_share=is_share)
        spread = float(np.ptp(reward))
        is_rate = reward.min() >= 0 and reward.max() <= 1
        later = np.append(level[until:][run.step[until:] <= at], np.interp(at, run.step, level))
        others: dict[str, float | None] = {}
        if compared:
            entropy = np.full(run.step.size, 0.0) if run.entropy is None else run.entropy
            others = peers(step, entropy[:until], reward, at, entropy[nearest])
        cases.append(
            Case(
                group=run.group,
                arm=run.arm,
                done=so_far(step, reward, levels, run.most),
                lead=(at - step[-1]) / (step[-1] - step[0]),
                last=float(reward[-1]),
                spread=spread,
                gain=gain_of(levels, is_share=is_share),
                unit=run.most or (1.0 if is_rate else spread),
                outcome=float(run.reward[nearest].mean()),
                then=float(later[-1]),
                highest=float(later.max()),
                others=others,
            )
        )
    return cases


def level_of(run: Finished) -> FloatArray:
    """The level of a whole run, at its evaluations."""
    levels = levels_of(run.step, run.reward, is_share=is_share_of_count(run.reward, run.most))
    return np.interp(run.step, levels.blocks.step, levels.level())


def to_test(run: Finished) -> list[Case]:
    """The cases of a run that are tested."""
    return cases_of(run, compared=True)


def every(make: Callable[[Finished], list[Case]], runs: Iterable[Finished]) -> list[Case]:
    """The cases of all runs, in several processes."""
    with ProcessPoolExecutor() as pool:
        return [case for cases in pool.map(make, runs, chunksize=8) for case in cases]


def policies() -> list[Finished]:
    """Runs of simulated policies."""
    runs = []
    for seed in range(POLICIES):
        style, (step, entropy, reward) = policy(seed)
        runs.append(
            Finished(
                group="policies",
                arm=style,
                run=f"policy {seed}",
                step=step,
                reward=reward,
                entropy=entropy,
                most=1.0,
            )
        )
    return runs


def shapes(name: str, count: int) -> list[Case]:
    """Cases of simulated rewards of one shape, each cut once."""
    cases = []
    for seed in range(count):
        step, reward, truth, seen = shape(name, seed)
        run = Finished(
            group="shapes", arm=name, run=f"{name} {seed}", step=step, reward=reward, entropy=None, most=1.0
        )
        cases += cases_of(run, AHEAD, [step[seen - 1] / step[-1]], truth=truth)
    return cases


def stacked(cases: Sequence[Case]) -> tuple[SoFar, FloatArray]:
    """What was done so far, and the leads, as arrays."""
    columns = zip(*(case.done for case in cases), strict=True)
    return SoFar(*(np.array(column) for column in columns)), np.array([case.lead for case in cases])


def gains_of(cases: Sequence[Case]) -> list[FloatArray]:
    """Of each case the gain that counts, and the fixed gains."""
    unit = np.array([case.unit for case in cases])
    return [np.array([case.gain for case in cases]), *(gain * unit for gain in GAINS)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tested:
    """Cases with what was forecast of them.

    ``p_gain`` and ``p_ever`` (3, n) are the probabilities of the gain that counts and of the fixed ones.
    """

    cases: Sequence[Case]
    centre: FloatArray
    low: FloatArray
    high: FloatArray
    p_gain: FloatArray
    p_ever: FloatArray


def tested(cases: Sequence[Case]) -> Tested:
    """Forecasts of cases."""
    done, lead = stacked(cases)
    later = ahead(done, lead)
    bars = [done.level + gain for gain in gains_of(cases)]
    tail = (1.0 - LEVEL) / 2.0
    return Tested(
        cases=cases,
        centre=later.centre,
        low=np.clip(later.end(tail), done.least, done.most),
        high=np.clip(later.end(1.0 - tail), done.least, done.most),
        p_gain=np.array([p_reached(done, lead, bar) for bar in bars]),
        p_ever=np.array([p_ever(done, lead, bar) for bar in bars]),
    )


def gained(result: Tested, *, ever: bool = False) -> FloatArray:
    """Whether each gain (3, n) was observed, of the level at the step, or of the highest up to there."""
    done, _ = stacked(result.cases)
    level = np.array([case.highest if ever else case.then for case in result.cases])
    return np.array([level >= done.level + gain for gain in gains_of(result.cases)])


def keys_of(cases: Sequence[Case]) -> FloatArray:
    """The repository, or the lab's arm, of each case."""
    return np.array([case.arm if case.group == "lab" else case.group for case in cases])


def brier(p: FloatArray, came: FloatArray, keys: FloatArray) -> tuple[float, float]:
    """Brier score over that of the base rate: all cuts alike, and repositories alike."""
    own = (p - came) ** 2
    base = (came.mean() - came) ** 2
    groups = [keys == key for key in np.unique(keys)]
    own_alike = np.mean([own[group].mean() for group in groups])
    base_alike = np.mean([base[group].mean() for group in groups])
    return float(own.mean() / max(base.mean(), 1e-12)), float(own_alike / max(base_alike, 1e-12))


def shares_of(low: FloatArray, high: FloatArray, outcome: FloatArray, keys: FloatArray) -> str:
    """Covered, missed above and below, all cuts alike, and the worst repository's coverage."""
    inside = (low <= outcome) & (outcome <= high)
    large = [inside[keys == key].mean() for key in np.unique(keys) if (keys == key).sum() >= FEWEST_CUTS]
    shares = [inside.mean(), np.mean(outcome > high), np.mean(outcome < low), min(large, default=np.nan)]
    return " · ".join("—" if np.isnan(share) else f"{100 * share:.1f} %" for share in shares)


def figures(result: Tested) -> dict[str, str]:
    """The figures of a table, each as text."""
    cases = result.cases
    keys = keys_of(cases)
    outcome = np.array([case.outcome for case in cases])
    spread = np.array([case.spread for case in cases])
    rows: dict[str, str] = {}
    for name, said, ever in (("then", result.p_gain, False), ("ever", result.p_ever, True)):
        came = gained(result, ever=ever)
        ratios = [brier(p, y, keys) for p, y in zip(said, came, strict=True)]
        rows[f"Brier to the base rate's, gain {name}, all cuts alike"] = " · ".join(
            f"{ratio[0]:.2f}" for ratio in ratios
        )
        rows[f"Brier to the base rate's, gain {name}, repositories alike"] = " · ".join(
            f"{ratio[1]:.2f}" for ratio in ratios
        )
    rows["covered · missed above · below · worst repository"] = shares_of(
        result.low, result.high, outcome, keys
    )
    rows["width of the interval in ranges, median"] = f"{np.median((result.high - result.low) / spread):.2f}"
    noise = np.array([case.done.noise for case in cases]) / np.sqrt(3.0)
    own = np.maximum(np.abs(result.centre - outcome), noise)
    last = np.maximum(np.abs(np.array([case.last for case in cases]) - outcome), noise)
    ratio = own / np.maximum(last, 1e-12)
    per_group = [np.exp(np.mean(np.log(ratio[keys == key]))) for key in np.unique(keys)]
    rows["error to the last value's: geometric mean · 95th percentile · worst repository's mean"] = (
        " · ".join(
            f"{value:.2f}"
            for value in (np.exp(np.mean(np.log(ratio))), np.quantile(ratio, 0.95), max(per_group))
        )
    )
    others = []
    for name in ("three_lines", "law", "scalerl"):
        guess = np.array([case.others.get(name) for case in cases], dtype=float)
        there = np.isfinite(guess)
        error = np.maximum(np.abs(guess - outcome), noise)
        value = np.exp(np.mean(np.log(own[there] / error[there]))) if there.any() else np.nan
        others.append("—" if np.isnan(value) else f"{value:.2f}")
    rows["error to three lines' · the law's · ScaleRL's"] = " · ".join(others)
    return rows


def bins_table(results: dict[str, Tested]) -> list[str]:
    """What was said of the gain that counts, and the share that was observed, in five bins."""
    lines = [
        f"| P(gain) | {' | '.join(f'{name}: said → observed (cuts)' for name in results)} |",
        f"| --- |{' ---: |' * len(results)}",
    ]
    for ever in (False, True):
        for low, high in pairwise(BINS):
            cells = []
            for result in results.values():
                p = (result.p_ever if ever else result.p_gain)[0]
                came = gained(result, ever=ever)[0]
                inside = (p >= low) & ((p < high) | (high == 1.0))
                if not inside.any():
                    cells.append("—")
                    continue
                cells.append(f"{p[inside].mean():.2f} → {came[inside].mean():.2f} ({inside.sum()})")
            lines.append(f"| {'ever' if ever else 'then'}, {low:g}–{high:g} | {' | '.join(cells)} |")
    return lines


def gain_table(count: int = 400) -> list[str]:
    """Probability of a gain in simulated shapes, beside the share that gained."""
    lines = [
        "| shape | P(gain .01) · share | P(gain .03) · share | covered |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name in SHAPES:
        result = tested(shapes(name, count))
        came = gained(result)
        cells = [f"{result.p_gain[row].mean():.2f} · {came[row].mean():.2f}" for row in (1, 2)]
        outcome = np.array([case.outcome for case in result.cases])
        covered = np.mean((result.low <= outcome) & (outcome <= result.high))
        lines.append(f"| {name} | {' | '.join(cells)} | {100 * covered:.0f} % |")
    return lines


def report(left_out: bool) -> str:
    """The tables as Markdown."""
    public = finished.public()
    halves = {half: [run for run in public if for_tuning(run.group) == half] for half in (True, False)}
    runs = {"tuning half": halves[True]}
    if left_out:
        runs["left-out half"] = halves[False]
    runs |= {"the lab": finished.lab(), "policies": policies()}
    results = {name: tested(every(to_test, some)) for name, some in runs.items()}
    columns = {name: figures(result) for name, result in results.items()}
    cuts = [f"{len(result.cases)} ({len(set(keys_of(result.cases)))})" for result in results.values()]
    lines = [
        f"| figure; gain that counts · .01 · .03 | {' | '.join(columns)} |",
        f"| --- |{' ---: |' * len(columns)}",
        f"| cuts (repositories or arms) | {' | '.join(cuts)} |",
    ]
    for name in next(iter(columns.values())):
        lines.append(f"| {name} | {' | '.join(column[name] for column in columns.values())} |")
    public_results = {name: result for name, result in results.items() if name.endswith("half")}
    lines += ["", *bins_table(public_results)]
    return "\n".join([*lines, "", "Simulated rewards:", "", *gain_table()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/benchmarks/forecasts.md"
    )
    parser.add_argument("--left-out", action="store_true", help="test the half that was left out, too")
    arguments = parser.parse_args()
    text = report(arguments.left_out)
    print(text)
    if arguments.write:
        write_block("forecasts", text)


if __name__ == "__main__":
    main()
