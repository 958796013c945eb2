"""What forecasts achieve on runs of repositories that they were not learned from.

python -m benchmarks.forecasts                     print the tables; the constants of the tuning half
python -m benchmarks.forecasts --left-out          and what they achieve on the other half
python -m benchmarks.forecasts --write             and put them into docs/benchmarks/forecasts.md
python -m benchmarks.forecasts --learn             learn the constants from all runs, and write
                                                   entropylaw/analysis/forecast_constants.json
python -m benchmarks.forecasts --learn --logs DIR  from the public logs of another folder

Runs are cut after 20, 33, 50 and 67 % of their length; the target is half as many steps on. For learning
they are cut for further targets too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import stdtr, stdtrit

from benchmarks import finished
from benchmarks.cuts import CUTS, cuts_of, peers
from benchmarks.docs import write_block
from benchmarks.finished import Finished, for_tuning
from benchmarks.simulated import SHAPES, policy, shape
from benchmarks.worlds import FloatArray
from entropylaw.analysis import forecast as module
from entropylaw.analysis.forecast import (
    AHEAD,
    DF,
    FARTHEST,
    Constants,
    SoFar,
    ahead,
    best_of,
    p_reached,
    so_far,
)
from entropylaw.engine.levels import blocked, levels_of

PROTOTYPE = finished.ROOT.parent / "shared" / "prototypes" / "forecast_line.py"
"""A design that this one is compared with, where it is there; it was learned from all public logs."""

FILE = Path(module.__file__).with_name("forecast_constants.json")

GAINS = (0.01, 0.03)
"""Gains, in units of the largest reward (of a rate 1), or of the range so far where none is known."""

LEADS = {0.5: CUTS, 0.1: (0.15, 0.33, 0.67), 1.0: (0.1, 0.2, 0.33), 2.0: (0.1, 0.2)}
"""Leads that are learned from, each with the shares of a run's length after which it is cut."""

START, SPREAD = (2.0, 1.0, 0.1, -0.8, -2.0, 0.0), (1.0, 0.5, 0.2, 1.0, 1.5, 1.0)
"""Centre and width of the penalty on the constants of the path, but for the shift, which is learned last."""

SHIFTS = np.linspace(-0.5, 0.5, 101)
"""Shifts of which one is taken, in scales."""

LAB_SHARE = 0.25
"""The lab's arms together count as this share of the public logs and it."""

SIMULATED = {"policies": 100, "shapes": 100}
"""Numbers of simulated policies, and of runs of each shape, that are learned from."""

FRESH = 10_000
"""First seed of the simulated runs that are tested."""

BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A run up to a cut, and the outcome: the mean of three evaluations around the target.

    ``eighth`` is the mean of the last eighth, ``last`` the last reward, ``unit`` that of gains, and
    ``others`` what simple methods say.
    """

    group: str
    arm: str
    done: SoFar
    lead: float
    eighth: float
    last: float
    unit: float
    outcome: float
    others: dict[str, float | None]


def cases_of(
    run: Finished, lead: float = AHEAD, shares: Sequence[float] = CUTS, compared: bool = False
) -> list[Case]:
    """The cases of a run; simple methods are compared where ``compared``."""
    cases = []
    for until, at, nearest in cuts_of(run.step, shares, lead):
        step, reward = run.step[:until], run.reward[:until]
        if not np.ptp(reward) > 1e-12 * np.abs(reward).max():
            continue
        s, r, _ = blocked(step, reward)
        if not np.ptp(r):
            continue
        done = so_far(s, r, reward, levels_of(s, r, may_jump=True), run.most)
        unit = 1.0 if reward.min() >= 0 and reward.max() <= 1 else done.spread
        others: dict[str, float | None] = {}
        if compared:
            entropy = np.full(run.step.size, 0.0) if run.entropy is None else run.entropy
            others = peers(step, entropy[:until], reward, at, entropy[nearest])
            others |= of_prototype(step, reward)
        cases.append(
            Case(
                group=run.group,
                arm=run.arm,
                done=done,
                lead=(at - step[-1]) / (step[-1] - step[0]),
                eighth=float(r[-max(3, r.size // 8) :].mean()),
                last=float(reward[-1]),
                unit=done.most if np.isfinite(done.most) else unit,
                outcome=float(run.reward[nearest].mean()),
                others=others,
            )
        )
    return cases


@cache
def prototype() -> Any:
    """The module of the design that this one is compared with; None where it is not there."""
    if not PROTOTYPE.exists():
        return None
    spec = importlib.util.spec_from_file_location("forecast_line", PROTOTYPE)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def of_prototype(step: FloatArray, reward: FloatArray) -> dict[str, float | None]:
    """What the prototype says: the reward, and the probabilities of gains over the last eighth."""
    if prototype() is None:
        return {}
    features = prototype().features(step, reward)
    unit = 1.0 if features["bounded"] else features["range"]
    said = {f"prototype {gain}": float(prototype().gain_probability(features, gain * unit)) for gain in GAINS}
    return {"prototype": float(prototype().predict(features)[0]), **said}


def to_learn(run: Finished) -> list[Case]:
    """The cases of a run that are learned from."""
    return [case for lead, shares in LEADS.items() for case in cases_of(run, lead, shares)]


def to_test(run: Finished) -> list[Case]:
    """The cases of a run that are tested."""
    return cases_of(run, compared=True)


def every(make: Callable[[Finished], list[Case]], runs: Iterable[Finished]) -> list[Case]:
    """The cases of all runs, in several processes."""
    with ProcessPoolExecutor() as pool:
        return [case for cases in pool.map(make, runs, chunksize=8) for case in cases]


def policies(first: int = 0) -> list[Finished]:
    """Runs of simulated policies."""
    runs = []
    for seed in range(first, first + SIMULATED["policies"]):
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


def shapes(name: str, count: int, first: int = 0) -> list[Case]:
    """Cases of simulated rewards of one shape, each cut once."""
    cases = []
    for seed in range(first, first + count):
        step, reward, _, seen = shape(name, seed)
        run = Finished(
            group="shapes", arm=name, run=f"{name} {seed}", step=step, reward=reward, entropy=None, most=1.0
        )
        cases += cases_of(run, AHEAD, [step[seen - 1] / step[-1]])
    return cases


def stacked(cases: Sequence[Case]) -> tuple[SoFar, FloatArray]:
    """What was done so far, and the leads, as arrays."""
    columns = zip(*(case.done for case in cases), strict=True)
    return SoFar(*(np.array(column) for column in columns)), np.array([case.lead for case in cases])


def weights(cases: Sequence[Case]) -> FloatArray:
    """Weight of each case, 1 in the mean: a repository counts by the square root of its cases."""
    keys = [case.arm if case.group == "lab" else case.group for case in cases]
    count = {key: keys.count(key) for key in set(keys)}
    weight = np.array([count[key] ** -0.5 for key in keys])
    of_lab = np.array([case.group == "lab" for case in cases])
    if of_lab.any() and not of_lab.all():
        weight[of_lab] *= LAB_SHARE / (1.0 - LAB_SHARE) * weight[~of_lab].sum() / weight[of_lab].sum()
    return weight / weight.mean()


def bars(cases: Sequence[Case], gain: float, *, smoothed: bool) -> FloatArray:
    """The reward that is a gain on the level now, or on the mean of the last eighth."""
    return np.array([(case.done.level if smoothed else case.eighth) + gain * case.unit for case in cases])


def misfit(cases: Sequence[Case]) -> Callable[[FloatArray, FloatArray], float]:
    """Minus the log likelihood of the outcomes, and of whether gains on the level came true.

    It is a function of the location and the scale of each case.
    """
    outcome, weight = np.array([case.outcome for case in cases]), weights(cases)
    gains = [bars(cases, gain, smoothed=True) for gain in GAINS]

    def loss(location: FloatArray, scale: FloatArray) -> float:
        z = (outcome - location) / scale
        total = weight @ ((DF + 1.0) / 2.0 * np.log1p(z * z / DF) + np.log(scale))
        for bar in gains:
            p = np.clip(stdtr(DF, (location - bar) / scale), 1e-4, 1.0 - 1e-4)
            total -= weight @ np.log(np.where(outcome >= bar, p, 1.0 - p)) / len(gains)
        return float(total)

    return loss


def learn(cases: Sequence[Case]) -> Constants:
    """The constants that were most likely in some cases, without a shift."""
    (done, lead), minus_log = stacked(cases), misfit(cases)

    def loss(path: FloatArray) -> float:
        penalty = 0.125 * float(np.sum(((path - START) / SPREAD) ** 2))
        return minus_log(*ahead(done, lead, (*path, 0.0))) + penalty

    path = minimize(loss, START, method="L-BFGS-B").x
    return Constants(path=[*path.round(3).tolist(), 0.0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tested:
    """Cases with what was forecast of them by constants of other runs.

    ``p`` has the probabilities of each gain over the level (rows 0, 1) and over the last eighth (2, 3).
    """

    cases: Sequence[Case]
    location: FloatArray
    scale: FloatArray
    p: FloatArray


def tested(cases: Sequence[Case], constants: Constants) -> Tested:
    """Forecasts of cases by constants."""
    done, lead = stacked(cases)
    location, scale = ahead(done, lead, constants.path)
    events = [bars(cases, gain, smoothed=smoothed) for smoothed in (True, False) for gain in GAINS]
    p = np.array([p_reached(done, lead, bar, constants.path) for bar in events])
    return Tested(cases=cases, location=location, scale=scale, p=p)


def without_own(
    learned: Sequence[Case], cases: Sequence[Case], groups: Iterable[str]
) -> tuple[Tested, float]:
    """Forecasts of the cases of some groups, each by constants that were learned without its own.

    Each has the shift that was most likely in the other groups; the second value is that of all of them.
    """
    by_group = {group: [case for case in cases if case.group == group] for group in sorted(groups)}
    constants = {
        group: learn([case for case in learned if case.group != group])
        for group, own in by_group.items()
        if own
    }
    first = {group: tested(by_group[group], constants[group]) for group in constants}
    parts = []
    for group in constants:
        others = [part for other, part in first.items() if other != group] or [first[group]]
        parts.append(tested(by_group[group], shifted(constants[group], best_shift(others))))
    together = Tested(
        cases=[case for part in parts for case in part.cases],
        location=np.concatenate([part.location for part in parts]),
        scale=np.concatenate([part.scale for part in parts]),
        p=np.concatenate([part.p for part in parts], axis=1),
    )
    return together, best_shift(list(first.values()))


def best_shift(results: Sequence[Tested]) -> float:
    """The shift, in scales, that was most likely in what was forecast."""
    cases = [case for result in results for case in result.cases]
    location = np.concatenate([result.location for result in results])
    scale = np.concatenate([result.scale for result in results])
    minus_log = misfit(cases)
    losses = [minus_log(location + shift * scale, scale) for shift in SHIFTS]
    return float(SHIFTS[np.argmin(losses)])


def shifted(constants: Constants, shift: float) -> Constants:
    """The constants with another shift."""
    return constants._replace(path=[*constants.path[:-1], round(shift, 3)])


def keys_of(cases: Sequence[Case]) -> FloatArray:
    """The repository, or the lab's arm, of each case."""
    return np.array([case.arm if case.group == "lab" else case.group for case in cases])


def reliability(result: Tested) -> list[tuple[float, float, float, int]]:
    """How often forecasts that gave a gain a probability came true: ends, share, number."""
    outcome, p = np.array([case.outcome for case in result.cases]), result.p[: len(GAINS)]
    came = np.array([outcome >= bars(result.cases, gain, smoothed=True) for gain in GAINS])
    rows = []
    for low, high in pairwise(BINS):
        inside = (p >= low) & ((p < high) | (high == 1.0))
        if inside.any():
            rows.append((low, high, round(float(came[inside].mean()), 3), int(inside.sum())))
    return rows


def brier(result: Tested, row: int, bar: FloatArray) -> tuple[float, float]:
    """Brier score over that of the base rate: all cuts alike, and repositories alike."""
    y = (np.array([case.outcome for case in result.cases]) >= bar).astype(float)
    own, base, keys = (result.p[row] - y) ** 2, (y.mean() - y) ** 2, keys_of(result.cases)
    alike = [np.mean([score[keys == key].mean() for key in np.unique(keys)]) for score in (own, base)]
    return float(own.mean() / base.mean()), float(alike[0] / alike[1])


def figures(result: Tested) -> dict[str, str]:
    """The figures of a table, each as text."""
    cases, keys = result.cases, keys_of(result.cases)
    outcome = np.array([case.outcome for case in cases])
    spread = np.array([case.done.spread for case in cases])
    rows: dict[str, list[str]] = {}
    for smoothed, label in ((False, "the last eighth"), (True, "the level")):
        ratios = [
            brier(result, row + 2 * (not smoothed), bars(cases, gain, smoothed=smoothed))
            for row, gain in enumerate(GAINS)
        ]
        for number, kind in enumerate(("all cuts alike", "repositories alike")):
            rows[f"Brier to the base rate's, gain on {label}, {kind}"] = [
                f"{ratio[number]:.2f}" for ratio in ratios
            ]
    calibration, slope, extreme = [], [], []
    for row, gain in enumerate(GAINS):
        p, y = result.p[row], outcome >= bars(cases, gain, smoothed=True)
        order = np.array_split(np.argsort(p, kind="stable"), 5)
        calibration.append(f"{np.mean([abs(p[part].mean() - y[part].mean()) for part in order]):.2f}")
        slope.append(f"{np.cov(p, y)[0, 1] / max(np.var(p, ddof=1), 1e-12):.2f}")
        extreme.append(f"{100 * np.mean((p < 0.2) | (p > 0.8)):.0f} %")
    rows |= {"calibration error, mean over fifths": calibration, "slope of the outcome on P": slope}
    rows["share of P < 0.2 or > 0.8"] = extreme
    least = np.sqrt([case.done.noise for case in cases])
    own = np.maximum(np.abs(result.location - outcome), least)
    last = np.maximum(np.abs(np.array([case.last for case in cases]) - outcome), least)
    ratio = own / last
    per_group = [np.exp(np.mean(np.log(ratio[keys == key]))) for key in np.unique(keys)]
    rows["error to the last value: geometric mean · 95th percentile · worst repository's mean"] = [
        f"{value:.2f}" for value in (np.exp(np.mean(np.log(ratio))), np.quantile(ratio, 0.95), max(per_group))
    ]
    half = stdtrit(DF, 0.975) * result.scale
    inside = np.abs(outcome - result.location) <= half
    covered = np.mean([inside[keys == key].mean() for key in np.unique(keys)])
    rows["intervals: covered, repositories alike · median width in ranges"] = [
        f"{100 * covered:.0f} %",
        f"{np.median(2.0 * half / spread):.2f}",
    ]
    others = []
    for name in ("three_lines", "law", "scalerl", "prototype"):
        guess = np.array([case.others.get(name) for case in cases], dtype=float)
        there = np.isfinite(guess)
        error = np.maximum(np.abs(guess - outcome), least)
        value = np.exp(np.mean(np.log(own[there] / error[there]))) if there.any() else np.nan
        others.append("—" if not there.any() else f"{value:.2f}")
    rows["error to three lines · the law · ScaleRL · the prototype"] = others
    return {name: " · ".join(values) for name, values in rows.items()}


def of_the_prototype(cases: Sequence[Case]) -> str:
    """The prototype's Brier score to that of the base rate, gains over the last eighth, all cuts alike."""
    ratios = []
    for gain in GAINS:
        p = np.array([case.others.get(f"prototype {gain}") for case in cases], dtype=float)
        y = np.array([case.outcome for case in cases]) >= bars(cases, gain, smoothed=False)
        ratios.append(np.mean((p - y) ** 2) / np.mean((y.mean() - y) ** 2))
    return " · ".join("—" if np.isnan(ratio) else f"{ratio:.2f}" for ratio in ratios)


def first_part(runs: Sequence[Finished], constants: Constants) -> str:
    """From the first 15 %: the error to the last value's, geometric mean over runs, and the worst."""
    ratios = []
    for run in runs:
        until = max(8, round(0.15 * run.step.size))
        step, reward = run.step[:until], run.reward[:until]
        if until > run.step.size - 4 or not np.ptp(reward):
            continue
        s, r, _ = blocked(step, reward)
        if not np.ptp(r):
            continue
        done = so_far(s, r, reward, levels_of(s, r, may_jump=True), run.most)
        lead = (run.step[until:] - step[-1]) / (step[-1] - step[0])
        lead = lead[lead <= FARTHEST]
        truth = run.reward[until:][: lead.size]
        misses = ahead(done, lead, constants.path)[0] - truth, reward[-1] - truth
        own, last = (max(float(np.sqrt(np.mean(miss**2))), np.sqrt(done.noise)) for miss in misses)
        ratios.append(own / last)
    return f"{np.exp(np.mean(np.log(ratios))):.2f} · {max(ratios):.2f}" if ratios else "—"


def gain_table(constants: Constants, count: int = 400) -> list[str]:
    """Probability of a gain in simulated shapes, beside the share that gained."""
    lines = [
        "| shape | P(gain .01) · share | P(gain .03) · share | covered |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name in SHAPES:
        result = tested(shapes(name, count, FRESH), constants)
        outcome = np.array([case.outcome for case in result.cases])
        cells = []
        for row, gain in enumerate(GAINS):
            came = outcome >= bars(result.cases, gain, smoothed=True)
            cells.append(f"{result.p[row].mean():.2f} · {came.mean():.2f}")
        half = stdtrit(DF, 0.975) * result.scale
        covered = np.mean(np.abs(outcome - result.location) <= half)
        lines.append(f"| {name} | {' | '.join(cells)} | {100 * covered:.0f} % |")
    return lines


def best_table(count: int = 400) -> list[str]:
    """Probability that the best step so far is truly better than now, beside how often it was."""
    lines = ["| shape | P(better) | was better | difference |", "| --- | ---: | ---: | ---: |"]
    for name in SHAPES[:3]:
        said, came = [], []
        for seed in range(count):
            step, reward, truth, seen = shape(name, FRESH + seed, wander=True)
            s, r, _ = blocked(step[:seen], reward[:seen])
            level = blocked(step[:seen], truth[:seen])[1]
            best, _, p_better = best_of(levels_of(s, r, may_jump=True), r)
            said.append(p_better)
            came.append(level[best] > level[-1])
        p, share = np.mean(said), np.mean(came)
        lines.append(f"| {name} | {p:.3f} | {share:.3f} | {100 * (p - share):+.1f} |")
    return lines


TARGETS = (
    *("≤ .90 · .88", "≤ .80 · .72", "≤ .95 · .95", "", "≤ .10", ".65–1.3", "≥ 20 % · 30 %"),
    *("≤ .90 · 2.3 · 1.3", "92–98 % · ≤ 1.8", ""),
)
"""What each row of :func:`figures` is to reach."""


def report(left_out: bool) -> str:
    """The tables as Markdown; constants are learned from the tuning half, the lab and simulations."""
    every_public, of_lab, simulated = finished.public(), finished.lab(), policies()
    halves = {half: [run for run in every_public if for_tuning(run.group) == half] for half in (True, False)}
    learned = {half: every(to_learn, runs) for half, runs in halves.items() if half or left_out}
    lab_learned, policies_learned = every(to_learn, of_lab), every(to_learn, simulated)
    shapes_learned = [case for name in SHAPES for case in shapes(name, SIMULATED["shapes"])]
    tuning = [*learned[True], *lab_learned, *policies_learned, *shapes_learned]
    groups = {half: sorted({run.group for run in runs}) for half, runs in halves.items()}
    of_tuning, shift = without_own(tuning, every(to_test, halves[True]), groups[True])
    results = {"tuning half": of_tuning}
    constants = shifted(learn(tuning), shift)
    if left_out:
        results["left-out half"] = tested(every(to_test, halves[False]), constants)
    public_learned = [case for cases in learned.values() for case in cases]
    without_lab = shifted(learn([*public_learned, *policies_learned, *shapes_learned]), shift)
    results["the lab, learned without it"] = tested(every(to_test, of_lab), without_lab)
    without_policies = shifted(learn([*public_learned, *lab_learned, *shapes_learned]), shift)
    fresh = policies(FRESH)
    results["policies, learned without any"] = tested(every(to_test, fresh), without_policies)
    columns = {name: figures(result) for name, result in results.items()}
    names = list(next(iter(columns.values())))
    lines = [
        f"Repositories for tuning: {', '.join(groups[True])}.",
        f"Left out of all choices: {', '.join(groups[False])}.",
        "",
        f"| figure, gain .01 · .03 | {' | '.join(columns)} | to reach on unseen repositories |",
        f"| --- |{' ---: |' * (len(columns) + 1)}",
    ]
    cuts = " | ".join(
        f"{len(result.cases)} ({len(set(keys_of(result.cases)))})" for result in results.values()
    )
    lines.append(f"| cuts (repositories or arms) | {cuts} | |")
    for name, target in zip(names, TARGETS, strict=True):
        lines.append(f"| {name} | {' | '.join(column[name] for column in columns.values())} | {target} |")
    prototype_row = " | ".join(of_the_prototype(result.cases) for result in results.values())
    of_peer = "the prototype's Brier to the base rate's, gain on the last eighth, all cuts alike"
    lines.append(f"| {of_peer} | {prototype_row} | |")
    first = [first_part(halves[True], constants)]
    first += [first_part(halves[False], constants)] if left_out else []
    first += [first_part(of_lab, without_lab), first_part(fresh, without_policies)]
    of_first = "from the first 15 %: error to the last value's, worst"
    lines.append(f"| {of_first} | {' | '.join(first)} | ≤ 1.00 · 2; lab and small runs ≤ .60 |")
    lines += [
        "",
        "Simulated rewards of other seeds than those that were learned from:",
        "",
        *gain_table(constants),
    ]
    lines += ["", "`best so far` in simulated runs whose level wanders:", "", *best_table()]
    return "\n".join(lines)


def learn_all(folder: Path) -> dict[str, Any]:
    """The content of the file of constants."""
    runs = finished.public(folder)
    if not runs:
        print(f"no public logs in {folder}: the constants are learned from the lab and simulations alone")
    of_lab, simulated = finished.lab(), policies()
    learned = [*every(to_learn, runs), *every(to_learn, of_lab), *every(to_learn, simulated)]
    learned += [case for name in SHAPES for case in shapes(name, SIMULATED["shapes"])]
    to_judge = [*every(cases_of, runs), *every(cases_of, of_lab)]
    groups = {case.group for case in to_judge}
    # Where there are public logs the lab counts for the constants alone.
    own, shift = without_own(learned, to_judge, groups - {"lab"} if runs else groups)
    return {
        "path": shifted(learn(learned), shift).path,
        "reliability": reliability(own),
        "learned_from": {
            "repositories": len({run.group for run in runs}),
            "rewards": len(runs) + len(of_lab),
        },
        "scores": figures(own),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/benchmarks/forecasts.md"
    )
    parser.add_argument("--left-out", action="store_true", help="test the half that was left out, too")
    parser.add_argument("--learn", action="store_true", help=f"write {FILE.name}")
    parser.add_argument(
        "--logs", type=Path, default=finished.PUBLIC, help="folder of public logs to learn from"
    )
    arguments = parser.parse_args()
    if arguments.learn:
        content = learn_all(arguments.logs)
        FILE.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(FILE.read_text(encoding="utf-8"))
        return
    text = report(arguments.left_out)
    print(text)
    if arguments.write:
        write_block("forecasts", text)
        write_block("forecasts", "\n".join(reliability_table()), block="reliability")


def reliability_table() -> list[str]:
    """The shipped table of reliability, as Markdown."""
    lines = ["| said | came true | forecasts |", "| --- | ---: | ---: |"]
    for low, high, share, count in json.loads(FILE.read_text(encoding="utf-8"))["reliability"]:
        lines.append(f"| {low:g}–{high:g} | {100 * share:.0f} % | {count} |")
    return lines


if __name__ == "__main__":
    main()
