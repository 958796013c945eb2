"""Predictions: the reward at entropies, the entropies for rewards, the saturation, and the forecasts."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.prediction import PredictionDocument, RunPrediction
from entropylaw.report import blocks as b
from entropylaw.report.describe import forecast
from entropylaw.report.numbers import format_estimate, format_interval, format_number, format_percent
from entropylaw.report.words import invalid_headline
from entropylaw.results import EntropySet, Estimate

COLUMNS = b.columns(
    "run path question target value low high observation_low observation_high extrapolated level method note"
)
"""A row per question and target; an entropy with several stretches has a row for each."""


def describe(result: PredictionDocument | RunPrediction) -> list[b.Block]:
    """A run, or the runs of a document: the law's answers, then the forecasts."""
    if isinstance(result, PredictionDocument):
        return [b.Heading("Predictions", 1), *(block for run in result.runs for block in describe(run))]
    validity, against = result.validity, ""
    low, high = map(format_number, result.entropy_range)
    fitted = f"fitted on entropies from {low} to {high} nats"
    verdict = b.Verdict("valid", f"the law is not contradicted by this run; {fitted}", True)
    if not validity.ok:
        against = invalid_headline(validity)
        badge, ok = ("law fails", False) if validity.contradicted else ("undecided", None)
        verdict = b.Verdict(badge, f"{against.removesuffix('.')}; {fitted}", ok)
    notes = [b.Note(f"reward {target.reward:g}", _entropies(target)) for target in result.entropies]
    if (end := result.saturation) is not None:
        spent = f"{format_percent(end.share)} of what the law still promises is spent at entropy"
        at = f"{format_number(end.entropy)} nats, reward {format_interval(end.reward)}"
        notes.append(b.Note("saturation", f"{spent} {at}"))
    if result.no_forecast:
        notes.append(b.Note("no forecast", result.no_forecast))
    blocks: list[b.Block] = [b.Heading(result.run, 2, result.path), verdict]
    blocks.append(b.Notes(b.labelled("reason", validity.reasons)))
    if result.predictions:
        level = format_percent(result.predictions[0].mean.level)
        labels = ("entropy", "reward of the law", f"a new evaluation, {level} interval", "extrapolated")
        rows = [
            # The middle of both intervals is the same.
            (f"{one.entropy:.4g}", one.mean, format_estimate(one.observation).interval, one.extrapolated)
            for one in result.predictions
        ]
        blocks.append(b.Table([b.Column(label, label) for label in labels], rows))
    ahead = forecast.sections(result.forecast, result.spending, result.forecast, against)
    return [*blocks, b.Notes(notes), *ahead]


def table(result: PredictionDocument | RunPrediction) -> b.Table:
    """What every run answers."""
    runs = result.runs if isinstance(result, PredictionDocument) else (result,)
    rows = ({**row, "run": run.run, "path": run.path} for run in runs for row in _rows(run))
    return b.table_of(COLUMNS, rows)


def _entropies(target: EntropySet) -> str:
    value = f"entropy {format_number(target.value)} nats" if target.value is not None else "no entropy"
    sets = " and ".join(
        f"[{format_number(low)}, {'no upper end)' if high is None else format_number(high) + ']'}"
        for low, high in target.intervals
    )
    touches = bool(target.intervals) and target.intervals[0][0] == 0.0
    floor = "; the set reaches 0, the end of all entropy" if touches else ""
    note = f"; {target.note}" if target.note else ""
    return f"{value}, {format_percent(target.level)} set {sets or 'empty'}{floor}{note}"


def _rows(run: RunPrediction) -> Iterator[dict[str, b.Cell]]:
    for prediction in run.predictions:
        new = prediction.observation
        yield _answer("reward at entropy", prediction.entropy, prediction.mean) | {
            "observation_low": new.low,
            "observation_high": new.high,
            "extrapolated": prediction.extrapolated,
        }
    for target in run.entropies:
        for low, high in target.intervals or ((None, None),):
            yield _answer("entropy for reward", target.reward, target) | {"low": low, "high": high}
    if run.saturation is not None:
        yield _answer("reward at saturation", run.saturation.entropy, run.saturation.reward)
    if (ahead := run.forecast) is not None:
        for step, reward, outside in zip(ahead.step, ahead.reward, ahead.extrapolated, strict=True):
            yield _answer("reward at step", step, reward) | {"extrapolated": outside}
    if run.spending is not None:
        yield _answer("step of saturation", run.spending.entropy, run.spending.step)


def _answer(question: str, target: float, answer: Estimate | EntropySet) -> dict[str, b.Cell]:
    names = ("value", "low", "high", "level", "method", "note")
    known = {name: getattr(answer, name, None) for name in names}
    return {"question": question, "target": target, **known}
