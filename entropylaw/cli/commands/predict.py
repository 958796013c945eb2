"""The options and the help of ``entropylaw predict``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from entropylaw.kinds import GAIN, LEVEL, NUMBER, PATH, TEXT, Kind
from entropylaw.option import INTERVALS, option
from entropylaw.options import WRITE, Joined, LawOptions, Quiet, formats

TARGETS = "Targets"


def target(flags: str, help: str, kind: Kind = NUMBER) -> Any:
    """A target of predictions."""
    return option(flags, f"{help} Repeatable.", kind, TARGETS, many=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictCommand(Joined, LawOptions, Quiet):
    """Predict reward at an entropy or a later step.

    Also the entropies that give a target reward; without a target: now, at H = 0, and half as many steps
    again. Predictions are averaged over functional forms. An entropy has two intervals: for the mean, and
    the wider prediction interval; one outside the fitted range is marked as extrapolated. A later step is
    forecast from the level and the last change of the reward, by what other runs did next. Options of the fit,
    columns included, are for logs, not for what `entropylaw fit` wrote.
    """

    example: ClassVar[str] = "entropylaw predict demo/grpo_s0.csv --target-entropy 0.05"

    source: str | None = option("FIT|LOG", "A fit document or a log.", unset="the newest fit in reports/")
    target_entropy: tuple[str, ...] = target(
        "--target-entropy H", "Entropy in nats, or a range START:STOP:STEP.", TEXT
    )
    target_reward: tuple[float, ...] = target(
        "--target-reward R", "Reward: prints the entropies compatible with it."
    )
    at_step: tuple[float, ...] = target("--at-step N", "A later step: the reward to expect there.")
    gain: float | None = option(
        "--gain",
        "A gain of reward: probability that it is reached by --at-step, and that it is left on the curve.",
        GAIN,
        TARGETS,
        unset="the fit's",
    )
    level: float | None = option(
        "--level", "Coverage of the intervals.", LEVEL, INTERVALS, key="level", unset="the fit's"
    )
    format: str = formats()
    output: str | None = option("-o --output", WRITE, PATH)
