"""One run of a report, from its inputs to its files: what a worker does. The cache holds what was made."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw.documents.codec import as_stored, dumps
from entropylaw.documents.document import Entry, InputFile, RunReport, report_of
from entropylaw.errors import EntropyLawError, InputError, OutputError, UsageError
from entropylaw.escaping import safe_name
from entropylaw.files import write_atomically
from entropylaw.logs.runs import Run
from entropylaw.options import ConfigFile, FitOptions, Joined, PhaseOptions
from entropylaw.paths import LARGEST, read_regular
from entropylaw.pipeline import steps
from entropylaw.pipeline.cache import OFF, Cache
from entropylaw.pipeline.inputs import Input
from entropylaw.report import pages
from entropylaw.report.describe.runs import IndexRow, index_row
from entropylaw.report.figures import FIGURES, Need, parts
from entropylaw.report.pages import Neighbour
from entropylaw.results.columns import Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.phases import PhaseFit, PhaseSummary
from entropylaw.results.result import replace
from entropylaw.results.tokens import TokenHistogram
from entropylaw.roles.select import phase_series


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is made of every run.

    ``kinds`` are the formats of the figures' files: with None few runs get all, and many SVG alone.
    ``phases`` says whether curves of planning and execution are fitted. ``config`` is the settings file in
    force. ``folder`` is None for a report in one file, whose pages are not written on their own. ``join``
    names the table that is joined to logs.
    """

    folder: Path | None
    settings: FitOptions
    kinds: tuple[str, ...] | None
    phases: bool
    config: ConfigFile | None = None
    cache: Cache = OFF
    join: Joined | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A run of a report: its ``input``, the name of its files, and its neighbours in the index.

    ``histogram`` is the file of the tokens' sums with a log that ``entropylaw tokens`` wrote. ``section`` is
    the id of the run's section in a report of one file and several runs.
    """

    input: Input
    making: Making
    slug: str = ""
    histogram: str = ""
    before: Neighbour | None = None
    after: Neighbour | None = None
    section: str = ""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.input.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result of a task: its rows in the index, the names of its figures, and what has no law, and why.

    A row is of one reward, and ``refused`` has names with reasons. ``read`` distinguishes data that give no
    fit from a file that could not be read; ``phases`` is the summary of its phases; ``unchanged`` says that
    its files were there already. ``page`` is that in a report of one file, compressed.
    """

    rows: tuple[IndexRow, ...]
    figures: tuple[str, ...] = ()
    refused: tuple[tuple[str, Refusal], ...] = ()
    read: bool = True
    phases: PhaseSummary | None = None
    unchanged: bool = False
    page: bytes = b""

    @property
    def fitted(self) -> bool:
        """Whether it has a law for any reward."""
        return len(self.refused) < len(self.rows)


Files = dict[str, bytes]
"""The files of a run by their names in the folder of the report, each compressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The result of a task, and the sha256 of its files: while these are there, no other result is read."""

    done: Done
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """All that the files of a run depend on besides its numbers; of other files path and sha256.

    ``section`` is None for a page in a folder; otherwise as in a :class:`Task`.
    """

    slug: str
    section: str | None
    kinds: tuple[str, ...]
    settings: FitOptions
    inputs: tuple[InputFile, ...]
    config: ConfigFile | None
    neighbours: tuple[Neighbour | None, Neighbour | None]
    histogram: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Page(steps.Step[Files]):
    """The figures, the page and the document of a run."""

    options: PageOptions

    name, result = "page", Files

    def refuse(self, log: Any, series: Any, error: EntropyLawError, name: str = "") -> Files:
        """A page that cannot be drawn."""
        raise error

    def compute(self, subject: tuple[RunReport, ...], series: Any) -> Files:
        """Draw the files, the document last."""
        options = self.options
        document = report_of(subject, inputs=options.inputs, settings=options.settings, config=options.config)
        contents = dict(_page(document, options))
        if options.section is None:
            contents[f"runs/{options.slug}.json"] = dumps(document.to_json()).encode()
        return {name: zlib.compress(data, 1) for name, data in contents.items()}


def work(task: Task) -> Done:
    """Fit a run, and write its page, its document and its figures.

    Raises OutputError: the folder cannot be written: then no other run's files can be either; UsageError: a
    setting that is wrong for one run is wrong for all.
    """
    making, run, key = task.making, task.input.run, ""
    if making.folder is not None and run is not None:
        subject = {"page": page_options(task), "phases": making.phases}
        key = making.cache.key("finished page", subject, run)
        finished = making.cache.get(key, Finished)
        if finished is not None and _holds(making.folder, finished.digests):
            return finished.done
    try:
        (results,) = steps.answers(steps.Fit(making.settings), [task.input], cache=making.cache)
        reports: Any = results
        if not isinstance(results[0], RunReport):
            reports = tuple(RunReport(fit=entry) for entry in results)
        if run is not None and making.phases:
            reports = (replace(reports[0], phases=_phases(making, run)), *reports[1:])
        return _write(task, reports, key=key)
    except (OutputError, UsageError):
        raise
    except Exception as error:
        # As in a step: a page that cannot be drawn is that of a run without a law.
        return _fail(task, error if isinstance(error, EntropyLawError) else steps.failed(error))


def died(task: Task) -> Done:
    """The result for a run whose process was killed."""
    return _fail(task, steps.killed())


def _phases(making: Making, run: Run) -> Entry[PhaseFit] | None:
    """The phases of a run with planning's or execution's entropy; a bug there does not affect the law."""
    try:
        series = phase_series(run)
        if series.planning is None and series.execution is None and series.semantic is None:
            return None
        step = steps.Phases(PhaseOptions(level=making.settings.level))
        return steps.answer(step, run, making.cache)
    except UsageError:
        raise
    except EntropyLawError:
        return None
    except Exception as error:
        return Entry.of(run, None, error=steps.failed(error))


def _fail(task: Task, error: EntropyLawError) -> Done:
    """Write the files of a run that has an error in place of a law."""
    entry: Entry[Fit] = Entry.of(task.input.run or task.name, None, error=error)
    return _write(task, (RunReport(fit=entry),), error)


def _holds(folder: Path, digests: Mapping[str, str]) -> bool:
    """Whether a folder holds all files, as they were written."""
    with suppress(OSError):
        contents = {name: read_regular(folder / name, LARGEST, follow=False) for name in digests}
        return all(hashlib.sha256(data).hexdigest() == digests[name] for name, data in contents.items())
    return False


def _write(
    task: Task, reports: tuple[RunReport, ...], error: EntropyLawError | None = None, key: str = ""
) -> Done:
    """Write the run's files that are not there already, the document after the page; in a folder alone.

    A run without a refusal is kept in the cache under the ``key`` of the task.
    """
    making, entries = task.making, [report.fit for report in reports]
    phases = reports[0].phases.result if reports[0].phases is not None else None
    contents = steps.answer(Page(page_options(task)), reports, making.cache)
    done = Done(
        rows=tuple(as_stored(index_row(report, task.slug)) for report in reports),
        figures=tuple(name for name in contents if name.startswith("figures/")),
        refused=tuple((entry.name, entry.refusal) for entry in entries if entry.refusal is not None),
        # A run whose columns could not be chosen counts as not read.
        read=entries[0].read if error is None else error.exit_code != InputError.exit_code,
        phases=as_stored(phases.summary) if phases is not None else None,
        unchanged=making.folder is not None and write_changed(making.folder, contents),
        page=b"" if making.folder is not None else contents[f"runs/{task.slug}.html"],
    )
    results: list[Entry[Any]] = [*entries]
    results += [report.phases for report in reports if report.phases is not None]
    if all(entry.refusal is None for entry in results):
        digests = {name: hashlib.sha256(zlib.decompress(data)).hexdigest() for name, data in contents.items()}
        making.cache.put(key, Finished(done=replace(done, unchanged=True), digests=digests))
    return done


def page_options(task: Task) -> PageOptions:
    """What the files of a run depend on; its settings file is the one that its fit was made with."""
    making = task.making
    return PageOptions(
        slug=task.slug,
        section=task.section if making.folder is None else None,
        kinds=making.kinds or (),
        settings=making.settings,
        inputs=task.input.files,
        config=task.input.config if task.input.entries else making.config,
        neighbours=(task.before, task.after),
        histogram=_with_digest(task.histogram),
    )


def _with_digest(path: str | None) -> tuple[str, str] | None:
    """A file with the sha256 of its bytes."""
    return (path, hashlib.sha256(Path(path).read_bytes()).hexdigest()) if path else None


def write_changed(folder: Path, contents: Mapping[str, bytes]) -> bool:
    """Write the compressed files that a folder does not hold already; returns whether it held all."""
    unchanged = True
    for name, compressed in contents.items():
        path, data = folder / name, zlib.decompress(compressed)
        with suppress(OSError):
            if read_regular(path, LARGEST, follow=False) == data:
                continue
        write_atomically(path, data)
        unchanged = False
    return unchanged


def _page(document: Any, options: PageOptions) -> Iterator[tuple[str, bytes]]:
    """The figures and the page of a run, by their names in the folder, figures first: no page has dead links.

    ``document`` has this run alone.
    """
    slug, tokens = options.slug, None
    if options.histogram is not None:
        from entropylaw.tokens.summary import bands

        tokens = TokenHistogram(**bands(Path(options.histogram[0])))
    drawn: list[pages.Drawn] = []
    for stem, report in stems(slug, document.reports):
        # The tokens are those of the run.
        svgs, links = yield from _figures(stem, parts(report, None if drawn else tokens), options)
        drawn.append(pages.Drawn(report, stem, svgs, links))
    first = drawn[0]
    figures, of_figures = dict(first.figures), dict(first.links)
    several = [reward.report.fit for reward in drawn]
    if len(several) > 1 and any(entry.result is not None for entry in several):
        of_all, files = yield from _figures(slug, {"rewards": several}, options)
        figures |= of_all
        of_figures |= files
    before, after = options.neighbours
    page = pages.run_page(
        document,
        first.report,
        figures,
        of_figures,
        section=options.section or "",
        rewards=drawn if len(drawn) > 1 else (),
        previous=before,
        following=after,
        home="../index.html" if options.section is None else "",
    )
    yield f"runs/{slug}.html", page.encode()


def _figures(
    stem: str, available: Mapping[Need, Any], options: PageOptions
) -> Generator[tuple[str, bytes], None, tuple[dict[str, str], dict[str, list[str]]]]:
    """The files of one reward's figures; returns them for its page, as SVG and as links."""
    # Not at the top: where all pages are in the cache, no run is drawn.
    from entropylaw.report.figures import drawings, plotting

    # The page always needs SVG.
    drawn: dict[plotting.Kind, None] = dict.fromkeys(("svg", *options.kinds))  # type: ignore[arg-type]
    svgs: dict[str, str] = {}
    with plotting.style():
        for entry in FIGURES:
            if entry.needs in available:
                name = f"{stem}-{entry.name}"
                images = drawings.files(entry.name, available[entry.needs], drawn, name)
                svgs[entry.name] = images["svg"].decode("utf-8")
                yield from (
                    (f"figures/{name}.{kind}", image)
                    for kind, image in images.items()
                    if kind in options.kinds
                )
    return svgs, {name: [f"../figures/{stem}-{name}.{kind}" for kind in options.kinds] for name in svgs}


def stems(slug: str, reports: Sequence[RunReport]) -> list[tuple[str, RunReport]]:
    """The rewards of a run with what the names of their figures begin with."""
    taken: set[str] = set()
    return [
        (f"{slug}-{safe_name(report.fit.reward, taken)}" if position else slug, report)
        for position, report in enumerate(reports)
    ]
