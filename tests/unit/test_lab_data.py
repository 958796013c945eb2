"""The lab's runs in ``data/`` and the pages that describe them: of drawn runs, nightly of all."""

import contextlib
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from entropylaw import fit_logs
from entropylaw.documents.document import Entry
from lab import findings, overview, page
from lab.answers import better, fails, forgets, holds, moves, restores, same
from lab.comparisons import PLAIN
from lab.config import read_config
from lab.pages import FITTED_AGAIN, PAGE, README, editions_of, pages
from lab.second import runs as planned
from tests.conftest import LAB, ROOT, drawn, nightly


def made_of(folder: Path, fit: Entry) -> findings.Made:
    columns = findings.read_columns(folder / "metrics.parquet")
    return findings.Made(read_config(folder / "config.json"), columns, fit)


@pytest.fixture(scope="module")
def made(lab_fits):
    return {entry.run: made_of(LAB / entry.run, entry) for entry in lab_fits.runs if entry.result}


def test_all_data_fit_into_25_megabytes():
    assert sum(path.stat().st_size for path in (ROOT / "data").rglob("*") if path.is_file()) < 25e6


def test_every_run_is_described_as_it_is_fitted(made):
    text = (ROOT / README).read_text(encoding="utf-8")
    assert len(made) >= 4
    for run in made.values():
        assert f"| {' | '.join(page.data_row(run))} |" in text, run.name


def test_no_run_without_its_reward_is_said_to_hold():
    for name in ("entropy_minimised", "random_reward", "diverging"):
        (run,) = fit_logs([LAB / name / "metrics.parquet"]).runs
        assert run.verdict in ("fails", "undecided"), name


FORMATS = sorted(path.name for path in (ROOT / "data" / "formats").iterdir())
# verl and TRL evaluate after the update, and leave no entropy of the last policy: one pair less.
ONE_LESS = ("verl.jsonl", "verl_console.log", "trainer_state.json")


@pytest.mark.parametrize("name", FORMATS)
def test_other_formats_give_the_same_fit(name, made):
    law, folder = made[name].law, ROOT / "data" / "formats" / name
    for path in (*folder.glob("*.0.lab"), *folder.glob("clearml*"), *folder.rglob("*.wandb")):
        (read,) = fit_logs([path]).runs
        expected = path.stem if path.suffix == ".json" else name
        assert (read.run, read.result.law.n) == (expected, law.n)
        assert read.result.law.ceiling.value == pytest.approx(law.ceiling.value, rel=1e-5)
    paired = law.entropy[:-1], law.reward[:-1]
    for path in (folder / file for file in ONE_LESS):
        (read,) = fit_logs([path]).runs
        assert (read.run, read.columns["reward"].pair) == (name, "next")
        np.testing.assert_array_equal((read.result.law.entropy, read.result.law.reward), paired)


ARMS = sorted({config.arm for config in planned() if not config.failure} - {PLAIN})


@pytest.mark.parametrize("arm", drawn(ARMS, 1))
def test_an_arm_is_described_as_it_is_fitted(arm):
    folders = [ROOT / "data" / "lab2" / config.run for config in planned() if config.arm == arm]
    runs = [made_of(folder, fit_logs([folder / "metrics.parquet"]).runs[0]) for folder in folders]
    (row,) = [line for line in overview.arms({arm: runs}).splitlines() if line.startswith(f"| `{arm}`")]
    assert row in (ROOT / PAGE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def both(made):
    load = findings.load
    with contextlib.chdir(ROOT), pytest.MonkeyPatch.context() as patch:
        patch.setattr("lab.pages.load", lambda folder: made if folder.name == "lab" else load(folder))
        return editions_of(Path("data"))


@nightly
def test_the_pages_are_not_stale(both, monkeypatch):
    monkeypatch.chdir(ROOT)
    drawn_with = json.loads((ROOT / "reports" / "sample" / "versions.json").read_text(encoding="utf-8"))
    # Another release of matplotlib draws other paths.
    same = all(version(name) == release for name, release in drawn_with.items())
    stale = [
        str(path)
        for path, text in pages(both, without=FITTED_AGAIN).items()
        if not path.exists() or ((same or path.suffix != ".svg") and path.read_text(encoding="utf-8") != text)
    ]
    assert stale == []


@nightly
def test_what_fits_every_run_again_is_not_stale_in_some_arms(both):
    """All of it takes minutes: ``python -m lab pages --check``."""
    page_text = (ROOT / PAGE).read_text(encoding="utf-8")
    some = {name: both.found.by_arm[name] for name in ("steady", "hacked")}
    rows = [
        line
        for line in overview.arms(some).splitlines()
        if line.startswith(tuple(f"| `{name}`" for name in some))
    ]
    assert len(rows) == 2
    told = [answer(both.found) for answer in (holds, same, better, moves, fails, restores, forgets)]
    assert [text for text in (*rows, *told) if text not in page_text] == []
