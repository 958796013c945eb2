"""A backtest document as Markdown: one table over all runs, and one for each."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.backtest import BacktestDocument
from entropylaw.report.markdownparts import table, title, whole
from entropylaw.report.numbers import format_number, format_percent
from entropylaw.report.printable import markdown_cell
from entropylaw.results.backtest import RunBacktest, Score, Skill


def render(document: BacktestDocument) -> str:
    """The whole first, then every run, as far as a comment on a forge has room for them."""
    level = format_percent(document.level)
    return whole(
        _head(document, level),
        document.runs,
        lambda run: _run(run, level),
        where="the JSON document holds them all",
    )


def _head(document: BacktestDocument, level: str) -> Iterator[str]:
    yield from title("Backtest of forecasts", [markdown_cell(warning) for warning in document.warnings])
    refused = sum(run.refusal is not None for run in document.runs)
    if refused:
        yield f"Not tested: {refused} of {len(document.runs)} runs, each with its reason below."
        yield ""
    if not document.overall:
        return
    tested = document.overall[0].runs
    yield (
        f"{'1 run' if tested == 1 else f'{tested} runs'}: error of the forecast over that of the peer, "
        "geometric mean over runs; below 1 the forecast is better. Law and line are by least squares, and "
        "know the observed entropies in every row. The band's width is a share of the run's range of "
        "rewards, median over runs."
    )
    yield ""
    yield from table(
        (
            *("fitted", "entropy", "to last value", "to law", "to line", "to ScaleRL"),
            *(f"in {level} band", "width", "worst to last value"),
        ),
        (_skill(skill) for skill in document.overall),
        words=2,
    )


def _skill(skill: Skill) -> tuple[str, ...]:
    ratios = (skill.to_last_value, skill.to_law, skill.to_line, skill.to_scalerl)
    return (
        skill.protocol,
        _entropy(skill),
        *(f"{ratio:.2f}" for ratio in ratios),
        format_percent(skill.covered),
        format_number(skill.width, 2),
        f"{skill.worst:.2f} ({markdown_cell(skill.worst_run)})",
    )


def _run(run: RunBacktest, level: str) -> Iterator[str]:
    yield f"## {markdown_cell(run.run)}"
    yield ""
    if run.refusal is not None:
        yield f"**Not tested:** {markdown_cell(run.refusal)}"
        yield ""
        return
    averaged = f", each the mean of {run.block}" if run.block > 1 else ""
    yield f"{run.n} evaluations{averaged}; root mean squared errors of what was not fitted, in reward units."
    yield ""
    yield from table(
        (
            *("fitted", "entropy", "fitted → predicted", "forecast", "last value", "law", "line", "ScaleRL"),
            *(f"in {level} band", "width"),
        ),
        (_score(score) for score in run.scores),
        words=2,
    )


def _score(score: Score) -> tuple[str, ...]:
    errors = (score.rmse, score.last_value, score.law, score.line, score.scalerl)
    return (
        score.protocol,
        _entropy(score),
        f"{score.fitted} → {score.predicted}",
        *(format_number(error) for error in errors),
        format_percent(score.covered),
        format_number(score.width),
    )


def _entropy(told: Score | Skill) -> str:
    return "forecast" if told.blind else "observed"
