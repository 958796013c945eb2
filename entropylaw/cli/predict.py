"""``entropylaw predict`` and ``entropylaw backtest``: forecasts, and how good they would have been."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropylaw import options as opt
from entropylaw.cli import output
from entropylaw.cli.command import takes
from entropylaw.errors import UsageError
from entropylaw.kinds import GAIN, LEVEL, NUMBER, PATH, TEXT, Kind
from entropylaw.results.result import replace

_MOST = 10_000
TARGETS = "Targets"


def _target(flags: str, help: str, kind: Kind = NUMBER) -> Any:
    return opt.option(flags, f"{help} Repeatable.", kind, TARGETS, many=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictCommand(opt.LawOptions, opt.Quiet):
    """``entropylaw predict``."""

    source: str | None = opt.option("FIT|LOG", "A fit document or a log.", unset="the newest fit in reports/")
    target_entropy: tuple[str, ...] = _target(
        "--target-entropy H", "Entropy in nats, or a range START:STOP:STEP.", TEXT
    )
    target_reward: tuple[float, ...] = _target(
        "--target-reward R", "Reward: prints the entropies compatible with it."
    )
    saturation: bool = opt.switch(
        "--saturation",
        "When 95 % of exp(H) − 1 is spent in the forecast: the step, and the reward there.",
        TARGETS,
    )
    at_step: tuple[float, ...] = _target("--at-step N", "A later step: the reward to expect there.")
    gain: float | None = opt.option(
        "--gain",
        "A gain of reward: probability that at least this is left, and that it is reached at --at-step.",
        GAIN,
        TARGETS,
        unset="the fit's",
    )
    level: float | None = opt.option(
        "--level", "Coverage of the intervals.", LEVEL, opt.INTERVALS, key="level", unset="the fit's"
    )
    format: str = opt.formats()
    output: str | None = opt.option("-o --output", opt.WRITE, PATH)


@takes(PredictCommand, example="entropylaw predict data/lab/grpo_s0/metrics.parquet --target-entropy 0.05")
def predict(options: PredictCommand) -> None:
    """Predict reward at an entropy or a later step.

    Also the entropies that give a target reward; without a target: now, at H = 0, and half as many steps
    again. Predictions are averaged over functional forms. An entropy has two intervals: for the mean, and
    the wider prediction interval; one outside the fitted range is marked as extrapolated. A later step is
    forecast by a weighted mean of curves: the weights and the interval rest on what other runs did next, and
    on the curves' errors earlier in the same run. Options of the fit, columns included, are for logs, not
    for what `entropylaw fit` wrote.
    """
    from entropylaw.pipeline.sources import document_at, refuse_flags

    target, quiet = options.output, options.quiet
    targets: dict[str, Any] = {
        "entropies": parse_entropies(options.target_entropy),
        "rewards": options.target_reward,
        "saturation": options.saturation,
        "at_step": options.at_step,
        "gain": options.gain,
    }
    source = options.source
    if source is None:
        source = newest_fit(opt.FOLDER)
        output.say(f"reading {source}", quiet=quiet)
    format = options.format if target in (None, "-") else output.format_of(target)
    if document_at(source) is not None:
        from entropylaw.documents.loading import load_fit

        refuse_flags(source, options, opt.LawOptions)
        fits = load_fit(source)
    else:
        unset = [name for name in ("gain", "level") if getattr(options, name) is None]
        fresh = opt.part(options, opt.FitOptions, **{name: getattr(opt.FitOptions, name) for name in unset})
        step, reading = output.read_for("Fit", [source], fresh)
        fits = step.document(reading, output.result_of(step, reading.runs))
    if fits.fitted:
        from entropylaw.pipeline.answers import predict_runs

        document = replace(predict_runs(fits, **targets, level=options.level), config=options.config)
        output.deliver(document, {target or "-": format}, quiet=quiet)
    output.finish_fits(fits.runs)


def newest_fit(folder: str) -> str:
    """The fit document in ``folder`` that was written last."""
    paths = (path for path in Path(folder).glob("*.fit.json") if path.is_file())
    fits = sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path.name))
    if not fits:
        hint = "run `entropylaw fit LOG` first, or name a log or a fit document"
        raise UsageError("no-fit-yet", f"no FIT was given and {folder}/ holds no *.fit.json", hint)
    return str(fits[-1])


def parse_entropies(texts: Sequence[str]) -> list[float]:
    """Entropies from ``"0.1"`` or ``"0:0.5:0.05"`` (both ends included); every value once, as given."""
    values: list[float] = []
    for text in texts:
        try:
            parts = list(map(float, text.split(":")))
        except ValueError:
            raise _bad(text, "a number, or START:STOP:STEP") from None
        if not all(map(math.isfinite, parts)):
            raise _bad(text, "a finite number")
        if len(parts) == 1:
            values += parts
            continue
        if len(parts) != 3:
            raise _bad(text, "START:STOP:STEP")
        start, stop, step = parts
        if step <= 0 or stop < start:
            raise _bad(text, "START ≤ STOP and STEP > 0")
        count = math.floor((stop - start) / step + 1e-9) + 1
        if count > _MOST:
            raise _bad(text, f"at most {_MOST} values")
        # start + i·step adds up no error; rounding removes the last bit's noise (0.15000000000000002).
        values += [float(f"{start + i * step:.12g}") for i in range(count)]
    return list(dict.fromkeys(values))


def _bad(text: str, expected: str) -> UsageError:
    message = f"--target-entropy {text!r}, expected {expected}"
    return UsageError("bad-target", message, "for example --target-entropy 0:0.5:0.05")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BacktestCommand(opt.Parallel, opt.ColumnOptions, opt.Coverage, opt.Logs, opt.Written):
    """``entropylaw backtest``."""


@takes(BacktestCommand, example="entropylaw backtest data/lab/grpo_s0/metrics.parquet")
def backtest(options: BacktestCommand) -> None:
    """Test forecasts on finished runs.

    The first 15 % and the first third are fitted, and the rest is predicted, with observed and with
    forecast entropies; a last test, with observed entropies, fits the later two thirds and predicts the
    first third. The errors are compared with those of the last value, the law and a line by least
    squares, the averaged prediction of a fit, and the ScaleRL
    sigmoid; the intervals with a normal band about the last value. Exit code 4 means that no run could be
    tested.
    """
    from entropylaw.pipeline.sources import refuse_documents

    formats = output.destinations(options.output or ["-"], options.format)
    refuse_documents(options.logs)
    step, reading = output.read_for("Backtest", options.logs, opt.part(options, opt.FitOptions), options.jobs)
    answers = output.answered(step, reading.runs, options.jobs, quiet=options.quiet)
    document = replace(step.document(reading, [entry for entry, _ in answers]), config=options.config)
    output.say_skipped(document.warnings, quiet=options.quiet)
    tested = bool(document.overall)
    output.finish_runs(document, formats, reading, answers, answered=tested, quiet=options.quiet)
