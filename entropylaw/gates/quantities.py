"""Lists the quantities that a gate compares, and how each is read from documents.

A quantity is one entry of :data:`QUANTITIES`: expressions on the command line and in the settings file, every
format of a check and the table of ``docs/ci.md`` are made from it. Nothing here imports numpy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_args

from entropylaw.escaping import listing
from entropylaw.gates.quantity import (
    CHANGE,
    CORRELATION,
    COUNT,
    EFFECTIVE,
    ENTROPY,
    EVALUATIONS,
    GAIN,
    JUDGED,
    LASTING,
    LEVEL,
    LEVELS_APART,
    MEAN_COUNT,
    NATS,
    NONE,
    ODDS,
    PROBABILITY,
    R_SQUARED,
    REWARD,
    SHARE,
    SPREAD,
    STEPS,
    Accessor,
    Quantity,
    ResultKind,
    Unknown,
    Value,
)
from entropylaw.results import VERDICTS, Estimate, Verdict, Why
from entropylaw.results.result import EARLY
from entropylaw.results.state import WORDS
from entropylaw.results.stop import Says

if TYPE_CHECKING:
    from entropylaw.documents.samples import SamplesDocument
    from entropylaw.results.fit import Fit
    from entropylaw.results.forecast import Forecast
    from entropylaw.results.phases import CurvePhases, PhaseFit
    from entropylaw.results.state import State


_BROKEN = "the run is broken"


def _ahead(read: Callable[[Forecast], Value]) -> Accessor:
    """A value of the forecast of a fit or a prediction, or the reason why it has none.

    That of a broken run is not known: it is one of runs that were not lost.
    """

    def accessor(judged: Any) -> Value:
        if judged.is_broken:
            return Unknown(reason=_BROKEN)
        if judged.forecast is None:
            return Unknown(reason=judged.no_forecast or "no forecast was requested")
        return read(judged.forecast)

    return accessor


def _gain_by_step(judged: Any) -> str:
    """The gain that a probability of the forecast is of, and by which step."""
    return f"{judged.forecast.gain:.3g} or more by step {judged.forecast.step[-1]:g}"


def _phases(read: Callable[[PhaseFit], Value | None], missing: str) -> Accessor:
    """A value of the phases; where there is none, the reason from the phases' notes, or else ``missing``."""

    def accessor(phases: PhaseFit) -> Value:
        value = read(phases)
        if value is None:
            return Unknown(reason="; ".join(phases.notes) or missing)
        return value

    return accessor


def _curve(name: str, field: str) -> Accessor:
    """A value of a curve, which it has if it rises, or has settled."""

    def read(phases: PhaseFit) -> Value | None:
        curve: CurvePhases | None = getattr(phases, name)
        value: Value | None = getattr(curve, field, None)
        if curve is None or value is not None:
            return value
        return Unknown(reason=f"{name}: {curve.verdict} (p = {curve.p_rise:.2g})")

    return _phases(read, f"there is no curve of {name}")


def _exploded(phases: PhaseFit) -> Value:
    """Whether the entropy exploded, as 1 or 0."""
    curve = phases.levels
    if curve.exploded is None:
        return Unknown(reason=f"whether the entropy rises is not known (p = {curve.p_rise:.2g})")
    return float(curve.exploded)


def _eruptions(phases: PhaseFit) -> Value:
    """The number of sharp rises of the entropy."""
    curve = phases.levels
    if curve.eruptions is None:
        return Unknown(reason=f"eruptions are not looked for in {curve.n} values")
    return float(len(curve.eruptions))


def _stop_line(judged: Any) -> Value:
    """What the stop line says; only the fit of a log has one, and without a forecast it is not known."""
    line = judged.stop_line
    if line is None:
        return Unknown(reason="only the fit of a log has a stop line")
    if line.says == "not known" and line.expected is None:
        return Unknown(reason=f"no forecast: {line.why_none}")
    return str(line.says)


def _state(read: Accessor) -> Accessor:
    """A value of the state of a run, or the reason why it has none."""

    def accessor(judged: Any) -> Value | None:
        if judged.state is None:
            return Unknown(reason=f"the state of the run is not known: {judged.no_state}")
        return read(judged.state)

    return accessor


def _at_end(read: Accessor) -> Accessor:
    """A level of the reward at the end, which is not known where the log goes on without rewards."""

    def accessor(state: State) -> Value | None:
        if state.has_ended:
            return Unknown(reason=f"there is no usable reward after step {state.since:g}")
        return read(state)

    return _state(accessor)


def _kept(field: str) -> Accessor:
    """A value of the step to keep."""

    def read(state: State) -> Value:
        if state.keep is None:
            return Unknown(reason="the reward is no score, and no step of this run is to be kept")
        return float(getattr(state.keep, field))

    return _state(read)


def _beside_law(path: str) -> Accessor:
    """A value that a run with a law has, also a broken one, or the reason why there is no law."""

    def read(judged: Any) -> Value | None:
        if judged.law is None:
            return Unknown(reason=why_no_law(judged))
        value: Value | None = attrgetter(path)(judged.law)
        if isinstance(value, Estimate) and value.value is None:
            return Unknown(reason=value.note or "it is not known")
        return value

    return read


def _judgement(read: Accessor) -> Accessor:
    """A value of a fit or a prediction with a law, or the reason why nothing is said of that."""

    def accessor(judged: Any) -> Value | None:
        reason = why_no_law(judged)
        return Unknown(reason=reason) if reason else read(judged)

    return accessor


def _of_law(path: str) -> Accessor:
    """A value of the law, or the reason why nothing is said of it."""
    return _judgement(_beside_law(path))


def why_no_law(judged: Any) -> str:
    """Why nothing is said of the law of a fit or a prediction, and what to do; empty where something is.

    As on the screen: the law of a broken run was fitted to the rewards that were lost as well.
    """
    if judged.no_law is not None:
        return f"there is no law: {judged.no_law.message}: {judged.no_law.hint}"
    return _BROKEN if judged.is_broken else ""


def _entropy_now(fit: Fit) -> Value | None:
    """The entropy at the last evaluation, which is not known where the entropy ends long before it."""
    for finding in fit.findings:
        if finding.code == EARLY:
            words = "the entropy ends at step {last:g}, and the reward at {end:g}"
            return Unknown(reason=words.format_map(finding.values))
    return _beside_law("entropy_now")(fit)


_law = partial(Quantity, of_law=True)
_law_number = partial(Quantity, of_law=True, kind="number")
_unfitted = partial(Quantity, kind="number", fitted=False)
_judged = partial(Quantity, reads=JUDGED)
_later = partial(Quantity, reads=("prediction", "fit"))
_ordered = partial(Quantity, reads=("phases",))
_counted = partial(Quantity, reads=("samples",))


def _why(judged: Any) -> Value:
    """Why the law does not hold; of a prediction its own field."""
    why = judged.why if hasattr(judged, "why") else judged.law.why
    return str(why or "none")


SAMPLED = re.compile(r"(?:pass@|pass\^|maj@)[1-9]\d*(?:\.difference)?|cover@0\.\d")
"""Quantities of samples whose name has a number in it, such as ``pass@64`` and ``pass@64.difference``."""

_NO_PAIR = Unknown(reason="the samples were compared with no others: entropylaw samples --against")


def _sampled(name: str) -> Accessor:
    """A mean over problems at the last step."""
    return lambda held: held[0].estimate(held[1], name)


def _fate(name: str) -> Accessor:
    """How many problems had a fate since the other table."""

    def read(held: tuple[SamplesDocument, int]) -> Value | None:
        pair = held[0].pair_of(held[1])
        if pair is None:
            return 0.0 if held[0].against else _NO_PAIR
        if pair.no_fates:
            return Unknown(reason=pair.no_fates)
        return float(len(pair.fate(name).problems))

    return read


def _lacking(name: str, columns: Sequence[str]) -> Unknown:
    """That a document has no such quantity, and which of its kind it has."""
    kind = re.split(r"\d", name)[0]
    of_kind = [column for column in columns if SAMPLED.fullmatch(column) and column.startswith(kind)]
    ordered = listing(sorted(of_kind, key=lambda column: int(re.sub(r"\D", "", column))))
    return Unknown(reason=f"the document has no {name} for this run; it has {ordered}")


def sampled(name: str) -> Quantity:
    """A quantity whose name :data:`SAMPLED` matches."""
    column = name.removesuffix(".difference")
    if column == name:

        def last(held: tuple[SamplesDocument, int]) -> Value:
            document, row = held
            columns = [column for column in document.rows[row] if document.estimate(row, column) is not None]
            return document.estimate(row, name) or _lacking(name, columns)

        return Quantity(name, f"{name} at the last step", PROBABILITY, last, reads=("samples",))

    def read(held: tuple[SamplesDocument, int]) -> Value:
        pair = held[0].pair_of(held[1])
        if pair is None:
            return 0.0 if held[0].against else _NO_PAIR
        differences = {f"pass@{row.k}.difference": row for row in pair.at_k}
        if name not in differences:
            return _lacking(name, [*differences])
        return differences[name].simultaneous(pair.level)

    return Quantity(name, f"{column} less that of the other table", CHANGE, read, reads=("samples",))


_ALL = (
    _judged(
        "state",
        "what the reward has done so far, in a word",
        NONE,
        _state(lambda state: state.word),
        kind="word",
        words=WORDS,
        fitted=False,
    ),
    _judged("now", "level of the reward at the last evaluation", LEVEL, _at_end(lambda state: state.now)),
    _judged(
        "gained",
        "that level less the one at the first evaluation",
        LEVELS_APART,
        _at_end(lambda state: state.gained),
    ),
    _judged(
        "change",
        "change of the level over the last third, or since it is flat",
        LEVELS_APART,
        _at_end(lambda state: state.change),
    ),
    _judged(
        "flat_steps",
        "steps for which the reward has been flat",
        LASTING,
        _state(lambda state: state.last_step - state.since if state.word == "flat" else 0.0),
        kind="number",
    ),
    _judged("noise", "noise of one evaluation", GAIN, _state(lambda state: state.noise), kind="number"),
    _judged("keep_step", "the step to keep", STEPS, _kept("step"), kind="number"),
    _judged("keep_level", "level of the reward at the step to keep", LEVEL, _kept("level"), kind="number"),
    _judged(
        "p_better",
        "probability that the step to keep is better than the last one",
        PROBABILITY,
        _kept("p_better"),
        kind="number",
    ),
    _law("ceiling", "b − a, the reward at H = 0 by the law", LEVEL, _of_law("ceiling"), by_law=True),
    _law("a", "coefficient of R = b − a·exp(H)", REWARD, _of_law("a"), by_law=True),
    _law("b", "coefficient of R = b − a·exp(H)", REWARD, _of_law("b"), by_law=True),
    Quantity(
        "drop_per_100_steps",
        "recent entropy loss per 100 steps",
        NATS,
        lambda fit: fit.drop_per_100_steps or Unknown(reason="the log has no entropy"),
    ),
    _unfitted("entropy_now", "entropy at the last evaluation", ENTROPY, _entropy_now, of_law=True),
    _law_number("entropy_noise", "noise of a logged entropy", SPREAD, _beside_law("entropy_noise")),
    _law_number("odds_entropy", "odds of curves in H to the step", ODDS, _of_law("tests.odds_entropy")),
    _law_number("odds_law", "odds of the law to curves in the step", ODDS, _of_law("tests.odds_law")),
    _law_number("odds_line", "odds of the law to a line in H", ODDS, _of_law("tests.odds_line")),
    _law_number("r_squared", "R² of the law by least squares", R_SQUARED, _of_law("r_squared")),
    _unfitted("n", "evaluations with a reward", EVALUATIONS, "n_rewards"),
    _law_number("lag1", "lag-1 autocorrelation of the residuals", CORRELATION, _of_law("residuals.lag1")),
    _law_number(
        "long_memory",
        "probability that the residuals have long memory",
        PROBABILITY,
        _of_law("residuals.long_memory"),
    ),
    _unfitted(
        "effective_n", "effective sample size", EFFECTIVE, _of_law("residuals.effective_n"), of_law=True
    ),
    _judged(
        "cautions",
        "number of cautions",
        COUNT,
        lambda judged: sum(finding.severity == "caution" for finding in judged.findings),
        kind="number",
        fitted=False,
    ),
    _judged(
        "verdict",
        "verdict on the law",
        NONE,
        _judgement(lambda judged: str(judged.verdict)),
        kind="word",
        words=tuple(Verdict),
        fitted=False,
        of_law=True,
    ),
    # A run in which the law holds has no reason, which is not an unknown one.
    _judged(
        "why",
        "why the law does not hold",
        NONE,
        _judgement(_why),
        kind="word",
        words=tuple(Why),
        otherwise="the law holds",
        fitted=False,
        of_law=True,
    ),
    _later(
        "forecast_reward",
        "reward at the last step forecast",
        LEVEL,
        _ahead(lambda ahead: ahead.rewards[-1]),
        detail=lambda judged: f"at step {judged.forecast.step[-1]:g}",
    ),
    _later(
        "p_gain",
        "probability that the level there is at least the gain above now",
        PROBABILITY,
        _ahead(lambda ahead: ahead.p_gains[-1]),
        kind="number",
        detail=_gain_by_step,
    ),
    _later(
        "p_ever",
        "probability that the level is that high at any step until then",
        PROBABILITY,
        _ahead(lambda ahead: ahead.p_ever),
        kind="number",
        detail=_gain_by_step,
    ),
    Quantity(
        "stop_line",
        "what the stop line says",
        NONE,
        _stop_line,
        kind="word",
        words=tuple(word for word in get_args(Says) if word != "not known"),
    ),
    _later(
        "saturation_step",
        "step at which the entropy is spent",
        STEPS,
        _ahead(lambda ahead: ahead.spent or Unknown(reason="the run has no entropy that moves")),
    ),
    _ordered(
        "phases",
        "order of execution's fall and planning's rise",
        NONE,
        _phases(lambda phases: phases.verdict, "a single curve has no order"),
        kind="word",
        words=VERDICTS,
    ),
    _ordered("onset_planning", "step from which planning rises", STEPS, _curve("planning", "onset")),
    _ordered("settled_execution", "step at which execution settles", STEPS, _curve("execution", "settled")),
    _ordered("rise_planning", "planning's rise above its lowest level", NATS, _curve("planning", "rise")),
    _ordered("rise_execution", "execution's rise above its lowest level", NATS, _curve("execution", "rise")),
    _ordered(
        "delta",
        "onset_planning − settled_execution",
        STEPS,
        _phases(lambda phases: phases.delta, "the difference is not known"),
    ),
    _ordered("eruptions", "sharp rises of the entropy", COUNT, _phases(_eruptions, "no curve"), "number"),
    _ordered(
        "entropy_exploded",
        "the entropy ends at twice its lowest level or above",
        NONE,
        _phases(_exploded, "no curve"),
        kind="flag",
    ),
    _counted("lost_problems", "problems solved before only", COUNT, _fate("lost"), "number"),
    _counted("gained_problems", "problems solved now only", COUNT, _fate("gained"), "number"),
    _counted("kept_problems", "problems solved on both sides", COUNT, _fate("kept"), "number"),
    _counted("distinct", "distinct answers to a problem, last step", MEAN_COUNT, _sampled("distinct")),
    _counted("distinct_right", "distinct right answers to a problem", MEAN_COUNT, _sampled("distinct_right")),
    _counted("answer_entropy", "entropy of the answers to a problem", SPREAD, _sampled("answer_entropy")),
    _counted("none_right", "share of problems with no right sample", R_SQUARED, _sampled("none_right")),
    Quantity("fails", "the law fails", kind="flag", of_law=True),
    Quantity("undecided", "the data do not decide whether the law holds", kind="flag", of_law=True),
    Quantity("refused", "the run could not be fitted", kind="flag"),
)

QUANTITIES: Mapping[str, Quantity] = {quantity.name: quantity for quantity in _ALL}
"""Name → quantity, in the order in which they are listed."""

REGRESSION = Quantity("regression", "relative decrease since the baseline's run", SHARE)
"""Computed from a quantity in two documents, which its expression names."""

MEASURED = ("now", "ceiling")
"""The quantities that a regression can be of; the first is the default."""

WRITTEN_BY: Mapping[ResultKind, str] = {
    "fit": "`entropylaw fit` or `entropylaw report`",
    "prediction": "`entropylaw fit`, `entropylaw report` or `entropylaw predict --at-step N`",
    "phases": "`entropylaw phases` or `entropylaw report`",
    "comparison": "`entropylaw compare`",
    "samples": "`entropylaw samples`",
}
"""The commands whose documents have a kind of result."""
