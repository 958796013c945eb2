"""The lab's runs as they lie in ``data/``: whole, fitted, and described by pages that are not stale."""

from __future__ import annotations

import contextlib
import json
import math
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from entropylaw.pipeline.steps import fit_logs
from entropylaw.results.result import replace
from lab import boundaries, editions, findings, page
from lab.answers import better, fails, forgets, holds, moves, restores, same
from lab.arms import runs
from lab.config import read_config
from lab.pages import FITTED_AGAIN, PAGE, editions_of, pages
from lab.task import VOCABULARY, numbers, prompts_of, text_of
from tests.conftest import LAB, ROOT

NAMES = sorted(path.parent.name for path in LAB.glob("*/metrics.parquet"))
WITH_TOKENS = sorted(path.parent.name for path in LAB.glob("*/tokens.parquet"))

SLOW_QUESTIONS = ("Does the law after a quarter predict", "Does an entropy turn to rise?")


@pytest.fixture(scope="module")
def made(lab_fits):
    fits = {entry.run: replace(lab_fits, runs=(entry,)) for entry in lab_fits.runs}
    with contextlib.chdir(ROOT), pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "fit_logs", lambda logs: fits[logs[0].parent.name])
        return findings.load(Path("data/lab"))


def test_every_run_of_the_list_is_there_with_its_settings():
    kept = {path.parent.name: read_config(path) for path in LAB.glob("*/config.json")}
    assert kept == {config.run: config for config in runs()}
    assert sorted(kept) == NAMES


def test_all_data_fit_into_25_megabytes():
    assert sum(path.stat().st_size for path in (ROOT / "data").rglob("*") if path.is_file()) < 25e6


@pytest.mark.parametrize("name", NAMES)
def test_a_row_a_step_and_an_evaluation_every_eight(name):
    config = read_config(LAB / name / "config.json")
    table = pq.read_table(LAB / name / "metrics.parquet").to_pydict()
    assert table["step"] == list(range(config.steps + 1))
    evaluated = [
        step for step, value in zip(table["step"], table["val_acc"], strict=True) if value is not None
    ]
    assert evaluated == list(range(0, config.steps + 1, config.val_every))
    assert table["grad_norm"][-1] is None
    assert all(0 <= value < math.log(VOCABULARY) for value in table["entropy"])
    assert table["kl_to_start"][0] == 0


def test_every_run_is_fitted_and_no_run_without_its_reward_is_said_to_hold(made):
    assert sorted(made) == NAMES
    assert all(run.fit.refusal is None for run in made.values())
    controls = ("entropy_minimised", "random_reward", "diverging")
    assert [name for name in controls if made[name].fit.verdict == "holds"] == []


@pytest.mark.parametrize("name", WITH_TOKENS)
def test_tokens_and_answers_tell_the_same(name):
    config = read_config(LAB / name / "config.json")
    tokens = pq.read_table(LAB / name / "tokens.parquet").to_pandas()
    answers = (
        pq.read_table(LAB / name / "answers.parquet").to_pandas().set_index(["step", "prompt", "sample"])
    )
    assert sorted(tokens["step"].unique()) == sorted(config.tokens_at)
    by_answer = tokens.groupby(["step", "prompt", "sample"], sort=False)
    assert (by_answer["token"].agg("".join) == answers["answer"]).all()
    assert (by_answer.size() == answers["length"]).all()
    np.testing.assert_allclose(by_answer["entropy"].mean(), answers["entropy_mean"], rtol=1e-5, atol=1e-7)
    written = answers["answer"].to_numpy()
    plans = (
        tokens[tokens["is_planning"]].groupby(["step", "prompt", "sample"], sort=False)["token"].agg("".join)
    )
    assert [plan.split("=")[0] for plan in plans] == [answer.split("=")[0] for answer in written]


def test_tokens_are_of_the_validation_prompts():
    answers = pq.read_table(LAB / "grpo_s0" / "answers.parquet").to_pandas()
    first = answers[(answers["step"] == 0) & (answers["sample"] == 0)]
    pairs = numbers(320, np.random.default_rng(20_260_101), validation=True)[:64]
    assert list(first["asked"].astype(str)) == [text_of(prompt) for prompt in prompts_of("free", pairs)]


def test_the_page_counts_the_distinct_validation_prompts_right():
    pairs = numbers(320, np.random.default_rng(20_260_101), validation=True)
    distinct, of_first = (len({tuple(pair) for pair in some}) for some in (pairs, pairs[:64]))
    assert f"so that {distinct} of them are distinct" in (ROOT / "docs" / "lab.md").read_text(
        encoding="utf-8"
    )
    assert f"64 fixed prompts ({of_first} distinct)" in (ROOT / "data" / "README.md").read_text(
        encoding="utf-8"
    )


FORMATS = sorted(path.name for path in (ROOT / "data" / "formats").iterdir())
# verl and TRL evaluate after the update, and leave no entropy of the last policy: one pair less.
ONE_LESS = ("verl.jsonl", "verl_console.log", "trainer_state.json")


@pytest.mark.parametrize("name", FORMATS)
def test_other_formats_give_the_same_fit(name, made):
    law, folder = made[name].law, ROOT / "data" / "formats" / name
    for path in (folder / "events.out.tfevents.0.lab", *folder.rglob("*.wandb")):
        (read,) = fit_logs([path]).runs
        assert (read.run, read.law.n) == (name, law.n)
        assert read.law.ceiling.value == pytest.approx(law.ceiling.value, rel=1e-5)
    paired = law.entropy[:-1], law.reward[:-1]
    for path in (folder / file for file in ONE_LESS):
        (read,) = fit_logs([path]).runs
        assert (read.run, read.pair) == (name, "next")
        np.testing.assert_array_equal((read.law.entropy, read.law.reward), paired)


@pytest.fixture(scope="module")
def both(made):
    load = findings.load
    with contextlib.chdir(ROOT), pytest.MonkeyPatch.context() as patch:
        patch.setattr("lab.pages.load", lambda folder: made if folder.name == "lab" else load(folder))
        return editions_of(Path("data"))


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


def test_what_fits_every_run_again_is_not_stale_in_some_arms(both):
    """All of it takes minutes: ``python -m lab pages --check``."""
    page_text = (ROOT / PAGE).read_text(encoding="utf-8")
    some = {name: both.found.by_arm[name] for name in ("steady", "hacked")}
    tables = (page.foresights(some), boundaries.phases(some), boundaries.turns(some).partition("\n\n")[0])
    rows = [line for table in tables for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) > 4
    told = [answer(both.found) for answer in (holds, same, better, moves, fails, restores, forgets)]
    asked = [one for one in editions.questions() if not one.words.startswith(SLOW_QUESTIONS)]
    shown = [
        answer.text for one in asked for found in (both.first, both.found) if (answer := one.answer(found))
    ]
    assert [text for text in (*rows, *told, *shown) if text not in page_text] == []
