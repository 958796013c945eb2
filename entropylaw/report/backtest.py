"""A backtest as text, Markdown and CSV: every run with its scores, and one table over all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from entropylaw.documents.backtest import BacktestDocument
from entropylaw.report.markdown import paragraphs, table, title, whole
from entropylaw.report.numbers import count, format_number, format_percent
from entropylaw.report.printable import csv_text, markdown_cell, one_line
from entropylaw.results.backtest import Backtest, RunBacktest, Score, Skill

COLUMNS = (
    *("run", "protocol", "entropy", "fitted", "predicted", "rmse", "last_value", "law", "line", "scalerl"),
    *("covered", "width", "spread", "level", "note"),
)


def _columns(cells: Iterable[str]) -> str:
    return " ".join(f"{cell:>9}" for cell in cells)


_PEERS = _columns(("last", "law", "line", "ScaleRL"))


def render_text(told: Backtest | BacktestDocument) -> str:
    """Every run for a terminal, then the whole."""
    blocks = ["\n".join(_run_lines(run)) + "\n" for run in told.runs]
    if told.overall:
        runs, band = count(told.overall[0].runs, "run"), format_percent(told.level)
        lines = [
            f"{runs}: error of the forecast over that of the peer, geometric mean; below 1 it is better",
            f"  {'fitted':<17} {'entropy':<9} {_PEERS}  in {band} band  worst to last",
        ]
        for skill in told.overall:
            ratios, covered = _columns(_ratios(skill)), format_percent(skill.covered)
            worst = f"{skill.worst:.2f} ({one_line(skill.worst_run)})"
            lines.append(f"  {skill.protocol:<17} {_entropy(skill):<9} {ratios}  {covered:<12}  {worst}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _run_lines(run: RunBacktest) -> Iterator[str]:
    yield one_line(run.run)
    if run.refusal is not None:
        yield f"  not tested: {one_line(run.refusal)}"
        return
    yield f"  {_tested(run)}; root mean squared errors of what was not fitted"
    yield f"  {'fitted':<17} {'entropy':<9} {'n':>3} {'forecast':>9} {_PEERS}  in band"
    for score in run.scores:
        errors, covered = _columns(_errors(score)), format_percent(score.covered)
        yield f"  {score.protocol:<17} {_entropy(score):<9} {score.fitted:>3} {errors}  {covered}"


def render_markdown(document: BacktestDocument) -> str:
    """The whole first, then every run, as far as a comment on a forge has room for them."""
    level = format_percent(document.level)
    return whole(
        _head(document, level),
        document.runs,
        lambda run: _section(run, level),
        where="the JSON document holds them all",
    )


def _head(document: BacktestDocument, level: str) -> Iterator[str]:
    yield from title("Backtest of forecasts", [markdown_cell(warning) for warning in document.warnings])
    refused = sum(run.refusal is not None for run in document.runs)
    if refused:
        yield from paragraphs(
            f"Not tested: {refused} of {len(document.runs)} runs, each with its reason below."
        )
    if not document.overall:
        return
    yield from paragraphs(
        f"{count(document.overall[0].runs, 'run')}: error of the forecast over that of the peer, "
        "geometric mean over runs; below 1 the forecast is better. Law and line are by least squares, and "
        "know the observed entropies in every row. The band's width is a share of the run's range of "
        "rewards, median over runs."
    )
    rows = (
        (
            *(skill.protocol, _entropy(skill), *_ratios(skill)),
            *(format_percent(skill.covered), format_number(skill.width, 2)),
            f"{skill.worst:.2f} ({markdown_cell(skill.worst_run)})",
        )
        for skill in document.overall
    )
    columns = ("fitted", "entropy", "to last value", "to law", "to line", "to ScaleRL")
    yield from table((*columns, f"in {level} band", "width", "worst to last value"), rows, words=2)


def _section(run: RunBacktest, level: str) -> Iterator[str]:
    yield from paragraphs(f"## {markdown_cell(run.run)}")
    if run.refusal is not None:
        yield from paragraphs(f"**Not tested:** {markdown_cell(run.refusal)}")
        return
    errors = f"{_tested(run)}; root mean squared errors of what was not fitted, in reward units."
    yield from paragraphs(errors)
    rows = (
        (
            *(score.protocol, _entropy(score), f"{score.fitted} → {score.predicted}", *_errors(score)),
            *(format_percent(score.covered), format_number(score.width)),
        )
        for score in run.scores
    )
    columns = ("fitted", "entropy", "fitted → predicted", "forecast", "last value", "law", "line", "ScaleRL")
    yield from table((*columns, f"in {level} band", "width"), rows, words=2)


def _tested(run: RunBacktest) -> str:
    return f"{run.n} evaluations" + (f", each the mean of {run.block}" if run.block > 1 else "")


def _errors(score: Score) -> Iterator[str]:
    return map(format_number, (score.rmse, score.last_value, score.law, score.line, score.scalerl))


def _ratios(skill: Skill) -> list[str]:
    ratios = (skill.to_last_value, skill.to_law, skill.to_line, skill.to_scalerl)
    return [f"{ratio:.2f}" for ratio in ratios]


def _entropy(told: Score | Skill) -> str:
    return "forecast" if told.blind else "observed"


def render_csv(told: Backtest | BacktestDocument) -> str:
    """One row for each run and protocol; a run that was not tested has its reason in ``note``."""
    rows: list[dict[str, object]] = []
    for run in told.runs:
        if run.refusal is not None:
            rows.append({"run": run.run, "note": run.refusal})
        for score in run.scores:
            numbers = {key: getattr(score, key) for key in COLUMNS if hasattr(score, key)}
            rows.append({"run": run.run, "entropy": _entropy(score), "level": told.level} | numbers)
    return csv_text(COLUMNS, rows)
