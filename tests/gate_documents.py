"""Documents whose numbers a test sets, and what the gates find in them."""

import copy
from functools import cache

from entropylaw.documents.codec import encode
from entropylaw.documents.document import CheckDocument, FitDocument
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import as_document
from entropylaw.gates.decide import Rules, decide
from entropylaw.gates.expression import parse
from entropylaw.gates.runs import READ, by_run, entries_of
from entropylaw.options import FitOptions
from entropylaw.pipeline.predictions import predict_runs
from entropylaw.results.result import replace
from tests.findings import stated
from tests.unit import test_phase_report as phase_samples
from tests.unit.test_report_samples import synthetic, without_entropy

SETTINGS = {"level": 0.95, "entropy": [], "reward": []} | dict.fromkeys(("step", "run", "pair"))

COLUMNS = ("step", "entropy", "smoothed_entropy", "smoothing_error", "reward", "fitted")
"""The arrays of a law."""


def number(value, low=None, high=None, *, level=0.95, note=None):
    return {"value": value, "low": low, "high": high, "level": level, "method": "m", "note": note}


@cache
def prediction():
    """A run of a prediction document, with two steps ahead."""
    fits = FitDocument(inputs=(), settings=FitOptions(), runs=(synthetic(),))
    (found,) = predict_runs(fits, at_step=[500, 600]).runs
    return found


@cache
def a_run():
    """A run of a fit document as the command writes it."""
    return encode(replace(synthetic(), notes=(), dropped={}))


def fitted(run="r", *, fails=None, path="log.csv", ceiling=(0.6, 0.5, 0.7), **more):
    """A run of a fit document with other numbers; ``fails`` is why the law fails.

    ``ceiling`` are the numbers of the ceiling, and of all else that is a reward and has an interval.
    """
    some = number(*ceiling)
    entry = copy.deepcopy(a_run())
    answer = entry["result"]
    reasons = () if fails is None else ("it bends",)
    answer["findings"] = encode((*stated("reason", *reasons), *stated("caution", "one")))
    answer["state"] |= dict.fromkeys(("now", "gained", "change"), some)
    answer["law"] |= dict.fromkeys(("a", "b", "ceiling"), some) | {
        "verdict": "holds" if fails is None else "fails",
        "why": fails,
        "entropy_now": 0.1,
        "entropy_noise": None,
        "r_squared": 0.9,
        "n": 51,
        **{name: list(range(51)) for name in COLUMNS},
    }
    answer["law"]["residuals"] |= {"lag1": None, "effective_n": 3.5}
    answer["drop_per_100_steps"] = some
    changed = {name: more.pop(name) for name in answer.keys() & more.keys()}
    return entry | {"run": run, "path": path, "result": answer | changed} | more


def without_law(run="r", path="log.csv"):
    """A run of a fit document whose log has no entropy."""
    return encode(without_entropy()) | {"run": run, "path": path}


def of_reward(entry, **changes):
    """The entry with another reward: fields of its column, and ``kind``."""
    entry = copy.deepcopy(entry)
    reward = entry["columns"]["reward"]
    kind = changes.pop("kind", reward["meaning"]["kind"])
    reward |= changes | {"meaning": reward["meaning"] | {"kind": kind}}
    return entry


def refused(run="r", *, read=True, path="log.csv"):
    refusal = {"slug": "too-few-evaluations", "message": "3 evaluations", "hint": "wait"}
    none = {"result": None, "refusal": refusal}
    return a_run() | {"run": run, "path": path} | none | ({} if read else {"columns": {}})


def phased(**phases):
    """A run of a phases document with other phases."""
    entry = encode(phase_samples.ordered()) | {"run": "r", "path": "log.csv"}
    return entry | {"result": entry["result"] | phases}


def document(*runs, kind="fit"):
    settings = {} if kind == "prediction" else {"settings": SETTINGS}
    schema = KINDS[kind].schema
    return {"schema": schema, "version": "0.1.0", "inputs": [], "runs": list(runs)} | settings


def runs_of(data, source="x.fit.json"):
    return entries_of(as_document(data, READ, source), source)


def cases(data, *gates, baselines=None, **rules):
    found = by_run([run for one in data for run in runs_of(one)])
    return decide([parse(gate) for gate in gates], found, baselines or {}, Rules(**rules))


def case(data, gate, **more):
    (only,) = cases([data], gate, **more)
    return only


def checked(found):
    return CheckDocument(
        inputs=(),
        gates=("fails",),
        strict=False,
        point=False,
        even_if_fails=False,
        runs=len({one.run for one in found}),
        failed=any(one.failed for one in found),
        cases=tuple(found),
    )
