"""Predictions of a law and forecasts over steps, as text, Markdown and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from entropylaw.documents.prediction import PredictionDocument, RunPrediction
from entropylaw.documents.store import dumps
from entropylaw.report.numbers import (
    count,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
    format_weight,
)
from entropylaw.report.printable import csv_text, markdown_cell, one_line
from entropylaw.report.words import invalid_headline
from entropylaw.results import EntropySet, Estimate
from entropylaw.results.forecast import Forecast, SaturationForecast

SHOWN_WEIGHT = 0.05
"""Members with less weight are counted, not named."""

COLUMNS = (
    *("run", "path", "question", "target", "value", "low", "high", "observation_low", "observation_high"),
    *("extrapolated", "level", "method", "note"),
)


def render(document: PredictionDocument, kind: str) -> str:
    """``kind`` is "text", "markdown", "csv" or "json"."""
    if kind == "json":
        return dumps(document.to_json())
    if kind == "csv":
        rows = ({"run": run.run, "path": run.path} | row for run in document.runs for row in _csv_rows(run))
        return csv_text(COLUMNS, rows)
    lines = _text_lines if kind == "text" else _markdown_lines
    return "\n".join("\n".join(lines(run)).rstrip() + "\n" for run in document.runs)


def _text_lines(run: RunPrediction) -> Iterator[str]:
    yield f"{one_line(run.run)} · {one_line(run.path)}"
    yield "  " + _verdict(run)
    if run.predictions:
        intervals = f"{format_percent(run.predictions[0].mean.level)} intervals"
        yield f"  {'entropy':>8}   {'reward of the law':<28} {'a new evaluation':<20} {intervals}"
    for entropy, mean, new, mark in _prediction_cells(run):
        yield f"  {entropy:>8}   {mean:<28} {new}  {mark}".rstrip()
    yield from (f"  {sentence}" for sentence in _sentences(run))
    yield from chain.from_iterable(_ahead(run))
    if run.no_forecast:
        yield f"  no forecast: {one_line(run.no_forecast)}"


def _markdown_lines(run: RunPrediction) -> Iterator[str]:
    yield from (f"## {markdown_cell(run.run)}", "", _verdict(run), "")
    if run.predictions:
        yield from ("| entropy | reward of the law | a new evaluation | |", "| ---: | --- | --- | --- |")
        yield from (f"| {' | '.join(cells)} |" for cells in _prediction_cells(run))
        yield ""
    yield from (f"- {sentence}" for sentence in _sentences(run))
    for lines in _ahead(run):
        yield from ("", "```text", *lines, "```")
    if run.no_forecast:
        yield f"- no forecast: {markdown_cell(run.no_forecast)}"


def _prediction_cells(run: RunPrediction) -> Iterator[tuple[str, str, str, str]]:
    for prediction in run.predictions:
        new = format_estimate(prediction.observation)
        mark = "extrapolated" if prediction.extrapolated else ""
        yield f"{prediction.entropy:.4g}", _bracketed(prediction.mean), f"[{new.low}, {new.high}]", mark


def _csv_rows(run: RunPrediction) -> Iterator[dict[str, object]]:
    """A row per question and target; an entropy with several stretches has a row for each."""
    for prediction in run.predictions:
        yield _cells("reward at entropy", prediction.entropy, prediction.mean) | {
            "observation_low": prediction.observation.low,
            "observation_high": prediction.observation.high,
            "extrapolated": str(prediction.extrapolated).lower(),
        }
    for target in run.entropies:
        for low, high in target.intervals or ((None, None),):
            yield _cells("entropy for reward", target.reward, target) | {"low": low, "high": high}
    if run.saturation is not None:
        yield _cells("reward at saturation", run.saturation.entropy, run.saturation.reward)
    if run.forecast is not None:
        ahead = run.forecast
        for step, reward, outside in zip(ahead.step, ahead.reward, ahead.extrapolated, strict=True):
            yield _cells("reward at step", step, reward) | {"extrapolated": str(outside).lower()}
    if run.spending is not None:
        yield _cells("step of saturation", run.spending.entropy, run.spending.step)


def _cells(question: str, target: float, answer: Estimate | EntropySet) -> dict[str, object]:
    names = ("value", "low", "high", "level", "method", "note")
    return {"question": question, "target": target} | {name: getattr(answer, name, None) for name in names}


def _verdict(run: RunPrediction) -> str:
    low, high = run.entropy_range
    fitted = f"fitted on entropies from {format_number(low)} to {format_number(high)} nats"
    if run.validity.ok:
        return f"the law is not contradicted by this run; {fitted}"
    verdict = invalid_headline(run.validity).removesuffix(".")
    return f"{verdict}: {run.validity.reasons[0]}; {fitted}"


def _sentences(run: RunPrediction) -> Iterator[str]:
    """The entropies for the rewards that were given, and the saturation."""
    for target in run.entropies:
        value = f"entropy {format_number(target.value)} nats" if target.value is not None else "no entropy"
        sets = " and ".join(
            f"[{format_number(low)}, {'no upper end)' if high is None else format_number(high) + ']'}"
            for low, high in target.intervals
        )
        shown = f"{format_percent(target.level)} set {sets or 'empty'}"
        touches = bool(target.intervals) and target.intervals[0][0] == 0.0
        floor = "; the set reaches 0, the end of all entropy" if touches else ""
        note = f"; {target.note}" if target.note else ""
        yield f"reward {target.reward:g}: {value}, {shown}{floor}{note}"
    saturation = run.saturation
    if saturation is not None:
        share, entropy = format_percent(saturation.share), format_number(saturation.entropy)
        yield (
            f"saturation: {share} of what the law still promises is spent at entropy {entropy} nats, "
            f"reward {_bracketed(saturation.reward)}"
        )


def _bracketed(estimate: Estimate) -> str:
    """``0.538 [0.474, 0.581]``; a dash for each number that is not known."""
    value, low, high = format_estimate(estimate)
    return f"{value} [{low}, {high}]"


def _ahead(run: RunPrediction) -> Iterator[Iterator[str]]:
    """The forecasts over steps as text, each in lines without the name of the run."""
    if run.forecast is not None:
        yield forecast_lines(run.forecast)
    if run.spending is not None:
        yield saturation_lines(run.spending)


def forecast_lines(told: Forecast) -> Iterator[str]:
    """The forecast of one run: its members, then a line per step."""
    yield (
        f"  forecast from {told.n} evaluations up to step {format_step(told.last_step)}; "
        f"reward now {format_interval(told.reward_now)}"
    )
    yield "  " + _members_words({member.name: member.weight for member in told.members})
    if told.path_members:
        yield "  entropy " + _members_words(told.path_members)
    source = "forecast too" if told.blind else "as given"
    yield f"  {'step':>8}   {'reward':<28} entropy, {source:<17} {format_percent(told.level)} intervals"
    rows = zip(told.step, told.reward, told.entropy, told.extrapolated, strict=True)
    for step, reward, entropy, outside in rows:
        given = format_estimate(entropy).value if entropy.low is None else _bracketed(entropy)
        mark = "extrapolated" if outside else ""
        yield f"  {format_step(step):>8}   {_bracketed(reward):<28} {given:<27} {mark}".rstrip()
    yield from (f"  {one_line(note)}" for note in told.notes)


def _members_words(weights: Mapping[str, float]) -> str:
    """``weights: law 0.52, line 0.31, 3 others 0.17``."""
    named = sorted(weights.items(), key=lambda item: -item[1])
    words = [f"{name} {format_weight(weight)}" for name, weight in named if weight >= SHOWN_WEIGHT]
    others = named[len(words) :]
    if others:
        words.append(f"{count(len(others), 'other')} {format_weight(sum(weight for _, weight in others))}")
    return "weights: " + ", ".join(words)


def saturation_lines(told: SaturationForecast) -> Iterator[str]:
    """When the entropy is spent, and the probability of each gain."""
    yield (
        f"  forecast: {format_percent(told.share)} of what the law still promises is spent at entropy "
        f"{format_number(told.entropy)} nats; now {format_number(told.entropy_now)} at step "
        f"{format_step(told.last_step)}"
    )
    if told.step.value is None:
        yield f"  no step: {told.step.note}"
    else:
        ends = (told.step.low, told.step.high)
        low, high = ("not known" if end is None else format_step(end) for end in ends)
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
