"""Tables of ``docs/lab.md`` and ``data/README.md`` from the fits of the lab's runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from entropylaw.report.describe.arm_tables import decided
from entropylaw.report.numbers import format_interval
from entropylaw.report.words import law_words
from entropylaw.results import Verdict
from lab.comparisons import PLAIN, Edition, Groups, final, in_bold
from lab.findings import (
    FloatArray,
    Foresight,
    Made,
    cooled_reward,
    foresight,
    last_of,
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
    """The verdict with its reason; of a refused run why it was refused; a dash of a run without a law."""
    if run.fit.refusal:
        return f"refused: {run.fit.refusal.slug}"
    law = run.answer.law
    return MISSING if law is None else law_words(law)


def fitted(runs: Iterable[Made]) -> list[Made]:
    """The runs that have a fit."""
    return [run for run in runs if run.fit.result is not None]


def law_cells(runs: Sequence[Made]) -> tuple[str, str]:
    """The verdicts of an arm, and the range of R²."""
    with_fit = fitted(runs)
    words = Counter(run.answer.verdict for run in with_fit)
    verdicts = ", ".join(f"{word} {n}" for word, n in words.most_common()) or MISSING
    return verdicts, ends([run.law.r_squared for run in with_fit], "{:.2f}".format)


def ends(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """``0.01 to 0.42``, or one number where both ends are shown alike."""
    if not values:
        return MISSING
    return " to ".join(dict.fromkeys((shown(min(values)), shown(max(values)))))


def verdict_counts(runs: Sequence[Made]) -> str:
    """``fails in 2, is undecided in 1 of 3``."""
    words = Counter(run.answer.verdict for run in fitted(runs))
    said = (f"{'is ' * (word == Verdict.undecided)}{word} in {n}" for word, n in words.most_common())
    return f"{', '.join(said)} of {len(runs)}"


def foresights(runs: Iterable[Made], share: float) -> list[Foresight]:
    """The law's predictions for the end of some runs, from their first part."""
    early = [foresight(run, share) for run in fitted(runs)]
    return [prediction for prediction in early if prediction is not None]


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
        for entropy in (0.3, 0.1, 0.05):
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
        rows.append((f"`{name}`", *cells, last, lost))
    head = ("arm", *AT_THE_END.values(), "final accuracy less that of the twins' arm", "failed")
    return table(head, rows) if rows else "Not made yet."


def held(by_arm: Groups, share: float, names: Sequence[str]) -> tuple[int, int]:
    """How many predictions of some arms hold, and how many there are."""
    early = [prediction for name in names for prediction in foresights(by_arm[name], share)]
    return sum(prediction.held for prediction in early), len(early)
