"""Calls of Python with hostile arguments; ``python -m tests.fuzz.calls 17`` makes call 17.

A call is a public name, or a method of what one of them gives, with good arguments, of which one or two are
replaced by a hostile value, or by one that is wrapped in a list, a pair or a mapping. It ends with a result
or an error of ours, without a warning, within :data:`LIMIT` seconds of processor time. The methods of what
watches a training raise nothing at all.
"""

import datetime
import fractions
import functools
import inspect
import itertools
import json
import math
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

import entropylaw
from entropylaw import EntropyLawError
from entropylaw.logs.load import UnreadFileWarning
from entropylaw.option import options_of
from entropylaw.options import CompareOptions, FitOptions
from entropylaw.results.result import Result, field_names
from entropylaw.roles.select import select
from entropylaw.samples.options import SampleOptions
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


class HostileError(Exception):
    """What no library raises."""


def raises(*names: str, bases: tuple[type, ...] = (), **values: Any) -> Any:
    """An object whose methods of some names raise an error; others return a value."""

    def raising(*_: Any) -> Any:
        raise HostileError

    methods: dict[str, Any] = dict.fromkeys(names, raising)
    for name, value in values.items():
        methods[name] = lambda *_, value=value: value
    return type("Hostile", bases, methods)()


RAISING = (
    *(raises(name) for name in ("__array__", "__len__", "__float__", "__iter__", "__fspath__", "__bool__")),
    *(raises("__eq__", "__ne__", __hash__=1), raises("__hash__"), raises("__getattr__"), raises("__str__")),
    *(raises("__getitem__", __len__=N), raises("__len__", "__getitem__"), raises("__getitem__", __len__=-1)),
    *(
        raises(__array__="no array"),
        raises(__float__="no number"),
        raises(__len__=10**30),
        raises(__iter__=3),
    ),
    *(raises(__fspath__=3), raises(__fspath__="a\0b"), raises(__fspath__=b"\xff.csv"), raises(__index__=3)),
    *(raises("__float__", bases=(float,)), raises("__iter__", "__len__", bases=(list,))),
    *(raises("items", "__iter__", "__getitem__", bases=(dict,)), raises("__getitem__", bases=(str,))),
    *(raises("__getitem__", "__iter__", "__len__", bases=(Mapping,)), raises(columns=["a"], __len__=3)),
    *(raises("__float__", "__lt__", "__le__", "__gt__", bases=(fractions.Fraction,)), raises(dtype=float)),
)
"""Objects whose special methods raise an error, or return what they must not."""


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
    *RAISING,
)
VALUES = {f"{number}, {type(value).__name__}": value for number, value in enumerate(_ANY)}
"""Hostile values, by their number and type."""

WRAPPINGS: dict[str, Callable[[Any], Any]] = {
    "": lambda value: value,
    "list of ": lambda value: [value],
    "array of ": lambda value: [0.5] * (N - 1) + [value],
    "pair with ": lambda value: (STEP, value),
    "pair from ": lambda value: (value, ENTROPY),
    "arms of ": lambda value: {"a": value, "b": [FRAME]},
    "columns with ": lambda value: {"step": STEP, "entropy": ENTROPY, "val_acc": value},
}
"""What a hostile value is wrapped in."""


def value_of(name: str) -> Any:
    """A hostile value by its name, perhaps wrapped."""
    wrapping = max((prefix for prefix in WRAPPINGS if name.startswith(prefix)), key=len)
    return WRAPPINGS[wrapping](VALUES[name.removeprefix(wrapping)])


def write_inputs(folder: Path) -> None:
    """Write the files that good arguments name."""
    rows = itertools.product(range(4), (0, 10), range(4))
    samples = [
        {"problem": f"p{problem}", "step": step, "sample": sample, "score": (problem * sample + step) % 2}
        for problem, step, sample in rows
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))


@functools.cache
def good() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public function, and methods of results: the callable and good arguments."""
    data = {"entropy": ENTROPY, "reward": REWARD, "step": STEP}
    fit = entropylaw.fit(**data)
    other = entropylaw.fit(**data | {"reward": REWARD + 0.01 * np.cos(STEP)}, name="other")
    run = entropylaw.read_runs({"step": STEP, "entropy": ENTROPY, "val_acc": REWARD})[0]
    given: dict[str, dict[str, Any]] = {
        "phases": {"source": {"step": STEP, "entropy_planning": ENTROPY}},
        "forecast": {**data, "at_step": 20},
        "compare": {"arms": {"a": [fit], "b": [other]}},
        "to_lmfit": {"form": "law", "law": fit},
        "read_runs": {"path": FRAME},
        "fit": {"source": FRAME},
        "fit_logs": {"paths": [FRAME]},
        "load": {"path": "nowhere.json"},
    }
    names = {name for name in entropylaw.__all__ if inspect.isfunction(getattr(entropylaw, name))}
    # It takes any number of tables, and not one argument.
    names.discard("summarise_samples")
    calls = {name: (getattr(entropylaw, name), given[name]) for name in sorted(names)}
    calls["phases of arrays"] = entropylaw.phases, {"step": STEP, "planning": ENTROPY}
    calls["fit of arrays"] = entropylaw.fit, data
    calls["fit of a reward"] = entropylaw.fit, data | {"entropy": None}
    calls["fit of a run"] = entropylaw.fit, {"source": run}
    calls["summarise_samples"] = summarised, {"table": "samples.jsonl", "right_when": "score>=0.5"}
    for name, law in (("Fit", fit), ("LawFit", fit.law)):
        calls[f"{name}.predict"] = law.predict, {"entropy": 0.5}
        calls[f"{name}.entropy_for"] = law.entropy_for, {"reward": 0.2}
    calls["Fit.plot"] = fit.plot, {}
    calls["Watcher"] = entropylaw.Watcher, {"steps": 100.0}
    calls["Watcher.update"] = updated, {"step": 3.0, "rewards": {"a": 0.5}}
    calls["Watcher.read"] = watched, {"log": "samples.jsonl"}
    calls["EntropyLawCallback"] = entropylaw.EntropyLawCallback, {"steps": 100.0}
    calls["EntropyLawCallback.on_log"] = logged, {"log_history": [{"step": 1, "reward": 0.5}]}
    calls["Run"] = fitted, fields_of(run)
    made_by_a_fit = (fit, fit.law, fit.forecast, fit.law.ceiling, fit.predict(0.5))
    for made in (*made_by_a_fit, fit.state, select(run)):
        calls[f"{type(made).__name__} made"] = functools.partial(constructed, type(made)), fields_of(made)
    for error in (entropylaw.EntropyLawError, entropylaw.FitError, entropylaw.UsageError):
        calls[error.__name__] = error, {"slug": "a-b", "message": "what", "hint": "type"}
    return calls


def fields_of(made: Any) -> dict[str, Any]:
    """The fields of a dataclass or a struct."""
    return {name: getattr(made, name) for name in field_names(made)}


def fitted(**fields: Any) -> Any:
    """The fit of a run that a program makes."""
    return entropylaw.fit(entropylaw.Run(**fields))


def constructed(kind: type, **fields: Any) -> None:
    """An object of a public type that a program makes."""
    kind(**fields)


def summarised(table: Any, **options: Any) -> Any:
    """``summarise_samples`` of one table."""
    return entropylaw.summarise_samples(table, **options)


def updated(**arguments: Any) -> Any:
    """A watcher after an update."""
    watcher = entropylaw.Watcher(say=len)
    for step in range(9):
        watcher.update(step, entropy=0.5, rewards={"a": 0.1 * step})
    return watcher.update(**arguments)


def watched(**arguments: Any) -> Any:
    """A watcher after it has read a log."""
    return entropylaw.Watcher(say=len, **arguments).read()


def logged(**state: Any) -> None:
    """A callback after a log."""
    given = {"log_history": [], "global_step": 1, "max_steps": 9, "is_world_process_zero": True} | state
    callback = entropylaw.EntropyLawCallback(say=len)
    callback.on_log(None, SimpleNamespace(**given), SimpleNamespace())
    callback.on_log(None, SimpleNamespace(**given), SimpleNamespace())


NO_ERROR = ("Watcher.update", "EntropyLawCallback.on_log")
"""What raises nothing into a training loop, no error of ours either."""


@functools.cache
def parameters(name: str) -> list[str]:
    """The parameters of a callable, with the options behind its ``**options``."""
    function, _ = good()[name]
    known = list(inspect.signature(function).parameters)
    watcher = inspect.signature(entropylaw.Watcher).parameters
    options: dict[str, Iterable[str]] = {
        "compare": options_of(CompareOptions),
        "fit": options_of(FitOptions),
        "fit of arrays": options_of(FitOptions),
        "fit of a reward": options_of(FitOptions),
        "fit of a run": options_of(FitOptions),
        "summarise_samples": options_of(SampleOptions),
        "EntropyLawCallback": watcher,
        "Watcher.read": set(watcher) - {"say"},
        "Watcher.update": inspect.signature(entropylaw.Watcher.update).parameters,
        "EntropyLawCallback.on_log": ("log_history", "global_step", "max_steps", "is_world_process_zero"),
    }
    left_out = (*known, "self")
    named = [parameter for parameter in known if parameter not in ("options", "arguments", "state", "fields")]
    named += [field for field in good()[name][1] if "fields" in known]
    return named + sorted(option for option in options.get(name, ()) if option not in left_out)


def chosen(number: int) -> tuple[str, dict[str, str]]:
    """The callable of a call, and the value of each argument that is replaced."""
    chance = random.Random(number)
    name = chance.choice(list(good()))
    replaced = chance.sample(parameters(name), min(chance.choice((1, 1, 2)), len(parameters(name))))
    return name, {
        parameter: chance.choice(["", "", "", *WRAPPINGS]) + chance.choice(list(VALUES))
        for parameter in replaced
    }


def failure(name: str, hostile: dict[str, str]) -> str:
    """What is wrong with the end of a call; empty where nothing is."""
    function, arguments = good()[name]
    changed = arguments | {parameter: value_of(value) for parameter, value in hostile.items()}
    try:
        with warnings.catch_warnings(), processor_time(LIMIT):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnreadFileWarning)
            # lmfit's, with the oldest release of uncertainties, where an error is smaller than a float.
            warnings.filterwarnings("ignore", "Using UFloat objects with std_dev==0")
            result = function(**changed)
            if isinstance(result, Result):
                str(result)
    except EntropyLawError as error:
        if name in NO_ERROR:
            return f"{name}({hostile}): {error}"
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
        write_inputs(Path(folder))
        try:
            return [f"{number}: {wrong}" for number in numbers if (wrong := failure(*chosen(number)))]
        finally:
            os.chdir(here)


if __name__ == "__main__":
    first, *last = map(int, sys.argv[1:])
    for wrong in failures(range(first, last[0] if last else first + 1)):
        print(wrong)
