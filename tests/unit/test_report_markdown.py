"""Markdown against a golden file, and against hostile names.

``ENTROPYLAW_ACCEPT_GOLDEN=1 python -m pytest tests/unit/test_report_markdown.py`` writes the golden file
anew; read the difference before you keep it.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from entropylaw.report import markdown
from entropylaw.report.slugs import run_slugs
from tests.unit.test_report_samples import (
    HOSTILE,
    by_hand,
    document,
    falling,
    refused,
    run_by_hand,
    synthetic,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "report.md"


def test_golden() -> None:
    whole = document(
        run_by_hand(by_hand()), refused("short | run"), warnings=("logs/empty.csv holds no records",)
    )
    slugs = run_slugs(whole)
    text = markdown.render(whole, {slugs[0]: {"the law": f"figures/{slugs[0]}-law.svg"}})
    if os.environ.get("ENTROPYLAW_ACCEPT_GOLDEN") == "1":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_hostile_name_is_text() -> None:
    run = replace(synthetic(), run=HOSTILE)
    text = markdown.render(document(run, refused(HOSTILE)))
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\]\(http", text)
    assert not any(line.startswith("# ") and "report" not in line for line in text.splitlines())
    rows = [line for line in text.splitlines() if line.startswith("| ") and "etc/" in line]
    assert len(rows) == 2
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)


def test_invalid_run_says_so_before_any_number() -> None:
    text = markdown.render(document(falling()))
    assert text.index("The law does not describe this run") < text.index("### Numbers")
    assert "**reason:** reward falls as entropy is spent" in text


def test_many_runs_stay_below_the_limit_of_a_comment() -> None:
    text = markdown.render(document(*(replace(synthetic(), run=f"run {i}") for i in range(60))))
    assert len(text.encode()) < 64_000
    assert re.search(r"\*\d+ more runs are left out of this text", text)
