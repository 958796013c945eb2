"""The options and the help of ``entropylaw fit``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.kinds import SWITCH
from entropylaw.option import OUTPUT, option, switch
from entropylaw.options import FOLDER, FitOptions, Logs, Parallel, Written


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FitCommand(Parallel, FitOptions, Logs, Written):
    """Fit the entropy law to every run.

    The law is R = -a·exp(H) + b, with R the reward and H the entropy. The verdict comes first, then the
    intervals, the other functional forms, and what was read and dropped. A run that the law does not
    describe is a result, not an error: the reasons are printed and the exit code is 0. Exit code 4 means
    that no run could be fitted.
    """

    example: ClassVar[str] = "entropylaw fit demo/grpo_s0.csv"

    save: bool = option(
        "--save/--no-save",
        f"Store the fit of each log in {FOLDER}/NAME.fit.json, which `entropylaw predict` reads; with -o it "
        "is written there instead.",
        *(SWITCH, OUTPUT),
        key="save",
        default=True,
    )
    details: bool = switch("--details", "Every number, reason and caution of each run, as text.", OUTPUT)
    to_wandb: str | None = option(
        "--to-wandb RUN",
        "Write verdict, ceiling and what is left into the summary of a run at W&B.",
        unset="none",
    )
