"""The arguments of commands: documents of entropylaw, and logs, which are the same runs for every command.

Nothing here imports numpy before a log is read: gates on stored documents need none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.documents.loading import Stored, documents_in, find_document, load_fit, load_report
from entropylaw.errors import InputError, UsageError, known_form
from entropylaw.paths import is_file, is_folder, note_input, shown_path

if TYPE_CHECKING:
    from entropylaw.documents.document import FitDocument, ReportDocument
    from entropylaw.logs.load import Reading
    from entropylaw.logs.runs import Run
    from entropylaw.options import Command, FitOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One argument: its documents, and whether it has ``others`` that may be logs."""

    path: str
    documents: Sequence[Stored]
    others: bool
    folder: bool = False

    @property
    def stored(self) -> bool:
        """Whether it holds only documents."""
        return bool(self.documents) and not self.others


def document_at(source: str) -> Stored | None:
    """The document at a path, of any kind or version; None for a log, a folder or nothing."""
    note_input(source)
    return find_document(source)


def places(sources: Sequence[str]) -> Iterator[Place]:
    """Every source once, with the documents in folders."""
    for source in dict.fromkeys(sources):
        document = document_at(source)
        if document is None and source != "-" and is_folder(source):
            inside, others = documents_in(source)
            yield Place(path=source, documents=inside, others=others, folder=True)
        else:
            yield Place(path=source, documents=[document] if document else [], others=document is None)


def load_runs(source: Stored) -> FitDocument | ReportDocument:
    """A stored document that has fits of runs.

    Raises InputError (``not-a-document``, ``damaged-document``, ``other-document-version``).
    """
    shown = shown_path(source.path)
    if source.data is None:
        raise source.damaged(shown)
    if source.kind not in ("fit", "report"):
        message = f"{shown} has schema {known_form(source.data['schema'])}, expected a fit or a report"
        hint = "give the log itself, a file that `entropylaw fit` wrote, or files of a report's folder runs"
        raise InputError("not-a-document", message, hint)
    note_input(source.path)
    return load_fit(source.path) if source.kind == "fit" else load_report(source.path)


def read(
    logs: Sequence[Any], options: Any, columns: Sequence[str] = (), *, any_table: bool = False
) -> Reading:
    """Read logs with the ``step`` and ``run`` columns of some options; failures are in the reading.

    ``logs`` are files, folders, ``-``, ``name:format``, tables in memory; ``options`` of a family that has
    :class:`~entropylaw.options.LogOptions`. ``columns`` are read in addition to those of the catalog;
    ``any_table`` as in :func:`entropylaw.logs.load.read_all`.

    Raises UsageError: an option that is wrong for one log is wrong for all.
    """
    from entropylaw.logs.load import read_all

    reading = read_all(logs, step=options.step, run=options.run, columns=columns, any_table=any_table)
    for failure in reading.failures:
        if isinstance(failure.error, UsageError):
            raise failure.error
    return reading


def refuse_documents(logs: Sequence[str]) -> None:
    """Refuse stored documents where logs are needed; raises UsageError (``already-a-fit``)."""
    for log in logs:
        if document_at(log) is not None:
            hint = "`entropylaw predict` and `entropylaw report` read fit documents"
            raise UsageError("already-a-fit", f"{log} is a document of entropylaw, a log was expected", hint)


def refuse_flags(source: str, options: Command, *families: type) -> None:
    """Refuse flags of the fit together with a stored document; a settings file may have them.

    Raises UsageError (``fit-is-fixed``).
    """
    given = options.flags_given(*families)
    if given:
        message = f"{source} was given together with {', '.join(given)}, an option of the fit"
        raise UsageError("fit-is-fixed", message, "give the log itself to fit it anew")


def same_settings(settings: Sequence[FitOptions]) -> FitOptions:
    """The common settings of several documents.

    Raises UsageError ``settings-differ``; it names the first difference.
    """
    first, *others = settings
    for other, each in product(others, fields(first)):
        left, right = (getattr(one, each.name) for one in (first, other))
        if left != right:
            differ = f"{each.name} {left} and {right}"
            message = f"fits with different settings ({differ}), but one document has one"
            hint = "fit the logs anew with the same options, or treat them one by one"
            raise UsageError("settings-differ", message, hint)
    return first


def histogram_beside(run: Run) -> tuple[str, str]:
    """The file with the sums of tokens that ``entropylaw tokens`` wrote with a log, and a warning.

    Either may be empty. The file is an input of the call.
    """
    from entropylaw.tokens.files import histogram_of

    beside, warning = histogram_of(Path(run.source.path)) if is_file(run.source.path) else (None, "")
    if beside is not None:
        note_input(beside)
    return str(beside or ""), warning
