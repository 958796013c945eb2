"""Predictions by the averaged curve of a fit, and the forecasts beside them."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.document import Entry, PredictionDocument, RunPrediction
from entropylaw.escaping import one_line
from entropylaw.report import blocks as b
from entropylaw.report import words
from entropylaw.report.describe import forecast
from entropylaw.report.numbers import format_estimate, format_interval, format_number, format_percent
from entropylaw.results import EntropySet, Estimate
from entropylaw.results.result import NO_SCORE
from entropylaw.units import UNIT_WORDS

PREDICTIONS = (
    *b.columns("run", "path", "question", "target", "value", "low", "high", "observation_low"),
    *b.columns("observation_high", "extrapolated", "p_gain", "level", "method", "note"),
    *b.columns("reward_column", "unit"),
)
"""A row per question and target; an entropy with several stretches has a row for each."""


def describe(result: PredictionDocument | Entry[RunPrediction]) -> list[b.Block]:
    """The averaged predictions for every run, then its forecasts."""
    if isinstance(result, Entry):
        return [] if result.result is None else _of_run(result, result.result)
    return [b.Heading("Predictions", 1), *(block for run in result.runs for block in describe(run))]


def _of_run(entry: Entry[RunPrediction], result: RunPrediction) -> list[b.Block]:
    """The predictions of a run: on the curve, the entropies of a reward, and the forecast."""
    rewarded = entry.columns.get("reward")
    measured = "" if rewarded is None else f"{one_line(rewarded.column)}, {UNIT_WORDS[rewarded.unit]}"
    percent = "%" if rewarded is not None and rewarded.unit == "percent" else ""
    state = f"not known: {result.no_state}"
    if result.state is not None:
        state = f"{result.state.word}, {format_number(result.state.now.value)} now"
    no_score = (finding.sentence for finding in result.findings if finding.code == NO_SCORE)
    # The line below the name is that of the state: it is how a text of this program is recognised.
    about = [b.Note("state", state), b.Note("law", _law_words(result)), b.Note("reward", measured)]
    about += b.labelled("note", no_score)
    blocks: list[b.Block] = [b.Heading(entry.name, 2, entry.path), b.Notes(about)]
    if result.predictions:
        level = format_percent(result.predictions[0].mean.level)
        labels = ("entropy", "reward", f"{level} prediction interval", "extrapolated")
        # Both intervals have the same centre.
        rows = [
            (
                f"{point.entropy:.4g}",
                point.mean,
                format_estimate(point.observation).interval,
                point.extrapolated,
            )
            for point in result.predictions
        ]
        blocks.append(b.Table(b.columns(*labels), rows))
    notes = [
        b.Note(f"reward {target.reward:g}{percent}", _entropy_set_words(target))
        for target in result.entropies
    ]
    notes.append(b.Note("no forecast", result.no_forecast or ""))
    ahead = [] if result.forecast is None else forecast.with_law(result.forecast)
    return b.on_axis(result.axis, [*blocks, b.Notes(notes), *ahead])


def _law_words(result: RunPrediction) -> str:
    """The word about the law, the entropies that it was fitted on, and the reward at H = 0."""
    if result.state is not None and result.is_broken:
        return f"{words.NOT_JUDGED}: {words.loss_words(result.state)}"
    if result.entropy_range is None:
        return "none" if result.no_law is None else f"none: {result.no_law.message}"
    low, high = map(format_number, result.entropy_range)
    law = f"{words.law_words(result)}; fitted on entropies from {low} to {high} nats"
    if result.ceiling is not None and words.says_zero(result):
        law += f"; by the law {format_interval(result.ceiling)} at H = 0"
    return law


def table(result: PredictionDocument | Entry[RunPrediction]) -> b.Table:
    """A row per question and target of every run."""
    entries = (result,) if isinstance(result, Entry) else result.runs
    return b.table_of(PREDICTIONS, [row for entry in entries for row in _prediction_rows(entry)])


def _entropy_set_words(target: EntropySet) -> str:
    """``entropy 0.31 nats, 95 % set [0.24, 0.4]``."""
    value = target.note or "no entropy"
    if target.value is not None:
        value = f"entropy {format_number(target.value)} nats"
    sets = " and ".join(
        f"[{format_number(low)}, {'no upper end)' if high is None else format_number(high) + ']'}"
        for low, high in target.intervals
    )
    text = f"{value}, {format_percent(target.level)} set {sets or 'empty'}"
    if target.intervals and target.intervals[0][0] == 0.0:
        text += "; the set includes 0, the lowest entropy"
    return f"{text}; {target.note}" if target.note and target.value is not None else text


def _prediction_rows(entry: Entry[RunPrediction]) -> Iterator[b.Row]:
    """A row per question and target of a run."""
    run = entry.result
    if run is None:
        return
    base: b.Row = {"run": entry.name, "path": entry.path}
    if (rewarded := entry.columns.get("reward")) is not None:
        base |= {"reward_column": rewarded.column, "unit": rewarded.unit or None}

    def row(question: str, target: float, answer: Estimate | EntropySet, **observed: b.Cell) -> b.Row:
        names = ("value", "low", "high", "level", "method", "note")
        numbers = {name: getattr(answer, name, None) for name in names}
        cells: b.Row = {"question": question, "target": target}
        return base | cells | numbers | observed

    for prediction in run.predictions:
        observed: b.Row = {
            f"observation_{end}": getattr(prediction.observation, end) for end in ("low", "high")
        }
        observed["extrapolated"] = prediction.extrapolated
        yield row("reward at entropy", prediction.entropy, prediction.mean, **observed)
    for target in run.entropies:
        for low, high in target.intervals or ((None, None),):
            yield row("entropy for reward", target.reward, target, low=low, high=high)
    if (ahead := run.forecast) is not None:
        for step, reward, chance in zip(ahead.step, ahead.rewards, ahead.p_gains, strict=True):
            yield row("reward at step", step, reward, p_gain=chance)
