"""A prediction document as text, Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from entropylaw.documents.prediction import PredictionDocument, RunPrediction
from entropylaw.documents.store import dumps
from entropylaw.report.forecasttext import forecast_text, saturation_text
from entropylaw.report.numbers import format_estimate, format_number, format_percent
from entropylaw.report.printable import csv_text, markdown_cell, one_line
from entropylaw.report.words import invalid_headline
from entropylaw.results import EntropySet, Estimate, Saturation


def render(document: PredictionDocument, kind: str) -> str:
    """``kind`` is "text", "markdown", "csv" or "json"."""
    renderers: dict[str, Callable[[PredictionDocument], str]] = {
        "text": _text,
        "markdown": _markdown,
        "csv": _csv,
        "json": lambda whole: dumps(whole.to_json()),
    }
    return renderers[kind](document)


def _text(document: PredictionDocument) -> str:
    return "\n".join("\n".join(_text_lines(run)) + "\n" for run in document.runs)


def _text_lines(run: RunPrediction) -> Iterator[str]:
    yield f"{one_line(run.run)} · {one_line(run.path)}"
    yield "  " + _verdict(run)
    if run.predictions:
        level = run.predictions[0].mean.level
        intervals = f"{format_percent(level)} intervals"
        yield f"  {'entropy':>8}   {'reward of the law':<28} {'a new evaluation':<20} {intervals}"
    for prediction in run.predictions:
        value, low, high = format_estimate(prediction.mean)
        _, new_low, new_high = format_estimate(prediction.observation)
        mark = "extrapolated" if prediction.extrapolated else ""
        mean = f"{value} [{low}, {high}]"
        yield f"  {prediction.entropy:>8.4g}   {mean:<28} [{new_low}, {new_high}]  {mark}".rstrip()
    for target in run.entropies:
        yield f"  reward {target.reward:g}: {_entropy_words(target)}"
    if run.saturation is not None:
        yield "  " + _saturation_words(run.saturation)
    for text in _ahead(run):
        yield from text.rstrip("\n").split("\n")[1:]
    if run.no_forecast:
        yield f"  no forecast: {one_line(run.no_forecast)}"


def _ahead(run: RunPrediction) -> Iterator[str]:
    if run.forecast is not None:
        yield forecast_text(run.forecast)
    if run.spending is not None:
        yield saturation_text(run.spending)


def _markdown(document: PredictionDocument) -> str:
    blocks = []
    for run in document.runs:
        lines = [f"## {markdown_cell(run.run)}", "", _verdict(run), ""]
        if run.predictions:
            lines += ["| entropy | reward of the law | a new evaluation | |", "| ---: | --- | --- | --- |"]
        for prediction in run.predictions:
            value, low, high = format_estimate(prediction.mean)
            _, new_low, new_high = format_estimate(prediction.observation)
            mark = "extrapolated" if prediction.extrapolated else ""
            lines.append(
                f"| {prediction.entropy:.4g} | {value} [{low}, {high}] | [{new_low}, {new_high}] | {mark} |"
            )
        lines += [""] if run.predictions else []
        lines += [f"- reward {target.reward:g}: {_entropy_words(target)}" for target in run.entropies]
        lines += [f"- {_saturation_words(run.saturation)}"] if run.saturation is not None else []
        for text in _ahead(run):
            lines += ["", "```text", *text.rstrip("\n").split("\n")[1:], "```"]
        lines += [f"- no forecast: {markdown_cell(run.no_forecast)}"] if run.no_forecast else []
        blocks.append("\n".join(lines).rstrip() + "\n")
    return "\n".join(blocks)


_COLUMNS = [
    "run",
    "path",
    "question",
    "target",
    "value",
    "low",
    "high",
    "observation_low",
    "observation_high",
    "extrapolated",
    "level",
    "method",
    "note",
]


def _csv(document: PredictionDocument) -> str:
    return csv_text(
        _COLUMNS,
        (
            {"run": run.run, "path": run.path}
            | {key: "" if value is None else value for key, value in row.items()}
            for run in document.runs
            for row in _csv_rows(run)
        ),
    )


def _csv_rows(run: RunPrediction) -> Iterator[dict[str, object]]:
    for prediction in run.predictions:
        yield _estimate_cells("reward at entropy", prediction.entropy, prediction.mean) | {
            "observation_low": prediction.observation.low,
            "observation_high": prediction.observation.high,
            "extrapolated": str(prediction.extrapolated).lower(),
        }
    for target in run.entropies:
        for low, high in target.intervals or ((None, None),):
            yield {
                "question": "entropy for reward",
                "target": target.reward,
                "value": target.value,
                "low": low,
                "high": high,
                "level": target.level,
                "method": target.method,
                "note": target.note,
            }
    if run.saturation is not None:
        yield _estimate_cells("reward at saturation", run.saturation.entropy, run.saturation.reward)
    if run.forecast is not None:
        for step, reward, outside in zip(
            run.forecast.step, run.forecast.reward, run.forecast.extrapolated, strict=True
        ):
            extrapolated = {"extrapolated": str(outside).lower()}
            yield _estimate_cells("reward at step", step, reward) | extrapolated
    if run.spending is not None:
        yield _estimate_cells("step of saturation", run.spending.entropy, run.spending.step)


def _estimate_cells(question: str, target: float, estimate: Estimate) -> dict[str, object]:
    return {
        "question": question,
        "target": target,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "level": estimate.level,
        "method": estimate.method,
        "note": estimate.note,
    }


def _verdict(run: RunPrediction) -> str:
    low, high = run.entropy_range
    fitted = f"fitted on entropies from {format_number(low)} to {format_number(high)} nats"
    if run.validity.ok:
        return f"the law is not contradicted by this run; {fitted}"
    verdict = invalid_headline(run.validity).removesuffix(".")
    return f"{verdict}: {run.validity.reasons[0]}; {fitted}"


def _entropy_words(target: EntropySet) -> str:
    """The set of entropies, in words."""
    value = f"entropy {format_number(target.value)} nats" if target.value is not None else "no entropy"
    sets = " and ".join(
        f"[{format_number(low)}, {'no upper end)' if high is None else format_number(high) + ']'}"
        for low, high in target.intervals
    )
    shown = (
        f"{format_percent(target.level)} set {sets}" if sets else f"{format_percent(target.level)} set empty"
    )
    touches = bool(target.intervals) and target.intervals[0][0] == 0.0
    floor = "; the set reaches 0, the end of all entropy" if touches else ""
    note = f"; {target.note}" if target.note else ""
    return f"{value}, {shown}{floor}{note}"


def _saturation_words(saturation: Saturation) -> str:
    value, low, high = format_estimate(saturation.reward)
    return (
        f"saturation: {format_percent(saturation.share)} of what the law still promises is spent at entropy "
        f"{format_number(saturation.entropy)} nats, reward {value} [{low}, {high}]"
    )
