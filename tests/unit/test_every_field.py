"""Every field of every result is shown in every medium, or on the list in ``not_shown`` with a reason.

Each field of real results is changed, one after another, and what is rendered must change with it.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache, partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest

from entropylaw.cli import output
from entropylaw.documents.codec import decode
from entropylaw.documents.document import (
    BacktestDocument,
    CheckDocument,
    CheckedFile,
    FitDocument,
    GateCase,
    PredictionDocument,
    ReportDocument,
    RunPhases,
)
from entropylaw.errors import EntropyLawError
from entropylaw.logs.load import read_all
from entropylaw.options import ConfigFile, PhaseOptions
from entropylaw.report import pages
from entropylaw.report.describe.runs import index_row
from entropylaw.report.render import rendered
from entropylaw.results import Estimate
from entropylaw.results.columns import TokenSummary
from entropylaw.results.result import field_names, replace
from entropylaw.roles.explain import explain
from tests import arms
from tests.conftest import ended
from tests.findings import stated
from tests.golden import inputs
from tests.golden.transcript import surroundings
from tests.made import report_runs
from tests.unit import test_phase_report as phase_samples
from tests.unit.not_shown import NO_EXAMPLE, NOT_SHOWN
from tests.unit.test_control_and_offer import with_validation
from tests.unit.test_report_samples import report_csv, report_markdown

Render = Callable[[Any], object]

FORMATS = ("text", "markdown", "csv")

ABOUT = {"class": {"rule": "column 'is_planning'"}}

GATES = "--fail-if 'ceiling<0.4' --fail-if 'verdict==\"holds\"' --fail-if refused"

COMMANDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "fit": (
        FitDocument,
        (
            "fit clean_start_s0 clean_start_s1 grpo_s0 --eval-size 512 --entropy-sd 0.01 "
            "--entropy entropy --reward val_acc --step step --pair same -o -",
            "fit three.csv --run run --seam 20 --seam 150 -o -",
            "fit sft_after_grpo_s0 --find-seams -o -",
            "fit clean_start_s0 --find-seams -o -",
            "fit mixed -o -",
            "fit validations.jsonl --from-step 3 --max-reward 1 --gain 0.02 -o -",
            "fit width_96_s0 -o -",
        ),
    ),
    "prediction": (
        PredictionDocument,
        (
            "predict clean_start_s0 --target-entropy 0.1 --target-reward 0.5 --target-reward 0.9 "
            "--saturation --at-step 800 --gain 0.01",
            "predict few.csv --at-step 800",
        ),
    ),
    "backtest": (BacktestDocument, ("backtest three.csv clean_start_s0", "backtest mixed")),
    "check": (CheckDocument, (f"check three.csv mixed clean_start_s0 {GATES}",)),
}
"""Results → their type, and commands whose JSON they are."""

MEDIA: dict[str, dict[str, Render]] = {
    # On a terminal with all details.
    "fit": {name: partial(output.rendered, format=name) for name in ("markdown", "csv")}
    | {"text": partial(output.rendered, format="details")},
    "prediction": {name: partial(output.rendered, format=name) for name in FORMATS},
    "backtest": {name: partial(output.rendered, format=name) for name in FORMATS},
    "phases": {name: partial(output.rendered, format=name) for name in FORMATS},
    "check": {name: partial(output.rendered, format=name) for name in ("text", "markdown", "junit")},
    "report": {
        "markdown": report_markdown,
        "csv": report_csv,
        "html": lambda document: [
            *(pages.run_page(document, run, {}) for run in document.runs),
            pages.index_page(
                [index_row(run, "slug") for run in document.runs],
                warnings=document.warnings,
            ),
        ],
    },
    "columns": {name: partial(output.rendered, format=name) for name in FORMATS},
    "arms": {name: partial(rendered, medium=name) for name in ("details", *FORMATS[1:])},
    "tokens": {
        "text": lambda columns: rendered(TokenSummary(columns=columns, about=ABOUT, notes=()), "text"),
    },
}
"""Results → media beside JSON."""


ACROSS = replace(phase_samples.across(), delta=phase_samples.estimate(0.4, 0.3, 0.5))

PHASE_OPTIONS = PhaseOptions(
    level=0.95, planning="planning", execution="execution", entropy="entropy", step="step", run="run"
)

WORDS: dict[str, tuple[str, ...]] = {"form": ("line", "constant")}
"""Fields whose words are from a list → some of it."""

OF_ALL = {name: f".ESTIMATES.{name}" for name in ("level", "method", "std_error")}
"""Fields of estimates that are the same in a whole table: one of them stands for all."""

MOST = 8
"""Numbers beyond which a list of them is a curve, and changed as a whole."""

OPAQUE: tuple[str, ...] = ()
"""Fields that are changed as a whole."""


@cache
def results(kind: str) -> tuple[Any, ...]:
    """Examples of a kind of result, which together have a value in every field."""
    if kind == "phases":
        runs = (_phases(), *phase_samples.RUNS, phase_samples.refused())
        document = phase_samples.document(*runs, across=ACROSS, warnings=("a warning",))
        config = ConfigFile(path="entropylaw.toml", sha256="0")
        return (replace(document, settings=PHASE_OPTIONS, config=config),)
    if kind == "report":
        return tuple(map(_reported, results("fit")))
    if kind == "arms":
        few = arms.complete()
        return few, arms.complete(baseline=None), arms.complete(*arms.MANY)
    with TemporaryDirectory() as scratch, surroundings(Path(scratch)):
        _write_logs(Path())
        if kind == "columns":
            runs = read_all(["clean_start_s0", "three.csv", "mixed"]).runs
            return tuple(map(explain, runs))
        if kind == "tokens":
            ended(["tokens", "tokens.jsonl", "-o", "steps.parquet"], None)
            return (
                {name: tuple(cells) for name, cells in pq.read_table("steps.parquet").to_pydict().items()},
            )
        result, commands = COMMANDS[kind]
        bodies = (ended([*shlex.split(command), "--format", "json"], None) for command in commands)
        return tuple(_decoded(result, json.loads(body.stdout)) for body in bodies)


def _write_logs(folder: Path) -> None:
    inputs.lab("clean_start_s0", "clean_start_s1", "grpo_s0", "sft_after_grpo_s0", "width_96_s0")(folder)
    inputs.three(folder)
    inputs.mixed(folder)
    inputs.tokens(folder)
    (folder / "entropylaw.toml").touch()
    rows = inputs.evaluations(6)
    with_validation(folder / "validations.jsonl", 10)
    (folder / "few.csv").write_text(inputs.csv_text(inputs.WIDE, rows), "utf-8")


def _decoded(result: Any, body: Any) -> Any:
    if result is not CheckDocument:
        return decode(result, body)
    cases = tuple(GateCase(**{**case, "sources": tuple(case["sources"])}) for case in body["cases"])
    files = tuple(CheckedFile(**file) for file in body["inputs"])
    texts = {name: tuple(body[name]) for name in ("gates", "warnings")}
    config = ConfigFile(**body["config"])
    return CheckDocument(**{**body, **texts, "cases": cases, "inputs": files, "config": config})


def _phases() -> RunPhases:
    """A run with two turning points, and with the fields that few runs have."""
    run = phase_samples.ordered()
    assert run.phases is not None
    assert run.phases.planning is not None
    planning = run.phases.planning
    planning = replace(planning, falls_again=True, second_fall=(60.0, 90.0))
    after = phase_samples.estimate(38.0, 29.0, 46.0)
    found = replace(
        run.phases,
        planning=planning,
        after_fall=after,
        findings=stated("caution", "a caution"),
        dropped={"no entropy": 2},
    )
    other = stated("caution", "another caution")
    return replace(run, phases=found, dropped={"no entropy": 2}, findings=other, notes=("a note",))


def _reported(fits: FitDocument) -> ReportDocument:
    """The report of the first fit and the first refusal of a document; the fit has phases, too."""
    first = next(run for run in fits.runs if run.answer is not None)
    others = [run for run in fits.runs if run.refusal is not None]
    report = report_runs(replace(fits, runs=(first, *others[:1])))
    return replace(report, runs=(replace(report.runs[0], phases=_phases()), *report.runs[1:]))


Change = Callable[[Any], Any]
"""A result → the same with one field changed; several of them change as many fields."""


def changes(value: Any, where: str) -> Iterator[tuple[str, Change]]:
    """Each field of a result by its place, and what changes it."""
    if where.rpartition(".")[2] in OPAQUE:
        yield where, lambda old: replace(old, log_evidence=old.log_evidence + 1.0)
    elif names := field_names(value):
        for name in names:
            inside = f"{where}.{name}"
            if isinstance(value, Estimate) and name in OF_ALL:
                inside = OF_ALL[name]
            for place, change in changes(getattr(value, name), inside):
                yield place, partial(_in_field, name, change)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, int | float) and where:
                yield f"{where}.KEY", partial(_renamed, key)
            # The columns of a table have names; coefficients and forms are alike.
            for place, change in changes(item, where or f".{key}"):
                yield place, partial(_in_mapping, key, change)
    elif isinstance(value, tuple) and len(value) > MOST and isinstance(value[0], int | float):
        yield where, lambda old: tuple(_other(number, "") for number in old)
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            for place, change in changes(item, where):
                yield place, partial(_in_tuple, i, change)
    elif isinstance(value, EntropyLawError):
        yield where, lambda old: type(old)(old.slug, f"{old.message} SENTINEL", old.hint)
    elif value is not None:
        yield where, partial(_other, name=where.rpartition(".")[2])


def _in_field(name: str, change: Change, old: Any) -> Any:
    return replace(old, **{name: change(getattr(old, name))})


def _in_mapping(key: str, change: Change, old: Any) -> Any:
    return {**old, key: change(old[key])}


def _renamed(key: str, old: Any) -> Any:
    return {(f"{key} SENTINEL" if name == key else name): item for name, item in old.items()}


def _in_tuple(i: int, change: Change, old: Any) -> Any:
    return (*old[:i], change(old[i]), *old[i + 1 :])


def _other(value: Any, name: str) -> Any:
    """Another value of the type, clearly different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, Enum):
        return next(other for other in type(value) if other is not value)
    if isinstance(value, int):
        return value + 7
    if isinstance(value, str):
        return next((other for other in WORDS.get(name, ()) if other != value), f"{value} SENTINEL")
    # All R² near 1 read alike.
    return value / 2 if name == "r_squared" else value * 1.37 + 0.013


def folded(where: str) -> str:
    """A place by the name that a report shares with the fits in it, and the curves of a run share."""
    place = (
        where.removeprefix(".").replace("runs.fit.", "runs.").replace("runs.phases.phases.", "runs.phases.")
    )
    return re.sub(
        r"(?<=^runs\.phases\.)(planning|execution|aggregate)|(planning|execution|aggregate)(?=_column)",
        "CURVE",
        place,
    )


@cache
def seen(kind: str, medium: str) -> dict[str, bool]:
    """Place of each field → whether what is rendered depends on it."""
    render, listed = MEDIA[kind][medium], "|".join(reasons(kind, medium))
    found: dict[str, bool] = {}
    for result in results(kind):
        before = render(result)
        hidden: dict[str, list[Change]] = {}
        for where, change in changes(result, ""):
            place = folded(where)
            if not found.setdefault(place, False):
                if listed and re.fullmatch(listed, place):
                    hidden.setdefault(place, []).append(change)
                else:
                    found[place] = _differs(render, before, result, [change])
        for place, every in hidden.items():
            # Where all of them may change together and nothing is seen of it, nothing is seen of one.
            if _differs(render, before, result, every, of_error=True):
                found[place] = any(_differs(render, before, result, [change]) for change in every)
    return found


def _differs(
    render: Render, before: object, result: Any, every: list[Change], *, of_error: bool = False
) -> bool:
    """Whether a result is rendered in another way after some changes; ``of_error`` if it cannot be."""
    # Another word where one of a list belongs cannot be rendered.
    with contextlib.suppress(LookupError, ValueError):
        # The last first: a key is renamed after its value is changed.
        return render(reduce(lambda old, change: change(old), reversed(every), result)) != before
    return of_error


def reasons(kind: str, medium: str) -> list[str]:
    """The fields that are listed as not shown in a medium."""
    name = f"{kind} {medium}"
    return [field for media, fields in NOT_SHOWN.items() if name in media for field in fields.values()]


MEDIA_OF_RESULTS = [(kind, medium) for kind, media in MEDIA.items() for medium in media]


@pytest.mark.parametrize(("kind", "medium"), MEDIA_OF_RESULTS)
def test_every_field_is_shown_or_listed(kind: str, medium: str) -> None:
    left = reasons(kind, medium)
    listed = {place for place in seen(kind, medium) for field in left if re.fullmatch(field, place)}
    missing = {place for place, shown in seen(kind, medium).items() if not shown}
    assert sorted(missing - listed) == [], "show them, or list them with a reason"
    assert sorted(listed - missing) == [], "these are shown after all: take them off the list"
    useless = [field for field in left if not any(re.fullmatch(field, place) for place in missing)]
    assert useless == [], "these entries name no field"


@pytest.mark.parametrize("kind", [kind for kind in MEDIA if kind not in ("columns", "tokens", "arms")])
def test_json_has_every_field(kind: str) -> None:
    for result in results(kind):
        assert lost(result, result.to_json()) == set()


def lost(value: Any, body: Any) -> set[str]:
    """Fields that the JSON of a result lacks."""
    if names := field_names(value):
        members = dict(zip(getattr(value, "__struct_encode_fields__", names), names, strict=True))
        inside = ((getattr(value, name), body[key]) for key, name in members.items() if key in body)
        return (members.keys() - set(body)).union(*(lost(one, other) for one, other in inside))
    if isinstance(value, Mapping):
        return set(map(str, value)).difference(body).union(*(lost(value[key], body[key]) for key in value))
    if isinstance(value, tuple):
        return set().union(*(lost(one, other) for one, other in zip(value, body, strict=True)))
    return set()


def test_every_field_has_an_example() -> None:
    found, known = set(), set()
    for value in (value for kind in MEDIA for result in results(kind) for value in parts(result)):
        names = field_names(value)
        known |= {(type(value).__name__, name) for name in names}
        found |= {(type(value).__name__, name) for name in names if not _empty(getattr(value, name))}
    assert known - found == set(NO_EXAMPLE)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping | tuple) and not value)


def parts(value: Any) -> Iterator[Any]:
    """Every result in a result."""
    if names := field_names(value):
        yield value
        for name in names:
            yield from parts(getattr(value, name))
    elif isinstance(value, Mapping | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from parts(item)
