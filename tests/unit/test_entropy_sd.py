"""The noise of the logged entropy from the command line: a number, or a column; and the cautions about it."""

import json

import numpy as np
import pytest

from entropylaw import UsageError, fit, read_runs, select
from tests.hostile import refused


def write(path, *, n=40, sd=0.02, key="actor/entropy", reward="val-core/math/acc/mean@1", spoil=None):
    """A log with a column of standard errors beside the entropy; the reward at every second step."""
    rng = np.random.default_rng(4)
    noise = sd * (1 + np.arange(n) / n)
    entropy = 0.1 + 0.9 * np.exp(-np.arange(n) / 12) + noise * rng.standard_normal(n)
    scores = 0.55 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n)
    lines = []
    for i in range(n):
        row = {"step": i, key: entropy[i], "entropy_se": noise[i]}
        if i % 2 == 0:
            row[reward] = scores[i]
        if spoil is not None and i == 11:
            row["entropy_se"] = spoil
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_column_goes_with_the_entropy_and_not_with_the_reward(tmp_path):
    (run,) = read_runs(write(tmp_path / "a.jsonl"))
    after = select(run, pair="next", entropy_sd="entropy_se")
    same = select(run, pair="same", entropy_sd="entropy_se")
    np.testing.assert_allclose(same.entropy_sd, 0.02 * (1 + same.step / 40))
    # The reward of step 2k goes with the entropy of step 2k + 1, and with its noise.
    np.testing.assert_allclose(after.entropy_sd, 0.02 * (1 + (after.step + 1) / 40))
    assert select(run, entropy_sd="0.03").entropy_sd.tolist() == [0.03] * len(after.step)
    assert select(run).entropy_sd is None


@pytest.mark.parametrize("spoil", [None, 0.0, -1.0])
def test_only_what_is_used_must_be_there(tmp_path, spoil):
    (run,) = read_runs(write(tmp_path / "a.jsonl", spoil=spoil or float("nan")))
    # Step 11 is the partner of step 10 in pairs with the next step, and of none in pairs with the same.
    assert len(select(run, pair="same", entropy_sd="entropy_se").step) == 20
    error = refused("entropy-sd-missing", select, run, pair="next", entropy_sd="entropy_se")
    assert "step 10" in error.message


def test_numbers_and_columns_that_cannot_be(tmp_path):
    (run,) = read_runs(write(tmp_path / "a.jsonl"))
    for given in ("0", "-0.1", "nan", "inf"):
        refused("bad-entropy-sd", select, run, entropy_sd=given, kind=UsageError)
    error = refused("column-not-found", select, run, entropy_sd="entropy_sem")
    assert "entropy_se" in error.hint


def test_the_fit_uses_the_noise_that_is_given(tmp_path):
    (run,) = read_runs(write(tmp_path / "a.jsonl"))
    given = fit(run, pair="same", entropy_sd="entropy_se")
    assert given.law.entropy_sd.shape == (20,)
    assert not [text for text in given.cautions if "check the given noise" in text]
    # Ten times too much is not what the log shows.
    wrong = fit(run, pair="same", entropy_sd=0.3)
    assert [text for text in wrong.cautions if "check the given noise" in text]
    assert wrong.a.high - wrong.a.low > given.a.high - given.a.low


def test_from_the_command_line(run, tmp_path):
    write(tmp_path / "a.jsonl")
    done = run("fit", "a.jsonl", "--pair", "same", "--entropy-sd", "entropy_se", "-o", "a.json", "-q")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["settings"]["entropy_sd"] == "entropy_se"
    assert len(document["runs"][0]["result"]["law"]["entropy_sd"]) == 20
    options = ("--pair", "same", "--details", "-q")
    text = run("fit", "a.jsonl", *options, "--entropy-sd", "entropy_se")
    assert "given as 0.020 to 0.039" in " ".join(text.stdout.split())
