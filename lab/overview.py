"""What the second edition has: its arms, counts of answers, size on disk, and processor time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from entropylaw.escaping import counted as plural
from lab.comparisons import Edition, Groups
from lab.config import Config, Size, Start
from lab.findings import Made, first_of, last_of, values_of
from lab.make import minutes, recorded
from lab.markdown import MISSING, listed, mean, table
from lab.second import runs as planned
from lab.task import Domain

FILES = ("config.json", "metrics.parquet", "counts.parquet", "tokens.parquet", "answers.parquet")


def arms(by_arm: Groups) -> str:
    """One row per arm of the list: its finished runs, means over them at both ends, and its failure."""
    members: dict[str, list[Config]] = {}
    for config in planned():
        members.setdefault(config.arm, []).append(config)
    rows = [_row(configs, by_arm.get(arm, ())) for arm, configs in members.items()]
    made, every = sum(map(len, by_arm.values())), len(planned())
    left = [f"`{arm}`" for arm in members if arm not in by_arm]
    said = f"{made} of {every} runs are made"
    said += f"; {len(left)} of {len(members)} arms have none yet." if left else "."
    head = ("arm", "what it is", "runs", "H", "R", "failure, lost at step", "healthy twin")
    said = said if made < every else f"All {every} runs are made."
    return "\n\n".join(filter(None, (said, table(head, rows), starts(by_arm))))


def other_starts(runs: Iterable[Made]) -> list[Made]:
    """The runs that began from another copy of their start than the first run with its settings and seed.

    Their evaluations before any update differ: the start was trained again on another kind of processor.
    Runs on two domains are compared where they evaluate both in the same order, from one random generator.
    """
    first: dict[tuple[Start, Size, tuple[Domain, ...], int], Made] = {}
    other = []
    for run in runs:
        config = run.config
        kept = first.setdefault((config.start, config.size, config.domains, config.seed), run)
        if any(run.ends(name)[0] != kept.ends(name)[0] for name in ("val_acc", "val_entropy")):
            other.append(run)
    return other


def starts(by_arm: Groups) -> str:
    """Which runs began from another copy of their start, and what follows."""
    other = other_starts(run for runs in by_arm.values() for run in runs)
    if not other:
        return ""
    return (
        f"{plural(len(other), 'run')} began from another copy of the start than the first run with its seed: "
        f"{listed([f'`{run.name}`' for run in other])}. The first evaluations, before any update, differ: "
        "the supervised start was trained again on another kind of processor. Differences between these runs "
        "and others contain the difference between the two copies, which no interval here has."
    )


def _row(configs: Sequence[Config], made: Sequence[Made]) -> tuple[str, ...]:
    """Means over the finished runs of an arm at the first and over the last three evaluations."""
    cells = [
        f"{mean(values_of(made, first_of(name)))} → {mean(values_of(made, last_of(name)))}"
        if made
        else MISSING
        for name in ("entropy", "val_acc")
    ]
    first = configs[0]
    lost = ", ".join(str(config.lost_at) for config in configs)
    twins = ", ".join(f"`{config.twin}`" for config in configs)
    failure = (f"{first.failure}, {lost}", twins) if first.failure else (MISSING, MISSING)
    return (f"`{first.arm}`", first.about, f"{len(made)} of {len(configs)}", *cells, *failure)


def counted(by_arm: Groups, folder: Path) -> str:
    """Counts of distinct answers: per arm its runs, steps, problems, samples, and distinct answers."""
    rows, size, samples = [], 0, 0
    for arm, runs in by_arm.items():
        paths = [folder / run.name / "counts.parquet" for run in runs]
        paths = [path for path in paths if path.exists()]
        if not paths:
            continue
        tables = [pq.read_table(path, columns=["step", "prompt", "n"]).to_pydict() for path in paths]
        steps = sorted(set(tables[0]["step"]))
        problems = len(set(zip(tables[0]["step"], tables[0]["prompt"], strict=True))) // len(steps)
        per_problem = sum(tables[0]["n"]) // (problems * len(steps))
        distinct = [
            np.mean([each["step"].count(step) / problems for each in tables])
            for step in (steps[0], steps[-1])
        ]
        cells = (", ".join(map(str, steps)), str(problems), str(per_problem))
        rows.append((f"`{arm}`", str(len(paths)), *cells, " → ".join(f"{x:.1f}" for x in distinct)))
        samples += sum(sum(each["n"]) for each in tables)
        size += sum(path.stat().st_size for path in paths)
    planned_arms = list(dict.fromkeys(f"`{config.arm}`" for config in planned() if config.counts))
    missing = [arm for arm in planned_arms if arm not in {row[0] for row in rows}]
    head = ("arm", "runs", "at steps", "problems", "samples each", "distinct answers per problem")
    total = f"{samples:,} samples in all, {size / 1e6:.2f} MB."
    left = f" Not made yet: {', '.join(missing)}." if missing else ""
    return f"{table(head, rows)}\n\n{total}{left}"


def cost(found: Edition) -> str:
    """Processor time and size on disk, of the finished runs and of all.

    Hours are those of ``minutes.csv``, where a run that was the first with its start has the start's too.
    """
    configs = planned()
    finished, folder = {run.name for runs in found.by_arm.values() for run in runs}, found.folder
    done = [config for config in configs if config.run in finished]
    known = recorded(folder.parent / "minutes.csv")
    timed = [config for config in done if config.run in known]
    others = [config for config in configs if config not in timed]
    hours = sum(known[config.run] for config in timed) / 60
    size, all_size = _size(folder, done, done), _size(folder, done, configs)
    starts_size, whole = _megabytes(folder / "starts"), _megabytes(folder.parent)
    unfinished = f"; all {len(configs)} will have about {all_size:.1f} MB" if len(done) < len(configs) else ""
    without = f" The other {len(others)} have no record; the estimate for them is {_hours(others):.1f} hours."
    return (
        f"{len(timed)} of the {len(configs)} runs took {hours:.1f} hours of processor time by the record "
        "that `python -m lab train` keeps in `data/minutes.csv`, supervised starts included where they were "
        "made with the run; the estimate for them (`lab.make.minutes`, without starts) is "
        f"{_hours(timed):.1f} hours.{without if others else ''} One core of a cloud machine with two; trials "
        "of settings, and runs that were made a second time, are not counted. The finished runs have "
        f"{size:.1f} MB{unfinished}, the starts {starts_size:.1f} MB, and all of `data/` {whole:.1f} MB."
    )


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _hours(configs: Sequence[Config]) -> float:
    """Estimated hours of some runs, without their starts."""
    return sum(map(minutes, configs)) / 60


def _size(folder: Path, done: Sequence[Config], configs: Sequence[Config]) -> float:
    """Megabytes of some runs, by the mean size of every kind of file in the finished ones."""
    total = 0.0
    for name in FILES:
        sizes = [path.stat().st_size for run in done if (path := folder / run.run / name).exists()]
        has = sum(_has(config, name) for config in configs)
        total += has * float(np.mean(sizes)) if sizes else 0.0
    return total / 1e6


def _has(config: Config, name: str) -> bool:
    """Whether a run has a file."""
    if name == "counts.parquet":
        return config.counts is not None
    return bool(config.tokens_at) if name in ("tokens.parquet", "answers.parquet") else True
