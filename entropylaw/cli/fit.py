"""``entropylaw fit``: the answer for every run, verdict first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.cli import output
from entropylaw.cli.commands import FitCommand
from entropylaw.cli.running import result_of
from entropylaw.cli.streams import say
from entropylaw.documents.codec import dumps
from entropylaw.documents.loading import load_fit
from entropylaw.errors import EntropyLawError
from entropylaw.escaping import safe_name
from entropylaw.kinds import SWITCH
from entropylaw.option import options_of, part
from entropylaw.options import FOLDER, FitOptions
from entropylaw.pipeline.steps import Fit

if TYPE_CHECKING:
    from entropylaw.documents.document import Entry, FitDocument
    from entropylaw.pipeline.inputs import Inputs
    from entropylaw.results.fit import Fit as FitResult

MOST_NAMED = 3
"""Stored fits that are named; the others are counted."""


def fit(options: FitCommand) -> None:
    """Run ``entropylaw fit``."""
    format, quiet = output.format_with_details(options), options.quiet
    formats = output.destinations(options.output or ["-"], format)
    inputs = output.gather(options.logs, options, part(options, FitOptions), options.jobs, kinds=())
    step = Fit(inputs.settings)
    results = result_of(step, inputs.entries, options.jobs, quiet=quiet)
    document = step.document(inputs, results)
    output.say_skipped(document.warnings, quiet=quiet)
    stored: dict[str, FitDocument] = {}
    earlier: list[str] = []
    if options.save and not options.output:
        stored, earlier = store(by_argument(step, inputs, results))
    files = {path: dumps(fitted.to_json()) for path, fitted in stored.items()}
    # Where nothing was fitted the errors are the text, but a program that requests JSON gets its document.
    if not document.answered and format in ("text", "details"):
        formats.pop("-", None)
    output.deliver(document, formats, others=files, quiet=quiet)
    if stored:
        for line in filter(None, (stored_line([*stored]), *earlier, next_command(stored))):
            say(line, quiet=quiet)
    output.finish_fits(document.runs)


def by_argument(step: Fit, inputs: Inputs, results: Sequence[Entry[FitResult]]) -> dict[str, FitDocument]:
    """Argument → the document of its runs."""
    documents: dict[str, FitDocument] = {}
    for argument, part_of in inputs.by_argument().items():
        names = {entry.name for entry in part_of.entries}
        documents[argument] = step.document(part_of, [entry for entry in results if entry.run in names])
    return documents


def stored_line(paths: Sequence[str]) -> str:
    """What was stored, in one line."""
    if len(paths) == 1:
        return f"Stored the fit in {paths[0]}, which `entropylaw predict` reads (--no-save stores none)."
    rest = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return f"Stored {len(paths)} fits in {', '.join(paths[:MOST_NAMED])}{rest} (--no-save stores none)."


def next_command(stored: Mapping[str, FitDocument]) -> str:
    """A command to try next: a prediction for one run, the report for several; none of many."""
    if len(stored) > MOST_NAMED:
        return ""
    path, document = next(iter(stored.items()))
    if len(stored) > 1 or not document.fitted:
        return f"next  entropylaw report {shlex.join(stored)} -o {FOLDER}/"
    return f"next  entropylaw predict {shlex.quote(path)}"


def store(fitted: Mapping[str, FitDocument]) -> tuple[dict[str, FitDocument], list[str]]:
    """``reports/NAME.fit.json`` → the document for it, for every log that gave a fit; and what is kept.

    NAME is the run's where there is one run, otherwise the log's.
    """
    output.refuse_link(FOLDER)
    taken: set[str] = set()
    stored: dict[str, FitDocument] = {}
    earlier: list[str] = []
    for log, document in fitted.items():
        if document.fitted:
            names = {entry.run for entry in document.runs}
            name = document.runs[0].run if len(names) == 1 else Path(log).stem or "runs"
            moved = Path(log).is_absolute() or log.startswith("-")
            path, others = free_path(name, document, taken, moved=moved)
            stored[path] = document
            earlier += (f"{other} is kept: it was fitted {how}." for other, how in others.items())
    return stored, earlier


def free_path(
    name: str, document: FitDocument, taken: set[str], *, moved: bool
) -> tuple[str, dict[str, str]]:
    """A path in the reports folder that is new, or holds an earlier fit of the same files and options.

    Logs in different folders may have one name. A log that was ``moved`` (given by an absolute path, which
    documents do not keep, or on standard input) is the same only if its bytes are. Fits of the same files
    with other options are kept: path → the options that differ.
    """

    def identity(combined: FitDocument) -> list[tuple[str, str]]:
        return [(file.path, file.sha256 if moved else "") for file in combined.inputs]

    others: dict[str, str] = {}
    while True:
        path = f"{FOLDER}/{safe_name(name, taken)}.fit.json"
        taken.add(Path(path).name.removesuffix(".fit.json"))
        if not Path(path).exists():
            return path, others
        try:
            earlier = load_fit(path)
        except EntropyLawError:
            continue
        if identity(earlier) == identity(document):
            if earlier.settings == document.settings:
                return path, others
            others[path] = settings_that_differ(earlier.settings, document.settings)


def settings_that_differ(earlier: FitOptions, now: FitOptions) -> str:
    """The options of an earlier fit that differ from those now, as they are typed."""
    words = []
    for name, flag in options_of(FitOptions).items():
        value = getattr(earlier, name)
        if value == getattr(now, name):
            continue
        if value in (None, (), False):
            words.append(f"without {flag.label}")
        elif flag.kind is SWITCH:
            words.append(f"with {flag.label}")
        else:
            values = value if isinstance(value, tuple) else [value]
            words.append(f"with {' '.join(f'{flag.label} {item}' for item in values)}")
    return ", ".join(words)
