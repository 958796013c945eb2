"""Every field of every result is shown in some medium beside JSON, or on the list with a reason.

Each field of real results is changed, one after another, and what is rendered must change with it. What each
medium shows is in the golden transcripts.
"""

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

import pytest

from entropylaw import EntropyLawError, Estimate
from entropylaw.cli import output
from entropylaw.documents.codec import decode
from entropylaw.documents.document import (
    CheckDocument,
    Entry,
    FitDocument,
    PredictionDocument,
    ReportDocument,
)
from entropylaw.logs.load import read_all
from entropylaw.options import ConfigFile, PhaseOptions
from entropylaw.report import pages
from entropylaw.report.describe.runs import index_row
from entropylaw.report.render import rendered
from entropylaw.results.result import field_names, replace
from entropylaw.roles.explain import explain
from tests import arms
from tests.conftest import drawn, ended
from tests.findings import stated
from tests.golden import inputs
from tests.golden.transcript import surroundings
from tests.made import report_runs
from tests.unit import test_phase_report as phase_samples
from tests.unit.test_control_and_offer import with_validation

Render = Callable[[Any], object]

GATES = "--fail-if 'ceiling<0.4' --fail-if 'verdict==\"holds\"' --fail-if state==broken --fail-if refused"

COMMANDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "fit": (
        FitDocument,
        (
            "fit clean_start_s0 grpo_s0 --entropy entropy --reward val_acc --step step --pair same -o -",
            "fit three.csv --run run -o -",
            "fit sft_after_grpo_s0 -o -",
            "fit mixed -o -",
            *(f"fit {name}.jsonl -o -" for name in ("bare", "flat", "wavering")),
            "fit validations.jsonl --from-step 3 --max-reward 1 --gain 0.02 -o -",
            "fit width_96_s0 --steps 700 --cost-per-step 0.5 -o -",
        ),
    ),
    "prediction": (
        PredictionDocument,
        (
            "predict clean_start_s0 --target-entropy 0.1 --target-reward 0.5 --target-reward 0.9 "
            "--at-step 800 --gain 0.01",
            "predict few.csv --at-step 800",
            "predict bare.jsonl",
        ),
    ),
    "check": (CheckDocument, (f"check three.csv mixed clean_start_s0 --gain 0.02 {GATES}",)),
}
"""Results → their type, and commands whose JSON they are."""

ON_PAPER = tuple(partial(output.rendered, format=name) for name in ("markdown", "text", "csv"))

MEDIA: dict[str, tuple[Render, ...]] = {
    # On a terminal with all details.
    "fit": (partial(output.rendered, format="details"), *ON_PAPER),
    "report": (
        lambda document: [
            *(pages.run_page(document, run, {}) for run in document.reports),
            pages.index_page(
                [index_row(run, "slug") for run in document.reports], warnings=document.warnings
            ),
        ],
        *(partial(rendered, medium=name) for name in ("markdown", "csv")),
    ),
    "arms": tuple(partial(rendered, medium=name) for name in ("details", "markdown", "csv")),
    **dict.fromkeys(("prediction", "phases", "columns"), ON_PAPER),
    "check": (*ON_PAPER[:2], partial(output.rendered, format="junit")),
}
"""Results → what renders them beside JSON, what shows most of them first."""

FITS, CURVES = ("fit", "report"), ("phases", "report")
AHEAD = (*FITS, "prediction")

NOT_SHOWN: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("fit", "prediction", "phases", "check"),
        r"(inputs|config)\..*|version|schema",
        "where a result comes from: the JSON has it, and a report's page",
    ),
    (("fit", "phases"), r"settings\..*", "an option: what came of it is shown"),
    (FITS, r"ESTIMATES\.level", "the level is above the table"),
    ((*FITS, "prediction"), r"ESTIMATES\.std_error", "it says less than the interval"),
    (FITS, r"runs\.result\.law\.(p_first|p_no_curve)", "a caution says so where it is large"),
    (FITS, r"runs\.result\.law\.p_term", "the averaged curve allows for it"),
    (FITS, r"runs\.result\.law\.entropy_now", "the title has the entropy as logged"),
    (FITS, r"runs\.result\.law\.tests\.odds_step", "whether the entropy or the step says more is a word"),
    (FITS, r"runs\.result\.max_reward", "the largest reward of the law is shown"),
    (FITS, r"runs\.result\.state\.last_step", "the title has it"),
    (
        FITS,
        r"runs\.result\.state\.lost",
        "means of several evaluations: the level now and at the step to keep are shown",
    ),
    (FITS, r"runs\.result\.(law\.)?run", "the run's own name is shown"),
    (("report",), r"runs\.result\.law\.smoothing_error", "the intervals allow for it"),
    (FITS, r"runs\.result\.law\.smoothing_length", "the intervals allow for it"),
    (FITS, r"runs\.result\.law\.fitted", "the figure of the residuals draws it"),
    (FITS, r"runs\.result\.law\.forms\.parameters", "a fact about the form, in its formula"),
    (FITS, r"runs\.result\.law\.forms\.shapes\.(low|high)", "of a shape the value is shown"),
    (
        (*FITS, "prediction"),
        r"runs\.(result\.)?(forecast\.)?findings\.values\.KEY",
        "the code says which values there are",
    ),
    (
        (*FITS, "columns"),
        r"(runs\.columns|entropy|reward)\.meaning\.(role|trainer|sign)",
        "the catalog's own words: `why` says which key it is, a note that a sign was undone",
    ),
    (("columns",), r"no_entropy\.slug", "its message is shown"),
    (("prediction",), r"runs\.result\.no_law\.(slug|hint)", "its message is shown"),
    (("columns",), r"source\.sha256", "the file is named by its path"),
    (AHEAD, r"runs\.result\.forecast\.run", "the run's own name is shown"),
    (("fit", "prediction"), r"runs\.result\.forecast\.now", "the level now is the state's"),
    (("fit",), r"runs\.result\.forecast\.law\..*", "a prediction shows it"),
    (
        FITS,
        r"runs\.result\.stop_line\.(reward|evaluations|at_step|expected\..*|gain|p_gain|state\..*)",
        "for programs: the state of the run and the forecast have it",
    ),
    (
        FITS,
        r"runs\.result\.stop_line\.exploded_since",
        "the one here lost its reward, of which nothing else is shown; test_stop has its words",
    ),
    (
        ("prediction",),
        r"runs\.result\.state\.(?!word|now\.value).*|runs\.result\.(gain|findings\.(code|severity|values))",
        "as in the fit, which shows them",
    ),
    (("prediction",), r"runs\.result\.predictions\.observation\.value", "its middle is the mean's"),
    (CURVES, r"runs\.result\.CURVE\.entropy", "the values, which the figure draws"),
    (("report",), r"runs\.result\.CURVE\.(fitted|low|high)", "curves, which the figure draws"),
    (CURVES, r"runs\.result\.CURVE\.eruptions\.rise", "a caution has it"),
    (CURVES, r"runs\.result\.CURVE\.name", "one of four names, without which nothing can be said"),
    (("phases",), r"across\.curves\.(at|mean|low|high|name)", "curves, which the figure draws"),
    (
        ("phases",),
        r"across\.each\.(run|verdict|delta|curves\.(name|verdict|at|mean|error|rise|onset|settled))(\..*)?",
        "the figure draws the curves, the run's own list has the rest",
    ),
    (("phases",), r"ESTIMATES\.(method|std_error)", "the level is above the table"),
    (("phases",), r"runs\.columns\.meaning\.kind", "the name of the curve says which entropy it is"),
    (("phases",), r"runs\.columns\.(usable|why|unit|sort)", "the column is named"),
    (("phases",), r"runs\.columns\.label", "the reward's own label is shown where there are several"),
    (("phases",), r"runs\.columns\.meaning\.(role|trainer|sign|unit)", "the column is named"),
    (CURVES, r"runs\.result\.run", "the run's own name is shown"),
    (CURVES, r"runs\.result\.dropped(\.KEY)?", "the run's own list has them"),
    (
        ("prediction",),
        r"runs\.(columns\.(?!column|unit).*|dropped(\.KEY)?)",
        "as in the fit, which shows them",
    ),
    (
        ("prediction",),
        r"runs\.result\.(n_rewards|effective_n|max_reward)",
        "for gates: they are the fit's, which shows them",
    ),
    (
        (*FITS, "prediction"),
        r"runs\.result\.((stop_line|forecast)\.)?axis",
        "it is the word for steps, in a text that has steps",
    ),
    (FITS, r"runs\.columns\.sort", "the name of the column says it"),
    (FITS, r"runs\.result\.stop_line\.is_score", "the name of the column says it"),
    (("report",), r"runs\.result\.CURVE\.noise", "the figure draws the points"),
    (
        ("report",),
        r"runs\.result\.CURVE\.(n|step|first_step)",
        "the run has the same, or the figure draws it",
    ),
    (
        ("check",),
        r"cases\.(value|low|high|level|method|limit|unit|column|word|sources)|gates|point|even_if_fails",
        "the sentence of the case has it, and the JSON as a number",
    ),
    (
        ("arms",),
        r"arms\.(along|mean|steps|by_step|runs\.(along|reward|steps|by_step))",
        "curves, which the figure draws",
    ),
    (("arms",), r"arms\.failure_rate\.(value|low|high)", "the runs that failed are counted"),
    (("arms",), r"pairs\.differences\.inner\.value", "its middle is that of the difference"),
)
"""Results that leave out fields, a regular expression of the fields, and why."""

NO_EXAMPLE = {
    ("PredictionDocument", "warnings"): "a prediction is of one log or of fits, which have them",
    ("LawFit", "dropped"): "reading drops what is missing, before a fit does",
    ("Forecast", "dropped"): "reading drops what is missing, before `forecast` does",
    ("ColumnReport", "cautions"): "no run here has settings that hold the entropy",
    ("ColumnReport", "coefficients"): "no run here logs a coefficient",
    ("ColumnReport", "read_dropped"): "no log here has records that cannot be read",
    ("ReportDocument", "across"): "the index and a page of its own have the phases of several runs",
    ("LawFit", "skipped"): "every form can be fitted to the runs here",
    ("Choice", "parts"): "no run here has several rewards, of which there is a mean",
    ("Source", "parts"): "no run here is joined from several files",
}
"""Class and field that no result here has a value in → why."""


ACROSS = replace(
    phase_samples.across(), delta=phase_samples.estimate(0.4, 0.3, 0.5), findings=stated("note", "a note")
)

PHASE_OPTIONS = PhaseOptions(
    level=0.95, planning="planning", execution="execution", entropy="entropy", step="step", run="run"
)

WORDS: dict[str, tuple[str, ...]] = {
    "form": ("line", "constant"),
    "unit": ("rate", "percent"),
    "word": ("rising", "falling"),
}
"""Fields whose words are from a list → some of it."""

OF_ALL = {name: f".ESTIMATES.{name}" for name in ("level", "method", "std_error")}
"""Fields of estimates that are the same in a whole table: one of them stands for all."""

MOST = 8
"""Numbers beyond which a list of them is a curve, and changed as a whole."""


@cache
def results(kind: str) -> tuple[Any, ...]:
    """Examples of a kind of result, which together have a value in every field."""
    if kind == "phases":
        runs = (_phases(), *(made() for made in phase_samples.RUNS.values()), phase_samples.refused())
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
            runs = read_all(["clean_start_s0", "three.csv", "mixed", "rewardless.jsonl"]).runs
            return tuple(map(explain, runs))
        result, commands = COMMANDS[kind]
        bodies = (ended([*shlex.split(command), "--format", "json"], None) for command in commands)
        return tuple(decode(result, json.loads(body.stdout)) for body in bodies)


def _write_logs(folder: Path) -> None:
    inputs.lab("clean_start_s0", "grpo_s0", "sft_after_grpo_s0", "width_96_s0")(folder)
    inputs.three(folder)
    inputs.mixed(folder)
    (folder / "entropylaw.toml").touch()
    rows = inputs.evaluations(6)
    with_validation(folder / "validations.jsonl", 10)
    (folder / "few.csv").write_text(inputs.csv_text(inputs.WIDE, rows), "utf-8")
    entropies = [json.dumps({"step": step, "entropy": 1.0 / step}) for step in range(1, 20)]
    (folder / "rewardless.jsonl").write_text("\n".join(entropies), "utf-8")
    # Without an entropy, and in a word rising, flat, and not to be told.
    for name, rise, noise in (("bare", 0.01, 0.01), ("flat", 0.0, 0.001), ("wavering", 0.0, 0.1)):
        values = (0.3 + rise * i + noise * (i * i % 7) / 3 for i in range(20))
        records = [json.dumps({"step": 5 * i, "val/acc": value}) for i, value in enumerate(values)]
        (folder / f"{name}.jsonl").write_text("\n".join(records), "utf-8")


def _phases() -> Entry:
    """A run with an order, and with the fields that few runs have."""
    run = phase_samples.ordered()
    assert run.result is not None
    assert run.result.planning is not None
    planning = replace(run.result.planning, eruptions=phase_samples.whole_only().result.aggregate.eruptions)
    found = replace(
        run.result, planning=planning, findings=stated("caution", "a caution"), dropped={"no entropy": 2}
    )
    return replace(run, result=found, dropped={"no entropy": 2}, notes=("a note",))


def _reported(fits: FitDocument) -> ReportDocument:
    """The report of the first fit and the first refusal of a document; the fit has phases, too."""
    first = next(run for run in fits.runs if run.result is not None)
    others = [run for run in fits.runs if run.refusal is not None]
    report = report_runs(replace(fits, runs=(first, *others[:1])))
    return replace(report, phases=(replace(_phases(), run=first.run, path=first.path),))


Change = Callable[[Any], Any]
"""A result → the same with one field changed; several of them change as many fields."""


def changes(value: Any, where: str) -> Iterator[tuple[str, Change]]:
    """Each field of a result by its place, and what changes it."""
    if names := field_names(value):
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
    place = re.sub(r"^phases\.", "runs.", where.removeprefix("."))
    return re.sub(r"(?<=^runs\.result\.)(planning|execution|semantic|aggregate)(?=\.)", "CURVE", place)


@cache
def seen(kind: str) -> dict[str, bool]:
    """Place of each field → whether what is rendered depends on it; of a third, which differs by day."""
    listed = "|".join(reasons(kind))
    found: dict[str, bool] = {}
    every_result = results(kind)
    places = {folded(where) for result in every_result for where, _ in changes(result, "")}
    looked_at = drawn(places, len(places) // 3)
    for result in every_result:
        pictures = [(render, render(result)) for render in MEDIA[kind]]
        hidden: dict[str, list[Change]] = {}
        for where, change in changes(result, ""):
            place = folded(where)
            if not found.setdefault(place, False):
                if listed and re.fullmatch(listed, place):
                    hidden.setdefault(place, []).append(change)
                else:
                    found[place] = place not in looked_at or _differs(pictures, result, [change])
        for place, every in hidden.items():
            # Where all of them may change together and nothing is seen of it, nothing is seen of one.
            if place in looked_at and _differs(pictures, result, every, of_error=True):
                found[place] = any(_differs(pictures, result, [change]) for change in every)
    return found


def _differs(
    pictures: list[tuple[Render, object]], result: Any, every: list[Change], *, of_error: bool = False
) -> bool:
    """Whether a result is rendered in another way after some changes; ``of_error`` if it cannot be."""
    # Another word where one of a list belongs cannot be rendered.
    with contextlib.suppress(LookupError, ValueError):
        # The last first: a key is renamed after its value is changed.
        changed = reduce(lambda old, change: change(old), reversed(every), result)
        return any(render(changed) != before for render, before in pictures)
    return of_error


def reasons(kind: str) -> list[str]:
    """The fields that are listed as not shown of a kind of result."""
    return [fields for kinds, fields, _ in NOT_SHOWN if kind in kinds]


@pytest.mark.parametrize("kind", MEDIA)
def test_every_field_is_shown_or_listed(kind: str) -> None:
    listed = {place for place in seen(kind) for fields in reasons(kind) if re.fullmatch(fields, place)}
    missing = {place for place, shown in seen(kind).items() if not shown}
    assert sorted(missing - listed) == [], "show them, or list them with a reason"
    assert sorted(listed - missing) == [], "these are shown after all: take them off the list"
    useless = [
        fields for fields in reasons(kind) if not any(re.fullmatch(fields, place) for place in missing)
    ]
    assert useless == [], "these entries name no field"


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
