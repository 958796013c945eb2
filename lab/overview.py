"""What the second edition has: its arms, counts of answers, size on disk, and processor time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from entropylaw.escaping import counted as plural
from lab.comparisons import Edition, Groups
from lab.config import Config, Size, Start
from lab.findings import Made, first_of, last_of, values_of
from lab.make import recorded
from lab.markdown import MISSING, listed, mean, table
from lab.page import law_cells
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
    head = ("arm", "what it is", "runs", "H", "R", "the law", "R²")
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
        f"{mean(values_of(made, first_of(name)), 2)}→{mean(values_of(made, last_of(name)))}"
        if made
        else MISSING
        for name in ("entropy", "val_acc")
    ]
    about, law = configs[0].about, (MISSING, MISSING)
    if configs[0].failure:
        about += f" ({configs[0].failure})"
    elif made:
        law = law_cells(made)
    return (f"`{configs[0].arm}`", about, str(len(made)), *cells, *law)


def cost(found: Edition) -> str:
    """Processor time and size on disk.

    Hours are those of ``minutes.csv``, where a run that was the first with its start has the start's too.
    """
    folder = found.folder
    finished = {run.name for runs in found.by_arm.values() for run in runs}
    known = recorded(folder.parent / "minutes.csv")
    timed = [name for name in finished if name in known]
    hours = sum(known[name] for name in timed) / 60
    return (
        f"{len(timed)} of the {len(finished)} runs took {hours:.1f} hours of one core, as `data/minutes.csv` "
        f"records. All of `data/` has {_megabytes(folder.parent):.1f} MB."
    )


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
