"""What all commands do: gather inputs, show what is done of them, write results, show the errors of runs.

Nothing here imports numpy: gates on stored documents need none.
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
from entropylaw.escaping import COLUMNS, WIDTH, one_line
from entropylaw.files import write_atomically
from entropylaw.kinds import JUNIT, PAGES, SUFFIXES
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
"""The end of the reason why a copy is skipped."""

SHEETS = (".xlsx", ".xls", ".ods", ".tsv", ".parquet")
"""Suffixes of tables in other formats: CSV is the nearest."""

NARROWEST = 60
"""Characters of a line below which a narrower terminal wraps it itself."""

_BADGES = {
    "green": r"usable|tested|passed|PASSED",
    "yellow": r"not tested|refused|not excluded|SAME\?|caution",
    "red": r"NOT USABLE|DIFFERENT|FAILED|TRIPPED|UNKNOWN|NOT EXCLUDED|reason",
}
"""Colour → the words at the beginning of a line that have it."""


@contextmanager
def runs_shown(what: str) -> Iterator[Progress]:
    """Show the share of the runs that are done as a bar on a terminal; elsewhere nothing is shown."""
    with share_shown(what) as show:

        def progress(done: int, total: int) -> None:
            if show is not None:
                show(done / total)

        yield progress


def joining(command: Command) -> Joined | None:
    """The command, where it joins a table to its logs."""
    return command if isinstance(command, Joined) and command.join is not None else None


def gather(arguments: Sequence[str], command: Command, options: Any, **more: Any) -> Inputs:
    """Gather inputs with the ``options`` of a ``command``; ``more`` as there.

    See :func:`entropylaw.pipeline.inputs.gather`.
    """
    from entropylaw.pipeline.inputs import gather

    return gather(arguments, options, config=command.config, join=joining(command), **more)


def format_of(path: str, choices: Sequence[str] = ()) -> str:
    """The format of a file by its suffix, one of those that are ``known``; of all where none is given.

    Raises UsageError (``unknown-suffix``).
    """
    suffix = Path(path).suffix.lower()
    choices = choices or tuple(SUFFIXES)
    suffixes = {(SUFFIXES | JUNIT).get(format, f".{format}"): format for format in choices}
    format = suffixes.get({".markdown": ".md", ".htm": ".html"}.get(suffix, suffix))
    if format is None:
        message = f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(suffixes)}"
        hint = file_to_name(path, suffix, choices, next(iter(suffixes)))
        raise UsageError("unknown-suffix", message, f"the suffix decides the format; {hint}")
    return format


def file_to_name(path: str, suffix: str, choices: Sequence[str], ending: str) -> str:
    """What to type where the suffix of a file is that of no ``known`` format; ``ending`` is that of one."""
    typed = shlex.quote(path)
    if is_folder(path):
        return f"{typed} is a folder: name a file in it"
    if suffix in PAGES and "text" in choices:
        return f"type `entropylaw report LOG -o {typed}`"
    if suffix in JUNIT.values() and "text" in choices:
        return f"type `entropylaw check LOG --fail-if GATE -o {typed}`"
    if suffix in SHEETS and "csv" in choices:
        ending = ".csv"
    return f"type -o {shlex.quote(path.removesuffix(Path(path).suffix) + ending)}"


def destinations(output: Sequence[str], format: str, choices: Sequence[str] = ()) -> dict[str, str]:
    """Path of an output → its format, as :func:`format_of`; all are checked before any work is done.

    Without outputs it is standard output, ``-``.
    """

    def of(path: str) -> str:
        found = format if path == "-" else format_of(path, choices)
        # Text has its details in files, too.
        return format if (format, found) == ("details", "text") else found

    return {path: of(path) for path in output or ["-"]}


def rendered(document: Any, format: str) -> str:
    """A document in a format."""
    if format == "json":
        return dumps(document.to_json())
    # Not at the top: a page takes jinja2, and JSON none of both.
    if format == "html":
        from entropylaw.report.pages import single_page

        return single_page(document)
    from entropylaw.report import render

    return render.rendered(document, format)


def shown(document: Any, format: str) -> str:
    """A document for standard output: text is as wide as the terminal, or as COLUMNS says.

    It has colours on a terminal, where NO_COLOR is not set and TERM is not ``dumb``.
    """
    # Without a terminal and COLUMNS it is that of files.
    width = max(get_terminal_size((WIDTH, 1)).columns, NARROWEST)
    before = COLUMNS.set(width)
    try:
        content = rendered(document, format)
    finally:
        COLUMNS.reset(before)
    plain = format not in ("text", "details") or os.environ.get("NO_COLOR")
    if plain or sys.stdout is None or not sys.stdout.isatty():
        return content
    from rich import console, text

    styled = text.Text(content)
    styled.highlight_regex(rf"(?m)^(?!(?:{'|'.join(_BADGES.values())}) )\S.*", "bold")
    for colour, words in _BADGES.items():
        styled.highlight_regex(rf"(?m)^(?:  )?(?:{words})(?= )", colour)
    for colour, word in {"green": "holds", "yellow": "undecided", "red": "fails"}.items():
        styled.highlight_regex(rf"(?m)^  entropy law +{word}(?=:)", colour)
    terminal = console.Console(file=sys.stdout)
    with terminal.capture() as capture:
        terminal.print(styled, end="", soft_wrap=True)
    return capture.get()


def deliver(
    document: Any, formats: Mapping[str, str], *, quiet: bool, others: Mapping[str, str] | None = None
) -> None:
    """Write a document to the paths of some formats, and ``others`` that are ready: path → content.

    The caller says that it wrote the others.

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
    # A closed descriptor may be any file by now.
    check_targets([*files, *([1] if printed is not None and sys.stdout is not None else [])])
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


def refuse_link(folder: str) -> None:
    """Refuse a default folder that is a link, as a stranger's repository may contain one.

    Raises UsageError (``output-outside``).
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
    errors = [refused(run.name, run.refusal) for run in failed]
    finish(errors, answered=len(failed) < len(runs), read=any(run.read for run in failed))


def refused(run: str, refusal: Any) -> EntropyLawError:
    """The error in place of a run's result, which has slug, message and hint, and names the run."""
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
    strangers = list[str]()
    copies = list[str]()
    others = list[str]()
    for path, skipped, reason in (warning.partition(NOT_READ) for warning in warnings):
        name = PurePath(path).name
        if reason.startswith("written by entropylaw"):
            continue  # a table or a text beside its document
        if reason.endswith(SAME_RUN):
            copies.append(f"{name} of {PurePath(reason.removesuffix(SAME_RUN).strip(chr(39))).name}")
        elif skipped:
            strangers.append(name)
        else:
            others.append(path)
    for names, singular, plural in (
        (strangers, "file that is not a training log", "files that are not training logs"),
        (copies, "duplicate", "duplicates"),
    ):
        if names:
            skipped = f"{len(names)} {singular if len(names) == 1 else plural}"
            say(one_line(f"Skipped {skipped}: {names_with_counts(names)}"), quiet=quiet)
    for warning in others:
        say(one_line(warning), quiet=quiet)


def names_with_counts(names: Sequence[str]) -> str:
    """The commonest names with their counts, and the number of the others: ``a.csv (3), b.csv, +2``."""
    common = Counter(names).most_common()
    listed = [f"{name} ({count})" if count > 1 else name for name, count in common[:MOST_NAMED]]
    if rest := sum(count for _, count in common[MOST_NAMED:]):
        listed.append(f"+{rest}")
    return ", ".join(listed)


def format_with_details(options: Any) -> str:
    """The format of standard output: ``details`` where --details was given.

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
    return "details"
