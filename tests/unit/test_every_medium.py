"""What `fit --find-seams` found is in every medium of the fit and of its report."""

from __future__ import annotations

import csv
import io

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


def test_level_shifts_are_in_every_medium(segmented):
    folder, run, out = segmented
    shifts = [format_interval(shift.jump) for shift in run.level_shifts]
    assert shifts
    for text in (folder / "fit.md", out / "report.md"):
        assert all(shift in text.read_text() for shift in shifts)
    page = Page((out / "runs" / "run.html").read_text()).text.replace("−", "-")
    assert all(shift in page for shift in shifts)
    assert "reward shifts by" in Page((out / "index.html").read_text()).text
    for path in (folder / "fit.csv", out / "report.csv"):
        jumps = [row for row in rows(path) if row["part"].startswith("jump of ")]
        assert [float(row["jump"]) for row in jumps] == [seam.jump.value for seam in run.level_shifts]


def test_without_a_level_shift_every_medium_says_so(tmp_path):
    write(tmp_path / "run.csv")
    document = fit(tmp_path, "run.csv", "--find-seams")
    assert document.runs[0].level_shifts == ()
    for path in (tmp_path / "fit.md", tmp_path / "fit.txt", report(tmp_path) / "report.md"):
        assert "no level shift" in path.read_text()
    assert "no level shift" in Page((tmp_path / "out" / "runs" / "run.html").read_text()).text
