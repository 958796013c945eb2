"""What the counted answers say of diversity: pass@k at equal pass@1, demonstrations, search, the notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from entropylaw.samples.options import SampleOptions
from entropylaw.samples.run import Sampled, summarise_tables
from lab.markdown import table

FREE = ("grpo", "rloo", "clip_cov", "kl_cov", "entropy_bonus_0.1", "kl_penalty")
"""Arms of one domain with many right answers; the first is the one that the others are compared with."""
AT = 0.75
"""The pass@1 at which these arms are compared: all of them reach it."""
SEEDS = 3

Rows = Mapping[int, Mapping[str, Any]]


@cache
def sampled_of(path: Path) -> Sampled:
    """The samples of a run."""
    return summarise_tables([str(path)], SampleOptions(k=(1, 2, 4, 8, 16, 32, 64), label="strategy"))


def rows_of(folder: Path, arm: str) -> list[Rows]:
    """The rows of the runs of an arm by step, one run per seed; none where they are not made yet."""
    paths = [folder / f"{arm}_s{seed}" / "counts.parquet" for seed in range(SEEDS)]
    return [{row["step"]: row for row in sampled_of(path).rows} for path in paths if path.exists()]


def interval(values: Sequence[float], digits: int = 2) -> str:
    """The mean over seeds with its 95 % t interval."""
    numbers = np.array(values, dtype=float)
    half = float(stdtrit(len(numbers) - 1, 0.975)) * float(numbers.std(ddof=1)) / len(numbers) ** 0.5
    low, high = numbers.mean() - half, numbers.mean() + half
    return f"{numbers.mean():+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def changes(runs: Sequence[Rows], column: str, before: int, after: int) -> list[float]:
    """How much a column changed between two steps of each run."""
    return [run[after][column] - run[before][column] for run in runs]


def at_equal(run: Rows, column: str) -> float:
    """A column of a run at pass@1 = :data:`AT`, between its steps by a line."""
    steps = sorted(run)
    passed = [run[step]["pass@1"] for step in steps]
    return float(np.interp(AT, passed, [run[step][column] for step in steps]))


def diversity(folder: Path) -> str:
    """The answers with their intervals over three seeds, and the arms at equal pass@1."""
    arms = {arm: rows_of(folder, arm) for arm in (*FREE, "sft_after_grpo", "chain", "chain_collapse")}
    missing = [arm for arm, runs in arms.items() if len(runs) < SEEDS]
    if missing:
        return f"Not made yet: {', '.join(missing)}."
    parts = [
        "By `entropylaw samples` of `counts.parquet`, 64 samples to 100 problems: means over seeds 0 to "
        f"{SEEDS - 1} with 95 % t intervals, not adjusted. The table is at one pass@1, "
        "between counted steps, paired by seed; over all that arms have in common differences are smaller.",
        equal(arms),
        "\n".join(f"- **{question}** {answer}" for question, answer in questions(arms)),
    ]
    return "\n\n".join(parts)


def equal(arms: Mapping[str, Sequence[Rows]]) -> str:
    """The arms at the same pass@1: right answers and pass@16 less those of plain GRPO, paired by seed."""
    columns = {"distinct_right": 2, "answer_entropy": 2, "pass@16": 4, "pass@8": 4}
    plain = arms[FREE[0]]
    rows = []
    for arm in FREE[1:]:
        cells = []
        for column, digits in columns.items():
            pairs = zip(arms[arm], plain, strict=True)
            values = [at_equal(ours, column) - at_equal(theirs, column) for ours, theirs in pairs]
            cells.append(interval(values, digits))
        rows.append((f"`{arm}`", *cells))
    head = (f"less `grpo`, at pass@1 = {AT}", "distinct right answers", "answer entropy", "pass@16", "pass@8")
    return table(head, rows)


def questions(arms: Mapping[str, Sequence[Rows]]) -> list[tuple[str, str]]:
    """The questions, each with its answer."""
    plain, supervised, collapsed = arms["grpo"], arms["sft_after_grpo"], arms["chain_collapse"]

    def of(runs: Sequence[Rows], column: str, before: int, after: int, digits: int = 2) -> str:
        return interval(changes(runs, column, before, after), digits)

    alike = []
    for healthy, end in zip(arms["chain"], collapsed, strict=True):
        passed, gains = (
            [healthy[step][column] for step in (0, 40)] for column in ("pass@1", "gain_per_doubling")
        )
        alike.append(end[400]["gain_per_doubling"] - float(np.interp(end[400]["pass@1"], passed, gains)))
    return [
        (
            "Does pass@16 fall as entropy does?",
            f"In `grpo` from step 40 to 400: pass@1 {of(plain, 'pass@1', 40, 400)}, entropy of the answers "
            f"{of(plain, 'answer_entropy', 40, 400)} nats, pass@16 {of(plain, 'pass@16', 40, 400, 3)}. At "
            "equal pass@1 the arms with more entropy have more right answers (table); their pass@16 differs "
            "by less than 0.02, as nearly every problem is solved within 16 samples.",
        ),
        (
            "What do demonstrations bring back, and cost?",
            f"200 steps after `grpo`: distinct right answers {of(supervised, 'distinct_right', 400, 600)}, "
            f"wrong ones {of(supervised, 'distinct_wrong', 400, 600)}, "
            f"pass@1 {of(supervised, 'pass@1', 400, 600)}, pass@16 {of(supervised, 'pass@16', 400, 600, 3)}.",
        ),
        (
            "Does a collapsed policy gain less from k?",
            "pass@k gained per doubling of k, at the end of `chain_collapse` less at its fork: "
            f"{of(collapsed, 'gain_per_doubling', 200, 400, 3)}; less `chain` at the same pass@1: "
            f"{interval(alike, 3)}.",
        ),
    ]
