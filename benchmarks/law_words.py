"""How often the words about the law are right: of simulated, public and lab runs, beside a simple peer.

python -m benchmarks.law_words                     print the table, 40 runs per cell
python -m benchmarks.law_words --seeds tuned       of the runs and repositories that limits were chosen on
python -m benchmarks.law_words --write             and put them into docs/benchmarks/law_words.md
python -m benchmarks.law_words --runs 10 --jobs 4  runs per cell, and processes

The peer is the same rule by least squares with one AR(1) and BIC, below.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.linalg import toeplitz
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from benchmarks.docs import markdown_table, write_block
from benchmarks.finished import Finished, for_tuning, lab, public
from benchmarks.foreign_worlds import arma, drawn, exponential, fractional, mixed, path
from entropylaw.analysis.answer import fit_evaluations
from entropylaw.analysis.law.evaluations import usable
from entropylaw.analysis.law.verdict import rule
from entropylaw.arrays import FloatArray
from entropylaw.engine.constants import FEWEST_HOLDS
from entropylaw.options import FitOptions
from entropylaw.results import LawTests, More

Rng = np.random.Generator

SEEDS = {"tuned": 777, "aside": 90210}
"""Seeds of the simulated runs that the limits of the words were chosen on, and of others."""

OURS, PEER = "entropylaw", "AR(1) and BIC"

SIZES = (20, 40, 80, 200)

NOT_FEW = 40
"""Evaluations from which the law ought to hold where it is true."""

RESIDUALS: tuple[Callable[[int], FloatArray], ...] = (
    mixed((1.0, None)),
    mixed((0.5, exponential(5.0)), (0.5, None)),
    mixed((0.7, exponential(15.0)), (0.3, None)),
    fractional(0.25),
    arma(0.7, 0.4),
    arma(0.9, -0.6),
)
"""Autocorrelations of the residual."""

SHARES = (0.5, 0.7, 0.9, 0.97)
"""Shares of the reward's variance that the truth explains."""

ENTROPY_NOISE = (0.0, 0.01, 0.03, 0.06)
"""Noise of a logged entropy, as a share of it."""


# -- simulated runs ------------------------------------------------------------------------------------------


def _clock(n: int, rng: Rng) -> FloatArray:
    """A fall from 1 to 0 over n evaluations."""
    curve = path(n, rng)
    return np.asarray((curve - curve.min()) / np.ptp(curve))


def _bent(entropy: FloatArray, rng: Rng) -> FloatArray:
    """Reward on the entropy's clock: nearly a line in H, bent to either side."""
    fall = (entropy - entropy.min()) / np.ptp(entropy)
    return np.asarray(-(fall ** rng.uniform(0.8, 1.25)))


def _time(entropy: FloatArray) -> FloatArray:
    return np.linspace(0.0, 1.0, entropy.size)


Truth = Callable[[FloatArray, Rng], FloatArray]

TRUTHS: dict[str, Truth] = {
    "the law": lambda h, rng: -np.expm1(h),
    "a line in H": lambda h, rng: -h,
    "one clock": _bent,
    "two clocks": lambda h, rng: -_clock(h.size, rng),
    "a trend in the step": lambda h, rng: _time(h),
    "saturation in the step": lambda h, rng: -np.exp(-rng.uniform(2.0, 9.0) * _time(h)),
    "nothing": lambda h, rng: 0.0 * h,
    "reward rises with entropy": lambda h, rng: np.expm1(h),
}
"""Rewards without noise, by entropies (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Simulated runs of one truth, of ``n`` evaluations, and their seed."""

    truth: str
    n: int
    seed: int


def generator(cell: Cell, number: int) -> Rng:
    """What a run of a cell is drawn by."""
    return np.random.default_rng([cell.seed, zlib.crc32(cell.truth.encode()), cell.n, number])


def draw(cell: Cell, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """Entropy as logged and reward, each (n,)."""
    entropy = path(cell.n, rng)
    curve = TRUTHS[cell.truth](entropy, rng)
    autocorrelation = RESIDUALS[int(rng.integers(len(RESIDUALS)))]
    residual = drawn(toeplitz(autocorrelation(cell.n)), rng)
    explained = float(rng.choice(SHARES))
    spread = float(np.std(curve)) or 1.0
    reward = np.sqrt(explained) * curve / spread + np.sqrt(1.0 - explained) * residual
    noise = 1.0 + float(rng.choice(ENTROPY_NOISE)) * rng.standard_normal(cell.n)
    return np.maximum(entropy * noise, 1e-4), 0.4 + 0.08 * reward


ALIKE = 0.98
"""R² of a reward without noise to exp(H) from which its run is like one under the law."""


def alike(truth: str, seed: int, runs: int) -> float:
    """The share of the runs of a truth whose rewards are like those under the law."""
    found = []
    for n in SIZES:
        cell = Cell(truth=truth, n=n, seed=seed)
        for number in range(runs):
            rng = generator(cell, number)
            entropy = path(n, rng)
            curve = TRUTHS[truth](entropy, rng)
            found.append(float(np.corrcoef(np.expm1(entropy), curve)[0, 1]) ** 2 >= ALIKE)
    return float(np.mean(found))


# -- what is said of a run -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The word about the law, and whether entropy or step says more."""

    word: str
    more: str


Answers = dict[str, Said]
"""By :data:`OURS` and :data:`PEER`."""


def answers_of(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Answers:
    """What each says of a run."""
    used = usable(entropy, reward, step, keep_outliers=True)
    law = fit_evaluations(used, FitOptions(), run="", max_reward=None, is_ahead=False).law
    answers = {OURS: Said(word="undecided", more=More.unknown.value)}
    if law is None:
        return answers
    answers[OURS] = Said(word=law.verdict.value, more=law.tests.more.value)
    # The peer is given the entropy that we fit, and is judged by its likelihoods alone.
    answers[PEER] = by_bic(step, law.smoothed_entropy, reward)
    return answers


def by_bic(step: FloatArray, entropy: FloatArray, reward: FloatArray) -> Said:
    """The same rule with BIC for the odds: least squares of each curve with one AR(1), by its likelihood."""
    n = reward.size
    time = (step - step[0]) / (step[-1] - step[0])

    def fitted(column: FloatArray | None, extra: int = 0) -> tuple[float, float]:
        """BIC, and the t-value of the column, at the best of twenty correlations."""
        best = (np.inf, 0.0)
        for rho in np.linspace(0.0, 0.95, 20):
            design = np.ones((n, 1)) if column is None else np.column_stack([np.ones(n), column])
            both = np.column_stack([design, reward])
            white = np.vstack([np.sqrt(1.0 - rho**2) * both[:1], both[1:] - rho * both[:-1]])
            x = white[:, :-1]
            slope, *_ = np.linalg.lstsq(x, white[:, -1], rcond=None)
            square = max(float(np.sum((white[:, -1] - x @ slope) ** 2)), 1e-300)
            bic = n * np.log(square / n) - np.log(1.0 - rho**2) + (x.shape[1] + 2 + extra) * np.log(n)
            error = np.sqrt(square / max(n - 3, 1) * np.linalg.pinv(x.T @ x)[-1, -1])
            best = min(best, (float(bic), float(slope[-1] / max(error, 1e-300))))
        return best

    law, slope = fitted(np.expm1(entropy))
    line, _ = fitted(entropy)
    steps = [fitted(time)[0], fitted(np.log1p(time * (n - 1)))[0]]
    steps.append(min(fitted(np.exp(-rate * time), 1)[0] for rate in (1.0, 2.0, 4.0, 8.0, 16.0)))
    of_step = min(steps)
    tests = LawTests(
        odds_entropy=_odds(min(law, line), of_step),
        odds_law=_odds(law, of_step),
        odds_line=_odds(law, line),
        odds_step=_odds(of_step, fitted(None)[0]),
        p_direction=float(norm.cdf(-slope)),
    )
    verdict, _ = rule(tests, n=n, span=float(np.ptp(entropy)))
    return Said(word=verdict.value, more=tests.more.value)


def _odds(one: float, other: float) -> float:
    """The odds of one curve to another by their BIC."""
    return float(np.exp(np.clip(0.5 * (other - one), -99.0, 99.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was said of a run, and of its first two thirds where there are enough; and R² of least squares."""

    answers: Answers
    before: Answers
    r_squared: float


def result_of(step: FloatArray, entropy: FloatArray, reward: FloatArray, *, cut: bool) -> Result:
    """What was said of a run; with ``cut`` of its first two thirds too."""
    before: Answers = {}
    until = round(step.size * 2 / 3)
    if cut and until >= FEWEST_HOLDS and np.ptp(reward[:until]) > 0 and np.ptp(entropy[:until]) > 0:
        before = answers_of(step[:until], entropy[:until], reward[:until])
    r = float(np.corrcoef(np.expm1(entropy), reward)[0, 1])
    return Result(answers=answers_of(step, entropy, reward), before=before, r_squared=r**2)


def simulated(cell: Cell, numbers: Iterable[int]) -> list[Result]:
    """What was said of some runs of a cell."""
    found = []
    step = np.arange(float(cell.n))
    with threadpool_limits(1):
        for number in numbers:
            entropy, reward = draw(cell, generator(cell, number))
            found.append(result_of(step, entropy, reward, cut=False))
    return found


def finished(run: Finished) -> Result | None:
    """What was said of a finished run; None where it has too few entropies, or nothing moves."""
    if run.entropy is None:
        return None
    known = np.isfinite(run.entropy) & np.isfinite(run.reward)
    step = run.step[known]
    entropy = run.entropy[known]
    reward = run.reward[known]
    if step.size < FEWEST_HOLDS or np.ptp(entropy) == 0 or np.ptp(reward) == 0:
        return None
    with threadpool_limits(1):
        return result_of(step, entropy, reward, cut=True)


# -- tables --------------------------------------------------------------------------------------------------


def percent(values: Sequence[bool]) -> str:
    """The share of what is true."""
    return f"{100.0 * float(np.mean(values)):.0f}" if values else "–"


def shares(results: Sequence[Result], name: str) -> list[str]:
    """Holds, fails, entropy or step decided, and words that changed after two thirds, by one of the two."""
    said = [result.answers[name] for result in results if name in result.answers]
    changed = [
        result.before[name].word != result.answers[name].word for result in results if name in result.before
    ]
    return [
        percent([each.word == "holds" for each in said]),
        percent([each.word == "fails" for each in said]),
        percent([each.more != More.unknown.value for each in said]),
        percent(changed),
    ]


COLUMNS = ("% of runs", "runs", "`holds`", "`fails`", "entropy or step decided", "word changed after ⅔")


def table(groups: dict[str, list[Result]]) -> str:
    """A table with a line per group; what the peer says is in brackets."""
    rows = []
    for group, results in groups.items():
        both = zip(shares(results, OURS), shares(results, PEER), strict=True)
        cells = [f"{ours} ({theirs})" for ours, theirs in both]
        rows.append((group, str(len(results)), *cells))
    return markdown_table(COLUMNS, rows)


def finished_runs(seeds: str) -> dict[str, list[Finished]]:
    """The finished runs: of public ones those of the repositories tuned on, or all and those set aside."""
    every = public()
    if seeds == "tuned":
        return {"public, tuned on": [run for run in every if for_tuning(run.group)]}
    aside = [run for run in every if not for_tuning(run.group)]
    return {"public": every, "public, set aside": aside, "lab": lab()}


def gathered(seeds: str, runs: int, jobs: int) -> dict[str, list[Result]]:
    """The results of every truth, of the law where it ought to hold, and of finished runs."""
    cells = [Cell(truth=truth, n=n, seed=SEEDS[seeds]) for truth in TRUTHS for n in SIZES]
    real = finished_runs(seeds)
    groups: dict[str, list[Result]] = {}
    clear: list[Result] = []
    with ProcessPoolExecutor(jobs) as pool:
        jobs_of_cells = [(cell, pool.submit(simulated, cell, range(runs))) for cell in cells]
        jobs_of_runs = {group: [pool.submit(finished, run) for run in found] for group, found in real.items()}
        for cell, job in jobs_of_cells:
            results = job.result()
            groups.setdefault(cell.truth, []).extend(results)
            if cell.truth == "the law" and cell.n >= NOT_FEW:
                clear += [result for result in results if result.r_squared >= 0.5]
        for group, found in jobs_of_runs.items():
            known = [job.result() for job in found]
            groups[group] = [result for result in known if result is not None]
    return {f"the law, R² ≥ .5, n ≥ {NOT_FEW}": clear} | groups


def main() -> None:
    """Print the tables, and write the page where ``--write`` is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", choices=list(SEEDS), default="aside", help="which runs and repositories")
    parser.add_argument("--runs", type=int, default=40, help="runs per cell")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/law_words.md")
    given = parser.parse_args()
    groups = gathered(given.seeds, given.runs, given.jobs)
    text = table(groups)
    print(text)
    if given.write:
        like_law = alike("two clocks", SEEDS[given.seeds], given.runs)
        sizes = ", ".join(map(str, SIZES))
        about = (
            f"{given.runs} runs per truth and size ({sizes} evaluations). In {100 * like_law:.0f} % of those "
            f"on two clocks the reward without noise has an R² of {ALIKE} or more to exp(H)."
        )
        holds = {truth: shares(groups[truth], OURS)[0] for truth in TRUTHS}
        like = (
            f"`holds` is said in {holds['two clocks']} % of the runs on two clocks, and in "
            f"{holds['saturation in the step']} % of those that saturate in the step, where reward and "
            "exp(H) happen to be nearly a line: no log of one run distinguishes it from one under the law, "
            f"of which it is said in {holds['the law']} %."
        )
        write_block("law_words", f"{about}\n\n{text}\n\n{like}")


if __name__ == "__main__":
    main()
