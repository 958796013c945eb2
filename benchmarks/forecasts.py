"""Do forecasts beat "stays where it is"? Real logs and the lab's runs, first part fitted, rest predicted.

python -m benchmarks.forecasts                      print the table
python -m benchmarks.forecasts --write              and put it into docs/benchmarks/forecasts.md
python -m benchmarks.forecasts --development        the development half alone, for tuning
python -m benchmarks.forecasts --runs               one line for each series too

Everything that is tuned was tuned on the development half; the other half was looked at afterwards.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.docs import write_block
from entropylaw.analysis.backtest import backtest_run, skills
from entropylaw.errors import EntropyLawError
from entropylaw.ingest import read_all, select
from entropylaw.ingest.runs import Series
from entropylaw.results.forecast import RunBacktest, Skill

ROOT = Path(__file__).parent.parent
LAB = ROOT / "data" / "lab"
PUBLIC = ROOT.parent / "shared" / "logs"

FAMILIES = {
    "plain": ("grpo", "rloo", "reinforce", "gppo", "clip_higher", "entropy_bonus_0.02"),
    "held": ("clip_cov", "kl_cov", "kl_penalty", "entropy_bonus_0.1"),
    "clean": ("clean_",),
    "width": ("width_",),
    "sft": ("sft_",),
    "school": ("free_", "school_"),
}
"""The lab's runs that are near copies of each other, by the beginning of the name; they stay together.
A public folder is a family of its own."""

TRAINING_REWARD = ("critic/score/mean", "critic_score_mean")
"""Tested in addition to validation scores, if a log has both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A series, its family, and whether that is in the development half."""

    series: Series
    family: str
    development: bool
    public: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put it into docs/benchmarks/forecasts.md")
    parser.add_argument("--development", action="store_true", help="the development half alone")
    parser.add_argument("--runs", action="store_true", help="a line for each series too")
    arguments = parser.parse_args()
    entries = [entry for entry in collected() if entry.development or not arguments.development]
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(tested, [entry.series for entry in entries]))
    pairs = [(entry, result) for entry, result in zip(entries, results, strict=True) if result is not None]
    if arguments.runs:
        print("\n".join(run_lines(pairs)) + "\n")
    text = table(pairs, len(entries) - len(pairs))
    print(text)
    if arguments.write:
        write_block("forecasts", text)


def collected() -> list[Entry]:
    """Every series of the logs, each content once."""
    seen: set[bytes] = set()
    entries = []
    for entry in _everything():
        content = entry.series.entropy.tobytes() + entry.series.reward.tobytes()
        if content not in seen:
            seen.add(content)
            entries.append(entry)
    return entries


def _everything() -> Iterator[Entry]:
    for base in (PUBLIC, LAB):
        for folder in sorted(path for path in base.iterdir() if path.is_dir()):
            family = folder.name if base == PUBLIC else lab_family(folder.name)
            for series in _series(folder):
                yield Entry(
                    series=series,
                    family=family,
                    development=in_development(family),
                    public=base == PUBLIC,
                )


def _series(folder: Path) -> Iterator[Series]:
    """By the catalog's choice of reward, and by the training reward where that is another."""
    for run in read_all([str(folder)]).runs:
        columns: set[str] = set()
        for reward in (None, *TRAINING_REWARD):
            try:
                series = select(run, reward=reward)
            except EntropyLawError:
                continue
            if series.reward_choice.column not in columns:
                columns.add(series.reward_choice.column)
                yield series


def lab_family(name: str) -> str:
    for family, beginnings in FAMILIES.items():
        if name.startswith(beginnings):
            return family
    return name


def in_development(family: str) -> bool:
    """Half of the families, by a hash of the name."""
    return int(hashlib.sha256(family.encode()).hexdigest(), 16) % 2 == 0


def tested(series: Series) -> RunBacktest | None:
    """None where the series cannot be tested: too short, or a constant entropy or reward."""
    try:
        return backtest_run(series.step, series.entropy, series.reward, run=series.run)
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
        "forecast is better). Prediction intervals are nominal 95 %; their width is the median over series, "
        "in ranges of the reward. All tuning used the development half alone.",
        "",
        "| fitted | entropy | half | series | to last value | worst | to law | to line | to averaged "
        "| to ScaleRL | covered | width |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    halves = {
        "development": [result for entry, result in pairs if entry.development],
        "held out": [result for entry, result in pairs if not entry.development],
        "public logs, both halves": [result for entry, result in pairs if entry.public],
        "all": [result for _, result in pairs],
    }
    scored = {half: skills(results) for half, results in halves.items() if results}
    for number in range(len(scored["all"])):
        lines += [_row(half, rows[number]) for half, rows in scored.items()]
    return "\n".join(lines)


def _row(half: str, skill: Skill) -> str:
    entropy = "forecast" if skill.blind else "observed"
    averaged = "—" if skill.to_averaged is None else f"{skill.to_averaged:.2f}"
    return (
        f"| {skill.protocol} | {entropy} | {half} | {skill.runs} | {skill.to_last_value:.2f} | "
        f"{skill.worst:.2f} | {skill.to_law:.2f} | {skill.to_line:.2f} | {averaged} | "
        f"{skill.to_scalerl:.2f} | {100 * skill.covered:.1f} % | {skill.width:.2f} |"
    )


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
