"""``entropylaw fit``: an answer for every run, and where it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import typer

from entropylaw.cli import output
from entropylaw.cli.commands import FitCommand
from entropylaw.cli.running import document_of
from entropylaw.cli.streams import say
from entropylaw.documents.codec import dumps
from entropylaw.documents.loading import load
from entropylaw.errors import EntropyLawError, FitError
from entropylaw.escaping import counted, one_line, safe_name
from entropylaw.option import part
from entropylaw.options import FOLDER, FitOptions
from entropylaw.pipeline.steps import Fit
from entropylaw.report.numbers import format_percent

if TYPE_CHECKING:
    from entropylaw.documents.document import Entry, FitDocument
    from entropylaw.pipeline.inputs import Inputs


def fit(options: FitCommand) -> None:
    """Run ``entropylaw fit``."""
    format = output.format_with_details(options)
    quiet = options.quiet
    formats = output.destinations(options.output, format)
    inputs = output.gather(options.logs, options, part(options, FitOptions), kinds=())
    document: FitDocument = document_of(Fit, inputs, options.jobs)
    output.say_skipped(document.warnings, quiet=quiet)
    stored: dict[str, str] = {}
    if options.save and not options.output and document.answered:
        stored[path_for(document, options.logs)] = dumps(document.to_json())
    # Where nothing was fitted the errors are the text, but a program that requests JSON gets its document.
    if not document.answered and output.is_text(format):
        formats.pop("-", None)
    output.deliver(document, formats, others=stored, quiet=quiet)
    for path in stored:
        about = ""
        if format == "text":
            about = f"; {format_percent(options.level)} intervals; more with --details"
        say(f"stored in {path} for `entropylaw predict`{about}", quiet=quiet)
    output.finish_fits(document.runs)
    finish_partly(inputs, document.runs, strict=options.strict)


def finish_partly(inputs: Inputs, runs: Sequence[Entry[Any]], *, strict: bool) -> None:
    """Say what could not be read or fitted where others could; exit with 4 if ``strict``."""
    phrases: list[str] = []
    read_paths = {entry.path for entry in inputs.entries if entry.error is None}
    unread_paths = {entry.path for entry in inputs.entries if entry.error is not None}
    if unread_paths:
        files = counted(len(read_paths | unread_paths), "file")
        # Of several logs in one file, some may be read.
        whole = " whole" if read_paths & unread_paths else ""
        names = output.names_with_counts([PurePath(path).name for path in sorted(unread_paths)])
        phrases.append(f"{len(unread_paths)} of {files} could not be read{whole}: {names}")
    unread_runs = {entry.name for entry in inputs.entries if entry.error is not None}
    fitted = {entry.run for entry in runs if entry.refusal is None}
    unfitted = {entry.run for entry in runs if entry.refusal is not None} - unread_runs
    if unfitted:
        counted_runs = counted(len(fitted | unfitted), "run")
        # A run may be fitted in one reward and not in another.
        every = " for every reward" if fitted & unfitted else ""
        names = output.names_with_counts(sorted(unfitted))
        phrases.append(f"{len(unfitted)} of {counted_runs} could not be fitted{every}: {names}")
    if not phrases:
        return
    if not strict:
        phrases.append("--strict makes this an error")
    say(one_line("; ".join(phrases)), quiet=False)
    if strict:
        raise typer.Exit(FitError.exit_code)


def path_for(document: FitDocument, logs: Sequence[str]) -> str:
    """``reports/NAME.fit.json``, which is new, or holds an earlier fit of the same files and options.

    NAME is that of the run; of several it is ``runs``. Logs in different folders may have one name. A log
    that is given by an absolute path, which documents do not keep, or on standard input is the same only if
    its bytes are.
    """
    output.check_is_no_link(FOLDER)
    names = {entry.run for entry in document.runs}
    name = names.pop() if len(names) == 1 else "runs"
    moved = any(Path(log).is_absolute() or log.startswith("-") for log in logs)
    taken: set[str] = set()
    while True:
        path = Path(FOLDER) / f"{safe_name(name, taken)}.fit.json"
        try:
            if not path.exists() or identity(load(path, "fit"), moved=moved) == identity(
                document, moved=moved
            ):
                return path.as_posix()
        except EntropyLawError:
            continue


def identity(fits: FitDocument, *, moved: bool) -> tuple[object, ...]:
    """What equal fits have in common."""
    return fits.settings, [(file.path, file.sha256 if moved else "") for file in fits.inputs]
