"""What the commands share: gathering inputs, progress, formats, writing results, errors of runs, exit codes.

Nothing here imports numpy, and some modules are imported in functions: gates on stored documents need none.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import typer

from entropylaw.cli.streams import print_result, say, share_shown, show_error
from entropylaw.documents.codec import dumps
from entropylaw.errors import EntropyLawError, FitError, InputError, OutputError, UsageError
from entropylaw.escaping import COLUMNS, WIDTH, counted, one_line
from entropylaw.files import write_atomically
from entropylaw.kinds import ALL, DETAILS, PAGES, SUFFIXES
from entropylaw.options import Joined
from entropylaw.paths import NOT_READ, check_targets, is_folder

if TYPE_CHECKING:
    from entropylaw.documents.document import Entry
    from entropylaw.options import Command
    from entropylaw.pipeline.inputs import Inputs
    from entropylaw.pipeline.pool import Progress

MOST_NAMED = 5
"""Names of skipped files that are given; the others are counted."""

SAME_RUN = " holds the same run"
"""The end of the reason why a copy is skipped; the path of the other file is before it."""

# The beginning of the reason why a table or a text beside its document is skipped.
OWN_FILE = "written by entropylaw"

SHEETS = (".xlsx", ".xls", ".ods", ".tsv", ".parquet")
"""Suffixes of tables in other formats: CSV is the nearest."""

NARROWEST = 60
"""Characters of a line below which a narrower terminal wraps it itself."""

_BADGES = {
    "green": r"usable|tested|passed|PASSED",
    "yellow": r"not tested|refused|not excluded|SAME\?|caution",
    "red": r"NOT USABLE|DIFFERENT|FAILED|TRIPPED|UNKNOWN|NOT EXCLUDED",
}
"""Colour → the words at the beginning of a line that have it."""

_STATES = {"green": "rising", "yellow": "falling", "red": "broken"}
"""Colour → the state that has it, as a label or in a table; no other word about a run has one."""


@contextmanager
def runs_shown(text: str) -> Iterator[Progress]:
    """A bar after a text, on a terminal; the function that is yielded gets the runs done and their total."""
    with share_shown(text) as show:

        def progress(done: int, total: int) -> None:
            if show is not None:
                show(done / total)

        yield progress


def joining(command: Command) -> Joined | None:
    """The options of joining a table to the logs, of a command whose --join names one."""
    return command if isinstance(command, Joined) and command.join is not None else None


def gather(arguments: Sequence[str], command: Command, options: Any, **more: Any) -> Inputs:
    """The inputs of a command, by :func:`entropylaw.pipeline.inputs.gather`; ``more`` are its parameters.

    ``options`` are those of the ``command`` that say how logs are read and fitted.
    """
    from entropylaw.pipeline import inputs

    return inputs.gather(arguments, options, config=command.config, join=joining(command), **more)


def format_of(path: str, choices: Sequence[str] = ()) -> str:
    """The format of a file by its suffix, one of the ``choices``, by default of all that tables have.

    Raises UsageError (``unknown-suffix``).
    """
    suffix = Path(path).suffix.lower()
    usual_suffix = {".markdown": ".md", ".htm": ".html"}.get(suffix, suffix)
    choices = choices or tuple(SUFFIXES)
    by_suffix = {SUFFIXES.get(choice, f".{choice}"): choice for choice in choices}
    if usual_suffix not in by_suffix:
        message = f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(by_suffix)}"
        hint = _hint_of_suffix(path, suffix, choices, next(iter(by_suffix)))
        raise UsageError("unknown-suffix", message, f"the suffix decides the format; {hint}")
    return by_suffix[usual_suffix]


def _hint_of_suffix(path: str, suffix: str, choices: Sequence[str], ending: str) -> str:
    """What to type where the suffix is that of no format of ``choices``; ``ending`` is the suffix of one."""
    typed = shlex.quote(path)
    if is_folder(path):
        return f"{typed} is a folder: name a file in it"
    if suffix in PAGES and "text" in choices:
        return f"type `entropylaw report LOG -o {typed}`"
    if suffix == ".xml" and "text" in choices:
        return f"type `entropylaw check LOG --junit {typed}`"
    if suffix in SHEETS and "csv" in choices:
        ending = ".csv"
    return f"type -o {shlex.quote(path.removesuffix(Path(path).suffix) + ending)}"


def destinations(output: Sequence[str], format: str, choices: Sequence[str] = ()) -> dict[str, str]:
    """Path of an output → its format, as :func:`format_of`; all are checked before any work is done.

    ``format`` is that of standard output, ``-``, which is the output where none is given.
    """
    formats: dict[str, str] = {}
    for path in output or ["-"]:
        formats[path] = format if path == "-" else format_of(path, choices)
        # --details is about the text of files as well.
        if is_text(format) and formats[path] == "text":
            formats[path] = format
    return formats


def rendered(document: Any, format: str) -> str:
    """A document in a format."""
    # Each format imports what it needs: JSON neither jinja2 nor the renderers of text.
    if format == "json":
        return dumps(document.to_json())
    if format == "html":
        from entropylaw.report.pages import single_page

        return single_page(document)
    from entropylaw.report import render

    return render.rendered(document, format)


def shown(document: Any, format: str) -> str:
    """A document for standard output: text is as wide as the terminal, or as COLUMNS says.

    It has colours on a terminal, where NO_COLOR is not set and TERM is not ``dumb``.
    """
    # Where there is neither a terminal nor COLUMNS, text is as wide as in files.
    width = max(get_terminal_size((WIDTH, 1)).columns, NARROWEST)
    before = COLUMNS.set(width)
    try:
        content = rendered(document, format)
    finally:
        COLUMNS.reset(before)
    if not is_text(format) or os.environ.get("NO_COLOR"):
        return content
    if sys.stdout is None or not sys.stdout.isatty():
        return content
    from rich import console, text

    styled = text.Text(content)
    styled.highlight_regex(rf"(?m)^(?!(?:{'|'.join(_BADGES.values())}) )\S.*", "bold")
    for colour, words in _BADGES.items():
        styled.highlight_regex(rf"(?m)^(?:  )?(?:{words})(?= )", colour)
    for colour, state in _STATES.items():
        styled.highlight_regex(rf"(?m)(?<=  ){state}(?=  |$)", colour)
    terminal = console.Console(file=sys.stdout)
    with terminal.capture() as capture:
        terminal.print(styled, end="", soft_wrap=True)
    return capture.get()


def deliver(
    document: Any, formats: Mapping[str, str], *, quiet: bool, others: Mapping[str, str] | None = None
) -> None:
    """Write a document: ``formats`` are path → format, and ``-`` is standard output.

    ``others`` are path → content of further files. The message that these were written is the caller's.

    Raises OutputError ``cannot-write``, of the last that could not be written; those before it are on
    standard error; UsageError ``output-is-input``: nothing is written.
    """
    files = {path: rendered(document, format) for path, format in formats.items() if path != "-"}
    printed = shown(document, formats["-"]) if "-" in formats else None
    written, problems = write_all(files | dict(others or {}), printed)
    for path in written:
        say(f"wrote {path}", quiet=quiet or path not in files)
    for problem in problems[:-1]:
        show_error(problem)
    if problems:
        raise problems[-1]


def write_all(files: Mapping[str, str], printed: str | None) -> tuple[list[str], list[OutputError]]:
    """Write files, and then print to standard output, so that its reader cannot prevent a file.

    A file that cannot be written stops none of the others: returns the paths that were written, and the
    errors. Raises UsageError ``output-is-input``: nothing is written.
    """
    targets: list[str | int] = [*files]
    # Where standard output is closed, descriptor 1 may be any file by now.
    if printed is not None and sys.stdout is not None:
        targets.append(1)
    check_targets(targets)
    written = list[str]()
    problems = list[OutputError]()
    for path, content in files.items():
        try:
            write_atomically(path, content)
            written.append(path)
        except OutputError as error:
            problems.append(error)
    if printed is not None:
        try:
            print_result(printed)
        except OutputError as error:
            problems.append(error)
    return written, problems


def check_is_no_link(folder: str) -> None:
    """Raise UsageError ``output-outside`` where the default folder is a link, which a repository may contain.

    What is written by default would be written outside of it.
    """
    if Path(folder).is_symlink():
        raise UsageError(
            "output-outside",
            f"{folder} is a link, and default outputs are written into a folder of this place only",
            "name the folder or the file with -o",
        )


def finish_fits(runs: Sequence[Entry[Any]]) -> None:
    """Show the errors of runs without a result; exit where none has one, with 3 if none could be read."""
    failed = [run for run in runs if run.refusal is not None]
    errors = [error_of_refusal(run.name, run.refusal) for run in failed]
    finish(errors, answered=len(failed) < len(runs), read=any(run.read for run in failed))


def error_of_refusal(run: str, refusal: Any) -> EntropyLawError:
    """The refusal of a run as an error whose message names the run."""
    message = refusal.message if run in refusal.message else f"{run}: {refusal.message}"
    return FitError(refusal.slug, message, refusal.hint)


def finish(errors: Sequence[EntropyLawError], *, answered: bool, read: bool) -> None:
    """Show the errors of runs and files; exit where no run was ``answered``.

    The code is 4 where something could be ``read``, and 3 otherwise.
    """
    for error in errors:
        show_error(error)
    if not answered:
        raise typer.Exit(FitError.exit_code if read else InputError.exit_code)


def say_skipped(warnings: Sequence[str], *, quiet: bool) -> None:
    """Name the files of a folder that were skipped, and the copies apart; print other warnings."""
    not_logs = list[str]()
    copies = list[str]()
    others = list[str]()
    for warning in warnings:
        path, separator, reason = warning.partition(NOT_READ)
        name = PurePath(path).name
        if not separator:
            others.append(warning)
        elif reason.startswith(OWN_FILE):
            continue
        elif reason.endswith(SAME_RUN):
            # The path in the reason is quoted.
            original = PurePath(reason.removesuffix(SAME_RUN).strip("'"))
            copies.append(f"{name} of {original.name}")
        else:
            not_logs.append(name)
    if not_logs:
        files = counted(len(not_logs), "file that is not a training log", "files that are not training logs")
        say(one_line(f"Skipped {files}: {names_with_counts(not_logs)}"), quiet=quiet)
    if copies:
        duplicates = counted(len(copies), "duplicate")
        say(one_line(f"Skipped {duplicates}: {names_with_counts(copies)}"), quiet=quiet)
    for warning in others:
        say(one_line(warning), quiet=quiet)


def names_with_counts(names: Sequence[str]) -> str:
    """The commonest names with their counts, and the number of the others: ``a.csv (3), b.csv, +2``."""
    common = Counter(names).most_common()
    listed = [f"{name} ({count})" if count > 1 else name for name, count in common[:MOST_NAMED]]
    rest = sum(count for _, count in common[MOST_NAMED:])
    if rest:
        listed.append(f"+{rest}")
    return ", ".join(listed)


def format_with_details(options: Any) -> str:
    """The format of standard output: one of details where --details was given.

    Raises UsageError (``details-are-text``).
    """
    if not options.details:
        return str(options.format)
    if options.format != "text":
        raise UsageError(
            "details-are-text",
            f"--details is for text, and --format {options.format} has everything",
            "leave out one of them",
        )
    # Other commands have no topics.
    return DETAILS[ALL if options.details is True else options.details]


def is_text(format: str) -> bool:
    """Whether it is a format for a terminal."""
    return format == "text" or format in DETAILS.values()
