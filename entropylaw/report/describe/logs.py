"""Logs: the columns that would be used and why, and the summary of token-level logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from entropylaw.documents.document import ColumnsDocument
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import hostless
from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import MISSING, format_number, format_percent
from entropylaw.report.words import meaning
from entropylaw.reproducible import rounded
from entropylaw.results.columns import Candidate, ColumnReport
from entropylaw.results.tokens import Cell, TokenSummary

_MOST = 8
"""Candidates and rejected columns shown to people with what is known of them; the others by name."""

_MOST_NAMES = 300
"""Other columns that are listed; CSV and JSON have them all."""

_MEANING = ("kind", "unit", "aggregation", "estimator", "temperature", "timing")

COLUMNS = b.columns("run", "path", "role", "column", "used", "values", "low", "high", *_MEANING, "why")
"""A row per column: its role is step, entropy, reward, coefficient (its first and last value), no entropy or
other."""

_PUBLISHED = {"share_below_0.01": "50.64 %", "entropy_p80": "0.672"}
"""Numbers of Wang et al. 2025 (arXiv:2506.01939)."""

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


def describe(result: ColumnsDocument | ColumnReport | TokenSummary) -> list[b.Block]:
    """The columns of every run of a log, or the first and the last step of token-level logs."""
    if isinstance(result, TokenSummary):
        return _tokens(result)
    if isinstance(result, ColumnsDocument):
        return [block for run in result.runs for block in describe_columns(run)]
    return describe_columns(result)


def describe_columns(result: ColumnReport) -> list[b.Block]:
    """The columns of a run: those that would be used, the candidates, and the others."""
    source = result.source
    about = f"{hostless(source.path)} ({source.format}, {counted(source.rows, 'record')})"
    usable, hint = b.Verdict("usable", "the columns with a star would be used", True), []
    if result.problem is not None:
        usable = b.Verdict("NOT USABLE", f"{result.problem.message} [{result.problem.slug}]", False)
        hint.append(b.Note("hint", result.problem.hint))
    steps = f"{counted(result.steps, 'step')}, {result.first_step:g} to {result.last_step:g}"
    notes = [
        b.Note("trainer", f"{result.trainer}: {result.trainer_why}"),
        b.Note("step", f"'{result.step_column}' ({steps}): {result.step_why}"),
        *_candidates("entropy", result.entropy),
        *_candidates("reward", result.reward),
    ]
    if result.pair is not None:
        evaluations = counted(result.pairs, "evaluation")
        notes.append(b.Note("pair", f"{result.pair}: {result.pair_why}; {evaluations}"))
    dropped = Counter(result.read_dropped) + Counter(result.dropped)
    notes += b.labelled("dropped", (f"{reason} ({number})" for reason, number in sorted(dropped.items())))
    notes += b.labelled("no entropy", (f"'{decoy.column}': {decoy.why}" for decoy in result.decoys[:_MOST]))
    notes += b.labelled("no entropy", _more([decoy.column for decoy in result.decoys]))
    for name, (first, last) in sorted(result.coefficients.items()):
        notes.append(b.Note("coefficient", f"'{name}': {format_number(first)} to {format_number(last)}"))
    notes += b.labelled("note", result.notes) + b.labelled("caution", result.cautions)
    notes += b.labelled(
        "could be", (f"{shown(name)}: {what}" for name, what in result.others.items() if what)
    )
    notes.append(b.Note("other", unknown_columns([name for name, what in result.others.items() if not what])))
    return [b.Heading(result.run, 2, about), usable, b.Notes(hint), b.Notes(notes)]


def table(result: ColumnsDocument | ColumnReport | TokenSummary) -> b.Table:
    """A row per column with a role; of tokens a row per step, with twelve significant digits."""
    if isinstance(result, TokenSummary):
        rows = (row.values() for row in result.rows)
        cells = [[rounded(cell) if isinstance(cell, float) else cell for cell in row] for row in rows]
        return b.Table([b.Column(name, name) for name in result.columns], cells)
    runs = result.runs if isinstance(result, ColumnsDocument) else (result,)
    return b.table_of(COLUMNS, (row for run in runs for row in _roles(run)))


def _candidates(role: str, candidates: Sequence[Candidate]) -> Iterator[b.Note]:
    """A note per candidate; the one that would be used has a star."""
    if not candidates:
        yield b.Note(role, "none found")
    for candidate in candidates[:_MOST]:
        values, known = "no usable values", meaning(candidate.meaning)
        if candidate.low is not None and candidate.high is not None:
            ends = f"{format_number(candidate.low)} to {format_number(candidate.high)}"
            values = f"{counted(candidate.usable, 'value')}, {ends}"
        text = f"'{candidate.column}' ({values}{f'; {known}' if known else ''}): {candidate.why}"
        yield b.Note(f"{role} *" if candidate.used else role, text)
    yield from b.labelled(role, _more([candidate.column for candidate in candidates]))


def _more(names: Sequence[str]) -> list[str]:
    """The names of the columns that are not described, in one sentence, if there are any."""
    rest = names[_MOST:]
    return [f"and {len(rest)} more: {listing(rest, _MOST_NAMES)}"] if rest else []


def unknown_columns(names: Sequence[str]) -> str:
    """The columns of which nothing is known."""
    text = counted(len(names), "other column")
    if names:
        text += f": {listing(names, _MOST_NAMES)}"
    return f"{text}; --format csv has them all" if len(names) > _MOST_NAMES else text


def _roles(report: ColumnReport) -> Iterator[b.Row]:
    """A row per column of a run with a role."""
    base: b.Row = {"run": report.run, "path": hostless(report.source.path), "used": False}
    first, last = report.first_step, report.last_step
    steps: b.Row = {"column": report.step_column, "values": report.steps, "why": report.step_why}
    yield base | steps | {"role": "step", "used": True, "low": first, "high": last}
    for role, candidates in (("entropy", report.entropy), ("reward", report.reward)):
        for one in candidates:
            known: b.Row = {name: getattr(one.meaning, name) for name in _MEANING}
            known |= {name: getattr(one, name) for name in ("column", "used", "low", "high", "why")}
            yield base | known | {"values": one.usable, "role": role}
    for name, (low, high) in sorted(report.coefficients.items()):
        yield base | {"role": "coefficient", "column": name, "low": low, "high": high}
    for decoy in report.decoys:
        yield base | {"role": "no entropy", "column": decoy.column, "why": decoy.why}
    for name, what in report.others.items():
        yield base | {"role": "other", "column": name, "why": what}


def _tokens(result: TokenSummary) -> list[b.Block]:
    """The first step and the last, next to the published numbers."""
    columns, steps = result.columns, result.columns["step"]
    ends = [0] if len(steps) == 1 else [0, -1]
    total = sum(number for number in columns["tokens"] if isinstance(number, int))
    about = f"{total:,} tokens in {len(steps):,} steps · classes: {result.about['class']['rule']}"
    rows = []
    for name, label, kind in _TOKEN_ROWS:
        if name in columns:
            # Steps are rarefied to one common number of occurrences; it is missing where a step has fewer.
            sizes = columns[name.replace("_rarefied", "_rarefied_n")]
            label = label.format(_token_cell(sizes[0] or sizes[-1], "count"))
            cells = (_token_cell(columns[name][end], kind) for end in ends)
            rows.append((label, *cells, _PUBLISHED.get(name, "")))
    heads = ["", *(f"step {steps[end]}" for end in ends), "Wang et al. 2025"]
    source = "Qwen3-8B, more than a million tokens of its answers to AIME 2024 and 2025"
    published = b.Note("published", f"{heads[-1]} (arXiv:2506.01939): {source}")
    return [
        b.Heading("Entropy of tokens", 2, about),
        b.Table([b.Column(head, head) for head in heads], rows),
        b.Notes([published, *b.labelled("note", result.notes, "")]),
        *figures_of("tokens", None),
    ]


def _token_cell(value: Cell, kind: str) -> str:
    if value is None or isinstance(value, str):
        return value or MISSING
    if kind in ("count", "share"):
        return f"{value:,}" if kind == "count" else format_percent(value)
    return format_number(value, 2 if kind == "error" else 4)
