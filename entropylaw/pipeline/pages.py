"""One run of a report, from its inputs to its files: what a worker does. The cache holds what was made."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw.documents.codec import as_stored, dumps
from entropylaw.documents.document import Entry, ReportDocument, RunReport, report_of
from entropylaw.documents.summary import RunSummary
from entropylaw.errors import EntropyLawError, InputError, OutputError, UsageError
from entropylaw.escaping import safe_name
from entropylaw.files import write_atomically
from entropylaw.logs.runs import Run
from entropylaw.options import ConfigFile, FitOptions, PhaseOptions
from entropylaw.paths import LARGEST, read_regular
from entropylaw.pipeline import steps
from entropylaw.pipeline.cache import OFF, Cache
from entropylaw.pipeline.inputs import Input
from entropylaw.report import pages
from entropylaw.report.describe.runs import index_row
from entropylaw.report.figures import FIGURES, Need, parts
from entropylaw.report.pages import Neighbour
from entropylaw.results.columns import Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.phases import PhaseFit, PhaseSummary
from entropylaw.results.result import replace
from entropylaw.roles.select import phase_series


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is made of every run.

    ``kinds`` are the formats of the figures' files: with None few runs get all, and many SVG alone.
    ``config`` is the settings file in force. ``folder`` is None for a report in one file, whose pages are not
    written on their own.
    """

    folder: Path | None
    settings: FitOptions
    kinds: tuple[str, ...] | None
    config: ConfigFile | None = None
    cache: Cache = OFF


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A run of a report: its ``input``, the name of its files, and its neighbours in the index.

    ``section`` is the id of the run's section in a report of one file and several runs.
    """

    input: Input
    making: Making
    slug: str = ""
    neighbours: tuple[Neighbour | None, Neighbour | None] = (None, None)
    section: str = ""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.input.name

    @property
    def config(self) -> ConfigFile | None:
        """The settings file that its fit was made with."""
        return self.input.config if self.input.entries else self.making.config


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a task: its rows in the index, the names of its figures, and what has no fit, and why.

    A row is of one reward, and ``refused`` has names with reasons. ``read`` distinguishes data that give no
    fit from a file that could not be read; ``phases`` is the summary of its phases; ``unchanged`` says that
    its files were there already. ``page`` is that in a report of one file, compressed.
    """

    rows: tuple[RunSummary, ...]
    figures: tuple[str, ...] = ()
    refused: tuple[tuple[str, Refusal], ...] = ()
    read: bool = True
    phases: PhaseSummary | None = None
    unchanged: bool = False
    page: bytes = b""

    @property
    def fitted(self) -> bool:
        """Whether it has a fit of any reward."""
        return len(self.refused) < len(self.rows)


Files = dict[str, bytes]
"""Files by their names in the folder of the report, each compressed."""


def work(task: Task) -> Done:
    """Fit a run, and write its page, its document and its figures.

    Raises OutputError: the folder cannot be written: then no other run's files can be either; UsageError: a
    setting that is wrong for one run is wrong for all.
    """
    try:
        return _written(task, *_made(task))
    except (OutputError, UsageError):
        raise
    except Exception as error:
        # One run never stops the others: what cannot be drawn, whatever the bug, is refused with its reason.
        return _without_fit(task, steps.failed(error))


def died(task: Task) -> Done:
    """The result for a run whose process was killed."""
    return _without_fit(task, steps.killed())


def _without_fit(task: Task, error: EntropyLawError) -> Done:
    """Write the files of a run that has an error in place of a fit."""
    entry: Entry[Fit] = Entry.of(task.input.run or task.name, None, error=error)
    done, files = _drawn(task, (RunReport(fit=entry),))
    return _written(task, replace(done, read=error.exit_code != InputError.exit_code), files)


def _made(task: Task) -> tuple[Done, Files]:
    """The result of a task and its files, which are kept in the cache where nothing was refused."""
    making = task.making
    run = task.input.run
    dependencies = {
        "page": (task.slug, task.section, making.folder is None, task.neighbours),
        "options": (making.settings, making.kinds or ()),
        "inputs": task.input.files,
        "config": task.config,
    }
    key = making.cache.key("page", dependencies, task.input.entries if run is None else run)
    cached = making.cache.get(key, tuple[Done, Files])
    if cached is not None:
        return cached
    (results,) = steps.answers(steps.Fit(making.settings), [task.input], cache=making.cache)
    reports: Any = results
    if not isinstance(results[0], RunReport):
        reports = tuple(RunReport(fit=entry) for entry in results)
    if run is not None:
        reports = (replace(reports[0], phases=_phases(making, run)), *reports[1:])
    done, files = _drawn(task, reports)
    phases = reports[0].phases
    if not done.refused and (phases is None or phases.refusal is None):
        making.cache.put(key, (done, files))
    return done, files


def _phases(making: Making, run: Run) -> Entry[PhaseFit] | None:
    """The phases of a run with planning's or execution's entropy; a bug there does not affect the fit."""
    try:
        series = phase_series(run)
        if series.planning is None and series.execution is None and series.semantic is None:
            return None
        return steps.answer(steps.Phases(PhaseOptions(level=making.settings.level)), run, making.cache)
    except UsageError:
        raise
    except EntropyLawError:
        return None
    except Exception as error:
        # As in a step: the phases are refused with the reason, whatever the bug.
        return Entry.of(run, None, error=steps.failed(error))


def _drawn(task: Task, reports: tuple[RunReport, ...]) -> tuple[Done, Files]:
    """The result of a task and its files, the document last; of a report in one file the page alone."""
    making = task.making
    entries = [report.fit for report in reports]
    phases = None if reports[0].phases is None else reports[0].phases.result
    document = report_of(reports, inputs=task.input.files, settings=making.settings, config=task.config)
    contents = dict(_page(document, task))
    if making.folder is not None:
        contents[f"runs/{task.slug}.json"] = dumps(document.to_json()).encode()
    done = Done(
        rows=tuple(as_stored(index_row(report, task.slug)) for report in reports),
        figures=tuple(name for name in contents if name.startswith("figures/")),
        refused=tuple((entry.name, entry.refusal) for entry in entries if entry.refusal is not None),
        # A run whose columns could not be chosen counts as not read.
        read=entries[0].read,
        phases=None if phases is None else as_stored(phases.summary),
    )
    return done, {name: zlib.compress(data, 1) for name, data in contents.items()}


def _written(task: Task, done: Done, files: Files) -> Done:
    """Write the files that the folder does not hold already, or add the page of a report in one file."""
    folder = task.making.folder
    if folder is None:
        return replace(done, page=files[f"runs/{task.slug}.html"])
    unchanged = True
    for name, compressed in files.items():
        path = folder / name
        data = zlib.decompress(compressed)
        with suppress(OSError):
            if read_regular(path, LARGEST, follow=False) == data:
                continue
        write_atomically(path, data)
        unchanged = False
    return replace(done, unchanged=unchanged)


def _page(document: ReportDocument, task: Task) -> Iterator[tuple[str, bytes]]:
    """The figures and the page of a run, by their names in the folder, figures first: no page has dead links.

    ``document`` has this run alone.
    """
    slug = task.slug
    drawn: list[pages.Drawn] = []
    for stem, report in stems(slug, document.reports):
        svgs, of_files = yield from _figures(stem, parts(report), task.making)
        drawn.append(pages.Drawn(report, stem, svgs, of_files))
    main = drawn[0]
    figures = dict(main.figures)
    links = dict(main.links)
    rewards = [reward.report.fit for reward in drawn]
    if len(rewards) > 1 and any(entry.result is not None for entry in rewards):
        figures_of_all, links_of_all = yield from _figures(slug, {"rewards": rewards}, task.making)
        figures |= figures_of_all
        links |= links_of_all
    before, after = task.neighbours
    page = pages.run_page(
        document,
        main.report,
        figures,
        links,
        section=task.section,
        rewards=drawn if len(drawn) > 1 else (),
        previous=before,
        following=after,
        home="../index.html" if task.making.folder is not None else "",
    )
    yield f"runs/{slug}.html", page.encode()


def _figures(
    stem: str, available: Mapping[Need, Any], making: Making
) -> Generator[tuple[str, bytes], None, tuple[dict[str, str], dict[str, list[str]]]]:
    """The files of one reward's figures; returns them for its page, as SVG and as links."""
    # Not at the top: where all pages are in the cache, no run is drawn.
    from entropylaw.report.figures import drawings, plotting

    # The page always needs SVG.
    kinds = making.kinds or ()
    drawn: dict[plotting.Kind, None] = dict.fromkeys(("svg", *kinds))  # type: ignore[arg-type]
    svgs: dict[str, str] = {}
    with plotting.style():
        for entry in FIGURES:
            if entry.needs in available:
                name = f"{stem}-{entry.name}"
                images = drawings.files(entry.name, available[entry.needs], drawn, name)
                svgs[entry.name] = images["svg"].decode("utf-8")
                for kind, image in images.items():
                    if kind in kinds:
                        yield f"figures/{name}.{kind}", image
    return svgs, {name: [f"../figures/{stem}-{name}.{kind}" for kind in kinds] for name in svgs}


def stems(slug: str, reports: Sequence[RunReport]) -> list[tuple[str, RunReport]]:
    """The rewards of a run with what the names of their figures begin with."""
    taken: set[str] = set()
    named: list[tuple[str, RunReport]] = []
    for report in reports:
        named.append((f"{slug}-{safe_name(report.fit.reward, taken)}" if named else slug, report))
    return named
