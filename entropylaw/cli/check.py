"""``entropylaw check``: gates on stored fits or logs, for a pipeline. Stored fits need no numpy."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from entropylaw.cli import options
from entropylaw.errors import FitError, InputError, OutputError, UsageError
from entropylaw.inputs import check_targets

if TYPE_CHECKING:
    from entropylaw.documents.check import CheckDocument, CheckedFile
    from entropylaw.documents.finding import Stored
    from entropylaw.documents.fit import Settings
    from entropylaw.gates.decide import Baselines, Rules
    from entropylaw.gates.expression import Gate
    from entropylaw.gates.quantities import Part
    from entropylaw.gates.subjects import Subject

EXAMPLE = "Example:  entropylaw check data/lab/clean_start_s0/metrics.parquet --fail-if 'ceiling<0.4'"

TRIPPED = 5
"""Exit code where a gate tripped, or could not be told."""

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file of a step's summary."""

FITTING = (
    "entropy",
    "reward",
    "step",
    "run",
    "pair",
    "level",
    "interval",
    "eval_size",
    "entropy_sd",
    "keep_outliers",
)
"""Options that say how a log is fitted, and have no say in a stored fit."""


class CheckFormat(StrEnum):
    """How a check is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"
    junit = "junit"


SUFFIXES = {
    ".json": CheckFormat.json,
    ".md": CheckFormat.markdown,
    ".markdown": CheckFormat.markdown,
    ".xml": CheckFormat.junit,
    ".txt": CheckFormat.text,
}

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="FITS|LOGS...",
        help="Documents that `fit`, `report`, `phases` or `predict` wrote, a folder of fits, or logs, which "
        "are fitted.",
        show_default=False,
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="EXPR",
        help="What must not be: QUANTITY OP NUMBER, as ceiling<0.62 or used>90%; phases=='overlapping'; "
        "verdict=='law fails'; regression(BASELINE.fit.json)>1%; invalid; refused. Repeatable.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Fail also where the interval does not exclude the expression.")
]
Point = Annotated[bool, typer.Option("--point", help="Compare the estimate, not its interval.")]
EvenIfInvalid = Annotated[
    bool,
    typer.Option("--even-if-invalid", help="Compare the numbers of a law that does not hold, too."),
]
FormatOption = Annotated[CheckFormat, typer.Option("--format", help="Format on standard output.")]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write here, too; the suffix (.json .md .xml .txt) decides the format; .xml is JUnit's. "
        "Repeatable.",
    ),
]
Summary = Annotated[
    bool,
    typer.Option("--github-summary", help=f"Append Markdown to the file that {SUMMARY} names."),
]


def check(
    ctx: typer.Context,
    sources: Sources,
    fail_if: FailIf = None,
    strict: Strict = False,
    point: Point = False,
    even_if_invalid: EvenIfInvalid = False,
    format: FormatOption = CheckFormat.text,
    output: Outputs = None,
    github_summary: Summary = False,
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    level: options.Level = 0.95,
    interval: options.IntervalOption = options.IntervalChoice.drift,
    eval_size: options.EvalSize = None,
    entropy_sd: options.EntropySd = None,
    keep_outliers: options.KeepOutliers = False,
    quiet: options.Quiet = False,
) -> None:
    """Fail a pipeline where a run is what it must not be: exit code 5.

    The interval decides, not the point. A gate trips where the whole interval satisfies EXPR, so that the
    data establish it; where a part of it does, "not excluded" is printed, and only --strict fails. What
    is not known fails, with the reason: a run that was refused, an interval that is missing, and every
    number of a law that does not hold for its run. Exit code 4 or 3 means that no run at all was fitted.
    """
    from entropylaw.cli.output import say_skipped
    from entropylaw.gates.decide import Rules
    from entropylaw.gates.documents import baselines
    from entropylaw.gates.expression import parse

    gates = [parse(text) for text in dict.fromkeys(fail_if or [])]
    if not gates:
        raise UsageError("no-gate", "no gate was given", "add --fail-if EXPR, or gates in entropylaw.toml")
    wanted = {path: format if path == "-" else format_of(path) for path in output or []}
    summary = summary_file() if github_summary else None
    known = baselines(gates)

    def asked() -> Settings:
        return options.settings(
            level=level,
            interval=interval,
            eval_size=eval_size,
            entropy_sd=entropy_sd,
            entropy=entropy,
            reward=reward,
            step=step,
            run=run,
            pair=pair,
            keep_outliers=keep_outliers,
        )

    found = _Found(parts=frozenset(gate.quantity.part for gate in gates))
    logs = found.read_documents(sources)
    if found.inputs:
        _refuse_fitting_options(ctx)
    if logs:
        found.fit_logs(logs, asked())
    rules = Rules(strict=strict, point=point, any_law=even_if_invalid)
    told = _decided(found, gates, known, rules)
    # A gate never skips a file in silence, not even with --quiet.
    say_skipped(told.warnings, quiet=False)
    unwritten = _write(told, {"-": format} | wanted, summary, quiet=quiet)
    found.finish(told)
    if unwritten:
        raise typer.Exit(OutputError.exit_code)


@dataclass(slots=True, kw_only=True)
class _Found:
    """The runs of all sources, with the files behind them."""

    parts: frozenset[Part]
    subjects: list[Subject] = field(default_factory=list)
    inputs: list[CheckedFile] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def read_documents(self, sources: Sequence[str]) -> list[str]:
        """Read the stored documents, those in folders too; returns what else there is, which are logs."""
        from entropylaw.documents.finding import FITS, documents_in, find_document
        from entropylaw.gates.documents import missing_pages
        from entropylaw.gates.subjects import READ
        from entropylaw.paths import is_folder, shown_path

        logs = []
        for source in dict.fromkeys(sources):
            document = find_document(source)
            if document is not None:
                self._take(document)
            elif source != "-" and is_folder(source):
                inside, others = documents_in(source)
                for one in inside:
                    self.documents.add(shown_path(one.path))
                    if one.kind == "index":
                        self.subjects += missing_pages(one)
                    # What is no answer about a run, such as the index of a report, may lie in a folder.
                    if one.kind in ("", *READ) or FITS in one.path.casefold():
                        self.documents.add(source)
                        self._take(one)
                    else:
                        self.warnings.append(
                            f"{shown_path(one.path)} was not read: no gate asks for such a document"
                        )
                logs += [source] if others or source not in self.documents else []
            else:
                logs.append(source)
        return logs

    def _take(self, document: Stored) -> None:
        from entropylaw.gates.documents import checked_file, subjects_in

        file = checked_file(document)
        if file not in self.inputs:
            self.inputs.append(file)
            self.subjects += subjects_in(document)

    def fit_logs(self, logs: Sequence[str], asked: Settings) -> None:
        """Fit the logs, and whatever else the gates ask of them; documents in folders were read before."""
        from entropylaw.cli.progress import reading_shown
        from entropylaw.gates.logs import logged

        with reading_shown():
            found = logged(logs, asked, self.parts, documents=self.documents)
        self.subjects += found.subjects
        self.inputs += found.inputs
        self.warnings += found.warnings

    def finish(self, told: CheckDocument) -> None:
        """Say what was refused; exit 4 or 3 where everything was, 5 where a gate failed."""
        from entropylaw.cli.output import show_error

        refused = [subject for subject in self.subjects if subject.refusal is not None]
        for subject in refused:
            refusal = subject.refusal
            assert refusal is not None
            name = f"{subject.run}: " if subject.run not in refusal.message else ""
            show_error(FitError(refusal.slug, name + refusal.message, refusal.hint))
        if len(refused) == len(self.subjects):
            read = any(subject.read for subject in refused)
            raise typer.Exit(FitError.exit_code if read else InputError.exit_code)
        if told.failed:
            raise typer.Exit(TRIPPED)


def summary_file() -> str:
    """The file of the step's summary.

    Raises
    ------
    UsageError
        ``no-step-summary``: not on GitHub.
    """
    path = os.environ.get(SUMMARY)
    if not path:
        raise UsageError(
            "no-step-summary",
            f"--github-summary was given, and {SUMMARY} is not set",
            "leave it out outside GitHub Actions, or write -o summary.md",
        )
    return path


def format_of(path: str) -> CheckFormat:
    """The format that a file's suffix stands for."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            "unknown-suffix",
            f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(SUFFIXES)}",
            "the suffix decides the format; rename the file, or use --format",
        )
    return SUFFIXES[suffix]


def _decided(found: _Found, gates: Sequence[Gate], known: Baselines, rules: Rules) -> CheckDocument:
    """Every gate on every run, as a document."""
    from entropylaw.documents.check import CheckDocument
    from entropylaw.gates.decide import decide
    from entropylaw.gates.subjects import joined

    found.subjects = joined(found.subjects)
    cases = decide(gates, found.subjects, known, rules)
    return CheckDocument(
        inputs=tuple(dict.fromkeys(found.inputs)),
        gates=tuple(gate.shown for gate in gates),
        strict=rules.strict,
        point=rules.point,
        even_if_invalid=rules.any_law,
        runs=len(found.subjects),
        failed=any(case.failed for case in cases),
        cases=cases,
        warnings=tuple(found.warnings),
    )


def _write(
    told: CheckDocument, wanted: Mapping[str, CheckFormat], summary: str | None, *, quiet: bool
) -> bool:
    """Write a check wherever it is wanted, to standard output last; returns whether a file is missing.

    The exit code is the gate's, whatever happens to standard output.

    Raises
    ------
    UsageError
        ``output-is-input``.
    """
    from entropylaw.cli.output import rendered, show_error, write_out

    files = {path: rendered(told, kind) for path, kind in wanted.items() if path != "-"}
    check_targets([*files, *([summary] if summary is not None else [])])
    writes: list[Callable[[], None]] = [partial(write_out, files, None, quiet=quiet)]
    if summary is not None:
        writes.append(partial(_append, summary, rendered(told, CheckFormat.markdown), quiet=quiet))
    unwritten = False
    for write in writes:
        try:
            write()
        except OutputError as error:
            unwritten = True
            show_error(error)
    try:
        write_out({}, rendered(told, wanted["-"]), quiet=quiet)
    except OutputError as error:
        show_error(error)
    return unwritten


def _append(path: str, text: str, *, quiet: bool) -> None:
    """Add to a file that other steps write to, too."""
    from entropylaw.cli.output import say

    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(
            "cannot-write",
            f"{path}, which {SUMMARY} names, could not be written ({error.strerror or error})",
            "leave out --github-summary, or write -o summary.md",
        ) from error
    say(f"appended to {SUMMARY}", quiet=quiet)


def _refuse_fitting_options(ctx: typer.Context) -> None:
    """A stored fit is as it is: options that say how to fit would have no effect on it."""
    from entropylaw.cli.config import flags_given

    given = flags_given(ctx, FITTING)
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(
            "fit-is-fixed",
            f"a stored document was given together with {flags}, which says how to fit",
            "give the log itself to fit it anew",
        )
