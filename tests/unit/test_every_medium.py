"""What `fit --find-seams` found is in every medium of the fit and of its report."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from entropylaw.documents.loading import load_fit
from entropylaw.report.numbers import format_interval
from tests.pages import Page
from tests.typed import typed

SUFFIXES = ("json", "csv", "md", "txt")


def write(path, *, jump=0.0, seed=0, n=48):
    chance = np.random.default_rng(seed)
    entropy = np.linspace(1.2, 0.2, n)
    entropy[n // 2 :] += jump
    reward = 0.9 - 0.2 * np.exp(entropy) + 0.004 * chance.standard_normal(n)
    reward[n // 2 :] -= 2 * jump
    rows = [
        f"{10 * i},{h!r},{r!r}"
        for i, (h, r) in enumerate(zip(entropy.tolist(), reward.tolist(), strict=True))
    ]
    path.write_text("\n".join(["step,entropy,val_acc", *rows]) + "\n")


def fit(folder, *arguments):
    outputs = [word for suffix in SUFFIXES for word in ("-o", f"fit.{suffix}")]
    done = typed("fit", *arguments, *outputs, cwd=folder)
    assert done.returncode == 0, done.stderr
    return load_fit(folder / "fit.json")


def report(folder):
    done = typed("report", "fit.json", "-o", "out", "--figures", "none", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.fixture(scope="module")
def segmented(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segmented")
    write(folder / "run.csv", jump=0.4)
    document = fit(folder, "run.csv", "--find-seams")
    return folder, document.runs[0], report(folder)


def test_segments_are_in_every_medium(segmented):
    folder, run, out = segmented
    parts = run.segments.segments
    assert len(parts) == 2
    ceilings = [format_interval(part.fit.law.ceiling) for part in parts]
    for text in (folder / "fit.md", out / "report.md"):
        assert all(ceiling in text.read_text() for ceiling in ceilings)
    page = Page((out / "runs" / "run.html").read_text()).text.replace("−", "-")
    assert all(ceiling in page for ceiling in ceilings)
    assert "2 segments" in Page((out / "index.html").read_text()).text
    for path in (folder / "fit.csv", out / "report.csv"):
        found = [row for row in rows(path) if row["part"].startswith("segment ")]
        assert [float(row["ceiling"]) for row in found] == [part.fit.law.ceiling.value for part in parts]
        assert [float(row["first_step"]) for row in found] == [part.first_step for part in parts]
        assert float(found[0]["p_value"]) == run.segments.same.p_value
        jumps = [row for row in rows(path) if row["part"].startswith("jump of ")]
        assert [float(row["jump"]) for row in jumps] == [seam.jump.value for seam in run.level_shifts]
    (row,) = json.loads((out / "report.json").read_text())["rows"]
    segments = [part for part in row["parts"] if part["part"].startswith("segment ")]
    assert [part["ceiling"]["value"] for part in segments] == [part.fit.law.ceiling.value for part in parts]


def test_without_a_level_shift_every_medium_says_so(tmp_path):
    write(tmp_path / "run.csv")
    document = fit(tmp_path, "run.csv", "--find-seams")
    assert document.runs[0].level_shifts == ()
    for path in (tmp_path / "fit.md", tmp_path / "fit.txt", report(tmp_path) / "report.md"):
        assert "no level shift" in path.read_text()
    assert "no level shift" in Page((tmp_path / "out" / "runs" / "run.html").read_text()).text
