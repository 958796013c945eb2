"""Sentences about a run, made only from its document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from entropylaw.documents.document import Entry, RunPrediction
from entropylaw.documents.summary import RunSummary
from entropylaw.escaping import counted, one_line
from entropylaw.logs.source import Meaning
from entropylaw.report.blocks import FORECAST, LAW, STATE, Answer, Note, labelled
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
from entropylaw.results.law import LawFit
from entropylaw.results.result import DIVERGENCE, NO_SCORE, TRAINING_REWARD, replace
from entropylaw.results.state import Kept, State
from entropylaw.results.stop import StopLine


def why(entry: Entry[Any]) -> str:
    """Why a run was refused."""
    assert entry.refusal is not None
    return entry.refusal.message


def law_words(law: LawFit | RunPrediction) -> str:
    """The word about the law with its one reason: ``undecided: a line in H fits no worse``."""
    return f"{law.verdict}: {law.why}" if law.why is not None else str(law.verdict)


def headline(fit: Fit) -> str:
    """A run in a line: its state, the level now, and the step or the entry to keep."""
    if fit.state is None:
        return f"state not known: {fit.no_state}"
    state = fit.state
    text = f"{state.word}, {format_number(state.now.value)} now"
    if state.keep is None or state.keep.is_last:
        return text
    return f"{text}; keep {fit.axis} {format_step(state.keep.step)}"


def in_sentences(fit: Fit) -> str:
    """The answers about a run, a sentence each."""
    return " ".join(f"{capital(row.label)}: {sentence(row.text)}" for row in answers(fit))


NO_LAW = {
    "no-entropy": "no entropy was given",
    "no-pairs": "no step has both an entropy and a reward",
    "entropy-constant": "the entropy does not move",
    "reward-constant": "the reward does not move",
}
"""Slug of the reason why there is no law → in a few words."""

NO_ENTROPY = "no-entropy-column"
"""Slug of the reason of a log without an entropy: the title of the run says so."""


def state_cell(entry: Entry[Fit]) -> str:
    """The state of a run for a title: ``rising``, ``no state``, ``refused``."""
    if entry.result is None:
        return "refused"
    return "no state" if entry.result.state is None else entry.result.state.word


NO_FORECAST = "none was made"


def answers(fit: Fit) -> list[Answer]:
    """What the run does, what comes next, which step to keep, and what the entropy says of it."""
    rows = [_state_answer(fit)]
    if not fit.is_broken:
        rows += _next_answers(fit)
    stop = _stop_words(fit)
    if fit.keep is not None:
        rows.append(_keep_answer(fit.keep, stop, broken=fit.is_broken))
    elif stop:
        rows.append(answer("stop line", "; ".join(stop)))
    for finding in fit.findings:
        if finding.code == NO_SCORE:
            no_score = "{name} is no score by its name ({sort})".format_map(finding.values)
            rows.append(answer("keep", "none", no_score, after=": "))
    return [*rows, *_law_answers(fit)]


def _state_answer(fit: Fit) -> Answer:
    """The state of a run in a word, and its numbers."""
    state = fit.state
    if state is None:
        return answer("state", "not known", fit.no_state, after=": ", topic=STATE)
    return answer(
        state.word,
        f"{format_number(state.now.value)} now",
        *about_state(state),
        after="; " if state.word in ("broken", "cannot tell") else ": ",
        verdict=state.word.replace(" ", "-"),
        topic=STATE,
    )


ROUNDING = 1e-12
"""Share of a level, or of the gain, below which noise is rounding: the reward never moved."""


def about_state(state: State) -> list[str]:
    """What is to be known of a word about a run."""
    since = since_words(state)
    if state.lost is not None:
        # What it was is the level at the step to keep, which is said there.
        return [f"lost since step {since}"]
    if state.has_ended:
        return [f"no usable reward after step {since}"]
    if state.noise <= ROUNDING * max(abs(state.now.value or 0.0), state.gain):
        return [f"the same at all evaluations since step {since}"]
    if state.word == "cannot tell":
        return [f"changes below {format_number(state.would_show, 2)} in the last third would not show"]
    gained = f"{signed(state.gained, state.gain)} in all"
    if state.word == "flat":
        low, high = state.gained.low, state.gained.high
        if low is not None and high is not None and low <= 0 <= high:
            gained = f"no change in all: {signed(state.gained, state.gain)}"
        return [f"within ±{state.gain:.3g} since step {since}", gained]
    return [gained, f"{signed(state.change, state.gain)} in the last third"]


def since_words(state: State) -> str:
    """The step since which a word holds, rounded: no evaluation need be where a last part begins."""
    return format_step(round(state.since) if state.since >= 100 else float(f"{state.since:.3g}"))


def signed(estimate: Estimate, gain: float = 0.0) -> str:
    """A change with its sign and its interval, to a tenth of the gain that counts, where that is given."""
    text = format_estimate(estimate, finest=gain / 10)
    sign = "" if estimate.value is None or estimate.value < 0 else "+"
    return f"{sign}{text.value} {text.interval}".rstrip()


def _next_answers(fit: Fit) -> list[Answer]:
    """The forecasts, or why there are none."""
    ahead = fit.forecast
    if ahead is None:
        return [answer("next", "none", fit.no_forecast or NO_FORECAST, after=": ", topic=FORECAST)]
    rows: list[Answer] = []
    for step, reward, chance in zip(ahead.step, ahead.rewards, ahead.p_gains, strict=True):
        text = format_estimate(reward)
        by = f"{text.interval} by step {format_step(step)}"
        gain = f"+{ahead.gain:.3g} or more {in_such_runs(chance)}"
        rows.append(answer("next", text.value, by, gain, between="; ", topic=FORECAST))
    return rows


def in_such_runs(chance: float) -> str:
    """A probability as a frequency: ``in 7 of 10 such runs``."""
    tenths = round(10 * chance)
    if tenths == 0:
        return "in under 1 of 10 such runs"
    if tenths == 10:
        return "in more than 9 of 10 such runs"
    return f"in {tenths} of 10 such runs"


def _keep_answer(keep: Kept, stop: Sequence[str], *, broken: bool) -> Answer:
    """The step to keep, and what the stop line says.

    An earlier one is surely better than the last, which needs no words where the reward was lost.
    """
    step = f"step {format_step(keep.step)}"
    if keep.is_last:
        last = "the last with a reward" if broken else "the last"
        return answer("keep", step, last, *stop, after=", ", between="; ")
    level = format_number(keep.level)
    if not broken:
        level += ", surely better"
    return answer("keep", step, level, *stop, after=": ", between="; ")


NOT_SHOWN = ("go on", "not known", "broken")
"""What a stop line says that a screen does not: nothing is to be done, or the state says it."""


def _stop_words(fit: Fit) -> list[str]:
    """What the stop line says where no other answer says it, for one line; and what the rest costs."""
    line = fit.stop_line
    if line is None:
        return []
    if line.says in NOT_SHOWN:
        return _cost_of_rest(line)
    return [f"{line.says}: {_stop_reasons(line)[0]}", *_cost_of_rest(line)]


NOT_JUDGED = "not judged"
"""The word about the law of a broken run."""


def loss_words(state: State) -> str:
    """What was lost by a broken run."""
    return "rewards are missing at the end" if state.has_ended else "the reward was lost"


def stop_details(fit: Fit) -> list[Note]:
    """What the stop line of a fit says, with all its reasons; nothing where the run goes on or is broken."""
    line = fit.stop_line
    if line is None or line.says in ("go on", "broken"):
        return []
    return [Note("stop line", f"{line.says}: {'; '.join(_stop_reasons(line))}")]


def _law_answers(fit: Fit) -> list[Answer]:
    """The law: its numbers, its word with the reason, and the reward at H = 0; or why there is none."""
    if fit.state is not None and fit.is_broken:
        return [answer("law", NOT_JUDGED, loss_words(fit.state), after=": ", topic=LAW)]
    law = fit.law
    if law is None:
        return [answer("law", "none", *filter(None, [_no_law(fit.no_law)]), after=": ", topic=LAW)]
    about = [law.why.value] if law.why is not None else []
    about += _at_zero(fit, law)
    after = ": " if law.why is not None else "; "
    rows = [
        _coefficients(law),
        answer("law", law.verdict.value, *about, after=after, between="; ", topic=LAW),
    ]
    besides = [
        f"{finding.values['best']} fits better"
        for finding in fit.findings
        if finding.code == DIVERGENCE and finding.values["explains_more"]
    ]
    # That the reward is of the training is in the title.
    cautions = [
        finding
        for finding in fit.findings
        if finding.severity == "caution" and finding.code != TRAINING_REWARD
    ]
    if cautions:
        besides.append(counted(len(cautions), "caution"))
    for words in besides:
        # The shorter line has room for them.
        shorter = min((0, 1), key=lambda i: len(rows[i].text))
        row = rows[shorter]
        rows[shorter] = replace(row, text=f"{row.text}; {words}", about=[*row.about, words])
    return rows


def _no_law(lacking: Refusal | None) -> str:
    """Why there is no law: of a log without an entropy what logs one, as its title says that it has none."""
    if lacking is None:
        return ""
    if lacking.slug == NO_ENTROPY:
        return lacking.hint
    return NO_LAW.get(lacking.slug, lacking.message)


def _coefficients(law: LawFit) -> Answer:
    """The coefficients of the law, and how well it fits by least squares."""
    r_squared = f"R² {format_r_squared(law.r_squared)}"
    numbers = f"a {format_interval(law.a)}, b {format_interval(law.b)}"
    if law.a.value is None:
        numbers = "a and b are not known"
    numbers = f"R = b − a·exp(H): {numbers}"
    return Answer("law", f"{numbers}, {r_squared}", value=r_squared, about=[numbers], topic=LAW)


def _at_zero(fit: Fit, law: LawFit) -> list[str]:
    """The reward at H = 0 by the law; "reached" where the reward now is no lower.

    Nothing where :func:`says_zero` is False.
    """
    if law.ceiling.value is None or not says_zero(law):
        return []
    text = f"at H = 0: {format_interval(law.ceiling)}"
    now = None if fit.state is None else fit.state.now.value
    if now is None or law.ceiling.value > now:
        return [text]
    return [f"{text}, reached"]


def says_zero(law: LawFit | RunPrediction) -> bool:
    """Whether the reward at H = 0 is said: not by a law that fails, nor of an entropy that hardly moved."""
    return law.verdict != Verdict.fails and law.why is not Why.narrow


def answer(
    label: str,
    value: str,
    *about: str,
    after: str = " ",
    between: str = ", ",
    verdict: str = "",
    topic: str = "",
) -> Answer:
    """An answer whose text is its value, ``after`` it what is to be known of that, with ``between``."""
    text = f"{value}{after}{between.join(about)}" if about else value
    return Answer(label, text, value=value, about=about, verdict=verdict, topic=topic)


def _stop_reasons(line: StopLine) -> list[str]:
    """Why a stop line says what it says, the weightiest reason first."""
    reasons: list[str] = []
    if line.says == "broken" and line.state is not None:
        reasons += about_state(line.state)
    if line.says == "stop" and line.best_step is not None:
        reasons.append(f"no new best since step {format_step(line.best_step)}")
        reasons.append("that is half of the plan or more")
        if line.p_ever is not None:
            reasons.append(f"P(gain) at any step until its end {format_probability(line.p_ever)}")
    if line.says in ("finished", "not known"):
        reasons.append(line.why_none)
    if line.exploded_since is not None:
        since = format_step(line.exploded_since)
        reasons.append(f"the entropy is above twice its lowest level since step {since}")
    if line.says == "exploded":
        reasons.append("the reward is below its best")
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
    """The stop lines of rows with the first reason, and the rest of the runs, each run once.

    One that says "go on" or is not known is not shown, nor that of a broken run, as that is said.
    The rest is not shown where neither the end of the training was ``planned`` nor a cost is known.
    """
    lines: list[str] = []
    for row in rows:
        line = row.stop_line
        if line is not None and line.says not in NOT_SHOWN:
            lines.append(f"{name(row)}: {line.says}{in_brackets(_stop_reasons(line)[0])}")
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
    if not rests:
        return []
    cost = sum(of_run for _, of_run in rests.values())
    if planned is None and not cost:
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
    state = line.state
    if state is not None:
        reward += f" {format_number(state.now.value)}"
        if line.says != "broken":
            reward += f", {state.word}"
    parts = [f"entropylaw: {verdict}", f"step {format_step(line.step)}", reward]
    if line.expected is None and line.says not in ("stop", "finished", "not known"):
        parts.append(f"no forecast: {line.why_none}")
    elif line.expected is not None and line.says != "broken":
        parts.append(f"by step {format_step(line.at_step)} {format_interval(line.expected)}")
        parts.append(f"P(+{line.gain:.3g} or more) {format_probability(line.p_gain)}")
    if state is not None and state.keep is not None and not state.keep.is_last:
        parts.append(f"keep step {format_step(state.keep.step)} ({format_number(state.keep.level)})")
    return " · ".join([*parts, *_cost_of_rest(line)])


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
