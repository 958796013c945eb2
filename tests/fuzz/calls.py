"""Calls of Python with hostile arguments; ``python -m tests.fuzz.calls 17`` makes call 17.

A call is a function or a method of the public API with good arguments, of which one or two are replaced. It
ends with a result or an error of ours, without a warning, within :data:`LIMIT` seconds of processor time.
"""

import datetime
import functools
import inspect
import math
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import entropylaw
from entropylaw.errors import EntropyLawError
from entropylaw.logs.load import UnreadFileWarning
from entropylaw.option import options_of
from entropylaw.options import CompareOptions
from tests.conftest import processor_time

LIMIT = 10.0

N = 12
STEP = np.arange(1.0, N + 1)
ENTROPY = np.linspace(1.0, 0.2, N) + 0.02 * np.cos(STEP)
REWARD = 0.6 - 0.2 * np.exp(ENTROPY) + 0.01 * np.sin(3 * STEP)
FRAME = pd.DataFrame({"step": STEP, "entropy": ENTROPY, "val_acc": REWARD})
NESTED: list[Any] = functools.reduce(lambda inner, _: [inner], range(200), [])


class Odd:
    """An object without a text."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


_ANY = (
    *(None, "", "abc", "0.5", "a\0b", "\udcff", "a\nb\x1b[2J", "x" * 300_000, b"abc", {"a": 1.0}, {}),
    *({"": None, 3: []}, {1.0, 2.0}, (x for x in ()), object(), Odd(), Odd, len, lambda *_: 1 / 0, True),
    *(math.nan, math.inf, 10**400, 10**5000, -(10**400), 1e300, 1e-300, 0, -1, -1.0, 0.5, 2, 0.5 + 1j),
    *(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), [], [1], [0.5, 0.4], [[1.0], [1.0, 2.0]], NESTED),
    *(["a"] * N, ["0.5"] * N, [None] * N, [math.nan] * N, [10**400] * N),
    *(np.full(N, np.inf), np.append(STEP[:-1], np.inf), np.append(STEP[:-1], np.nan), STEP * 1e300),
    *(STEP * 1e-320, STEP * 1e-300, np.full(N, 0.5), np.zeros(N), -STEP, STEP / N, np.repeat(STEP, 2)[:N]),
    *(STEP + 1j, STEP > 3, np.arange(N).astype("datetime64[D]"), np.arange(N).astype("timedelta64[s]")),
    *(np.array([object()] * N), np.zeros(N, dtype=[("a", float)]), np.array(0.5), np.array([0.5])),
    *(np.zeros(0), np.ones((N, 2)), np.ones((1, 2, 1, 2, 1)), np.full(N, np.finfo(np.longdouble).max)),
    *(np.ma.masked_array(STEP, STEP > 100), np.ma.masked_array(STEP, STEP > 0)),
    *(Path("nowhere.csv"), Path(__file__).parent / "__pycache__"),
    *(FRAME["entropy"], FRAME, pd.DataFrame(), pd.concat([FRAME, FRAME["val_acc"]], axis=1)),
    *(FRAME.rename(columns={"entropy": "", "val_acc": 3}), pd.concat([FRAME, FRAME])),
    pd.DataFrame({"step": [object()] * 3, "entropy": [[1]] * 3, "val_acc": [{}] * 3}),
    *(FRAME.set_index(["step", "entropy"]), pd.array([1.0, None] * (N // 2), dtype="Float64")),
    pd.Categorical(["a", "b"] * (N // 2)),
)
VALUES = {f"{number}, {type(value).__name__}": value for number, value in enumerate(_ANY)}
"""Hostile values, by their number and type."""


@functools.cache
def good() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public function, and methods of results: the callable and good arguments."""
    fit = entropylaw.fit_law(ENTROPY, REWARD, STEP)
    other = entropylaw.fit_law(ENTROPY, REWARD + 0.01 * np.cos(STEP), STEP, run="other")
    run = entropylaw.read_runs({"step": STEP, "entropy": ENTROPY, "val_acc": REWARD})[0]
    data = {"entropy": ENTROPY, "reward": REWARD, "step": STEP}
    given: dict[str, dict[str, Any]] = {
        "fit_law": data,
        "fit_phases": {"step": STEP, "planning": ENTROPY},
        "forecast": {**data, "at_step": 20},
        "find_level_shifts": data,
        "compare": {"arms": {"a": [fit], "b": [other]}},
        "to_lmfit": {"form": "law", "law": fit},
        "combine_phases": {"fits": []},
        "read_runs": {"path": FRAME},
        "select": {"run": run},
        "fit_run": {"run": run},
        "fit": {"log": FRAME},
        "fit_logs": {"paths": [FRAME]},
        "load_fit": {"path": "nowhere.json"},
        "load_phases": {"path": "nowhere.json"},
    }
    names = {name for name in entropylaw.__all__ if inspect.isfunction(getattr(entropylaw, name))}
    # It takes files alone, as many as there are.
    names.discard("summarise_samples")
    calls = {name: (getattr(entropylaw, name), given[name]) for name in sorted(names)}
    for name, law in (("Fit", fit), ("LawFit", fit.law)):
        calls[f"{name}.predict"] = law.predict, {"entropy": 0.5}
        calls[f"{name}.entropy_for"] = law.entropy_for, {"reward": 0.2}
    return calls


@functools.cache
def parameters(name: str) -> list[str]:
    """The parameters of a callable, with the options behind its ``**options``."""
    function, _ = good()[name]
    known = list(inspect.signature(function).parameters)
    options = {"compare": options_of(CompareOptions), "fit": inspect.signature(entropylaw.fit_run).parameters}
    return [parameter for parameter in known if parameter != "options"] + [
        option for option in options.get(name, ()) if option not in (*known, "seams")
    ]


def chosen(number: int) -> tuple[str, dict[str, str]]:
    """The callable of a call, and the value of each argument that is replaced."""
    chance = random.Random(number)
    name = chance.choice(list(good()))
    replaced = chance.sample(parameters(name), min(chance.choice((1, 1, 2)), len(parameters(name))))
    return name, {parameter: chance.choice(list(VALUES)) for parameter in replaced}


def failure(name: str, hostile: dict[str, str]) -> str:
    """What is wrong with the end of a call; empty where nothing is."""
    function, arguments = good()[name]
    changed = arguments | {parameter: VALUES[value] for parameter, value in hostile.items()}
    try:
        with warnings.catch_warnings(), processor_time(LIMIT):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnreadFileWarning)
            # lmfit's, with the oldest release of uncertainties, where an error is smaller than a float.
            warnings.filterwarnings("ignore", "Using UFloat objects with std_dev==0")
            function(**changed)
    except EntropyLawError as error:
        if error.slug in ("bug", "analysis-failed") or not error.hint or len(str(error)) > 1000:
            return f"{name}({hostile}): {str(error)[:300]}"
    except BaseException as problem:  # what a user must never see is looked for here
        if isinstance(problem, KeyboardInterrupt):
            raise
        return f"{name}({hostile}): {''.join(traceback.format_exception(problem, limit=-3))}"
    return ""


def failures(numbers: range) -> list[str]:
    """Those of the calls that went wrong, in an empty folder."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return [f"{number}: {wrong}" for number in numbers if (wrong := failure(*chosen(number)))]
        finally:
            os.chdir(here)


if __name__ == "__main__":
    first, *last = map(int, sys.argv[1:])
    for wrong in failures(range(first, last[0] if last else first + 1)):
        print(wrong)
