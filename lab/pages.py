"""The files of the generated texts and figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.docs import with_block
from lab.answers import short_answers
from lab.boundaries import boundaries, classes
from lab.comparisons import comparisons
from lab.figures import pictures
from lab.findings import groups, load, load_cooling
from lab.overview import second_edition
from lab.page import data_table, lab_page

PAGE, README, IMAGES = Path("docs/lab.md"), Path("data/README.md"), Path("docs/images")


def pages(data: Path) -> dict[Path, str]:
    """Every file that is generated from the runs below ``data``, with its text."""
    runs, cooling = load(data), load_cooling(data.parent / "cooling.parquet")
    page = PAGE.read_text(encoding="utf-8")
    by_group = groups(runs)
    found = comparisons(by_group, data)
    blocks = {"answers": short_answers(by_group, found, cooling)} | lab_page(runs, found, cooling, data)
    blocks["boundaries"] = boundaries(by_group)
    kept = [data / run.name for run in runs.values() if (data / run.name / "tokens.parquet").exists()]
    blocks["classes"] = classes(kept)
    for name, text in blocks.items():
        page = with_block(page, name, text)
    readme = with_block(README.read_text(encoding="utf-8"), "runs", data_table(runs))
    readme = with_block(readme, "second", second_edition(data.parent / "lab2"))
    drawn = {IMAGES / name: svg for name, svg in pictures(runs, cooling).items()}
    return {PAGE: page, README: readme} | drawn
