"""Whatever the library's functions are called with: a result, or an error with a slug; never a warning."""

import contextlib
import datetime
import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest

import entropylaw
from entropylaw.analysis.phases import phase_cautions
from entropylaw.errors import EntropyLawError
from entropylaw.results.result import replace

N = 12
STEP = np.arange(1.0, N + 1)
ENTROPY = np.linspace(1.0, 0.2, N) + 0.02 * np.cos(STEP)
REWARD = 0.6 - 0.2 * np.exp(ENTROPY) + 0.01 * np.sin(3 * STEP)
VALUES = {
    "none": None,
    "text": "abc",
    "number as text": "0.5",
    "bytes": b"abc",
    "dict": {"a": 1.0},
    "set": {1.0, 2.0},
    "generator": (x for x in ()),
    "object": object(),
    "function": len,
    "flag": True,
    "nan": float("nan"),
    "inf": float("inf"),
    "huge int": 10**400,
    "large": 1e300,
    "tiny": 1e-300,
    "zero": 0,
    "negative": -1.0,
    "complex": 0.5 + 1j,
    "date": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "empty": [],
    "short": [0.5, 0.4],
    "ragged": [[1.0], [1.0, 2.0]],
    "texts": ["a"] * N,
    "numbers as texts": ["0.5"] * N,
    "nones": [None] * N,
    "nans": [float("nan")] * N,
    "infs": np.full(N, np.inf),
    "last inf": np.append(STEP[:-1], np.inf),
    "huge ints": [10**400] * N,
    "larges": STEP * 1e300,
    "denormals": STEP * 1e-320,
    "tinies": STEP * 1e-300,
    "equal": np.full(N, 0.5),
    "zeros": np.zeros(N),
    "negatives": -STEP,
    "complexes": STEP + 1j,
    "flags": STEP > 3,
    "dates": np.arange(N).astype("datetime64[D]"),
    "spans": np.arange(N).astype("timedelta64[s]"),
    "objects": np.array([object()] * N),
    "records": np.zeros(N, dtype=[("a", float)]),
    "two dimensions": np.ones((N, 2)),
    "masked": np.ma.masked_array(STEP, STEP > 100),
    "all masked": np.ma.masked_array(STEP, STEP > 0),
    "long doubles": np.full(N, np.finfo(np.longdouble).max),
    "path": Path("nowhere.csv"),
    "nul": "a\0b",
}


@pytest.fixture(scope="module")
def fit():
    return entropylaw.fit_law(ENTROPY, REWARD, STEP)


def calls(fit):
    """Every public function: its good arguments, and which of them take hostile values."""
    run = entropylaw.read_runs({"step": STEP, "entropy": ENTROPY, "val_acc": REWARD})[0]
    series = entropylaw.select(run)
    data = {"entropy": ENTROPY, "reward": REWARD, "step": STEP}
    many = {"entropy": [ENTROPY], "reward": [REWARD], "step": [STEP]}
    of_fit = ("level", "interval", "eval_size")
    return {
        "fit_law": (data, (*data, *of_fit, "entropy_sd", "data", "gain", "max_reward", "findings")),
        "fit_laws": (many, (*many, "level", "interval")),
        "fit_phases": (
            {"step": STEP, "planning": ENTROPY},
            ("step", "planning", "execution", "aggregate", "planning_share", "length", "level"),
        ),
        "forecast": ({**data, "at_step": 20}, (*data, "at_step", "entropy_path", "level")),
        "saturation_forecast": (data, (*data, "gains", "at_step", "level")),
        "find_level_shifts": (data, (*data, "level")),
        "fit_segments": ({**data, "seams": [7]}, (*data, "seams", *of_fit, "entropy_sd")),
        "compare": (
            {"arms": {"a": [fit], "b": [replace(fit, run="other")]}},
            ("arms", "baseline", "level", "margin", "between_sd"),
        ),
        "compare_forms": ({"law": fit}, ("law",)),
        "influences": ({"law": fit}, ("law",)),
        "to_lmfit": ({"form": "law", "law": fit}, ("form", "law")),
        "backtest": ({"runs": [series]}, ("runs", "level")),
        "combine_phases": ({"fits": []}, ("fits", "level")),
        "read_runs": ({"path": "nowhere.csv"}, ("path", "step", "run", "columns")),
        "select": ({"run": run}, ("run", "entropy", "reward", "pair", "entropy_sd")),
        "fit_run": ({"run": run}, ("run", "entropy", "reward", "pair", *of_fit, "entropy_sd")),
        "fit": ({"log": "nowhere.csv"}, ("log",)),
        "fit_logs": ({"paths": ["nowhere.csv"]}, ("paths", "settings")),
        "load_fit": ({"path": "nowhere.json"}, ("path",)),
        "load_phases": ({"path": "nowhere.json"}, ("path",)),
    }


def test_every_public_function_is_here(fit):
    functions = {name for name in entropylaw.__all__ if inspect.isfunction(getattr(entropylaw, name))}
    assert functions == set(calls(fit))


def survived(call, arguments):
    """Whether a call ends with a result or an error of ours; what else happens is raised."""
    with warnings.catch_warnings(), contextlib.suppress(EntropyLawError):
        warnings.simplefilter("error")
        call(**arguments)


@pytest.mark.parametrize(
    "argument", ["step", "planning", "execution", "aggregate", "planning_share", "length"]
)
@pytest.mark.parametrize("value", [1e300, 1e-300, 1e-320])
def test_curves_of_phases_out_of_scale(argument, value):
    step = np.arange(1.0, 33.0)
    given = {"step": step, "planning": np.exp(-step / 9), argument: step * value}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(EntropyLawError) as caught:
            entropylaw.fit_phases(**given)
    assert caught.value.slug == "out-of-scale"


def test_lengths_that_are_all_missing_say_nothing():
    assert list(phase_cautions(STEP, {"length": np.full(N, np.nan)}, {})) == []


@pytest.mark.parametrize("value", VALUES)
def test_hostile_arguments(fit, value):
    failed = []
    for name, (good, hostile) in calls(fit).items():
        for argument in hostile:
            try:
                survived(getattr(entropylaw, name), good | {argument: VALUES[value]})
            except Exception as problem:
                failed.append(f"{name}({argument}): {type(problem).__name__}: {problem}")
    for method, argument in (
        (fit.predict, "entropy"),
        (fit.entropy_for, "reward"),
        (fit.law.predict, "entropy"),
        (fit.law.entropy_for, "reward"),
    ):
        for arguments in ({argument: VALUES[value]}, {argument: 0.5, "level": VALUES[value]}):
            try:
                survived(method, arguments)
            except Exception as problem:
                failed.append(f"{method.__name__}({arguments}): {type(problem).__name__}: {problem}")
    assert not failed, "\n".join(failed)
