"""The summary of token-level logs."""

from __future__ import annotations

from entropylaw.report import blocks as b
from entropylaw.report.numbers import MISSING, format_number, format_percent
from entropylaw.reproducible import rounded
from entropylaw.results.tokens import Cell, TokenSummary

_TOKEN_ROWS: tuple[tuple[str, str, str], ...] = (
    ("tokens", "tokens", "count"),
    ("responses", "responses", "count"),
    ("entropy", "entropy, mean of tokens", "nats"),
    ("entropy_se", "  standard error, tokens independent", "error"),
    ("entropy_se_responses", "  standard error, responses independent", "error"),
    ("entropy_se_prompts", "  standard error, prompts independent", "error"),
    ("entropy_response_mean", "entropy, mean of responses' means", "nats"),
    ("entropy_p50", "median", "nats"),
    ("entropy_p80", "80th percentile", "nats"),
    ("share_below_0.01", "tokens below 0.01 nats", "share"),
    ("share_top20", "entropy in the top 20 % of tokens", "share"),
    ("entropy_planning", "planning: entropy", "nats"),
    ("tokens_planning", "  tokens", "count"),
    ("planning_share", "  of the tokens", "share"),
    ("planning_entropy_share", "  of the entropy", "share"),
    ("entropy_execution", "execution: entropy", "nats"),
    ("tokens_execution", "  tokens", "count"),
    ("grams", "strategic grams", "count"),
    ("entropy_semantic_mm", "  entropy of which gram (Miller-Madow)", "nats"),
    ("entropy_semantic_rarefied", "  the same of {} grams, to compare", "nats"),
    ("entropy_correct", "correct answers: entropy", "nats"),
    ("tokens_correct", "  tokens", "count"),
    ("entropy_wrong", "wrong answers: entropy", "nats"),
    ("tokens_wrong", "  tokens", "count"),
)


def describe(result: TokenSummary) -> list[b.Block]:
    """The first step and the last."""
    ends = [*result.rows[:1], *result.rows[1:][-1:]]
    total = sum(int(row["tokens"] or 0) for row in result.rows)
    about = f"{total:,} tokens in {len(result.rows):,} steps · classes: {result.about['class']['rule']}"
    rows = []
    for name, label, kind in _TOKEN_ROWS:
        if name in ends[0]:
            # Steps are rarefied to one common number of occurrences; it is missing where a step has fewer.
            sizes = [row[name.replace("_rarefied", "_rarefied_n")] for row in ends]
            label = label.format(_token_cell(sizes[0] or sizes[-1], "count"))
            cells = (_token_cell(row[name], kind) for row in ends)
            rows.append((label, *cells))
    heads = ["", *(f"step {row['step']}" for row in ends)]
    return [
        b.Heading("Entropy of tokens", 2, about),
        b.Table([b.Column(head, head) for head in heads], rows),
        b.Notes(b.labelled("note", result.notes, "")),
    ]


def table(result: TokenSummary) -> b.Table:
    """A row per step, with twelve significant digits."""
    cells = []
    for row in result.rows:
        cells.append([rounded(cell) if isinstance(cell, float) else cell for cell in row.values()])
    return b.Table([b.Column(name, name) for name in result.rows[0]], cells)


def _token_cell(value: Cell, kind: str) -> str:
    if value is None or isinstance(value, str):
        return value or MISSING
    if kind in ("count", "share"):
        return f"{value:,}" if kind == "count" else format_percent(value)
    return format_number(value, 2 if kind == "error" else 4)
