"""Where results go: standard output, or files whose suffix says the format."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from entropylaw.errors import EntropyLawError, FitError, InputError, OutputError, UsageError
from entropylaw.inputs import check_targets
from entropylaw.options import SUFFIXES

if TYPE_CHECKING:
    from entropylaw.documents.fit import FitDocument
    from entropylaw.ingest.load import Reading
    from entropylaw.pipeline.steps import Answer

_BADGES = {
    "green": r"valid|VALID|usable|tested|passed|PASSED",
    "yellow": r"with cautions|undecided|not tested|refused|not excluded|SAME\?|caution",
    "red": r"law fails|NOT VALID|NOT USABLE|DIFFERENT|FAILED|TRIPPED|UNKNOWN|NOT EXCLUDED|reason",
}
"""Colour → the words at the beginning of a line that have it."""


def format_of(path: str, known: Sequence[str] = tuple(SUFFIXES), flag: str = "-o") -> str:
    """The format that a file's suffix stands for, one of those that are ``known``.

    Raises UsageError (``unknown-suffix``).
    """
    suffix = Path(path).suffix.lower()
    suffixes = {SUFFIXES.get(format, f".{format}"): format for format in known}
    found = "markdown" if suffix == ".markdown" and "markdown" in known else suffixes.get(suffix)
    if found is None:
        raise UsageError(
            "unknown-suffix",
            f"{flag} {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(suffixes)}",
            "the suffix decides the format; rename the file"
            + (", or use --format" if "text" in known else ""),
        )
    return found


def rendered(document: Any, format: str) -> str:
    """A document in a format."""
    if format == "json":
        from entropylaw.documents.store import dumps

        return dumps(document.to_json())
    from entropylaw.report import render

    return render.rendered(document, format)


def shown(document: Any, format: str) -> str:
    """A document for standard output: text has colours on a terminal, where NO_COLOR is not set."""
    text = rendered(document, format)
    if format != "text" or os.environ.get("NO_COLOR") or sys.stdout is None or not sys.stdout.isatty():
        return text
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    styled.highlight_regex(rf"(?m)^(?!(?:{'|'.join(_BADGES.values())}) )\S.*", "bold")
    for colour, words in _BADGES.items():
        styled.highlight_regex(rf"(?m)^(?:  )?(?:{words})(?= )", colour)
    console = Console(file=sys.stdout)
    with console.capture() as capture:
        console.print(styled, end="", soft_wrap=True)
    return capture.get()


def print_result(content: str) -> None:
    """A result, on standard output, in UTF-8 whatever the locale says.

    A reader that left early (``head``, ``true``) is nobody's error, and changes no exit code.

    Raises OutputError (``cannot-write``); UsageError ``output-is-input``: standard output goes to a file
    that is read.
    """
    if sys.stdout is None:
        message = "standard output is closed, a result was to be written to it"
        raise OutputError("cannot-write", message, "use -o FILE")
    _check_standard_output()
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        message = f"standard output cannot be written ({error.strerror})"
        raise OutputError("cannot-write", message, "use -o FILE") from error


def _give_up(stream: TextIO) -> None:
    """Send the rest of a stream nowhere: what is left in its buffer would fail again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def destinations(output: Sequence[str], format: str) -> dict[str, str]:
    """Where a result goes and in which format; every suffix is looked at before any work is done."""
    return {path: format if path == "-" else format_of(path) for path in output}


def deliver(
    document: Any, wanted: Mapping[str, str], *, quiet: bool, others: Mapping[str, str] | None = None
) -> None:
    """Write a document wherever it is wanted, and ``others`` that are made already: path → content."""
    files = {path: rendered(document, format) for path, format in wanted.items() if path != "-"}
    printed = shown(document, wanted["-"]) if "-" in wanted else None
    write_out(files | dict(others or {}), printed, quiet=quiet)


def write_out(files: Mapping[str, str], printed: str | None, *, quiet: bool) -> None:
    """Write files, and then print what is for standard output, so that its reader cannot prevent a file.

    A file that cannot be written stops none of the others.

    Raises OutputError ``cannot-write``, of the last that could not be written; those before it are on
    standard error; UsageError ``output-is-input``: nothing is written.
    """
    check_targets(files)
    if printed is not None:
        _check_standard_output()
    said, problems = list[str](), list[OutputError]()
    for path, content in files.items():
        # Not at the top: a gate that writes no file would wait for it.
        from entropylaw.documents.store import write_atomically

        try:
            write_atomically(path, content)
            said.append(f"wrote {path}")
        except OutputError as error:
            problems.append(error)
    try:
        if printed is not None:
            print_result(printed)
    except OutputError as error:
        problems.append(error)
    for line in said:
        say(line, quiet=quiet)
    for problem in problems[:-1]:
        show_error(problem)
    if problems:
        raise problems[-1]


def _check_standard_output() -> None:
    """Refuse ``>> FILE`` where FILE is read; a closed descriptor may be any file by now."""
    if sys.stdout is not None:
        check_targets([1])


def refuse_link(folder: str) -> None:
    """Refuse a folder that nobody named and that is a link, as a stranger's repository may hold one.

    Raises UsageError (``output-outside``).
    """
    if Path(folder).is_symlink():
        message = f"{folder} is a link, and what nobody named is written into a folder of this place only"
        raise UsageError("output-outside", message, "name the folder or the file with -o")


def say_skipped(warnings: Sequence[str], *, quiet: bool) -> None:
    """How many files of a folder were skipped."""
    if warnings:
        files = "1 file that is" if len(warnings) == 1 else f"{len(warnings)} files that are"
        say(f"skipped {files} no training log, or a copy of one; the JSON says why", quiet=quiet)


def say_missing_fonts(path: str, style: Mapping[str, Any], *, quiet: bool) -> None:
    """Which fonts of a style are not installed, so that another one is used."""
    from entropylaw.report.plotting import missing_fonts
    from entropylaw.report.printable import one_line

    if missing := missing_fonts(style):
        names = one_line(", ".join(missing))
        say(f"{path} asks for {names}, which is not installed: the default font is used", quiet=quiet)


def named(run: str, error: EntropyLawError) -> EntropyLawError:
    """The error of a run; one about its data does not name the run by itself."""
    if not isinstance(error, FitError) or run in error.message:
        return error
    return FitError(error.slug, f"{run}: {error.message}", error.hint)


def finish_runs(
    document: Any,
    wanted: Mapping[str, str],
    reading: Reading,
    answers: Sequence[Answer[Any]],
    *,
    answered: bool,
    quiet: bool,
) -> None:
    """Write a document of some runs; show the errors of files that were not read and of runs refused.

    Where nothing was ``answered``, the errors are the text.
    """
    kept = {path: format for path, format in wanted.items() if answered or format != "text"}
    deliver(document, kept, quiet=quiet)
    errors = [failure.error for failure in reading.failures]
    runs = zip(reading.runs, answers, strict=True)
    finish([*errors, *(named(run.name, one.error) for run, one in runs if one.error)], answered=answered)


def refused(run: str, refusal: Any) -> EntropyLawError:
    """The error in place of a run's result, which has slug, message and hint."""
    return named(run, FitError(refusal.slug, refusal.message, refusal.hint))


def finish(errors: Sequence[EntropyLawError], *, answered: bool, read: bool | None = None) -> None:
    """Show the errors of runs and files; exit where no run was ``answered``.

    The code is 4 where something could be ``read``, as an error about data shows, and 3 otherwise.
    """
    for error in errors:
        show_error(error)
    if not answered:
        if read is None:
            read = any(isinstance(error, FitError) for error in errors)
        raise typer.Exit(FitError.exit_code if read else InputError.exit_code)


def finish_fits(document: FitDocument) -> None:
    """Show the errors of runs without a law; exit where none has one, with 3 if none could be read."""
    runs = [run for run in document.runs if run.refusal is not None]
    read = any(run.entropy_column is not None for run in runs)
    errors = [refused(run.run, run.refusal) for run in runs]
    finish(errors, answered=bool(document.fitted), read=read)


def show_error(error: EntropyLawError) -> None:
    """``error[slug]: message`` and what to do, on stderr."""
    from entropylaw.report.printable import one_line

    say(f"{one_line(str(error))}\n  {one_line(error.hint)}", quiet=False)


def say(message: str, *, quiet: bool) -> None:
    """A message to the person, on standard error; where nobody reads that, no exit code changes."""
    if quiet:
        return
    try:
        typer.echo(message, err=True)
    except OSError:
        _give_up(sys.stderr)
