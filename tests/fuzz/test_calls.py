"""Whatever the library's functions are called with: a result, or an error with a slug; never a warning.

``ENTROPYLAW_FUZZ_CALLS`` sets the number of calls; ``python -m tests.fuzz.calls 17`` makes one of them.
"""

import math
import os
import warnings

import numpy as np
import pytest

import entropylaw
from entropylaw.analysis.phases import phase_cautions
from tests.fuzz.calls import failure, failures, good, write_inputs
from tests.hostile import refused

CALLS = int(os.environ.get("ENTROPYLAW_FUZZ_CALLS", "500"))


def test_good_arguments_are_good(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    for name in good():
        assert failure(name, {}) == "", name


@pytest.mark.parametrize("part", range(4))
def test_hostile_calls(part):
    assert not failures(range(part * CALLS // 4, (part + 1) * CALLS // 4))


@pytest.mark.parametrize(
    ("name", "changed", "slug"),
    [
        ("compare", {"arms": {}}, "too-few-arms"),
        ("compare", {"arms": ["a.csv", "b.csv"]}, "bad-argument"),
        ("compare", {"arms": {"a": []}}, "arm-without-logs"),
        ("compare", {"baseline": "x"}, "no-such-arm"),
        ("compare", {"baseline": np.arange(2)}, "bad-argument"),
        ("compare", {"margin": [1]}, "bad-argument"),
        ("compare", {"margin": -1}, "bad-argument"),
        ("fit", {"max_reward": np.arange(2)}, "bad-argument"),
        ("compare", {"margin": 10**400}, "bad-argument"),
        ("compare", {"level": 2}, "bad-level"),
        ("compare", {"jobs": 0}, "bad-argument"),
        ("fit", {"from_step": 10**400}, "bad-argument"),
        ("fit of arrays", {"keep_outliers": np.arange(2)}, "bad-argument"),
        ("read_runs", {"columns": np.array(1.0)}, "bad-argument"),
        ("fit of arrays", {"name": 5}, "bad-argument"),
        ("fit of arrays", {"pair": "same"}, "bad-argument"),
        ("fit of arrays", {"max_reward": 1e300}, "out-of-scale"),
        ("fit of arrays", {"gain": 1e300}, "bad-gain"),
        ("phases of arrays", {"name": 5}, "bad-argument"),
        ("forecast", {"run": b"run"}, "bad-argument"),
        ("forecast", {"entropy": np.full(12, 40.0)}, "entropy-not-a-mean"),
        ("load", {"path": b"fit.json"}, "bad-argument"),
        ("Fit.plot", {"ax": "axes"}, "bad-argument"),
        ("summarise_samples", {"level": "high"}, "bad-argument"),
        ("summarise_samples", {"missing": "none"}, "bad-argument"),
        ("summarise_samples", {"against": math.nan}, "bad-argument"),
        ("Run", {"columns": {"entropy": np.zeros(3)}}, "bad-argument"),
        ("Run", {"step": np.zeros(12)}, "bad-argument"),
    ],
)
def test_wrong_options_are_named(name, changed, slug):
    function, arguments = good()[name]
    caught = refused(slug, function, **arguments | changed, kind=entropylaw.EntropyLawError)
    if slug == "bad-argument":
        field = "run." if name == "Run" else ""
        assert caught.message.startswith(f"{field}{next(iter(changed))}")
        assert ": expected " in caught.message


def test_columns_of_samples_may_be_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    for by in ("", [""], ("",)):
        given = entropylaw.summarise_samples("samples.jsonl", right_when="score>=0.5", by=by, k=[1, 2])
        assert len(given.rows) == 2


def test_a_run_without_a_name_has_its_answer():
    assert "there is no file or folder ''" in str(entropylaw.fit_logs([""]))


def test_settings_in_memory_are_checked():
    from entropylaw.options import FitOptions

    wrong = FitOptions(level="high")
    with pytest.raises(entropylaw.UsageError, match="level: expected a number between 0 and 1, found 'high'"):
        entropylaw.fit_logs([], wrong)
    assert entropylaw.fit_logs([], FitOptions(level=np.float32(0.5))).settings.level == 0.5


@pytest.mark.parametrize("argument", ["step", "planning", "execution", "entropy"])
@pytest.mark.parametrize("value", [1e300, 1e-300, 1e-320])
def test_curves_of_phases_out_of_scale(argument, value):
    step = np.arange(1.0, 33.0)
    given = {"step": step, "planning": np.exp(-step / 9), argument: step * value}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(entropylaw.EntropyLawError) as caught:
            entropylaw.phases(**given)
    assert caught.value.slug == "out-of-scale"


def test_lengths_that_are_all_missing_say_nothing():
    step = np.arange(12.0)
    assert list(phase_cautions(step, {"length": np.full(12, np.nan)}, {})) == []
