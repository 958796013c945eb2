"""``entropylaw backtest``: fit the first part of finished runs, forecast the rest, and count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from entropylaw.cli import options
from entropylaw.cli.options import Format
from entropylaw.cli.progress import reading_shown
from entropylaw.errors import UsageError

if TYPE_CHECKING:
    from entropylaw.analysis.backtest import Backtest, RunBacktest
    from entropylaw.documents.fit import Settings
    from entropylaw.errors import EntropyLawError

EXAMPLE = "Example:  entropylaw backtest data/lab/grpo_s0/metrics.parquet"

SCHEMA = "entropylaw/backtest/1"

Output = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write here; the suffix (.json .csv .txt) decides the format."
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
    from entropylaw.analysis.backtest import Backtest, skills
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
    kind = format_of(output) if output not in (None, "-") else format
    if kind is Format.markdown:
        raise UsageError(
            "format-unknown", "a backtest has no Markdown form", "use the format text, json or csv"
        )
    failures: list[EntropyLawError] = []
    tested: list[RunBacktest] = []
    with reading_shown():
        for group in grouped(logs):
            tested += _tested(group, asked, failures)
    told = Backtest(level=asked.level, runs=tuple(tested), overall=skills(tested))
    if told.overall or kind is not Format.text:
        content = rendered(told, kind)
        if output in (None, "-"):
            print_result(content)
        else:
            write_file(output, content)
            say(f"wrote {output}", quiet=quiet)
    _finish(told, failures)


def _tested(group: Sequence[str], asked: Settings, failures: list[EntropyLawError]) -> Iterator[RunBacktest]:
    """Every run of a log; what cannot be read or tested goes to ``failures``."""
    from entropylaw.analysis.backtest import RunBacktest, backtest_run
    from entropylaw.errors import EntropyLawError, FitError
    from entropylaw.ingest import read_all, select

    named = [name for name in (asked.entropy, asked.reward) if name]
    reading = read_all(group, step=asked.step, run=asked.run, columns=named)
    for _, error in reading.failures:
        if isinstance(error, UsageError):
            raise error
        failures.append(error)
    for run in reading.runs:
        try:
            series = select(run, entropy=asked.entropy, reward=asked.reward, pair=asked.pair)
            yield backtest_run(series.step, series.entropy, series.reward, level=asked.level, run=series.run)
        except UsageError:
            raise
        except FitError as error:
            failures.append(FitError(error.slug, f"{run.name}: {error.message}", error.hint))
            yield RunBacktest(run=run.name, n=0, block=1, scores=(), refusal=error.message)
        except EntropyLawError as error:
            failures.append(error)


def rendered(told: Backtest, kind: Format) -> str:
    """A backtest in a format."""
    from entropylaw.report import forecasttext

    if kind is Format.json:
        from entropylaw._version import __version__
        from entropylaw.documents.codec import encode
        from entropylaw.documents.store import dumps

        return dumps({"schema": SCHEMA, "version": __version__} | encode(told))
    return forecasttext.backtest_csv(told) if kind is Format.csv else forecasttext.backtest_text(told)


def _finish(told: Backtest, failures: Sequence[EntropyLawError]) -> None:
    """Exit 4 (or 3, where nothing could even be read) if no run was tested; errors go to stderr."""
    from entropylaw.cli import show_error
    from entropylaw.errors import FitError, InputError

    for error in failures:
        show_error(error)
    if not told.overall:
        read = any(isinstance(error, FitError) for error in failures)
        raise typer.Exit(FitError.exit_code if read else InputError.exit_code)
