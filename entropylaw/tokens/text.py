"""A summary of tokens for a terminal: the first step and the last, beside what was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from entropylaw.report.numbers import MISSING, format_number, format_percent
from entropylaw.report.printable import one_line

if TYPE_CHECKING:
    import pyarrow as pa

PUBLISHED = "Wang et al. 2025"
SOURCE = (
    "Wang et al. 2025 (arXiv:2506.01939): Qwen3-8B, more than a million tokens of its answers to AIME 2024 "
    "and 2025"
)
_PUBLISHED = {"share_below_0.01": "50.64 %", "entropy_p80": "0.672"}

_ROWS: tuple[tuple[str, str, str], ...] = (
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
    ("entropy_planning_long", "planning without 1-2-word grams: entropy", "nats"),
    ("tokens_planning_long", "  tokens", "count"),
    ("planning_share_long", "  of the tokens", "share"),
    ("entropy_execution_long", "execution without them: entropy", "nats"),
    ("grams", "strategic grams", "count"),
    ("entropy_semantic_mm", "  entropy of which gram (Miller-Madow)", "nats"),
    ("entropy_semantic_rarefied", "  the same of {} grams, to compare", "nats"),
    ("grams_long", "without 1-2-word grams", "count"),
    ("entropy_semantic_mm_long", "  entropy of which gram (Miller-Madow)", "nats"),
    ("entropy_semantic_rarefied_long", "  the same of {} grams, to compare", "nats"),
    ("gram_pairs", "grams with a next word", "count"),
    ("entropy_conditional_mm", "  entropy of that word (Miller-Madow)", "nats"),
    ("entropy_conditional_rarefied", "  the same of {} pairs, to compare", "nats"),
    ("entropy_correct", "correct answers: entropy", "nats"),
    ("tokens_correct", "  tokens", "count"),
    ("entropy_wrong", "wrong answers: entropy", "nats"),
    ("tokens_wrong", "  tokens", "count"),
)
_LABEL, _CELL = 42, 14


def render(steps: pa.Table, about: dict[str, Any]) -> str:
    """The table, and where the published numbers are from."""
    return "\n".join(_lines(steps, about)) + "\n"


def _lines(steps: pa.Table, about: dict[str, Any]) -> Iterator[str]:
    first, last = (steps.slice(at, 1).to_pylist()[0] for at in (0, steps.num_rows - 1))
    total = sum(steps.column("tokens").to_pylist())
    yield one_line(f"{total:,} tokens in {steps.num_rows:,} steps · classes: {about['class']['rule']}")
    yield ""
    shown = [first] if steps.num_rows == 1 else [first, last]
    heads = [f"step {row['step']}" for row in shown]
    yield _line("", [*heads, PUBLISHED])
    for name, label, kind in _ROWS:
        if name in steps.column_names:
            label = label.format(_common(name, first, last))
            yield _line(label, [*(_cell(row[name], kind) for row in shown), _PUBLISHED.get(name, "")])
    yield ""
    yield f"{SOURCE}."


def _common(name: str, first: dict[str, Any], last: dict[str, Any]) -> str:
    """How many occurrences a step was rarefied to; it is one number for all that have so many."""
    beside = name.replace("_rarefied", "_rarefied_n")
    found = first.get(beside) or last.get(beside)
    return MISSING if found is None else f"{found:,}"


def _line(label: str, cells: Sequence[str]) -> str:
    widths = [*[_CELL] * (len(cells) - 1), _CELL + 6]
    text = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return f"{label:<{_LABEL}}{text}".rstrip()


def _cell(value: float | int | None, kind: str) -> str:
    if value is None:
        return MISSING
    if kind == "count":
        return f"{value:,}"
    if kind == "share":
        return format_percent(value)
    return format_number(value, 2 if kind == "error" else 4)
