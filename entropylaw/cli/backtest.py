"""``entropylaw backtest``: fit the first part of finished runs, forecast the rest, and count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from entropylaw.cli import options
from entropylaw.cli.gather import Gathered
from entropylaw.cli.options import Format
from entropylaw.cli.progress import reading_shown
from entropylaw.errors import EntropyLawError, UsageError

if TYPE_CHECKING:
    from entropylaw.documents.backtest import BacktestDocument
    from entropylaw.documents.fit import Settings
    from entropylaw.ingest.run import Run
    from entropylaw.results.backtest import RunBacktest

EXAMPLE = "Example:  entropylaw backtest data/lab/grpo_s0/metrics.parquet"


def backtest(
    logs: options.Logs,
    entropy: options.Entropy = None,
    reward: options.Reward = None,
    step: options.Step = None,
    run: options.RunColumn = None,
    pair: options.PairOption = None,
    level: options.Level = 0.95,
    format: options.FormatOption = Format.text,
    output: options.Outputs = None,
    quiet: options.Quiet = False,
) -> None:
    """Would a forecast have been right? Fit the first 15 % and the first third, predict the rest.

    At the observed entropies and blind, and in reverse; errors beside those of the last value, the law and
    a line by least squares, and the ScaleRL sigmoid; how much of the rest the bands covered. Exit code 4
    means that no run at all could be tested.
    """
    from entropylaw.cli.fit import refuse_documents
    from entropylaw.cli.output import deliver, destinations, rendered, say_skipped

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
    wanted = destinations(output, format)
    refuse_documents(logs)
    work = _Work()
    with reading_shown():
        work.test(logs, asked)
    told = work.document(asked.level)
    say_skipped(told.warnings, quiet=quiet)
    deliver(wanted, partial(rendered, told), answered=bool(told.overall), quiet=quiet)
    work.finish(answered=bool(told.overall))


@dataclass(slots=True)
class _Work(Gathered):
    """Every run with its file, beside what any command gathers."""

    tested: list[RunBacktest] = field(default_factory=list)

    def test(self, logs: Sequence[str], asked: Settings) -> None:
        """Backtest every run; what cannot be read or tested stands beside the others."""
        from entropylaw.documents.backtest import refused_backtest
        from entropylaw.paths import shown_path

        named = [name for name in (asked.entropy, asked.reward) if name]
        reading = self.read(logs, step=asked.step, run=asked.run, columns=named)
        self.tested += [self._tested(run, asked) for run in reading.runs]
        self.tested += [
            refused_backtest(failure.run or shown_path(failure.path), failure.path, failure.error)
            for failure in reading.failures
        ]

    def _tested(self, run: Run, asked: Settings) -> RunBacktest:
        """One run, whatever happens; only a wrong setting, wrong for all runs, is raised."""
        from entropylaw.analysis.backtest import backtest_run
        from entropylaw.documents.backtest import refused_backtest
        from entropylaw.ingest import select

        try:
            series = select(run, entropy=asked.entropy, reward=asked.reward, pair=asked.pair)
            return backtest_run(series.step, series.entropy, series.reward, level=asked.level, run=series.run)
        except UsageError:
            raise
        except EntropyLawError as error:
            self.refuse(run.name, error)
            return refused_backtest(run.name, run.source.path, error)

    def document(self, level: float) -> BacktestDocument:
        """All of it."""
        from entropylaw.analysis.backtest import skills
        from entropylaw.documents.backtest import BacktestDocument
        from entropylaw.documents.codec import as_stored

        runs = tuple(self.tested)
        told = BacktestDocument(
            level=level,
            runs=runs,
            overall=skills(runs),
            inputs=tuple(self.inputs.values()),
            warnings=tuple(self.warnings),
        )
        return as_stored(told)
