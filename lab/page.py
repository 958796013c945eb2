"""Tables of ``docs/lab.md`` and ``data/README.md`` from the fits of the lab's runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from entropylaw.analysis.forms import form_label
from entropylaw.report.describe.arm_tables import decided
from entropylaw.report.numbers import format_interval, format_probability
from entropylaw.report.words import verdict_cell
from entropylaw.results import Verdict
from lab.comparisons import ALGORITHMS, CLEAN, PLAIN, Edition, Groups, final, in_bold
from lab.findings import (
    FloatArray,
    Foresight,
    Made,
    cooled_reward,
    foresight,
    last_of,
    refit,
    values_of,
)
from lab.markdown import MISSING, mean, number, table

Cooling = Mapping[str, Mapping[str, FloatArray]]

EARLY = (0.25, 0.5)
"""Shares of a run after which the law predicts its end."""

COOLED = {"grpo_s0": PLAIN, "clean_start_s0": "clean_start"}
"""The runs whose starts were cooled, and their arms."""


def data_table(runs: Mapping[str, Made]) -> str:
    """One row per run: both ends, the law's estimates with their intervals, and the verdict."""
    head = ("run", "what it is", "steps", "H", "R", "a", "b", "ceiling", "the law")
    return table(head, [data_row(run) for run in runs.values()])


def data_row(run: Made) -> tuple[str, ...]:
    """One run of the table."""
    both = [" → ".join(number(x) for x in run.ends(column)) for column in ("entropy", "val_acc")]
    law = run.fit.result and run.fit.result.law
    numbers = [format_interval(e) for e in (law.a, law.b, law.ceiling)] if law else [MISSING] * 3
    return (f"`{run.name}`", run.config.about, str(run.config.steps), *both, *numbers, verdict(run))


def verdict(run: Made) -> str:
    """The verdict with its reason; of a refused run why it was refused."""
    return f"refused: {run.fit.refusal.slug}" if run.fit.refusal else verdict_cell(run.fit)


def healthy(by_arm: Groups) -> dict[str, Sequence[Made]]:
    """The arms that are not made to fail."""
    return {name: runs for name, runs in by_arm.items() if runs[0].config.failure is None}


def fitted(runs: Iterable[Made]) -> list[Made]:
    """The runs that have a fit."""
    return [run for run in runs if run.fit.result is not None]


def holds(by_arm: Groups) -> str:
    """Per arm that is not made to fail: its verdicts, and the law beside the most probable form."""
    rows = []
    for name, runs in healthy(by_arm).items():
        some = fitted(runs)
        best = Counter(form_label(run.answer.best.form) for run in some)
        form = ", ".join(f"{label} {n}" for label, n in best.most_common(2))
        r_squared = [run.law.r_squared for run in some]
        cells = (
            ", ".join(f"{word} {n}" for word, n in Counter(map(verdict, runs)).most_common()),
            probabilities(some),
            ends(r_squared, "{:.3f}".format),
            mean(np.array([run.law.a.value for run in some], dtype=float), 2),
            form or MISSING,
        )
        rows.append((f"`{name}`", str(len(runs)), *cells))
    head = ("arm", "runs", "verdicts", "probability of the law", "R² of the law", "a", "most probable form")
    return table(head, rows)


def probabilities(runs: Sequence[Made]) -> str:
    """The range of the law's posterior probability."""
    return ends([run.law.probability for run in runs], format_probability)


def ends(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """``0.01 to 0.42``, or one number where both ends are shown alike."""
    if not values:
        return MISSING
    return " to ".join(dict.fromkeys((shown(min(values)), shown(max(values)))))


def verdict_counts(runs: Sequence[Made]) -> str:
    """``fails in 2, is undecided in 1 of 3``."""
    words = Counter(run.answer.verdict.value for run in fitted(runs))
    said = (f"{'is ' * (word == Verdict.undecided)}{word} in {n}" for word, n in words.most_common())
    return f"{', '.join(said)} of {len(runs)}"


CHOICES = (
    ("entropy", "val_acc"),
    ("entropy_response_mean", "val_acc"),
    ("val_entropy", "val_acc"),
    ("entropy_planning", "val_acc"),
    ("entropy_execution", "val_acc"),
    ("entropy", "reward_mean"),
    ("entropy", "val_pass8"),
)


def choices(by_arm: Groups) -> str:
    """The verdicts with other columns of entropy and reward."""
    if PLAIN not in by_arm:
        return f"`{PLAIN}` is not made yet."
    rows = []
    for entropy, reward in CHOICES:
        fits = [refit(run, entropy, reward) for run in by_arm[PLAIN]]
        shapes = [one.shapes["k"].value for fit in fits for one in fit.forms if one.form == "rate"]
        rates = [rate for rate in shapes if rate is not None]
        weights = [fit.law.probability for fit in fits]
        out = sum(fit.verdict is Verdict.fails for fit in fits)
        rows.append(
            (
                f"`{entropy}`",
                f"`{reward}`",
                f"{out} of {len(fits)}",
                ends(weights, format_probability),
                ends(rates, "{:.2f}".format),
            )
        )
    return table(
        ("entropy", "reward", "law fails", "probability of the law", "free rate k (the law: 1)"), rows
    )


def predictions(by_arm: Groups, share: float) -> dict[str, list[Foresight]]:
    """The law's predictions for the end of every healthy run, from its first part."""
    found = {name: [foresight(run, share) for run in fitted(runs)] for name, runs in healthy(by_arm).items()}
    return {name: [one for one in some if one is not None] for name, some in found.items()}


def foresights(by_arm: Groups) -> str:
    """Predictions of the end by the law, fitted to the beginning, per arm."""
    early = [predictions(by_arm, share) for share in EARLY]
    rows = []
    for name in early[0]:
        cells = []
        for some in (found[name] for found in early):
            errors = np.array([one.reward - one.value for one in some])
            widths = np.array([one.high - one.low for one in some])
            error = f"{errors.mean().round(3) + 0.0:+.3f}" if some else MISSING
            cells += [error, mean(widths), f"{sum(one.held for one in some)} of {len(some)}"]
        rows.append((f"`{name}`", *cells))
    error, width, held = "observed − predicted", "width of interval", "contain the end"
    return table(("arm", f"after 25 %: {error}", width, held, f"after 50 %: {error}", width, held), rows)


def trained(found: Edition, name: str, entropy: float) -> float | None:
    """The mean curve of an arm at an entropy, as compare has it; None outside."""
    comparison = found.plain if name == PLAIN else found.clean
    arms = () if comparison is None else comparison.arms
    arm = next((arm for arm in arms if arm.arm == name), None)
    if arm is None or not arm.along or not arm.along[0] <= entropy <= arm.along[-1]:
        return None
    return float(np.interp(entropy, arm.along, arm.mean))


def cooled(found: Edition, cooling: Cooling) -> str:
    """Accuracy at equal entropy of cooled starts and of trained runs."""
    rows = []
    for run, name in COOLED.items():
        for entropy in (0.3, 0.2, 0.1, 0.08, 0.05):
            after = trained(found, name, entropy)
            shown = MISSING if after is None else f"{after:.3f}"
            rows.append((f"`{name}`", f"{entropy:g}", number(cooled_reward(cooling[run], entropy)), shown))
        coldest = int(cooling[run]["temperature"].argmin())
        limit = f"{cooling[run]['temperature'][coldest]:g}"
        end = mean(values_of(found.by_arm.get(name, ()), last_of("val_acc")))
        rows.append(
            (f"`{name}`", f"at T = {limit}; at the end", number(cooling[run]["val_acc"][coldest]), end)
        )
    return table(("arm", "H", "start, only cooled", "after training"), rows)


AT_THE_END = {
    "entropy": "H",
    "val_acc": "accuracy",
    "val_pass16": "pass@16",
    "reward_mean": "rewarded score",
    "val_distinct_correct": "distinct right plans",
    "share_groups_without_gradient": "groups without a gradient",
}
"""Columns of failing runs at their end, and how they are headed."""


def failures(found: Edition) -> str:
    """Every failure: both ends beside those of the healthy twins, and the answer of compare."""
    made = {name: runs for name, runs in found.by_arm.items() if runs[0].config.failure}
    rows, every = [], {run.name: run for runs in found.by_arm.values() for run in runs}
    for name, runs in made.items():
        twins = [every[run.config.twin] for run in runs if run.config.twin in every]
        cells = [
            f"{mean(values_of(runs, last_of(column)))} ({mean(values_of(twins, last_of(column)))})"
            for column in AT_THE_END
        ]
        pair = found.pair(name)
        last = MISSING if pair is None else f"{in_bold(final(pair))}, {decided(final(pair))}"
        arm = next((arm for one in found.failing for arm in one.arms if arm.arm == name), None)
        lost = MISSING if arm is None else f"{sum(run.failed is not None for run in arm.runs)} of {len(runs)}"
        needed = None if pair is None else final(pair).seeds_needed
        more = (last, MISSING if needed is None else str(needed), lost)
        rows.append((f"`{name}`", str(len(runs)), *cells, *more))
    head = ("arm", "runs", *(f"{head} (twins)" for head in AT_THE_END.values()))
    answer = ("final accuracy less that of the twins' arm", "needed", "failed by `compare`")
    return table((*head, *answer), rows) if rows else "Not made yet."


def held(by_arm: Groups, share: float, names: Sequence[str] = (*ALGORITHMS, *CLEAN)) -> tuple[int, int]:
    """How many predictions of some arms hold, and how many there are."""
    found = [one for name, some in predictions(by_arm, share).items() if name in names for one in some]
    return sum(one.held for one in found), len(found)
