"""Forecasts of later steps, predictions by the law, and backtests of the forecasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from entropylaw.documents.document import BacktestDocument, PredictionDocument, RunPrediction
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_probability,
    format_step,
)
from entropylaw.report.words import earliest, headline, step_words
from entropylaw.results import EntropySet, Estimate, Prediction, Verdict, Why
from entropylaw.results.forecast import Backtest, Forecast, RunBacktest, SaturationForecast
from entropylaw.results.result import LOST, replace, sentences

Result = (
    Forecast
    | SaturationForecast
    | PredictionDocument
    | RunPrediction
    | Backtest
    | BacktestDocument
    | RunBacktest
)

STEPS = (
    b.Column("step", "step", unit="step"),
    *b.columns("reward", "entropy", estimate=True),
    b.Column("extrapolated", "extrapolated"),
)
SATURATION = (
    *b.columns("run", "share", "entropy_now", "entropy"),
    b.Column("step", "step", unit="step", estimate=True),
    b.Column("reward", "reward", estimate=True),
    *b.columns("gain", "at_step", "probability"),
)
"""The step of saturation, and below it a row per gain."""

PREDICTIONS = (
    *b.columns("run", "path", "question", "target", "value", "low", "high", "observation_low"),
    *b.columns("observation_high", "extrapolated", "level", "method", "note"),
)
"""A row per question and target; an entropy with several stretches has a row for each."""

PEERS = (
    ("last_value", "last value"),
    ("law", "law"),
    ("line", "line"),
    ("averaged", "averaged"),
    ("scalerl", "ScaleRL"),
)

_NAMES = {
    "forecast": "the forecast",
    "last_value": "the last value",
    "law": "the law by least squares",
    "line": "a line by least squares",
    "averaged": "the averaged prediction of a fit",
    "scalerl": "the ScaleRL sigmoid",
}

_PROTOCOL = (
    b.Column("protocol", "fitted"),
    b.Column("entropy", "entropy", lambda row: "forecast" if row.blind else "observed"),
)
_COVERED = b.Column("covered", "coverage", unit="%")

SCORES = (
    *_PROTOCOL,
    b.Column("fitted", shown_in=(b.DATA,)),
    b.Column("predicted", shown_in=(b.DATA,)),
    b.Column("n", "fitted → predicted", lambda row: f"{row.fitted} → {row.predicted}", shown_in=(b.PEOPLE,)),
    b.Column("rmse", "forecast"),
    *(b.Column(key, label) for key, label in PEERS),
    _COVERED,
    b.Column("width", "width"),
    *(b.Column(key, shown_in=(b.DATA,)) for key in ("spread", "noise", "interval_score", "last_value_score")),
)
"""The root mean squared errors of a run's forecasts and of their peers, a row per protocol."""

BACKTEST = (
    *b.columns("run"),
    *(column for column in SCORES if b.DATA in column.shown_in),
    *b.columns("level", "note"),
)
"""The same in CSV and frames; a run that was not tested has its reason in ``note``."""

SKILLS = (
    *_PROTOCOL,
    *(b.Column(f"to_{key}", label, unit="ratio") for key, label in PEERS),
    _COVERED,
    b.Column("width", "width", lambda row: format_number(row.width, 2)),
    b.Column("to_band", "interval score", unit="ratio"),
    b.Column("worst", "worst to last value", lambda row: f"{row.worst:.2f} ({row.worst_run})"),
)
"""Errors over all runs, as ratios."""


def describe(result: Result) -> list[b.Block]:
    """A forecast, the predictions of runs, or a backtest."""
    match result:
        case PredictionDocument():
            return [b.Heading("Predictions", 1), *(block for run in result.runs for block in describe(run))]
        case RunPrediction():
            return _prediction(result)
        case RunBacktest():
            return _run_backtest(result)
        case Backtest() | BacktestDocument():
            return _backtest(result)
    head = b.Heading(result.run, 2, f"forecast from step {format_step(result.last_step)}")
    if isinstance(result, Forecast):
        return [head, *sections(result, None, result)]
    return [head, *sections(None, result, result)]


def table(result: Result) -> b.Table:
    """A row per step, gain, prediction or protocol."""
    runs: Any = getattr(result, "runs", (result,))
    match result:
        case Forecast():
            return b.Table(STEPS, list(_steps(result)))
        case SaturationForecast():
            rows = [{column.key: getattr(result, column.key) for column in SATURATION[:6]}]
            for gain in result.gains:
                probability = {"gain": gain.points, "at_step": gain.step, "probability": gain.by_step}
                rows.append({"run": result.run, **probability})
            return b.table_of(SATURATION, rows)
        case PredictionDocument() | RunPrediction():
            return b.table_of(PREDICTIONS, [row for run in runs for row in prediction_rows(run)])
    scores: list[b.Row] = []
    for run in runs:
        names = {"run": run.run, "level": getattr(result, "level", None)}
        shown = [column for column in SCORES if b.DATA in column.shown_in]
        for cells in b.table_of(shown, run.scores).rows:
            scores.append({**names, **dict(zip((column.key for column in shown), cells, strict=True))})
        if run.refusal is not None:
            scores.append({"run": run.run, "note": run.refusal})
    return b.table_of(BACKTEST, scores)


def sections(
    ahead: Forecast | None, spending: SaturationForecast | None, part: object, against: str = ""
) -> list[b.Block]:
    """The forecast of rewards and of the saturation; the figure is drawn from ``part``, where there is one.

    ``against`` is the verdict on a law that does not hold, which is one of several curves in the forecast.
    """
    if ahead is None and spending is None:
        return []
    blocks: list[b.Block] = figures_of("forecast", part) if part is not None else []
    notes: list[b.Note] = []
    if ahead is not None:
        now, until = format_interval(ahead.reward_now), format_step(ahead.last_step)
        first = f"Forecast from {ahead.n} evaluations up to step {until}; reward now {now}."
        blocks += [b.paragraphs(first), _step_table(ahead)]
        notes.append(b.Note("weights", _weights({member.name: member.weight for member in ahead.members})))
        if ahead.path_members:
            notes.append(b.Note("weights", f"of the entropy: {_weights(ahead.path_members)}"))
        origins = counted(len(ahead.origins), "earlier step")
        moved = f"this run's own forecasts from {origins} moved {format_percent(ahead.own)} of the weights"
        notes.append(b.Note("rests on", f"what other runs did next; {moved}"))
        notes += b.labelled("note", ahead.notes)
        methods = f"prediction interval, {ahead.reward[0].method}; reward now by {ahead.reward_now.method}"
        notes.append(b.Note("intervals", methods, ""))
    if spending is not None:
        notes += saturation_notes(spending)
    if against:
        mixed = "The forecast averages several curves, weighted by their errors"
        notes.append(b.Note("caution", f"{against} {mixed}."))
    return [*blocks, b.Notes(notes)]


def _step_table(ahead: Forecast) -> b.Table:
    """A row per step of a forecast; an entropy that was given has no interval."""
    step, reward, entropy, extrapolated = STEPS
    reward = replace(reward, label=f"reward, {format_percent(ahead.level)} prediction interval")
    entropy = replace(entropy, label=f"entropy, {'forecast' if ahead.blind else 'given'}")
    rows = list(_steps(ahead))
    if not ahead.blind:
        rows = [(*row[:2], getattr(row[2], "value", None), row[3]) for row in rows]
    return b.Table((step, reward, entropy, extrapolated), rows)


def _steps(ahead: Forecast) -> Iterator[tuple[b.Cell, ...]]:
    """Step, reward, entropy and whether that is extrapolated; a forecast without entropies has neither."""
    unknown = (None,) * len(ahead.step)
    entropies = (ahead.entropy or unknown, ahead.extrapolated or unknown)
    return zip(ahead.step, ahead.reward, *entropies, strict=True)


def _weights(weights: Mapping[str, float]) -> str:
    """``law 0.52, line 0.31, 3 others 0.17``: members with less than 0.05 are counted, not named."""
    named = sorted(weights.items(), key=lambda item: -item[1])
    shown = [f"{name} {format_probability(weight)}" for name, weight in named if weight >= 0.05]
    others = named[len(shown) :]
    if others:
        total = format_probability(sum(weight for _, weight in others))
        shown.append(f"{counted(len(others), 'other')} {total}")
    return ", ".join(shown)


def saturation_notes(spending: SaturationForecast) -> list[b.Note]:
    """When the forecast entropy is spent, and the probability of the gain."""
    now = f"{format_number(spending.entropy_now)} at step {format_step(spending.last_step)}"
    entropy = f"{format_number(spending.entropy)} nats (now {now})"
    if spending.step.value is None:
        text = f"stays above {entropy} for ten times the length of the run so far{earliest(spending.step)}"
    else:
        step, level = step_words(spending.step), format_percent(spending.step.level)
        reward = format_interval(spending.reward)
        text = f"falls to {entropy} by step {step}, {level} interval, with a reward of {reward}"
    gains = (
        f"at least {format_number(gain.points)} above the reward now at step {format_step(gain.step)}: "
        f"probability {format_probability(gain.by_step)}"
        for gain in spending.gains
    )
    return [b.Note("entropy", f"The forecast entropy {text}."), *b.labelled("gain", gains)]


def _prediction(result: RunPrediction) -> list[b.Block]:
    """The averaged predictions for a run, then the forecasts."""
    low, high = map(format_number, result.entropy_range)
    against = f"The law fails: {headline(result)}." if result.verdict is Verdict.fails else ""
    title = f"{headline(result)}; fitted on entropies from {low} to {high} nats"
    verdict = b.Verdict(result.verdict, title, b.HOLDS[result.verdict], titled=True)
    notes = [b.Note(f"reward {target.reward:g}", entropy_set_words(target)) for target in result.entropies]
    if result.lost:
        left = "unknown: the run lost its reward, and none is predicted below its entropies"
    elif result.why is Why.no_relation:
        left = f"unknown: {headline(result)}"
    else:
        left = f"at least {result.gain:.3g} above the reward now at H = 0: probability "
        left += format_probability(result.p_headroom)
    notes.append(b.Note("on the curve", left))
    if result.no_forecast:
        notes.append(b.Note("no forecast", result.no_forecast))
    blocks: list[b.Block] = [b.Heading(result.run, 2, result.path), verdict]
    reasons = (reason for reason in sentences(result.findings, "reason") if reason not in title)
    lost = (finding.sentence for finding in result.findings if finding.code == LOST)
    blocks.append(b.Notes(b.labelled("caution", lost) + b.labelled("reason", reasons)))
    if result.predictions:
        blocks.append(on_curve(result.predictions))
    ahead = sections(result.forecast, result.spending, result.forecast, against)
    return [*blocks, b.Notes(notes), *ahead]


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


def prediction_rows(run: RunPrediction) -> Iterator[b.Row]:
    """A row per question and target."""

    def row(question: str, target: float, answer: Estimate | EntropySet, **others: b.Cell) -> b.Row:
        names = ("value", "low", "high", "level", "method", "note")
        numbers = {name: getattr(answer, name, None) for name in names}
        asked = {"run": run.run, "path": run.path, "question": question, "target": target}
        return {**asked, **numbers, **others}

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
        for step, reward, outside in zip(ahead.step, ahead.reward, ahead.extrapolated, strict=True):
            yield row("reward at step", step, reward, extrapolated=outside)
    if run.spending is not None:
        yield row("step of saturation", run.spending.entropy, run.spending.step)


def _backtest(result: Backtest | BacktestDocument) -> list[b.Block]:
    """A table over all runs, then every run."""
    blocks: list[b.Block] = [b.Heading("Backtest of forecasts", 1)]
    if isinstance(result, BacktestDocument):
        blocks.append(b.warned(result.warnings))
    refused = sum(run.refusal is not None for run in result.runs)
    if refused:
        text = f"Not tested: {refused} of {len(result.runs)} runs, each with its reason."
        blocks.append(b.paragraphs(text, detail=True))
    if result.overall:
        how = (
            f"{counted(result.overall[0].runs, 'run')}: error of the forecast over that of the peer, "
            "geometric mean over runs, errors below the noise counted as the noise; below 1 the forecast is "
            "better. Law and line are by least squares, "
            "averaged is what a fit of that part predicts, and the three use the observed entropies in every "
            "row. The width of the "
            f"{format_percent(result.level)} prediction interval is a share of the run's range of rewards, "
            "median over runs; its interval score (width and misses together) is over that of a normal band "
            "about the last value."
        )
        # Each kind of forecast that has the smallest error, with its protocols.
        best: dict[str, list[str]] = {}
        for skill in result.overall:
            entropies = "forecast" if skill.blind else "observed"
            best.setdefault(_NAMES[skill.best], []).append(f"{skill.protocol}, {entropies} entropies")
        named = "; ".join(f"{name} ({'; '.join(protocols)})" for name, protocols in best.items())
        blocks += [b.Notes([b.Note("smallest error", named)]), b.paragraphs(how)]
        blocks.append(b.table_of(SKILLS, result.overall, words=2))
    return blocks + [block for run in result.runs for block in _run_backtest(run)]


def _run_backtest(run: RunBacktest) -> list[b.Block]:
    if run.refusal is not None:
        return [b.Heading(run.run, 2), b.Verdict("not tested", run.refusal)]
    block = f", each the mean of {run.block}" if run.block > 1 else ""
    return [
        b.Heading(run.run, 2, f"{run.n} evaluations{block}"),
        b.Verdict("tested", "root mean squared errors on the evaluations not fitted, in reward units", True),
        b.table_of(SCORES, run.scores, b.PEOPLE, words=2),
    ]
