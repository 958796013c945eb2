"""``entropylaw fit``: the law per run, validity first."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from entropylaw.cli import options
from entropylaw.cli.options import Format
from entropylaw.cli.progress import reading_shown
from entropylaw.errors import UsageError

if TYPE_CHECKING:
    from entropylaw.documents.fit import FitDocument, Settings

T = TypeVar("T")

EXAMPLE = "Example:  entropylaw fit data/lab/grpo_s0/metrics.parquet"

FOLDER = "reports"

Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write here; the suffix (.json .csv .md .txt) decides the format. Repeatable. "
        "[default: reports/NAME.fit.json]",
    ),
]


def fit(
    logs: options.Logs,
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    level: options.Level = 0.95,
    interval: options.IntervalOption = options.IntervalChoice.drift,
    eval_size: options.EvalSize = None,
    entropy_sd: options.EntropySd = None,
    seam: options.Seams = None,
    find_seams: options.FindSeams = False,
    shared: options.Shared = None,
    keep_outliers: options.KeepOutliers = False,
    format: options.FormatOption = Format.text,
    output: Outputs = None,
    quiet: options.Quiet = False,
) -> None:
    """Fit R = -a·exp(H) + b to every run: validity, intervals, rivals, what was read and dropped.

    A run that the law does not describe is an answer, not an error: the reasons are printed and the
    exit code is 0. Exit code 4 means that no run at all could be fitted.
    """
    from entropylaw.cli.output import format_of, rendered, say, say_skipped, write_out
    from entropylaw.documents.store import dumps
    from entropylaw.workflow import combine, with_shared

    asked = options.settings(
        level=level,
        interval=interval,
        eval_size=eval_size,
        entropy_sd=entropy_sd,
        entropy=entropy,
        reward=reward,
        step=step,
        run=run,
        pair=pair,
        seams=seam or (),
        find_seams=find_seams,
        shared=shared,
        keep_outliers=keep_outliers,
    )
    kinds = {path: format if path == "-" else format_of(path) for path in output or []}
    refuse_documents(logs)
    fitted = fit_each(logs, asked)
    whole = with_shared(combine(list(fitted.values())))
    say_skipped(whole.warnings, quiet=quiet)
    stored = {} if kinds else store(fitted, quiet=quiet)
    files = {path: rendered(whole, kind) for path, kind in kinds.items() if path != "-"}
    files |= {path: dumps(document.to_json()) for path, document in stored.items()}
    # Where nothing was fitted the errors say it all, but a program that asked for JSON gets its document.
    printed = "-" in kinds or whole.fitted or format is not Format.text
    write_out(files, rendered(whole, format) if printed else None, quiet=quiet)
    for path, document in stored.items():
        say(f"next  {next_command(path, document)}", quiet=quiet)
    finish(whole)


def refuse_documents(logs: Sequence[str]) -> None:
    """Refuse stored documents where logs are needed.

    Raises
    ------
    UsageError
        ``already-a-fit``.
    """
    from entropylaw.cli import sources

    for log in logs:
        if sources.is_document(log):
            raise UsageError(
                "already-a-fit",
                f"{log} is a document of entropylaw, a log was expected",
                "`entropylaw predict` and `entropylaw report` read fit documents",
            )


def fit_each(logs: Sequence[str], asked: Settings) -> dict[str, FitDocument]:
    """Read all logs at once, and make one document per log, behind a progress bar on a terminal."""
    from entropylaw.workflow import fit_reading, named_columns, read_logs

    with reading_shown():
        reading = read_logs(logs, step=asked.step, run=asked.run, columns=named_columns(asked))
        parts = reading.by_argument()
        return {log: fit_reading(parts[log], asked) for log in watched(list(parts))}


def watched(logs: Sequence[T]) -> Iterable[T]:
    """``logs`` behind a progress bar on standard error, where that is a terminal."""
    if len(logs) == 1 or not sys.stderr.isatty():
        return logs
    from rich.console import Console
    from rich.progress import track

    return track(logs, "fitting", console=Console(stderr=True), transient=True)


def next_command(path: str, document: FitDocument) -> str:
    """What to try next: the report where no law holds, a prediction where one does."""
    import shlex

    valid = [law for law in document.fitted if law.validity.ok]
    if not valid:
        return f"entropylaw report {shlex.quote(path)} -o {FOLDER}/"
    target = f"{valid[0].entropy_now / 2:.2g}"
    return f"entropylaw predict {shlex.quote(path)} --target-entropy {target} --saturation"


def store(fitted: Mapping[str, FitDocument], *, quiet: bool) -> dict[str, FitDocument]:
    """``reports/NAME.fit.json`` → the document that goes there, for every log that gave a fit."""
    from entropylaw.cli.output import refuse_link, say

    refuse_link(FOLDER)
    taken: set[str] = set()
    stored: dict[str, FitDocument] = {}
    for log, document in fitted.items():
        if document.fitted:
            name = _document_name(log, document)
            moved = Path(log).is_absolute() or log.startswith("-")
            path, kept = _free_path(name, document, taken, moved=moved)
            if kept:
                say(
                    f"{kept} holds a fit with other options and is kept: this fit goes to {path}", quiet=quiet
                )
            stored[path] = document
    return stored


def finish(document: FitDocument) -> None:
    """Exit 4 (or 3, where nothing could even be read) if no run has a fit; errors go to stderr."""
    from entropylaw.cli.output import show_error
    from entropylaw.errors import FitError, InputError

    refused = [run for run in document.runs if run.refusal is not None]
    for entry in refused:
        refusal = entry.refusal
        assert refusal is not None
        name = f"{entry.run}: " if entry.run not in refusal.message else ""
        show_error(FitError(refusal.slug, name + refusal.message, refusal.hint))
    if document.fitted:
        return
    unread = all(run.entropy_column is None for run in refused)
    raise typer.Exit(InputError.exit_code if unread else FitError.exit_code)


def _document_name(log: str, document: FitDocument) -> str:
    """The run's name where there is one run, otherwise the log's."""
    if len(document.runs) == 1:
        return document.runs[0].run
    return Path(log).stem or "runs"


def _free_path(name: str, document: FitDocument, taken: set[str], *, moved: bool) -> tuple[str, str]:
    """A path in the reports folder that is new, or holds an earlier fit of the same files and options.

    Two logs may have the same name in different folders; the second must not overwrite the first. A
    log that was ``moved`` (given by an absolute path, which documents do not keep, or on standard input) is
    the same only if its bytes are. The second path holds a fit of the same files with other options, where
    there is one.
    """
    from entropylaw.documents.fit import load_fit
    from entropylaw.errors import EntropyLawError
    from entropylaw.report.printable import safe_name

    def identity(whole: FitDocument) -> list[tuple[str, str]]:
        return [(file.path, file.sha256 if moved else "") for file in whole.inputs]

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
