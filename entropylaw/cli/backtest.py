"""``entropylaw backtest``: fit the first part of finished runs, forecast the rest, and count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from entropylaw.cli import options
from entropylaw.cli.options import Format
from entropylaw.cli.progress import reading_shown
from entropylaw.errors import UsageError

if TYPE_CHECKING:
    from entropylaw.analysis.backtest import RunBacktest
    from entropylaw.documents.backtest import BacktestDocument
    from entropylaw.documents.fit import InputFile, Settings
    from entropylaw.errors import EntropyLawError
    from entropylaw.ingest.load import Reading

EXAMPLE = "Example:  entropylaw backtest data/lab/grpo_s0/metrics.parquet"

Output = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write here; the suffix (.json .csv .md .txt) decides the format. Repeatable.",
    ),
]


def backtest(
    logs: options.Logs,
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    level: options.Level = 0.95,
    format: options.FormatOption = Format.text,
    output: Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Would a forecast have been right? Fit the first 15 % and the first third, predict the rest.

    At the observed entropies and blind, and in reverse; errors beside those of the last value, the law and
    a line by least squares, and the ScaleRL sigmoid; how much of the rest the bands covered. Exit code 4
    means that no run at all could be tested.
    """
    from entropylaw.cli.fit import grouped
    from entropylaw.cli.output import format_of, print_result, say, write_file

    asked = options.settings(
        level=level,
        interval=options.IntervalChoice.drift,
        eval_size=None,
        entropy=entropy,
        reward=reward,
        step=step,
        run=run,
        pair=pair,
    )
    # Every suffix is looked at before hours of work end in one that is unknown.
    asked_for = [(path, format if path == "-" else format_of(path)) for path in output or ["-"]]
    work = _Work()
    with reading_shown():
        for group in grouped(logs):
            work.test(group, asked)
    told = work.document(asked.level)
    if told.warnings:
        passed = f"{len(told.warnings)} file{'s' if len(told.warnings) > 1 else ''}"
        say(f"passed over {passed}: no log, or one that another file holds; the JSON says why", quiet=quiet)
    for path, kind in asked_for:
        if not told.overall and kind is Format.text:
            continue
        content = rendered(told, kind)
        if path == "-":
            print_result(content)
        else:
            write_file(path, content)
            say(f"wrote {path}", quiet=quiet)
    _finish(told, work.failures)


@dataclass(slots=True)
class _Work:
    """What is gathered log by log: every run with its file, the files, the errors."""

    tested: list[tuple[RunBacktest, str]] = field(default_factory=list)
    inputs: dict[str, InputFile] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    failures: list[EntropyLawError] = field(default_factory=list)

    def test(self, group: Sequence[str], asked: Settings) -> None:
        """Backtest every run of a log; what cannot be read or tested stands beside the others."""
        from entropylaw.documents.backtest import refused_backtest
        from entropylaw.documents.fit import shown_path
        from entropylaw.ingest import read_all

        named = [name for name in (asked.entropy, asked.reward) if name]
        reading = read_all(group, step=asked.step, run=asked.run, columns=named)
        for _, error in reading.failures:
            if isinstance(error, UsageError):
                raise error
        self.tested += self._tested(reading, asked)
        for path, error in reading.failures:
            self.failures.append(error)
            self.tested.append((refused_backtest(shown_path(path), path, error), path))
        self.warnings += [f"{shown_path(path)} was not read: {why}" for path, why in reading.ignored]
        self._note_inputs(reading)

    def _tested(self, reading: Reading, asked: Settings) -> Iterator[tuple[RunBacktest, str]]:
        from entropylaw.analysis.backtest import backtest_run
        from entropylaw.documents.backtest import refused_backtest
        from entropylaw.errors import EntropyLawError, FitError
        from entropylaw.ingest import select

        for run in reading.runs:
            try:
                series = select(run, entropy=asked.entropy, reward=asked.reward, pair=asked.pair)
                told = backtest_run(
                    series.step, series.entropy, series.reward, level=asked.level, run=series.run
                )
            except UsageError:
                raise
            except EntropyLawError as error:
                named = isinstance(error, FitError)
                self.failures.append(
                    FitError(error.slug, f"{run.name}: {error.message}", error.hint) if named else error
                )
                told = refused_backtest(run.name, run.source.path, error)
            yield told, run.source.path

    def _note_inputs(self, reading: Reading) -> None:
        from entropylaw.documents.fit import InputFile, shown_path

        for run in reading.runs:
            for file in run.source.parts or (run.source,):
                self.inputs[file.path] = InputFile(
                    path=shown_path(file.path), sha256=file.sha256, format=file.format, rows=file.rows
                )

    def document(self, level: float) -> BacktestDocument:
        """All of it, with runs of one name in different logs told apart."""
        from entropylaw.analysis.backtest import skills
        from entropylaw.documents.backtest import BacktestDocument
        from entropylaw.ingest.naming import told_apart

        names = told_apart([told.run for told, _ in self.tested], [path for _, path in self.tested])
        runs = tuple(replace(told, run=name) for (told, _), name in zip(self.tested, names, strict=True))
        return BacktestDocument(
            level=level,
            runs=runs,
            overall=skills(runs),
            inputs=tuple(self.inputs.values()),
            warnings=tuple(self.warnings),
        )


def rendered(told: BacktestDocument, kind: Format) -> str:
    """A backtest in a format."""
    if kind is Format.json:
        from entropylaw.documents.store import dumps

        return dumps(told.to_json())
    if kind is Format.markdown:
        from entropylaw.report import backtestmarkdown

        return backtestmarkdown.render(told)
    from entropylaw.report import forecasttext

    return forecasttext.backtest_csv(told) if kind is Format.csv else forecasttext.backtest_text(told)


def _finish(told: BacktestDocument, failures: Sequence[EntropyLawError]) -> None:
    """Exit 4 (or 3, where nothing could even be read) if no run was tested; errors go to stderr."""
    from entropylaw.cli import show_error
    from entropylaw.errors import FitError, InputError

    for error in failures:
        show_error(error)
    if not told.overall:
        read = any(isinstance(error, FitError) for error in failures)
        raise typer.Exit(FitError.exit_code if read else InputError.exit_code)
