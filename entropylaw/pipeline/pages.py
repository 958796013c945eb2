"""One run of a report, from its series to its files: what a worker does, and what it notes in the folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.documents.codec import DocumentMismatchError, as_stored, decode, encode
from entropylaw.documents.document import InputFile
from entropylaw.documents.fit import FitDocument, RunFit, refused_run
from entropylaw.documents.phases import RunPhases, unphased_run
from entropylaw.documents.report import ReportDocument, RunReport, from_fits, load_report
from entropylaw.documents.store import dumps, write_atomically
from entropylaw.errors import EntropyLawError, FitError, InputError, OutputError, UsageError
from entropylaw.ingest.phasecolumns import phase_series
from entropylaw.ingest.run import Run
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.pipeline import steps
from entropylaw.pipeline.cache import OFF, Cache, canonical, run_content
from entropylaw.report import run_page
from entropylaw.report.figures import FIGURES, parts
from entropylaw.report.index_rows import IndexRow, index_row
from entropylaw.report.run_page import Neighbour
from entropylaw.results.columns import Refusal
from entropylaw.results.fields import replace
from entropylaw.results.groups import SharedFit

if TYPE_CHECKING:
    from entropylaw.report.plotting import Kind

FOLDER = ".entropylaw"
"""Beside the pages; it may be deleted at any time, and everything is then done anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is made of every run.

    ``kinds`` are the formats of the figures' files: with None few runs get all, and many SVG alone. ``style``
    is a matplotlib style file; ``phases`` says whether curves of planning and execution are looked at.
    """

    folder: Path
    settings: FitOptions
    kinds: tuple[str, ...] | None
    phases: bool
    style: str | None = None
    cache: Cache = OFF


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """One run: as read (``run``), or what is ``known`` of it from a stored document or a failure to read it.

    ``before`` and ``after`` are name and slug of its neighbours in the report; ``histogram`` path and
    sha256 of the tokens' sums beside a log that ``entropylaw tokens`` wrote; ``shared`` what the run has in
    common with others of its report or stored document. ``fit_key`` stands for all that the numbers depend
    on, ``key`` for all that the files do. ``again`` says that the numbers are known, and the files are to be
    made of them; without a ``page`` only the document is written, because the page needs all runs.
    """

    name: str
    making: Making
    slug: str = ""
    run: Run | None = None
    known: RunFit | RunReport | None = None
    inputs: tuple[InputFile, ...] = ()
    histogram: tuple[str, str] | None = None
    shared: SharedFit | None = None
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    fit_key: str = ""
    key: str = ""
    again: bool = False
    page: bool = True

    @property
    def state(self) -> Path:
        """The file that says what was done under the task's name."""
        return self.making.folder / FOLDER / f"{self.slug}.json"

    @property
    def document(self) -> Path:
        """The document of the task's run."""
        return self.making.folder / "runs" / f"{self.slug}.json"

    def with_keys(self) -> Task:
        """The task with the keys under which its numbers and its files are known."""
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
            "shared": encode(self.shared),
        }
        return replace(self, fit_key=fit_key, key=hashlib.sha256(canonical(files)).hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a task: its row in the index, its files with their sizes, and why it has no law.

    ``read`` tells data that give no fit from a file that could not be read.
    """

    fit_key: str
    key: str
    row: IndexRow
    files: Mapping[str, int]
    refusal: Refusal | None = None
    read: bool = True

    @property
    def answered(self) -> bool:
        """Whether the run has a law, or phases."""
        return self.refusal is None or "phases" in self.row.cells


def remembered(task: Task) -> Done | None:
    """What was done earlier under this task's name, if all its files are still there."""
    try:
        done = decode(Done, json.loads(task.state.read_bytes()))
        whole = all((task.making.folder / name).stat().st_size == size for name, size in done.files.items())
    except (OSError, ValueError, DocumentMismatchError):
        # Nothing there, or not ours, or cut off by an older version's crash: then it is simply done anew.
        return None
    return done if whole else None


def work(task: Task) -> Done:
    """Fit a run, write its page, its document and its figures, and say what came of it.

    Raises OutputError: the folder cannot be written: then no other run's files can be either; UsageError: a
    setting that is wrong for one run is wrong for all.
    """
    try:
        if task.again:
            return _written(task, load_report(task.document).runs[0])
        if isinstance(task.known, RunReport):
            return _written(task, task.known)
        cache, entry = task.making.cache, task.known
        if task.run is not None:
            entry = steps.answer(steps.fit(task.making.settings), task.run, cache).result
        report = steps.answer(steps.ahead(), entry, cache).result
        phases = _phases(task, task.run) if task.run is not None and task.making.phases else None
        return _written(task, replace(report, phases=phases))
    except (OutputError, UsageError):
        raise
    except Exception as error:
        # One bad run never stops the rest, and a bug of ours is one of the ways to be bad.
        return _failed(task, error if isinstance(error, EntropyLawError) else _bug(error))


def died(task: Task) -> Done:
    """Say of a run that its process was killed."""
    return _failed(task, steps.killed())


def _phases(task: Task, run: Run) -> RunPhases | None:
    """The phases of a run with planning's entropy, or execution's; a bug there takes no law with it."""
    try:
        series = phase_series(run)
        if series.planning_column is None and series.execution_column is None:
            return None
        step = steps.phases(PhaseOptions(level=task.making.settings.level))
        return steps.answer(step, run, task.making.cache).result
    except UsageError:
        raise
    except EntropyLawError:
        return None
    except Exception as error:
        return unphased_run(run, None, _bug(error))


def _bug(error: Exception) -> FitError:
    if isinstance(error, MemoryError):
        return FitError("out-of-memory", "memory ran out", "try that log alone, with --jobs 1")
    return FitError("bug", f"{type(error).__name__}: {error}", "this is a bug in entropylaw; report it")


def _failed(task: Task, error: EntropyLawError) -> Done:
    """Write the files of a run that has an error in place of a law."""
    entry = refused_run(task.run or task.name, None, error)
    return _written(task, RunReport(fit=entry, no_forecast="the run has no fit"), error)


def _written(task: Task, report: RunReport, error: EntropyLawError | None = None) -> Done:
    """Write the run's files, its document last but for the note that it is done."""
    making, entry = task.making, report.fit
    fits = FitDocument(inputs=task.inputs, settings=making.settings, runs=(entry,), shared=task.shared)
    document = from_fits(fits, [report])
    sizes: dict[str, int] = {}
    for name, content in _files(task, document):
        data = content.encode("utf-8") if isinstance(content, str) else content
        write_atomically(making.folder / name, data)
        sizes[name] = len(data)
    done = Done(
        fit_key=task.fit_key,
        key=task.key if task.page else "",
        row=as_stored(index_row(report, task.slug)),
        files=sizes,
        refusal=entry.refusal,
        # A run whose columns could not be found was not even read.
        read=entry.entropy_column is not None if error is None else error.exit_code != InputError.exit_code,
    )
    write_atomically(task.state, json.dumps(encode(done), sort_keys=True))
    return done


def _files(task: Task, document: ReportDocument) -> Iterator[tuple[str, str | bytes]]:
    """Every file of a run by its name in the folder, figures first: no page points at one that is not there.

    ``document`` has this run alone.
    """
    if task.page:
        from entropylaw.report import plotting

        (report,), slug, kinds = document.runs, task.slug, task.making.kinds or ()
        # The page needs SVG, whatever is chosen.
        drawn: list[Kind] = list(dict.fromkeys(("svg", *kinds)))  # type: ignore[arg-type]
        tokens = None
        if task.histogram is not None:
            from entropylaw.tokens.summary import read_histogram

            tokens = read_histogram(task.histogram[0])
        found = parts(report, tokens)
        svgs: dict[str, str] = {}
        with plotting.style(plotting.read_style(task.making.style) if task.making.style else None):
            for entry in FIGURES:
                if entry.needs not in found:
                    continue
                figure = entry.draw(found[entry.needs])
                for kind in drawn:
                    data = plotting.figure_bytes(figure, kind, f"{slug}-{entry.name}")
                    if kind == "svg":
                        svgs[entry.name] = data.decode("utf-8")
                    if kind in kinds:
                        yield f"figures/{slug}-{entry.name}.{kind}", data
        links = {name: [f"../figures/{slug}-{name}.{kind}" for kind in kinds] for name in svgs}
        places = (task.before, task.after)
        before, after = (place and Neighbour(run=place[0], href=f"{place[1]}.html") for place in places)
        page = run_page.render(document, report, svgs, links, previous=before, following=after)
        yield f"runs/{slug}.html", page
    yield f"runs/{task.slug}.json", dumps(document.to_json())
