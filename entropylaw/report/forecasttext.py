"""A forecast and a backtest as text, and a backtest as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from entropylaw.report.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.report.printable import csv_text, one_line
from entropylaw.report.words import count
from entropylaw.results import Estimate
from entropylaw.results.backtest import Backtest, RunBacktest, Skill
from entropylaw.results.forecast import Forecast, SaturationForecast

SHOWN_WEIGHT = 0.05
"""Members with less weight are counted, not named."""


def forecast_text(told: Forecast) -> str:
    """The forecast of one run: who was asked, then a line for each step."""
    return "\n".join(_forecast_lines(told)) + "\n"


def _forecast_lines(told: Forecast) -> Iterator[str]:
    yield one_line(told.run)
    yield (
        f"  forecast from {told.n} evaluations up to step {format_step(told.last_step)}; "
        f"reward now {format_interval(told.reward_now)}"
    )
    yield "  " + _members_words({member.name: member.weight for member in told.members})
    if told.path_members:
        yield "  entropy " + _members_words(told.path_members)
    source = "forecast too" if told.blind else "as given"
    yield f"  {'step':>8}   {'reward':<28} entropy, {source:<17} {format_percent(told.level)} intervals"
    for step, reward, entropy, outside in zip(
        told.step, told.reward, told.entropy, told.extrapolated, strict=True
    ):
        value, low, high = format_estimate(reward)
        mark = "extrapolated" if outside else ""
        shown = f"{value} [{low}, {high}]"
        yield f"  {format_step(step):>8}   {shown:<28} {_entropy_words(entropy):<27} {mark}".rstrip()
    yield from (f"  {one_line(note)}" for note in told.notes)


def _entropy_words(entropy: Estimate) -> str:
    value, low, high = format_estimate(entropy)
    return value if entropy.low is None else f"{value} [{low}, {high}]"


def _members_words(weights: Mapping[str, float]) -> str:
    """``weights: law 0.52, line 0.31, 3 others 0.17``."""
    named = sorted(weights.items(), key=lambda item: -item[1])
    shown = [(name, weight) for name, weight in named if weight >= SHOWN_WEIGHT]
    words = [f"{name} {format_weight(weight)}" for name, weight in shown]
    if len(shown) < len(named):
        rest = sum(weight for _, weight in named[len(shown) :])
        words.append(f"{count(len(named) - len(shown), 'other')} {format_weight(rest)}")
    return "weights: " + ", ".join(words)


def saturation_text(told: SaturationForecast) -> str:
    """When the entropy is spent, in words."""
    return "\n".join(_saturation_lines(told)) + "\n"


def _saturation_lines(told: SaturationForecast) -> Iterator[str]:
    yield one_line(told.run)
    yield (
        f"  forecast: {format_percent(told.share)} of what the law still promises is spent at entropy "
        f"{format_number(told.entropy)} nats; now {format_number(told.entropy_now)} at step "
        f"{format_step(told.last_step)}"
    )
    if told.step.value is None:
        yield f"  no step: {told.step.note}"
    else:
        low, high = (
            "not known" if end is None else format_step(end) for end in (told.step.low, told.step.high)
        )
        note = f" ({told.step.note})" if told.step.note else ""
        yield (
            f"  step {format_step(round(told.step.value))}, {format_percent(told.step.level)} interval "
            f"{low} to {high}{note}; reward then {format_interval(told.reward)}"
        )
    for gain in told.gains:
        yield (
            f"  an evaluation {format_number(gain.points)} above the reward now: probability "
            f"{format_weight(gain.by_step)} at step {format_step(gain.step)}"
        )


def backtest_text(told: Backtest) -> str:
    """Every run, then the whole."""
    blocks = ["\n".join(_run_lines(run)) + "\n" for run in told.runs]
    if told.overall:
        blocks.append("\n".join(_overall_lines(told)) + "\n")
    return "\n".join(blocks)


def _run_lines(run: RunBacktest) -> Iterator[str]:
    yield one_line(run.run)
    if run.refusal is not None:
        yield f"  not tested: {one_line(run.refusal)}"
        return
    averaged = f", each the mean of {run.block}" if run.block > 1 else ""
    yield f"  {run.n} evaluations{averaged}; root mean squared errors of what was not fitted"
    yield (
        f"  {'fitted':<17} {'entropy':<9} {'n':>3} {'forecast':>9} {'last':>9} {'law':>9} {'line':>9} "
        f"{'ScaleRL':>9}  in band"
    )
    for score in run.scores:
        entropy = "forecast" if score.blind else "observed"
        errors = " ".join(
            f"{format_number(error):>9}"
            for error in (score.rmse, score.last_value, score.law, score.line, score.scalerl)
        )
        yield (
            f"  {score.protocol:<17} {entropy:<9} {score.fitted:>3} {errors}  {format_percent(score.covered)}"
        )


def _overall_lines(told: Backtest) -> Iterator[str]:
    runs = "1 run" if told.overall[0].runs == 1 else f"{told.overall[0].runs} runs"
    yield f"{runs}: error of the forecast over that of the peer, geometric mean; below 1 it is better"
    yield (
        f"  {'fitted':<17} {'entropy':<9} {'last':>9} {'law':>9} {'line':>9} {'ScaleRL':>9}  "
        f"in {format_percent(told.level)} band  worst to last"
    )
    for skill in told.overall:
        yield _skill_line(skill)


def _skill_line(skill: Skill) -> str:
    entropy = "forecast" if skill.blind else "observed"
    ratios = " ".join(
        f"{ratio:>9.2f}" for ratio in (skill.to_last_value, skill.to_law, skill.to_line, skill.to_scalerl)
    )
    covered = format_percent(skill.covered)
    return (
        f"  {skill.protocol:<17} {entropy:<9} {ratios}  {covered:<12}  "
        f"{skill.worst:.2f} ({one_line(skill.worst_run)})"
    )


_COLUMNS = (
    *("run", "protocol", "entropy", "fitted", "predicted", "rmse", "last_value", "law", "line", "scalerl"),
    *("covered", "width", "spread", "level", "note"),
)


def backtest_csv(told: Backtest) -> str:
    """One row for each run and protocol; a run that was not tested has its reason in ``note``."""
    return csv_text(_COLUMNS, chain.from_iterable(_csv_rows(run, told.level) for run in told.runs))


def _csv_rows(run: RunBacktest, level: float) -> Iterator[dict[str, object]]:
    name = run.run
    if run.refusal is not None:
        yield {"run": name, "note": run.refusal}
    for score in run.scores:
        numbers = {key: getattr(score, key) for key in _COLUMNS if hasattr(score, key)}
        yield {"run": name, "entropy": "forecast" if score.blind else "observed", "level": level} | numbers
