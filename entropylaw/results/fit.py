"""The answer about one run: its state, what comes next, the step to keep, and the law."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from entropylaw.arrays import FloatArray, held, lengths_flaw, on_access
from entropylaw.binding import methods
from entropylaw.errors import FitError
from entropylaw.results import Curve, Estimate
from entropylaw.results.axis import STEP
from entropylaw.results.columns import Refusal
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit, Predictor
from entropylaw.results.result import Finding, Qualified, Result
from entropylaw.results.state import Kept, State
from entropylaw.results.stop import StopLine


@on_access
class Fit(Predictor, Qualified, Result, frozen=True, kw_only=True, eq=False, dict=True):
    """The answer about one run. What needs an entropy is in ``law``, which a run without one lacks.

    Attributes
    ----------
    run, level, max_reward
        Its name, the coverage of every interval, and the largest reward that is possible; None where that
        is not known.
    axis
        ``"step"``, or ``"entry"`` where the log has no steps: all steps are then entries.
    state, no_state
        What its reward has done so far, and why that is not known.
    gain
        The gain of reward that counts; without a state the one that was given, or None.
    forecast, no_forecast
        The reward at a later step, and why there is none.
    stop_line
        What the rest of the run costs, and whether it is over; of a fit to a log.
    law, no_law
        The law, its rivals and their numbers; and why there are none, such as that the log has no entropy.
    drop_per_100_steps
        The recent loss of entropy (:func:`entropylaw.analysis.entropy_ahead.entropy_drop`), of a fit to a log
        with an entropy.
    findings
        Reasons for the law's verdict, cautions, and notes.
    unpaired
        Steps and rewards of evaluations without an entropy: they count for all but the law.
    """

    run: str
    level: float
    max_reward: float | None = None
    axis: str = STEP
    state: State | None
    no_state: str = ""
    gain: float | None
    forecast: Forecast | None = None
    no_forecast: str | None = None
    stop_line: StopLine | None = None
    law: LawFit | None
    no_law: Refusal | None = None
    drop_per_100_steps: Estimate | None = None
    findings: tuple[Finding, ...]
    unpaired: tuple[FloatArray, FloatArray] | None = None

    @property
    def gained(self) -> Estimate | None:
        """The level of the reward now less that at the first evaluation; None without a state."""
        return None if self.state is None else self.state.gained

    @property
    def keep(self) -> Kept | None:
        """The step to keep; None without a state, and of what is no score."""
        return None if self.state is None else self.state.keep

    @property
    def is_broken(self) -> bool:
        """Whether the run lost its reward, or rewards are missing at its end."""
        return self.state is not None and self.state.word == "broken"

    @property
    def evaluations(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Step, entropy and reward of all evaluations; the entropy is nan where none is known."""
        return methods.predicting().evaluations(self)  # type: ignore[no-any-return]

    @property
    def n_rewards(self) -> int:
        """Number of evaluations with a reward, also of those without an entropy."""
        paired = 0 if self.law is None else self.law.n
        unpaired = held(self, "unpaired")
        return paired if unpaired is None else paired + len(unpaired[0])

    @property
    def verdict(self) -> str:
        """The word about the law; ``none`` of a run without one."""
        return "none" if self.law is None else self.law.verdict.value

    def lawful(self) -> LawFit:
        """The law; a FitError ``no-law`` with the reason where there is none."""
        if self.law is not None:
            return self.law
        if self.no_law is None:
            raise FitError("no-law", "the run has no law", "fit a log with an entropy")
        raise FitError("no-law", f"there is no law: {self.no_law.message}", self.no_law.hint)

    def flaw(self) -> str:
        """Neither a law nor a state, or one without a reason; steps and rewards of several lengths."""
        if self.law is None and self.state is None:
            return "a state or a law"
        if (self.law is None) == (self.no_law is None):
            return "a law, or why there is none"
        unpaired = held(self, "unpaired")
        if unpaired is None:
            return "" if self.law is not None else "the evaluations of a run without a law"
        return lengths_flaw(*unpaired)

    @cached_property
    def curve(self) -> Curve:
        """The averaged curve with its bands, and each form's mean, over a grid of entropies; for figures."""
        return methods.predicting().curve(self)  # type: ignore[no-any-return]

    def summary(self) -> str:
        """The answer in a few lines."""
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return methods.rendering().encode(self)  # type: ignore[no-any-return]

    def to_latex(self) -> str:
        """Its numbers as a LaTeX table."""
        return str(methods.rendering().rendered(self, "latex"))


class RunFit(Fit, frozen=True, kw_only=True, eq=False, dict=True):
    """The answer for a run with one of its rewards, the first, and those for all of them.

    ``rewards`` maps a short label (``gsm8k mean@1``, ``mean``) to the answer; with one reward its column.
    """

    rewards: Mapping[str, Fit]
