"""Predictions by the averaged curve of a fit, and the forecasts beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from entropylaw.documents.document import Entry, PredictionDocument, RunPrediction
from entropylaw.report import blocks as b
from entropylaw.report.describe import forecast
from entropylaw.report.numbers import format_estimate, format_number, format_percent, format_probability
from entropylaw.report.words import headline
from entropylaw.results import EntropySet, Estimate, Prediction, Why
from entropylaw.results.result import LOST, sentences

PREDICTIONS = (
    *b.columns("run", "path", "question", "target", "value", "low", "high", "observation_low"),
    *b.columns("observation_high", "extrapolated", "p_gain", "level", "method", "note"),
)
"""A row per question and target; an entropy with several stretches has a row for each."""


def describe(result: PredictionDocument | Entry[RunPrediction]) -> list[b.Block]:
    """The averaged predictions for every run, then its forecasts."""
    if isinstance(result, Entry):
        return _of_run(result, result.result) if result.result is not None else []
    return [b.Heading("Predictions", 1), *(block for run in result.runs for block in describe(run))]


def _of_run(entry: Entry[RunPrediction], result: RunPrediction) -> list[b.Block]:
    """The predictions of a run."""
    low, high = map(format_number, result.entropy_range)
    law = f"{result.verdict}: {headline(result)}; fitted on entropies from {low} to {high} nats"
    notes = [b.Note(f"reward {target.reward:g}", entropy_set_words(target)) for target in result.entropies]
    notes.append(b.Note("on the curve", gain_words(result)))
    if result.no_forecast:
        notes.append(b.Note("no forecast", result.no_forecast))
    blocks: list[b.Block] = [b.Heading(entry.name, 2, entry.path)]
    reasons = b.labelled("reason", sentences(result.findings, "reason"))
    lost = (finding.sentence for finding in result.findings if finding.code == LOST)
    blocks.append(b.Notes([*b.labelled("caution", lost), b.Note("entropy law", law), *reasons]))
    if result.predictions:
        blocks.append(on_curve(result.predictions))
    ahead = [] if result.forecast is None else forecast.sections(result.forecast, result.forecast)
    return [*blocks, b.Notes(notes), *ahead]


def gain_words(result: RunPrediction) -> str:
    """The probability that the gain that counts is left on the curve."""
    if result.lost:
        return "unknown: the run lost its reward, and none is predicted below its entropies"
    if result.why is Why.no_relation:
        return f"unknown: {headline(result)}"
    probability = format_probability(result.p_headroom)
    return f"at least {result.gain:.3g} above the reward now at H = 0: probability {probability}"


def on_curve(predictions: Sequence[Prediction]) -> b.Table:
    """A row per entropy: the reward there, and the interval of one more evaluation."""
    level = format_percent(predictions[0].mean.level)
    labels = ("entropy", "reward", f"{level} prediction interval", "extrapolated")
    rows = []
    for point in predictions:
        # Both intervals have the same centre.
        observation = format_estimate(point.observation).interval
        rows.append((f"{point.entropy:.4g}", point.mean, observation, point.extrapolated))
    return b.Table(b.columns(*labels), rows)


def table(result: PredictionDocument | Entry[RunPrediction]) -> b.Table:
    """A row per question and target of every run."""
    entries = (result,) if isinstance(result, Entry) else result.runs
    return b.table_of(PREDICTIONS, [row for entry in entries for row in prediction_rows(entry)])


def entropy_set_words(target: EntropySet) -> str:
    """``entropy 0.31 nats, 95 % set [0.24, 0.4]``."""
    value = f"entropy {format_number(target.value)} nats" if target.value is not None else "no entropy"
    sets = " and ".join(
        f"[{format_number(low)}, {'no upper end)' if high is None else format_number(high) + ']'}"
        for low, high in target.intervals
    )
    touches = bool(target.intervals) and target.intervals[0][0] == 0.0
    floor = "; the set includes 0, the lowest entropy" if touches else ""
    note = f"; {target.note}" if target.note else ""
    return f"{value}, {format_percent(target.level)} set {sets or 'empty'}{floor}{note}"


def prediction_rows(entry: Entry[RunPrediction]) -> Iterator[b.Row]:
    """A row per question and target of a run."""
    run = entry.result
    if run is None:
        return

    def row(question: str, target: float, answer: Estimate | EntropySet, **others: b.Cell) -> b.Row:
        names = ("value", "low", "high", "level", "method", "note")
        numbers = {name: getattr(answer, name, None) for name in names}
        cells: b.Row = {"run": entry.name, "path": entry.path, "question": question, "target": target}
        return {**cells, **numbers, **others}

    for prediction in run.predictions:
        low, high = prediction.observation.low, prediction.observation.high
        others: b.Row = {
            "observation_low": low,
            "observation_high": high,
            "extrapolated": prediction.extrapolated,
        }
        yield row("reward at entropy", prediction.entropy, prediction.mean, **others)
    for target in run.entropies:
        for low, high in target.intervals or ((None, None),):
            yield row("entropy for reward", target.reward, target, low=low, high=high)
    ahead = run.forecast
    if ahead is not None:
        for step, reward, chance in zip(ahead.step, ahead.rewards, ahead.p_gains, strict=True):
            yield row("reward at step", step, reward, p_gain=chance)
