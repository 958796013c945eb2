"""The files of the generated texts and figures."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from benchmarks.docs import with_block
from lab import comparisons as c
from lab import overview, page
from lab.answers import short_answers
from lab.comparisons import ALGORITHMS, CLEAN, INTERVENTIONS, Edition, edition
from lab.diversity import diversity
from lab.figures import pictures
from lab.findings import load, load_cooling
from lab.second import runs as planned

PAGE, README, IMAGES = Path("docs/lab.md"), Path("data/README.md"), Path("docs/images")


FITTED_AGAIN = ("answers", "arms")
"""Blocks that fit every run for another question. The tests make their rows of some arms alone."""


@dataclass(frozen=True)
class Editions:
    """Both editions, and the cooled starts of the first."""

    first: Edition
    found: Edition
    cooling: page.Cooling


def editions_of(data: Path) -> Editions:
    """The first edition in ``data / "lab"`` and the second in ``lab2``, in the order of its list."""
    runs, made = load(data / "lab"), load(data / "lab2")
    second = {config.run: made[config.run] for config in planned() if config.run in made}
    return Editions(
        edition(runs, data / "lab"), edition(second, data / "lab2"), load_cooling(data / "cooling.parquet")
    )


def pages(both: Editions, without: Collection[str] = ()) -> dict[Path, str]:
    """Every generated file, but for some blocks, which stay as they are."""
    first, found, cooling = both.first, both.found, both.cooling
    text = PAGE.read_text(encoding="utf-8")
    for name, block in blocks(both).items():
        if name not in without:
            text = with_block(text, name, block())
    runs, second = ({run.name: run for some in one.by_arm.values() for run in some} for one in (first, found))
    table = page.data_table(dict(sorted(runs.items())))
    readme = with_block(README.read_text(encoding="utf-8"), "runs", table)
    drawn = {IMAGES / name: svg for name, svg in pictures(second, cooling).items()}
    return {PAGE: text, README: readme} | drawn


def blocks(both: Editions) -> dict[str, Callable[[], str]]:
    """What makes the generated blocks of the page, by the names of their markers."""
    found, cooling = both.found, both.cooling
    by_arm = found.by_arm
    return {
        "answers": lambda: short_answers(found, cooling),
        "arms": lambda: overview.arms(by_arm),
        "cooling": lambda: page.cooled(found, cooling),
        "compared": lambda: c.arms(found, (*ALGORITHMS[1:], *CLEAN[1:], *INTERVENTIONS)),
        "failures": lambda: page.failures(found),
        "spreads": lambda: c.spreads(found),
        "diversity": lambda: diversity(found.folder),
        "cost": lambda: overview.cost(found),
    }
