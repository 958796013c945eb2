"""``entropylaw fit``: the law of every run, validity first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from entropylaw.cli import output
from entropylaw.cli.command import takes
from entropylaw.options import FOLDER, FitOptions, Logs, Parallel, Written, outputs, part

if TYPE_CHECKING:
    from entropylaw.documents.document import FitDocument


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FitCommand(Parallel, FitOptions, Logs, Written):
    """``entropylaw fit``."""

    output: tuple[str, ...] = outputs(unset=f"{FOLDER}/NAME.fit.json")


@takes(FitCommand, example="entropylaw fit data/lab/grpo_s0/metrics.parquet")
def fit(options: FitCommand) -> None:
    """Fit R = -a·exp(H) + b to every run: validity, intervals, rivals, what was read and dropped.

    A run that the law does not describe is a result, not an error: the reasons are printed and the
    exit code is 0. Exit code 4 means that no run at all could be fitted.
    """
    from entropylaw.documents.codec import dumps
    from entropylaw.pipeline.sources import refuse_documents

    format, quiet = options.format, options.quiet
    formats = output.destinations(options.output, format)
    refuse_documents(options.logs)
    step, reading = output.read_for("Fit", options.logs, part(options, FitOptions), options.jobs)
    from entropylaw.pipeline.steps import combine, with_shared

    fits = dict(zip(reading.runs, output.result_of(step, reading.runs, options.jobs), strict=True))
    # A run belongs to the first argument that led to it.
    by_argument = reading.by_argument().items()
    parts = {path: step.document(one, [fits[run] for run in one.runs]) for path, one in by_argument}
    combined = with_shared(combine(list(parts.values())))
    output.say_skipped(combined.warnings, quiet=quiet)
    stored = {} if formats else store(parts, quiet=quiet)
    files = {path: dumps(document.to_json()) for path, document in stored.items()}
    # Where nothing was fitted the errors are the text, but a program that requests JSON gets its document.
    if combined.fitted or format != "text":
        formats["-"] = format
    output.deliver(combined, formats, others=files, quiet=quiet)
    for path, document in stored.items():
        output.say(f"next  {next_command(path, document)}", quiet=quiet)
    output.finish_fits(combined.runs)


def next_command(path: str, document: FitDocument) -> str:
    """A command to try next: the report where no law holds, a prediction where one does."""
    valid = [law for law in document.fitted if law.validity.ok]
    if not valid:
        return f"entropylaw report {shlex.quote(path)} -o {FOLDER}/"
    target = f"{valid[0].entropy_now / 2:.2g}"
    return f"entropylaw predict {shlex.quote(path)} --target-entropy {target} --saturation"


def store(fitted: Mapping[str, FitDocument], *, quiet: bool) -> dict[str, FitDocument]:
    """``reports/NAME.fit.json`` → the document for it, for every log that gave a fit.

    NAME is the run's where there is one run, otherwise the log's.
    """
    output.refuse_link(FOLDER)
    taken: set[str] = set()
    stored: dict[str, FitDocument] = {}
    for log, document in fitted.items():
        if document.fitted:
            name = document.runs[0].run if len(document.runs) == 1 else Path(log).stem or "runs"
            moved = Path(log).is_absolute() or log.startswith("-")
            path, kept = _free_path(name, document, taken, moved=moved)
            if kept:
                message = f"{kept} holds a fit with other options and is kept: this fit goes to {path}"
                output.say(message, quiet=quiet)
            stored[path] = document
    return stored


def _free_path(name: str, document: FitDocument, taken: set[str], *, moved: bool) -> tuple[str, str]:
    """A path in the reports folder that is new, or holds an earlier fit of the same files and options.

    Logs in different folders may have one name. A log that was ``moved`` (given by an absolute path, which
    documents do not keep, or on standard input) is the same only if its bytes are. The second path holds a
    fit of the same files with other options, where there is one.
    """
    from entropylaw.documents.loading import load_fit
    from entropylaw.errors import EntropyLawError
    from entropylaw.escaping import safe_name

    def identity(combined: FitDocument) -> list[tuple[str, str]]:
        return [(file.path, file.sha256 if moved else "") for file in combined.inputs]

    kept = ""
    while True:
        path = f"{FOLDER}/{safe_name(name, taken)}.fit.json"
        taken.add(Path(path).name.removesuffix(".fit.json"))
        if not Path(path).exists():
            return path, kept
        try:
            earlier = load_fit(path)
        except EntropyLawError:
            continue
        if identity(earlier) == identity(document):
            if earlier.settings == document.settings:
                return path, kept
            kept = path
