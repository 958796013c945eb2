"""Samples per problem, and two tables of them paired by problem."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from entropylaw.documents.samples import AtK, Cell, PairedSamples, SamplesDocument
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

SEEDS = (
    "Problems are the unit: seeds of training are not in these intervals. Arms with seeds are for "
    "`entropylaw compare LOGS --join samples.parquet`."
)
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


def _interval(row: AtK, estimate: Estimate) -> str:
    """The interval at one k; the dash where all problems differ by the same, which gives none."""
    return format_estimate(estimate).interval if row.difference.std_error else MISSING


AT_K = (
    b.Column("k", "k"),
    b.Column("now", "now"),
    b.Column("base", "base"),
    b.Column("difference", shown_in=(b.DATA,), estimate=True),
    b.Column(
        "difference",
        "difference",
        lambda row: f"{format_estimate(row.difference).value} {_interval(row, row.difference)}",
        shown_in=(b.PEOPLE,),
    ),
    b.Column(
        "band",
        "band over all k",
        lambda row: _interval(row, row.simultaneous(row.difference.level)),
        shown_in=(b.PEOPLE,),
    ),
    *(b.Column(key, shown_in=(b.DATA,)) for key in ("band_low", "band_high")),
    b.Column("word", "change"),
)
"""A row per k of two tables."""


def describe(result: SamplesDocument) -> list[b.Block]:
    """The first step and the last one; what two tables differ in comes first."""
    blocks: list[b.Block] = [b.Heading("Samples per problem", 1)]
    if result.against is not None:
        blocks += of_pair(result.against, result.level)
    else:
        blocks.append(b.paragraphs(SEEDS))
    return [*blocks, *_of_steps(result), *_of_files(result)]


def _of_files(result: SamplesDocument) -> Iterator[b.Block]:
    """What was not read, the notes, and every file with its bytes; a terminal has these on standard error."""
    refused = [file.why for file in result.refused]
    left_out = [file.why for file in result.unread if file.fate != "refused"]
    yield b.Notes(b.labelled("not read", refused, ""))
    yield b.Notes(b.labelled("note", (*left_out, *result.notes), ""))
    columns = [b.Column("file", "file"), b.Column("bytes", "bytes"), b.Column("not read", "not read")]
    files = [(file.name, f"{file.bytes:,}", "") for file in result.tables]
    files += [(file.name, "", file.fate) for file in result.unread]
    yield b.Table(columns, files, detail=True, counted="file")


def of_pair(pair: PairedSamples, level: float) -> Iterator[b.Block]:
    """The differences of two tables: in words, at every k, and the problems."""
    yield b.Heading(f"{pair.now} against {pair.base}", 2, f"{pair.problems} problems in both")
    yield b.paragraphs(SEEDS)
    yield b.Notes(list(sentences(pair, level)))
    yield b.table_of(AT_K, pair.at_k, b.PEOPLE, words=0)
    yield from figures_of("samples_pair", pair)


def sentences(pair: PairedSamples, level: float) -> Iterator[b.Note]:
    """What changed of pass@k, which problems were kept, gained and lost, and what else was found there."""
    words = ("gain", "loss", "unclear")
    sets = [f"{word} at k = {_ks(pair.certain(word))}" for word in words if pair.certain(word)]
    yield b.Note("pass@k", f"{'; '.join(sets)} ({format_percent(level)} band over all k)")
    for name in ("kept", "gained", "lost", "neither"):
        fate = pair.fate(name)
        listed = "" if name in ("kept", "neither") or not fate.problems else f": {listing(fate.problems, 6)}"
        number = fate.expected
        counts = f"{len(fate.problems)} problems, {fate.mistakes:z.1f} of them expected to be mistaken; "
        counts += f"true number {number.value:.1f} [{number.low:.1f}, {number.high:.1f}]"
        solved = f" (solved: p > {pair.solved:g})" if name == "kept" else ""
        yield b.Note(name, f"{counts}{solved}{listed}")
    unsolved = pair.unsolved
    if unsolved.difference is not None:
        yield b.Note(
            "solved by neither",
            f"distinct answers to these {unsolved.problems:.1f} problems, in samples that did not select "
            f"them: {format_number(unsolved.now)} against {format_number(unsolved.base)}, difference "
            f"{format_interval(unsolved.difference)}",
        )
    if pair.left_out:
        yield b.Note(
            "caution", f"{pair.left_out} problems are in one of the tables alone, and in no difference"
        )


def _ks(numbers: tuple[int, ...]) -> str:
    """Numbers of samples in words."""
    return ", ".join(map(str, numbers)) if len(numbers) < 4 else f"{numbers[0]} … {numbers[-1]}"


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
    at_k = {name: name for name in names if re.fullmatch(r"(gain@|pass\^|maj@)\d+", name)}
    yield b.Table(columns, list(quantities(result, numbers, {**SIZES, **pass_at, **LABELS})))
    further = list(quantities(result, numbers, {**at_k, **ESTIMATORS}))
    yield b.Table(columns, further, detail=True, counted="quantity")
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
    if result.against is not None:
        return b.table_of(AT_K, result.against.at_k, b.DATA)
    names = list(dict.fromkeys(name for row in result.rows for name in row))
    return b.Table(
        [b.Column(name, name) for name in names], [[row.get(name) for name in names] for row in result.rows]
    )
