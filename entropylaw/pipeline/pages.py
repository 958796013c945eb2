"""One run of a report, from its series to its files: what a worker does, and what it notes in the folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.documents.codec import (
    DocumentMismatchError,
    as_stored,
    decode,
    dumps,
    encode,
    write_atomically,
)
from entropylaw.documents.document import (
    FitDocument,
    InputFile,
    ReportDocument,
    RunFit,
    RunPhases,
    RunReport,
    from_fits,
    refused_run,
    unphased_run,
)
from entropylaw.documents.loading import load_report
from entropylaw.errors import EntropyLawError, InputError, OutputError, UsageError
from entropylaw.logs.runs import Run
from entropylaw.options import ConfigFile, FitOptions, PhaseOptions
from entropylaw.paths import LARGEST, read_regular
from entropylaw.pipeline import steps
from entropylaw.pipeline.cache import OFF, Cache, canonical, run_content
from entropylaw.report import pages
from entropylaw.report.describe.runs import IndexRow, index_row
from entropylaw.report.figures import FIGURES, parts
from entropylaw.report.pages import Neighbour
from entropylaw.results.columns import Refusal
from entropylaw.results.phases import RunTurns
from entropylaw.results.result import replace
from entropylaw.roles.select import phase_series

if TYPE_CHECKING:
    from entropylaw.report.figures.plotting import Kind

STATE = ".entropylaw"
"""Next to the pages; it may be deleted at any time, and everything is then made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is made of every run.

    ``kinds`` are the formats of the figures' files: with None few runs get all, and many SVG alone. ``style``
    is a matplotlib style file; ``phases`` says whether curves of planning and execution are fitted. ``arms``
    is a regular expression for the arms of the index. ``config`` is the settings file in force.
    """

    folder: Path
    settings: FitOptions
    kinds: tuple[str, ...] | None
    phases: bool
    style: str | None = None
    arms: str | None = None
    config: ConfigFile | None = None
    cache: Cache = OFF


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """One run: as read (``run``), or ``known`` from a stored document or a failure to read it.

    ``before`` and ``after`` are its neighbours in the report; ``histogram`` is path and sha256 of the tokens'
    sums with a log that ``entropylaw tokens`` wrote; ``config`` the settings file of its fit. ``fit_key``
    identifies all that the numbers depend on, ``key`` all that the files depend on. ``again`` says that the
    numbers are known, and only the files are made.
    """

    name: str
    making: Making
    slug: str = ""
    run: Run | None = None
    known: RunFit | RunReport | None = None
    inputs: tuple[InputFile, ...] = ()
    histogram: tuple[str, str] | None = None
    config: ConfigFile | None = None
    before: Neighbour | None = None
    after: Neighbour | None = None
    fit_key: str = ""
    key: str = ""
    again: bool = False

    @property
    def state(self) -> Path:
        """The file that notes what was made under the task's name."""
        return self.making.folder / STATE / f"{self.slug}.json"

    @property
    def document(self) -> Path:
        """The document of the task's run."""
        return self.making.folder / "runs" / f"{self.slug}.json"

    def with_keys(self) -> Task:
        """The task with the keys of its numbers and of its files."""
        making = self.making
        numbers = {
            "name": self.name,
            "settings": encode(making.settings),
            "phases": making.phases,
            "inputs": encode(self.inputs),
            "known": encode(self.known),
        }
        content = run_content(self.run) if self.run is not None else b""
        fit_key = hashlib.sha256(canonical(numbers) + content).hexdigest()
        files = {
            "numbers": fit_key,
            "slug": self.slug,
            "kinds": making.kinds,
            "style": hashlib.sha256(Path(making.style).read_bytes() if making.style else b"").hexdigest(),
            "neighbours": [self.before, self.after],
            "histogram": self.histogram[1] if self.histogram else None,
            "config": encode(self.config),
        }
        return replace(self, fit_key=fit_key, key=hashlib.sha256(canonical(files)).hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a task: its row in the index, its files with their sizes, and why it has no law.

    ``read`` distinguishes data that give no fit from a file that could not be read; ``turns`` are those of
    its phases, where it has both curves.
    """

    fit_key: str
    key: str
    row: IndexRow
    files: Mapping[str, int]
    refusal: Refusal | None = None
    read: bool = True
    turns: RunTurns | None = None


def remembered(task: Task) -> Done | None:
    """What was made earlier under this task's name, if all its files are still there."""
    try:
        done = decode(Done, json.loads(read_regular(task.state, LARGEST, follow=False)))
        sizes = {name: (task.making.folder / name).stat().st_size for name in done.files}
    except (OSError, ValueError, DocumentMismatchError):
        return None  # missing, of another program, or cut off by a crash
    return done if sizes == done.files else None


def work(task: Task) -> Done:
    """Fit a run, and write its page, its document and its figures.

    Raises OutputError: the folder cannot be written: then no other run's files can be either; UsageError: a
    setting that is wrong for one run is wrong for all.
    """
    try:
        if task.again:
            return _write(task, load_report(task.document).runs[0])
        if isinstance(task.known, RunReport):
            return _write(task, task.known)
        cache, entry = task.making.cache, task.known
        if task.run is not None:
            entry = steps.answer(steps.Fit(task.making.settings), task.run, cache).result
        report = steps.answer(steps.Ahead(), entry, cache).result
        phases = _phases(task, task.run) if task.run is not None and task.making.phases else None
        return _write(task, replace(report, phases=phases))
    except (OutputError, UsageError):
        raise
    except Exception as error:
        # As in a step: a page that cannot be drawn is that of a run without a law.
        return _fail(task, error if isinstance(error, EntropyLawError) else steps.failed(error))


def died(task: Task) -> Done:
    """The result for a run whose process was killed."""
    return _fail(task, steps.killed())


def _phases(task: Task, run: Run) -> RunPhases | None:
    """The phases of a run with planning's or execution's entropy; a bug there does not affect the law."""
    try:
        series = phase_series(run)
        if series.planning_column is None and series.execution_column is None:
            return None
        step = steps.Phases(PhaseOptions(level=task.making.settings.level))
        return steps.answer(step, run, task.making.cache).result
    except UsageError:
        raise
    except EntropyLawError:
        return None
    except Exception as error:
        return unphased_run(run, None, steps.failed(error))


def _fail(task: Task, error: EntropyLawError) -> Done:
    """Write the files of a run that has an error in place of a law."""
    entry = refused_run(task.run or task.name, None, error)
    return _write(task, RunReport(fit=entry, no_forecast="the run has no fit"), error)


def _write(task: Task, report: RunReport, error: EntropyLawError | None = None) -> Done:
    """Write the run's files, the document after the page, and then the note that the task is done."""
    making, entry = task.making, report.fit
    phases = report.phases.phases if report.phases is not None else None
    fits = FitDocument(inputs=task.inputs, settings=making.settings, runs=(entry,), config=task.config)
    document = from_fits(fits, [report])
    contents = [*_page(task, document), (f"runs/{task.slug}.json", dumps(document.to_json()).encode())]
    for name, data in contents:
        write_atomically(making.folder / name, data)
    done = Done(
        fit_key=task.fit_key,
        key=task.key,
        row=as_stored(index_row(report, task.slug)),
        files={name: len(data) for name, data in contents},
        refusal=entry.refusal,
        # A run whose columns could not be chosen counts as not read.
        read=entry.read if error is None else error.exit_code != InputError.exit_code,
        turns=as_stored(phases.turns) if phases is not None else None,
    )
    write_atomically(task.state, json.dumps(encode(done), sort_keys=True))
    return done


def _page(task: Task, document: ReportDocument) -> Iterator[tuple[str, bytes]]:
    """The figures and the page of a run, by their names in the folder, figures first: no page has dead links.

    ``document`` has this run alone.
    """
    from entropylaw.report.figures import plotting

    (report,), slug, kinds = document.runs, task.slug, task.making.kinds or ()
    # The page always needs SVG.
    drawn: dict[Kind, None] = dict.fromkeys(("svg", *kinds))  # type: ignore[arg-type]
    tokens = None
    if task.histogram is not None:
        from entropylaw.tokens.summary import read_histogram

        tokens = read_histogram(task.histogram[0])
    available = parts(report, tokens)
    svgs: dict[str, str] = {}
    with plotting.style(plotting.read_style(task.making.style) if task.making.style else None):
        for entry in FIGURES:
            if entry.needs in available:
                name = f"{slug}-{entry.name}"
                images = entry.files(available[entry.needs], drawn, name)
                svgs[entry.name] = images["svg"].decode("utf-8")
                yield from ((f"figures/{name}.{kind}", images[kind]) for kind in images if kind in kinds)
    links = {name: [f"../figures/{slug}-{name}.{kind}" for kind in kinds] for name in svgs}
    page = pages.run_page(document, report, svgs, links, previous=task.before, following=task.after)
    yield f"runs/{slug}.html", page.encode()
