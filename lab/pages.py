"""The files of the generated texts and figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.docs import with_block
from lab import comparisons as c
from lab import editions, overview, page
from lab.answers import short_answers
from lab.boundaries import classes, phases, turns
from lab.caps import caps
from lab.comparisons import ALGORITHMS, CLEAN, COEFFICIENTS, INTERVENTIONS, Edition, edition
from lab.figures import pictures
from lab.findings import load, load_cooling
from lab.second import runs as planned

PAGE, README, IMAGES = Path("docs/lab.md"), Path("data/README.md"), Path("docs/images")


def pages(data: Path) -> dict[Path, str]:
    """Every file that is generated from the first edition in ``data / "lab"`` and the second in ``lab2``."""
    runs, made = load(data / "lab"), load(data / "lab2")
    second = {config.run: made[config.run] for config in planned() if config.run in made}
    cooling = load_cooling(data / "cooling.parquet")
    first, found = edition(runs, data / "lab"), edition(second, data / "lab2")
    text = PAGE.read_text(encoding="utf-8")
    for name, block in blocks(found, first, cooling).items():
        text = with_block(text, name, block)
    readme = with_block(README.read_text(encoding="utf-8"), "runs", page.data_table(runs))
    drawn = {IMAGES / name: svg for name, svg in pictures(second, cooling).items()}
    return {PAGE: text, README: readme} | drawn


def blocks(found: Edition, first: Edition, cooling: page.Cooling) -> dict[str, str]:
    """The generated blocks of the page, by the names of their markers."""
    both = editions.compared(first, found)
    by_arm = found.by_arm
    folders = [found.folder / run.name for runs in by_arm.values() for run in runs]
    kept = [folder for folder in folders if (folder / "tokens.parquet").exists()]
    return {
        "answers": f"{short_answers(found, first, cooling)}\n- **{CHANGED}** {editions.counts(both)}",
        "arms": overview.arms(by_arm),
        "holds": page.holds(by_arm),
        "choices": page.choices(by_arm),
        "foresight": page.foresights(by_arm),
        "cooling": page.cooled(first, cooling),
        "algorithms": c.arms(found, ALGORITHMS[1:], COEFFICIENTS),
        "clean": c.arms(found, CLEAN[1:], COEFFICIENTS),
        "interventions": c.arms(found, INTERVENTIONS, ("movement", "shift")),
        "sizes": c.sizes(found),
        "failures": page.failures(found),
        "phases": phases(by_arm),
        "turns": turns(by_arm),
        "classes": classes(kept),
        "supervised": c.supervised(found),
        "orders": c.orders(found),
        "spreads": c.spreads(found),
        "counted": overview.counted(by_arm, found.folder),
        "caps": caps(by_arm, found.folder),
        "cost": overview.cost(found),
        "changes": editions.changes(both),
    }


CHANGED = "What has changed since the first edition?"
