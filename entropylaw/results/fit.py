"""The answer for one run: its verdict, and its numbers averaged over the functional forms."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from entropylaw.arrays import FloatArray, held, on_access
from entropylaw.binding import methods
from entropylaw.results import Curve, Estimate, FormAnswer, LawTests, Verdict, Why
from entropylaw.results.forecast import BestSoFar, Forecast
from entropylaw.results.law import LawFit, Predictor
from entropylaw.results.result import JUMP, LOST, Finding, Qualified, Result, has
from entropylaw.results.stop import StopLine


class LevelShift(Struct, frozen=True, kw_only=True):
    """A level shift of one ``series``, ``"reward"`` or ``"entropy"``.

    ``step`` and ``after`` are the first evaluation after the shift and the last one before it; ``jump`` is
    its size in reward units or nats, with an interval given the step; ``p_value`` the probability of one this
    clear anywhere in a run that only drifts (Bonferroni), or at that step where it was given.
    """

    series: str
    step: float
    after: float
    jump: Estimate
    p_value: float


@on_access
class Fit(Predictor, Qualified, Result, frozen=True, kw_only=True, eq=False, dict=True):
    """The answer for one run.

    Ceiling, headroom, reward now, curve and predictions are averaged over the functional forms of reward
    against entropy, each without a term in the step and with one, by their posterior probabilities.
    With a term they are those of the present stage: what more entropy would buy from here.

    Attributes
    ----------
    run
        Name of the run.
    verdict, why
        Whether the law holds for this run, and why it fails where it does.
    findings
        Reasons for the verdict, cautions, and notes.
    tests, p_law
        The evidence from which the verdict follows, and the probability of the law among the curves of its
        odds, each as probable before the data. The law holds in no run below .30, and fails below .03, where
        it is not the law of an earlier entropy (``docs/method/verdict.md``).
    ceiling, headroom, reward_now
        Reward at H = 0, how far that is above the reward now (0 where it is not), and the run's reward at the
        last evaluation without the evaluation's sampling noise.
    gain, p_headroom
        A gain of reward, and the probability that the headroom is at least that. Of a run that lost its
        reward it is None, and ceiling and headroom are unknown: its curve says what the reward was.
    p_term, p_first, p_no_curve
        Probability that reward needs a term in the step beside the entropy, that the first evaluations are
        off the curve of the others, and that no curve of the list fits: that of a free curve.
    forms, skipped
        The functional forms, most probable first; and form → why it cannot be fitted to the run.
    level_shifts, drop_per_100_steps
        Level shifts that were found, or the sizes of the given ones; and the recent loss of entropy
        (:func:`entropylaw.analysis.entropy_ahead.entropy_drop`). Both are of a fit to a log, otherwise empty.
    forecast, no_forecast
        The reward at a later step, and why there is none.
    stop_line
        What the rest of the run costs, and whether it is over; of a fit to a log.
    unpaired
        Steps and rewards of evaluations without an entropy: they count for the forecast, and not for the law.
    law
        The law's own numbers, and the evaluations.
    """

    run: str
    verdict: Verdict
    why: Why | None
    findings: tuple[Finding, ...]
    tests: LawTests
    p_law: float
    ceiling: Estimate
    headroom: Estimate
    reward_now: Estimate
    gain: float
    p_headroom: float | None
    forms: tuple[FormAnswer, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    p_term: float
    p_first: float
    p_no_curve: float
    level_shifts: tuple[LevelShift, ...] = ()
    drop_per_100_steps: Estimate | None = None
    forecast: Forecast | None = None
    no_forecast: str | None = None
    stop_line: StopLine | None = None
    unpaired: tuple[FloatArray, FloatArray] | None = None
    law: LawFit

    @property
    def a(self) -> Estimate:
        """Coefficient of the law: only the law has one."""
        return self.law.a

    @property
    def b(self) -> Estimate:
        """Coefficient of the law: only the law has one."""
        return self.law.b

    @property
    def params(self) -> dict[str, Estimate]:
        """The averaged numbers and the law's coefficients, by name."""
        names = ("ceiling", "headroom", "reward_now", "a", "b")
        return {name: getattr(self, name) for name in names}

    @property
    def evaluations(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Step, entropy and reward of all evaluations; the entropy is nan where none is known."""
        return methods.predicting().evaluations(self)  # type: ignore[no-any-return]

    @property
    def max_reward(self) -> float | None:
        """The largest reward that is possible, 1 for a rate; None where it is not known."""
        return self.law.max_reward

    @property
    def n(self) -> int:
        """Number of evaluations that were fitted."""
        return self.law.n

    @property
    def n_rewards(self) -> int:
        """Number of evaluations with a reward, also of those without an entropy: they are in the forecast."""
        unpaired = held(self, "unpaired")
        return self.law.n if unpaired is None else self.law.n + len(unpaired[0])

    @property
    def effective_n(self) -> float:
        """Effective sample size of the evaluations that were fitted."""
        return self.law.residuals.effective_n

    @property
    def level(self) -> float:
        """Level of every interval."""
        return self.law.level

    @property
    def lowest_entropy(self) -> float:
        """Lowest smoothed entropy, nats: the ceiling is an extrapolation from there to 0."""
        return float(min(self.law.smoothed_entropy))

    @property
    def present_stage(self) -> bool:
        """Whether the numbers are those of the present stage: a term in the step is probably needed."""
        return self.p_term >= 0.5

    @property
    def lost(self) -> bool:
        """Whether the run lost more than half of its reward."""
        return has(self.findings, LOST)

    @property
    def no_ceiling(self) -> str:
        """Why its ceiling is not to be used, in two words; empty where it is.

        ``lost reward``, ``no relation`` of reward with entropy, or ``cannot tell``, where the interval is
        wider than the range of the reward, or the ceiling of rates is above 1.
        """
        if self.lost:
            return "lost reward"
        if self.why is Why.no_relation or has(self.findings, JUMP):
            return Why.no_relation.value
        impossible = any(has(self.findings, code) for code in ("ceiling-impossible", "ceiling-above-one"))
        is_wide = impossible or (self.ceiling.width or 0.0) > max(self.law.reward) - min(self.law.reward)
        return "cannot tell" if is_wide else ""

    @property
    def now(self) -> float | None:
        """The level of the reward at the last step; where a run is too short for one, the curve's."""
        if self.forecast is not None:
            return self.forecast.now
        if self.stop_line is not None and self.stop_line.now is not None:
            return self.stop_line.now
        return self.reward_now.value

    @property
    def best_so_far(self) -> BestSoFar | None:
        """The step with the highest level, that of the stop line where the planned end is reached.

        None of what is no score.
        """
        if self.forecast is not None:
            return self.forecast.best_so_far
        line = self.stop_line
        if line is None or line.best_step is None or line.best is None or line.p_better is None:
            return None
        return BestSoFar(step=line.best_step, level=line.best, p_better=line.p_better)

    @property
    def best(self) -> FormAnswer:
        """The most probable form."""
        return self.forms[0]

    def flaw(self) -> str:
        """A reason without a failure or the other way round, no form, or a ceiling of a lost reward."""
        if (self.why is None) == (self.verdict is Verdict.fails):
            return "a reason why the law fails, where it fails only"
        if not any(form.form == "law" for form in self.forms):
            return "the law among the forms"
        numbers = (self.p_headroom, self.ceiling.value, self.headroom.value)
        if self.lost and numbers != (None, None, None):
            return "no ceiling of a run that lost its reward"
        return ""

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
