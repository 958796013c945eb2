"""``entropylaw predict``: reward at an entropy or a later step, entropy for a reward, saturation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entropylaw import options as opt
from entropylaw.cli.command import takes
from entropylaw.errors import UsageError

_MOST = 10_000
TARGETS = "Targets"


def _target(flags: str, help: str, kind: opt.Kind = opt.NUMBER) -> Any:
    return opt.option(flags, f"{help} Repeatable.", kind, TARGETS, many=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictCommand(opt.LawOptions, opt.Quiet):
    """``entropylaw predict``."""

    source: str | None = opt.option("FIT|LOG", "A fit document or a log.", unset="the newest fit in reports/")
    target_entropy: tuple[str, ...] = _target(
        "--target-entropy H", "Entropy in nats, or a range START:STOP:STEP.", opt.TEXT
    )
    target_reward: tuple[float, ...] = _target(
        "--target-reward R", "Reward: prints the entropies compatible with it."
    )
    saturation: bool = opt.switch(
        "--saturation",
        "Entropy at which 95 % of what the law still promises is spent, the reward there, and when.",
        TARGETS,
    )
    at_step: tuple[float, ...] = _target("--at-step N", "A later step: the reward to expect there.")
    gain: tuple[float, ...] = _target("--gain X", "Probability that an evaluation gains X or more of reward.")
    level: float | None = opt.option(
        "--level", "Coverage of the intervals.", opt.LEVEL, opt.INTERVALS, key="level", unset="the fit's"
    )
    format: str = opt.formats()
    output: str | None = opt.option("-o --output", opt.WRITE, opt.PATH)


@takes(PredictCommand, example="entropylaw predict data/lab/grpo_s0/metrics.parquet --target-entropy 0.05")
def predict(options: PredictCommand) -> None:
    """Predict reward at target entropies, or the entropies for a target reward, with intervals.

    Two intervals at an entropy: for the law's mean, and the wider one for a new evaluation there.
    An entropy outside the fitted range is marked as extrapolated. A later step is forecast by several
    forms, weighed by how each would have done from earlier in the same run. Options that say how to fit
    are for logs, not for what `entropylaw fit` wrote.
    """
    from entropylaw.cli.fit import FOLDER
    from entropylaw.cli.output import deliver, finish_fits, format_of, say
    from entropylaw.cli.reading import begin, newest_fit, read_shown, result_of
    from entropylaw.pipeline.sources import document_at, refuse_flags

    targets, output, quiet = checked_targets(options), options.output, options.quiet
    source = newest_fit(FOLDER) if options.source is None else options.source
    if options.source is None:
        say(f"reading {source}", quiet=quiet)
    format = options.format if output in (None, "-") else format_of(output)
    if document_at(source) is not None:
        from entropylaw.documents.fit import load_fit

        refuse_flags(source, options, opt.LawOptions)
        fits = load_fit(source)
    else:
        begin([source], None)
        from entropylaw.pipeline import documents, steps

        level = opt.FitOptions.level if options.level is None else options.level
        step = steps.fit(opt.part(options, opt.FitOptions, level=level))
        reading = read_shown([source], options, step.columns)
        fits = documents.fits(reading, result_of(step, reading.runs), step.options)
    if fits.fitted:
        from entropylaw.pipeline.prediction import predict_runs

        document = predict_runs(
            fits,
            entropies=targets,
            rewards=options.target_reward,
            saturation=options.saturation,
            at_step=options.at_step,
            gains=options.gain,
            level=options.level,
        )
        deliver(document, {output or "-": format}, quiet=quiet)
    finish_fits(fits)


def checked_targets(options: PredictCommand) -> list[float]:
    """The target entropies; ``nothing-to-predict``, ``bad-target``, ``gain-needs-a-step`` are UsageErrors."""
    targets = parse_entropies(options.target_entropy)
    if not (targets or options.target_reward or options.saturation or options.at_step or options.gain):
        hint = "add --target-entropy H, --target-reward R, --at-step N, --gain X or --saturation"
        raise UsageError("nothing-to-predict", "no target was given", hint)
    if options.gain and not options.at_step:
        message = "--gain asks how probable a gain is, and no step says by when"
        raise UsageError("gain-needs-a-step", message, "add --at-step N")
    return targets


def parse_entropies(texts: Sequence[str]) -> list[float]:
    """Entropies from ``"0.1"`` or ``"0:0.5:0.05"`` (both ends included); every value once, as given."""
    values: list[float] = []
    for text in texts:
        parts = [_number(part, text) for part in text.split(":")]
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
        # start + i·step adds up no error; rounding takes off the last bit's noise (0.15000000000000002).
        values += [float(f"{start + i * step:.12g}") for i in range(count)]
    return list(dict.fromkeys(values))


def _number(part: str, text: str) -> float:
    try:
        if math.isfinite(value := float(part)):
            return value
    except ValueError:
        raise _bad(text, "a number, or START:STOP:STEP") from None
    raise _bad(text, "a finite number")


def _bad(text: str, expected: str) -> UsageError:
    message = f"--target-entropy {text!r}, expected {expected}"
    return UsageError("bad-target", message, "for example --target-entropy 0:0.5:0.05")
