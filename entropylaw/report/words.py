"""Sentences about a run, made only from its document."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from entropylaw.analysis.forms import least_squares
from entropylaw.documents.document import Entry, RunPrediction
from entropylaw.documents.summary import RunSummary
from entropylaw.escaping import counted, one_line
from entropylaw.logs.source import Meaning
from entropylaw.report.blocks import Answer, Note, labelled
from entropylaw.report.findings import CURVES, weightiest
from entropylaw.report.numbers import (
    cell_text,
    format_estimate,
    format_interval,
    format_number,
    format_probability,
    format_r_squared,
    format_step,
)
from entropylaw.results import Estimate, FormAnswer, Verdict, Why
from entropylaw.results.columns import Refusal
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import BestSoFar
from entropylaw.results.result import JUMP, LOST, NO_SCORE, Finding, has
from entropylaw.results.stop import StopLine


def why(refusal: Refusal | None) -> str:
    """Why a run was refused, if its document has the reason."""
    return refusal.message if refusal is not None else "its document gives no reason"


def headline(fit: Fit | RunPrediction) -> str:
    """Why the verdict is what it is, in at most eight words."""
    if fit.verdict is Verdict.holds:
        return "reward follows the curve"
    if has(fit.findings, JUMP):
        return "one jump at the start, flat since"
    if fit.why is Why.no_relation:
        return "reward rises with entropy" if rises(fit) else "reward does not follow entropy"
    if fit.why is Why.more_than_entropy:
        return "reward needs more than entropy"
    if fit.why is not None:
        return "another curve of H fits better"
    first_reason = next((finding for finding in fit.findings if finding.severity == "reason"), None)
    return "the data do not decide" if first_reason is None else short_words(first_reason)


def short_words(finding: Finding) -> str:
    """A finding in a few words."""
    if (curve := finding.values.get("curve")) in CURVES:
        return f"{CURVES[curve]} also fits"
    return SHORT.get(finding.code, finding.code.replace("-", " "))


def rises(fit: Fit | RunPrediction) -> bool:
    """Whether the law fails because reward rises with entropy."""
    return has(fit.findings, "reward-falls")


SHORT = {
    "curves-pass-largest": "curves pass the limit",
    "entropy-noise-differs": "noise of H differs",
    "entropy-range-narrow": "narrow range of entropy",
    "kl-term": "KL term",
    "reward-ends": "reward ends early",
    "rests-on-first": "first points decide",
}
"""Code of a finding → two or three words, where those of the code do not read well."""


def verdict_cell(run: Entry[Fit]) -> str:
    """The verdict for a table: ``holds``, ``undecided``, ``fails: another curve``, ``refused``."""
    reason = getattr(run.result, "why", None)
    return f"{run.verdict}: {reason.value}" if reason is not None else run.verdict


NO_FORECAST = "none was made"


def answers(fit: Fit) -> list[Answer]:
    """What comes next, what is left on the curve, the law, and what that rests on."""
    rewards = fit.evaluations[2]
    spread = float(max(rewards) - min(rewards))
    rows = _level_now(fit) + _later(fit, spread)
    if fit.best_so_far is not None:
        rows.append(best_answer(fit.best_so_far, float(fit.evaluations[0][-1])))
    for finding in fit.findings:
        if finding.code == NO_SCORE:
            no_score = "{name} is no score by its name ({sort})".format_map(finding.values)
            rows.append(answer("best so far", "none", no_score, after=": "))
    if not fit.lost:
        rows.append(_left_answer(fit))
        rows += _disagreement(fit, spread)
    rows += _stop_line(fit)
    verdict = fit.verdict.value
    rows.append(answer("entropy law", verdict, headline(fit), after=": ", verdict=verdict))
    return [*rows, _coefficients(fit), _basis(fit)]


def _level_now(fit: Fit) -> list[Answer]:
    """The level of the reward now; before it, that the run lost its reward."""
    level = format_number(fit.now)
    if fit.now == fit.reward_now.value:
        level = format_estimate(fit.reward_now).value
    at = f"at H = {format_number(fit.law.entropy_now)} nats"
    # The last entropy may be of an earlier step than the reward.
    last_step = fit.law.step[-1]
    if last_step != fit.evaluations[0][-1]:
        at += f" of step {format_step(float(last_step))}"
    rows = [answer("now", level, at)]
    if fit.lost:
        loss = next(finding for finding in fit.findings if finding.code == LOST)
        ends = "from {best:.3g} to {last:.3g}".format_map(loss.values)
        rows.insert(0, answer("lost", "the run lost its reward", ends, after=": "))
    return rows


def _later(fit: Fit, spread: float) -> list[Answer]:
    """The forecasts, or why there are none; none is shown that is wider than the ``spread`` of the reward."""
    ahead = fit.forecast
    if ahead is None:
        return [answer("forecast", f"none: {fit.no_forecast or NO_FORECAST}")]
    if fit.lost:
        return [answer("forecast", "lost: no forecast")]
    rows: list[Answer] = []
    for step, reward, chance in zip(ahead.step, ahead.rewards, ahead.p_gains, strict=True):
        label = f"by step {format_step(step)}"
        if (reward.width or 0.0) > spread:
            rows.append(answer(label, "this log cannot tell"))
        else:
            text = format_estimate(reward)
            gain = f"P(+{ahead.gain:.3g} or more) {format_probability(chance)}"
            rows.append(answer(label, text.value, text.interval, gain))
    return rows


def _stop_line(fit: Fit) -> list[Answer]:
    """What the stop line says, where it has a cost or is more than "go on"."""
    line = fit.stop_line
    if line is None:
        return []
    is_over = line.says not in ("go on", "not known")
    if line.cost is None and (fit.lost or not is_over):
        return []
    return [answer("stop line", line.says, *_stop_reasons(line), *_cost_of_rest(line), after=": ")]


def _coefficients(fit: Fit) -> Answer:
    """The law's own numbers, and how well it fits by least squares."""
    law = fit.law
    coefficients = f"a {format_interval(fit.a)}, b {format_interval(fit.b)}"
    r_squared = f"R² {format_r_squared(law.r_squared)}"
    by = "by least squares"
    quoted = float(least_squares(law.entropy, law.reward)[1])
    if quoted * (fit.a.value or 0.0) < 0:
        by += f", whose a is {format_number(quoted, 2)}"
    text = f"{coefficients}, {r_squared} {by}"
    return Answer("R = b − a·exp(H)", text, value=r_squared, about=(coefficients, by))


def _basis(fit: Fit) -> Answer:
    """The effective sample size, the weightiest caution, and how often such forecasts came true."""
    number = f"{fit.law.residuals.effective_n:.0f}"
    about = ["effective sample size", *map(short_words, weightiest(fit.findings))]
    if fit.forecast is not None and not fit.lost:
        record = fit.forecast.rests_on
        came_true = f"{record.came_true:.0%}".replace("%", " %")
        about.append(f"of {record.forecasts} such forecasts {came_true} came true")
    text = "; ".join([f"{about[0]} {number}", *about[1:]])
    return Answer("rests on", text, value=number, about=tuple(about))


def answer(label: str, value: str, *about: str, after: str = " ", verdict: str = "") -> Answer:
    """An answer whose text is its value, and ``after`` it what is to be known of that."""
    text = f"{value}{after}{', '.join(about)}" if about else value
    return Answer(label, text, value=value, about=about, verdict=verdict)


def best_answer(best: BestSoFar, last_step: float) -> Answer:
    """The best step so far, where it is distinguishable from the last one."""
    label = "best so far"
    better = f"better than now with {p_words(best.p_better)}"
    if best.step == last_step:
        better = "the last step"
    elif not best.stands_out:
        return answer(label, "no step is distinguishable from now")
    return answer(label, format_number(best.level), f"at step {format_step(best.step)}", better)


def _disagreement(fit: Fit, spread: float) -> list[Answer]:
    """Which answers what, where the whole interval of the forecast is above that of the ceiling.

    Nothing where one of them is not shown: the ceiling is unknown, or the forecast wider than ``spread``.
    """
    ahead = fit.forecast
    highest = fit.ceiling.high
    if ahead is None or highest is None or fit.no_ceiling:
        return []
    last = ahead.rewards[-1]
    if last.low is None or last.low <= highest or (last.width or 0.0) > spread:
        return []
    meaning_of_both = "what such runs did; the ceiling: what is left if entropy alone decides"
    return [answer("above the ceiling", "the forecast", meaning_of_both, after=": ")]


def _stop_reasons(line: StopLine) -> list[str]:
    """Why a stop line says what it says."""
    reasons = []
    if line.lost_since is not None:
        reasons.append(f"the reward is below a fifth of its best since step {format_step(line.lost_since)}")
    if line.low_looks:
        reasons.append(f"P(gain) below 0.1 at {counted(line.low_looks, 'look')} in a row")
    elif line.says == "stop":
        reasons.append(f"the reward is 0 at all {line.evaluations} evaluations, nothing was ever gained")
    if line.exploded_since is not None:
        since = format_step(line.exploded_since)
        reasons.append(f"the entropy is above twice its lowest level since step {since}")
    if line.says == "exploded":
        reasons.append("the reward is below its best")
    if line.says in ("finished", "not known"):
        reasons.append(line.why_none)
    return reasons


def _cost_of_rest(line: StopLine) -> list[str]:
    """What the rest of the run costs, where that is known."""
    if line.cost is None or not line.steps_left:
        return []
    end = format_step(line.step + line.steps_left)
    return [f"{format_step(line.steps_left)} steps to step {end} cost {format_number(line.cost)}"]


def stop_notes(
    rows: Sequence[RunSummary], name: Callable[[RunSummary], str], planned: float | None = None
) -> list[Note]:
    """The stop lines of rows that do not say "go on", and the rest of the runs, each run once.

    That of a run that lost its reward is not shown, as that is said. The rest is not shown where neither the
    end of the training was ``planned`` nor a cost is known.
    """
    lines: list[str] = []
    for row in rows:
        line = row.stop_line
        if line is not None and line.says != "go on" and not row.lost:
            lines.append(f"{name(row)}: {line.says}: {'; '.join(_stop_reasons(line))}")
    if len(lines) > MOST_STOPPED:
        lines[MOST_STOPPED:] = [f"+{len(lines) - MOST_STOPPED} more"]
    return labelled("stop line", lines) + _left_to_run(rows, planned)


def _left_to_run(rows: Sequence[RunSummary], planned: float | None) -> list[Note]:
    """The steps that all runs have left, and their cost; of the rewards of a run the most."""
    rests: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row.stop_line is not None and row.stop_line.steps_left:
            rest = (row.stop_line.steps_left, row.stop_line.cost or 0.0)
            rests[row.run] = max(rests.get(row.run, rest), rest)
    cost = sum(of_run for _, of_run in rests.values())
    if not cost and (not rests or planned is None):
        return []
    text = f"{format_step(sum(steps for steps, _ in rests.values()))} steps"
    if len(rests) > 1:
        text += f" in {len(rests)} runs"
    if planned is not None:
        text += f" to step {format_step(planned)}"
    if cost:
        text += f", which cost {format_number(cost)}"
    return [Note("left to run", text)]


MOST_STOPPED = 4
"""Stop lines that are shown."""


def stop_words(line: StopLine) -> str:
    """A stop line as a line of the log of a training run: first what it says, and why."""
    reasons = "; ".join(_stop_reasons(line))
    verdict = f"{line.says}: {reasons}" if reasons else line.says
    reward = one_line(line.reward)
    if line.now is not None:
        reward += f" {format_number(line.now)}"
    parts = [f"entropylaw: {verdict}", f"step {format_step(line.step)}", reward]
    if line.expected is None and line.says not in ("stop", "finished", "not known"):
        parts.append(f"no forecast: {line.why_none}")
    elif line.expected is not None and line.says != "lost":
        parts.append(f"by step {format_step(line.at_step)} {format_interval(line.expected)}")
        parts.append(f"P(+{line.gain:.3g} or more) {format_probability(line.p_gain)}")
    if line.best is not None:
        parts.append(f"best so far {format_number(line.best)} at step {format_step(line.best_step)}")
    return " · ".join([*parts, *_cost_of_rest(line)])


def _left_answer(fit: Fit) -> Answer:
    """What is left on the curve, and the ceiling."""
    label = "left on the curve"
    if fit.no_ceiling == Why.no_relation:
        return answer(label, fit.no_ceiling, headline(fit), after=": ")
    if fit.no_ceiling:
        return answer(label, "this log cannot tell")
    headroom_text = format_estimate(fit.headroom)
    at = "at H = 0"
    for finding in fit.findings:
        if finding.code == "curves-pass-largest":
            at = f"reached at H = {finding.values['entropy']:.2f}"
    start = f"{headroom_text.interval} from a fitted {format_number(fit.reward_now.value)}"
    return answer(label, headroom_text.value, start, f"ceiling {format_interval(fit.ceiling)} {at}")


def p_words(probability: float) -> str:
    """``P = 0.98``, ``P > 0.99``; below a hundredth with its exponent, ``P = 1.5e-07``."""
    if 0 < probability < 0.01:
        return f"P = {probability:.2g}"
    text = format_probability(probability)
    return f"P > {text[1:]}" if text.startswith(">") else f"P = {text}"


def shapes_words(form: FormAnswer) -> str:
    """``k = −1.2``: the parameters in which a form is not linear; empty without any."""
    return ", ".join(f"{name} = {format_number(shape.value, 2)}" for name, shape in form.shapes.items())


def sentence(text: str) -> str:
    """With exactly one full stop."""
    return text.rstrip().rstrip(".") + "."


def capital(text: str) -> str:
    """With its first letter as a capital."""
    return text[:1].upper() + text[1:]


def meaning(column: Meaning) -> str:
    """The catalog's description of a column in a few words; empty where there is none."""
    facts = [column.kind, column.unit, column.aggregation, column.timing]
    facts += [f"{column.estimator} estimator" if column.estimator else None]
    facts += [f"temperature {column.temperature}" if column.temperature else None]
    facts += ["logged with its sign reversed" if column.sign < 0 else None, column.note]
    return ", ".join(fact for fact in facts if fact)


def in_brackets(text: str) -> str:
    """`` (text)``; nothing for an empty text."""
    return f" ({text})" if text else ""


def step_words(step: Estimate) -> str:
    """A step with its interval as whole numbers; an unknown end is named as such."""
    return cell_text(step, "step") + in_brackets(step.note or "")
