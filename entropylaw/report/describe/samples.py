"""Samples per problem, and two tables of them paired by problem."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from entropylaw.documents.samples import AtK, Cell, Fate, PairedSamples, SamplesDocument
from entropylaw.escaping import listing
from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import (
    MISSING,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_step,
    value_and_interval,
)
from entropylaw.results import Estimate
from entropylaw.results.result import replace

SIZES = {
    "problems": "problems",
    "samples": "samples with a verdict",
    "n": "  of a problem, at least",
    "missing": "without a verdict",
    "truncated": "truncated",
}
LABELS = {
    "gain_per_doubling": "pass@k gained per doubling of k",
    "distinct": "distinct answers among {}",
    "distinct_right": "  right ones",
    "distinct_wrong": "  wrong ones",
    "answer_entropy": "entropy of the answers (Chao-Shen), nats",
    "none_right": "problems with none right",
    "some_right": "problems with some right, some wrong",
    "all_right": "problems with all right",
    "tokens": "tokens of a sample",
    "leading_label": "leading label",
    "leading_label_share": "  its share",
}
"""Column → its name for people, in the order of the table; between them is pass@k."""

ESTIMATORS = {
    "answer_entropy_mm": "entropy of the answers (Miller-Madow), nats",
    "answer_entropy_plugin": "entropy of the answers (plug-in), nats",
}
"""The same of the details; before them is what else there is of each k."""


SHARES = ("none_right", "some_right", "all_right", "leading_label_share")


def _banded(row: AtK) -> str:
    """The difference with its band; a dash where all problems differ by the same, which gives none."""
    text = format_estimate(row.simultaneous(row.difference.level))
    sign = "+" if row.difference.value is not None and row.difference.value > 0 else ""
    return f"{sign}{text.value} {text.interval if row.difference.std_error else MISSING}"


AT_K = (
    b.Column("k", "k"),
    b.Column("now", "now"),
    b.Column("base", "base"),
    b.Column("difference", shown_in=(b.DATA,), estimate=True),
    b.Column("on_benchmark", shown_in=(b.DATA,), estimate=True),
    b.Column("band", "difference, band over all k", _banded, shown_in=(b.PEOPLE,)),
    b.Column("like", "on problems like these", lambda row: _interval(row.difference), shown_in=(b.PEOPLE,)),
    b.Column("here", "on this benchmark", lambda row: _interval(row.on_benchmark), shown_in=(b.PEOPLE,)),
    *(b.Column(key, shown_in=(b.DATA,)) for key in ("band_low", "band_high")),
    b.Column("word", "change"),
)
"""A row per k of two tables."""


def _interval(estimate: Estimate | None) -> str:
    """The interval of a difference; a dash where there is none."""
    return MISSING if estimate is None else format_estimate(estimate).interval


def describe(result: SamplesDocument) -> list[b.Block]:
    """What two tables differ in, where there are two; the first step and the last one."""
    blocks: list[b.Block] = [b.Heading("Samples per problem", 1)]
    for pair in result.against:
        blocks += of_pair(pair, result.level)
    return [*blocks, *_of_steps(result), *_of_files(result)]


def _of_files(result: SamplesDocument) -> Iterator[b.Block]:
    """What was not read, the notes, and every file with its bytes; a terminal has these on standard error."""
    yield b.Notes(b.labelled("not read", (file.why for file in result.refused), ""))
    seeds = (
        "intervals are over problems, not seeds; for arms with seeds `entropylaw compare LOGS --join "
        "samples.parquet`"
    )
    left_out = [file.why for file in result.unread if file.fate != "refused"]
    yield b.Notes([b.Note("note", seeds), *b.labelled("note", (*left_out, *result.notes), "")])
    columns = [b.Column("file", "file"), b.Column("bytes", "bytes"), b.Column("not read", "not read")]
    files = [(file.name, f"{file.bytes:,}", "") for file in result.tables]
    files += [(file.name, "", file.fate) for file in result.unread]
    yield b.Table(columns, files, detail=True)


def of_pair(pair: PairedSamples, level: float) -> Iterator[b.Block]:
    """The differences of two tables: the answer, every k, the problems by fate, and what else was found."""
    about = (
        f"{pair.problems} problems in both; {format_percent(level)} intervals; solved: p > {pair.solved:g}"
    )
    yield b.Heading(f"{pair.now} against {pair.base}", 2, about)
    yield b.paragraphs(answer(pair))
    heads = {"now": pair.now, "base": pair.base}
    columns = [replace(column, label=heads.get(column.key, column.label)) for column in AT_K]
    yield b.table_of(columns, pair.at_k, b.PEOPLE, words=0)
    if pair.fates:
        yield b.Table(FATES, list(map(_fate, pair.fates)))
    yield from figures_of("samples_pair", pair)
    yield b.Notes(list(_findings(pair)))


def answer(pair: PairedSamples) -> str:
    """Where pass@k gains or loses, and by how much: ``pass@k: gain at k = 1, 2 (pass@1 +0.3 [0.2, 0.4])``."""
    parts = []
    for word in ("gain", "loss", "unclear"):
        rows = [row for row in pair.at_k if row.word == word]
        if rows:
            largest = max(rows, key=lambda row: abs(row.difference.value or 0.0))
            numbers = [str(row.k) for row in rows]
            ks = ", ".join(numbers) if len(numbers) < 4 else f"{numbers[0]} … {numbers[-1]}"
            parts.append(f"{word} at k = {ks} (pass@{largest.k} {_banded(largest)})")
    return f"pass@k: {'; '.join(parts)}"


FATES = (
    b.Column("fate", "problems"),
    b.Column("number", "most probably"),
    b.Column("mistakes", "of these, mistaken"),
    b.Column("expected", "true number"),
    b.Column("named", ""),
)
"""A row per fate of problems: how many have it most probably, and how many there are."""


def _fate(fate: Fate) -> tuple[b.Cell, ...]:
    """A row of :data:`FATES`; gained and lost problems are named."""
    number = fate.expected
    named = "" if fate.fate in ("kept", "neither") or not fate.problems else listing(fate.problems, 6)
    true_number = f"{number.value:.1f} [{number.low:.1f}, {number.high:.1f}]"
    return fate.fate, len(fate.problems), f"{fate.mistakes:z.1f}", true_number, named


def _findings(pair: PairedSamples) -> Iterator[b.Note]:
    """Answers to the problems that neither solves, and problems of one table alone."""
    unsolved = pair.unsolved
    if unsolved.difference is not None:
        yield b.Note(
            "solved by neither",
            f"distinct answers to these {unsolved.problems:.1f} problems, in samples that did not select "
            f"them: {format_number(unsolved.now)} against {format_number(unsolved.base)}, "
            f"difference {format_interval(unsolved.difference)}",
        )
    if pair.no_fates:
        yield b.Note("caution", pair.no_fates)
    if pair.left_out:
        yield b.Note("caution", f"{pair.left_out} problems are in one table alone, and in no difference")


def _of_steps(result: SamplesDocument) -> Iterator[b.Block]:
    """A row per quantity, with the first step and the last one, or those of every group at the last step."""
    latest = [row for row, _ in result.latest()]
    numbers = (latest if result.groups else sorted({0, len(result.rows) - 1}))[:4]
    heads = ("", *(headed(result.rows[number], result.groups) for number in numbers))
    steps = len({row["step"] for row in result.rows})
    yield b.Heading("By step", 2, f"{steps} steps") if steps > 1 else b.Heading("The table", 2)
    columns = [b.Column(head, head) for head in heads]
    names = result.rows[numbers[0]]
    pass_at = {name: name for name in names if re.fullmatch(r"pass@\d+", name)}
    at_k = {name: name for name in names if re.fullmatch(r"(gain@|pass\^|maj@|cover@)[\d.]+", name)}
    yield b.Table(columns, list(quantities(result, numbers, {**SIZES, **pass_at, **LABELS})))
    further = list(quantities(result, numbers, {**at_k, **ESTIMATORS}))
    yield b.Table(columns, further, detail=True, counted="quantities")
    yield from figures_of("samples", result)


def quantities(
    result: SamplesDocument, numbers: Sequence[int], labels: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """The label of every quantity that there is, and its values in some rows of the result."""
    rows = [result.rows[number] for number in numbers]
    for name, label in labels.items():
        if "@" in name or any(row.get(name) not in (None, 0) for row in rows):
            yield label.format(result.rarefied), *(_cell(result, number, name) for number in numbers)


def headed(row: Mapping[str, Cell], groups: Sequence[str]) -> str:
    """The step and the groups of a row in words."""
    step = "all" if row["step"] is None else f"step {format_step(float(row['step']))}"
    return " · ".join([step, *(str(row[name]) for name in groups if row[name] is not None)])


def _cell(result: SamplesDocument, row: int, name: str) -> str:
    value = result.rows[row].get(name)
    if value is None or isinstance(value, str):
        return value or MISSING
    if name in SHARES:
        return format_percent(value)
    if isinstance(value, int):
        return f"{value:,}"
    estimate = result.estimate(row, name)
    return format_number(value) if estimate is None else value_and_interval(estimate)


def table(result: SamplesDocument) -> b.Table:
    """A row per step; of two tables one row per k."""
    if result.against:
        head = [b.Column("compared", "compared"), b.Column("against", "against")]
        tables = [(pair, b.table_of(AT_K, pair.at_k, b.DATA)) for pair in result.against]
        rows = [(pair.now, pair.base, *row) for pair, table in tables for row in table.rows]
        return b.Table([*head, *tables[0][1].columns], rows)
    names = list(dict.fromkeys(name for row in result.rows for name in row))
    return b.Table(
        [b.Column(name, name) for name in names], [[row.get(name) for name in names] for row in result.rows]
    )
