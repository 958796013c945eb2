"""What the arguments of a command hold: runs as logs have them, and entries of documents of entropylaw.

Every command gathers its inputs here, so that all of them have the same runs, under the same names. Nothing
here imports numpy before a log is read: gates on stored documents need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.documents.document import input_files, renamed
from entropylaw.documents.index import INDEX, documents_of, flaws_of, whole_pages
from entropylaw.documents.loading import FITS, Stored, documents_in, find_document
from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.gates.runs import READ
from entropylaw.option import part
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.paths import NOT_READ, expanded, is_file, is_folder, is_own, note_input, shown_path
from entropylaw.results.result import replace

if TYPE_CHECKING:
    from entropylaw.documents.document import Document, InputFile
    from entropylaw.logs.runs import Run
    from entropylaw.options import ConfigFile, Joined

RUNS = ("fit", "report", "index")
"""The kinds of documents that have fits of runs, or name those that have them."""

NAMED = ("entropy", "reward", "planning", "execution", "arms", "stage", "domain", "at_equal")
"""Options that may name columns, which are read even if they are not in the catalog."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Input:
    """A run of an argument: as its log holds it, as a document holds it, or the error in its place.

    ``entries`` are those of a document of this ``kind``, one per reward, or a fit that a program gave. An
    ``error`` is of a file, or of one run in it. ``path`` is that of its file, ``files`` are all that it was
    read from, ``config`` is the settings file of its document; ``arm`` is the one that an argument of
    `entropylaw compare` names.
    """

    name: str
    path: str
    run: Run | None = None
    entries: tuple[Any, ...] = ()
    kind: str = ""
    error: EntropyLawError | None = None
    files: tuple[InputFile, ...] = ()
    config: ConfigFile | None = None
    arm: str = ""

    @classmethod
    def of_run(cls, run: Run) -> Input:
        """A run as its log holds it."""
        return cls(name=run.name, path=run.source.path, run=run, files=input_files([run]))

    def renamed(self, name: str) -> Input:
        """The same run by a name that distinguishes it from others."""
        run = None if self.run is None else replace(self.run, name=name)
        return replace(
            self, name=name, run=run, entries=tuple(renamed(entry, name) for entry in self.entries)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All runs of some arguments, the options of their fits, the files behind them.

    ``documents`` are those that were found; with ``strict`` their runs are not among the ``entries``, and
    ``flaws`` are paths of what should have been a document, with what is wrong. ``warnings`` are about files
    that are not used; ``config`` is the settings file in force.
    """

    entries: tuple[Input, ...]
    settings: Any
    files: tuple[InputFile, ...] = ()
    documents: tuple[Stored, ...] = ()
    flaws: tuple[tuple[str, InputError], ...] = ()
    warnings: tuple[str, ...] = ()
    config: ConfigFile | None = None

    @property
    def runs(self) -> list[Run]:
        """The runs of logs."""
        return [entry.run for entry in self.entries if entry.run is not None]

    @property
    def errors(self) -> list[EntropyLawError]:
        """Why logs, or runs of them, could not be read."""
        return [entry.error for entry in self.entries if entry.error is not None]


@dataclass(slots=True)
class _Found:
    """The documents and the logs of some arguments; for gates what else was ``seen``, and its flaws."""

    documents: list[Stored] = field(default_factory=list)
    logs: list[Any] = field(default_factory=list)
    flaws: list[tuple[str, InputError]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def take(self, path: str, documents: Sequence[Stored], kinds: Sequence[str], *, others: bool) -> None:
        """The documents at a path, those that its index names, or else its logs.

        The index of a report further down is no reason to leave out the logs of a folder.
        """
        places = (Path(path), Path(path).joinpath(INDEX))
        index = next(
            (stored for stored in documents if stored.kind == "index" and Path(stored.path) in places), None
        )
        if index is not None and "index" in kinds:
            self.documents += find([str(page) for page in whole_pages(index)], kinds).documents
            for fits in (stored for stored in documents if stored.kind == "fit"):
                self.warnings.append(f"{shown_path(fits.path)} is skipped: a report is in its folder")
        elif documents and not others:
            self.documents += documents
        else:
            self.logs.append(path)

    def take_all(self, path: str, documents: Sequence[Stored], *, others: bool, folder: bool) -> None:
        """All documents at a path, and its logs, for gates: nothing is skipped in silence."""
        first_bytes = b""
        if others and Path(path).suffix.lower() == ".csv" and is_file(path):
            with suppress(OSError), Path(path).open("rb") as file:
                first_bytes = file.read(100)
        if first_bytes and is_own(first_bytes):
            name = shown_path(path)
            flaw = InputError(
                "not-a-document",
                f"{name} is a table that entropylaw wrote, and gates read documents",
                "give the JSON of the same call, or the folder of the report",
            )
            self.flaws.append((name, flaw))
            return
        used: list[Stored] = []
        for stored in documents:
            self.seen.add(shown_path(stored.path))
            used += self.usable(stored, path, folder=folder)
        if used:
            self.seen.add(path)
        taken = {(stored.path, stored.content) for stored in self.documents}
        self.documents += [stored for stored in used if (stored.path, stored.content) not in taken]
        if others or path not in self.seen:
            self.logs.append(path)

    def usable(self, stored: Stored, path: str, *, folder: bool) -> list[Stored]:
        """A document that gates read; of an index its runs, those in a folder are found there."""
        if stored.kind == "index":
            self.seen.add(path)
            self.flaws += flaws_of(stored)
            if folder:
                return []
            return documents_of(stored)
        if not folder or stored.kind in ("", *READ) or FITS in stored.path.casefold():
            return [stored]
        self.warnings.append(f"{shown_path(stored.path)} was not read: no gate uses such a document")
        return []


def gather(
    arguments: Sequence[Any],
    options: Any,
    *,
    kinds: Sequence[str] | None = None,
    fixed: Sequence[str] = (),
    strict: bool = False,
    named: Callable[[str], str] = shown_path,
    config: ConfigFile | None = None,
    join: Joined | None = None,
) -> Inputs:
    """Gather the runs of some arguments, each with its own name: those of documents, then those of logs.

    Parameters
    ----------
    arguments
        Files, folders, ``-``, ``name:format``, tables in memory, documents.
    options
        A family that has :class:`~entropylaw.options.LogOptions`; its columns are read.
    kinds
        The kinds of documents that the command can use; None where all arguments are logs.
    fixed
        Flags of the user that are options of the fit, which a document cannot follow.
    strict
        As for gates: all documents and tables of a folder count; documents are found and not loaded, and one
        that is damaged is not an error yet.
    named
        The name of a run whose file cannot be read.
    config
        The settings file in force, which documents name.
    join
        The table that is joined to logs.

    Raises UsageError (``already-a-fit``, ``fit-is-fixed``, ``settings-differ``, and any option that is wrong
    for one log, and so for all); InputError (``not-a-document``, ``damaged-document``,
    ``other-document-version``, ``file-not-found``: an index names a document that is not there). A log that
    cannot be read is an entry.
    """
    sources = find(arguments, kinds, strict=strict)
    if sources.documents and fixed:
        # A settings file may have them.
        raise UsageError(
            "fit-is-fixed",
            f"{shown_path(sources.documents[0].path)} was given together with {', '.join(fixed)}, "
            "an option of the fit",
            "give the log itself to fit it anew",
        )
    documents = []
    if not strict:
        # Of an index its runs are taken.
        loaded = [kind for kind in kinds or () if kind != "index"]
        documents = [stored.load(loaded) for stored in sources.documents]
    settings = _common_settings(documents, options, fresh=bool(sources.logs))
    entries = list(chain.from_iterable(map(_stored_entries, documents)))
    files = [document.inputs for document in documents]
    if sources.logs:
        read = _read_logs(sources, options, strict=strict, named=named)
        if join is not None:
            read = _with_table(read, join)
        entries += read
        files += [entry.files for entry in read]
    if not strict:
        entries = list(distinct(entries))
    return Inputs(
        entries=tuple(entries),
        settings=settings,
        files=distinct_files(chain.from_iterable(files)),
        documents=tuple(sources.documents),
        flaws=tuple(sources.flaws),
        warnings=tuple(sources.warnings),
        config=config,
    )


def _common_settings(
    documents: Sequence[Document[Any]], options: Any, *, fresh: bool
) -> FitOptions | PhaseOptions:
    """The settings of documents, and those of ``options`` where anything is made fresh.

    Raises as :func:`same_settings`.
    """
    settings: list[Any] = [document.settings for document in documents]  # type: ignore[attr-defined]
    if fresh or not documents:
        settings.append(
            options if isinstance(options, FitOptions | PhaseOptions) else part(options, FitOptions)
        )
    return same_settings(settings)


def document_at(source: str) -> Stored | None:
    """The document at a path, of any kind or version; None for a log, a folder or nothing."""
    note_input(source)
    return find_document(source)


def find(arguments: Sequence[Any], kinds: Sequence[str] | None, *, strict: bool = False) -> _Found:
    """The documents among some arguments and in folders, and the logs; parameters as :func:`gather`.

    Raises UsageError (``already-a-fit``) and, of an index, InputError.
    """
    sources = _Found()
    for argument in arguments:
        if not isinstance(argument, str):
            sources.logs.append(argument)
            continue
        # A shell expands no pattern in quotes, and that of Windows none at all.
        paths = expanded(argument)
        if kinds is None:
            sources.logs += paths
            continue
        for path in paths:
            documents, has_others, folder = _documents_at(path, kinds)
            if strict:
                sources.take_all(path, documents, others=has_others, folder=folder)
            else:
                sources.take(path, documents, kinds, others=has_others)
    return sources


def _documents_at(path: str, kinds: Sequence[str]) -> tuple[list[Stored], bool, bool]:
    """The documents at a path, whether anything else is there, and whether it is a folder.

    Folders are searched for documents where the command can use any.
    """
    document = document_at(path)
    if document is not None and not kinds:
        raise UsageError(
            "already-a-fit",
            f"{path} is a document of entropylaw, a log was expected",
            "`entropylaw predict` and `entropylaw report` read fit documents",
        )
    if document is not None:
        return [document], False, False
    if kinds and path != "-" and is_folder(path):
        return *documents_in(path), True
    return [], True, False


def _stored_entries(document: Document[Any]) -> Iterator[Input]:
    """The runs of a document."""
    runs: dict[tuple[str, str], list[Any]] = {}
    for entry in getattr(document, "reports", document.runs):
        fit = getattr(entry, "fit", entry)
        runs.setdefault((fit.run, fit.path), []).append(entry)
    for (name, path), entries in runs.items():
        yield Input(
            name=name,
            path=path,
            entries=tuple(entries),
            kind=document.schema.split("/")[1],
            files=tuple(file for file in document.inputs if len(runs) == 1 or file.path == path),
            config=document.config,
        )


def _read_logs(sources: _Found, options: Any, *, strict: bool, named: Callable[[str], str]) -> list[Input]:
    """The runs of the logs that were found, argument by argument, each with what could not be read of it.

    Parameters as :func:`gather`. Raises UsageError: an option that is wrong for one log is wrong for all.
    """
    from entropylaw.logs.load import read_all

    columns = _columns_named(options)
    reading = read_all(sources.logs, step=options.step, run=options.run, columns=columns, any_table=strict)
    order = list(dict.fromkeys(reading.given.values()))
    entries = [Input.of_run(run) for run in reading.runs]
    for path, error, name in reading.failures:
        if isinstance(error, UsageError):
            raise error
        # A folder with documents of runs needs no log.
        if error.slug != "no-logs-in-folder" or path not in sources.seen:
            entries.append(Input(name=name or named(path), path=path, error=error))
    for file, reason in reading.ignored:
        if shown_path(file) not in sources.seen:
            sources.warnings.append(f"{shown_path(file)}{NOT_READ}{reason}")
    sources.warnings += (f"{shown_path(path)}: {note}" for path, note in reading.half_written.items())
    return sorted(entries, key=lambda entry: order.index(reading.given[entry.path]))


def _with_table(entries: Sequence[Input], join: Joined) -> list[Input]:
    """The runs of logs with the columns of a table, which is one of their files."""
    from entropylaw.pipeline.joining import joined, table_of

    table = table_of(join)
    runs = iter(joined([entry.run for entry in entries if entry.run is not None], table, join))
    files = input_files(table.values())
    with_columns = []
    for entry in entries:
        if entry.run is not None:
            entry = replace(entry, run=next(runs), files=(*entry.files, *files))
        with_columns.append(entry)
    return with_columns


def _columns_named(options: Any) -> list[str]:
    """The columns that some options name."""
    named: list[str] = []
    for option in NAMED:
        value = getattr(options, option, None)
        if isinstance(value, tuple):
            named += value
        elif value:
            named.append(value)
    return named


def distinct(entries: Sequence[Input]) -> Iterator[Input]:
    """Runs with distinct names."""
    from entropylaw.logs.runs.splitting import distinct_names

    names = distinct_names([entry.name for entry in entries], [entry.path for entry in entries])
    for entry, name in zip(entries, names, strict=True):
        yield entry if entry.name == name else entry.renamed(name)


def distinct_files(files: Iterable[InputFile]) -> tuple[InputFile, ...]:
    """Files, each once."""
    return tuple({(file.path, file.sha256): file for file in files}.values())


def same_settings(settings: Sequence[FitOptions | PhaseOptions]) -> FitOptions | PhaseOptions:
    """The common settings of several documents.

    Raises UsageError ``settings-differ``; it names the first difference.
    """
    common, *further = settings
    for options, option in product(further, fields(common)):
        value = getattr(common, option.name, None)
        other_value = getattr(options, option.name, None)
        if value != other_value:
            raise UsageError(
                "settings-differ",
                f"fits with different settings ({option.name} {value} and {other_value}), but one document "
                "has one",
                "fit the logs anew with the same options, or treat them one by one",
            )
    return common
