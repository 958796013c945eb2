"""Where the generated texts and pictures go."""

from __future__ import annotations

from pathlib import Path

from benchmarks.docs import with_block
from lab.figures import pictures
from lab.findings import load
from lab.page import data_table, lab_page

PAGE, README, IMAGES = Path("docs/lab.md"), Path("data/README.md"), Path("docs/images")


def pages(data: Path) -> dict[Path, str]:
    """Every file that is made from the runs below ``data``, with its text."""
    runs = load(data)
    page = PAGE.read_text(encoding="utf-8")
    for name, text in lab_page(runs).items():
        page = with_block(page, name, text)
    readme = with_block(README.read_text(encoding="utf-8"), "runs", data_table(runs))
    return {PAGE: page, README: readme} | {IMAGES / name: svg for name, svg in pictures(runs).items()}
