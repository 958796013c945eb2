"""Several runs, and the segments of one: whether they share the law, and the coefficients of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from entropylaw.report import shared
from entropylaw.report.blocks import (
    Block,
    Cell,
    Column,
    Fact,
    Facts,
    Heading,
    Notes,
    Table,
    Verdict,
    labelled,
    paragraphs,
)
from entropylaw.report.numbers import format_percent, format_step
from entropylaw.report.words import headline
from entropylaw.results.groups import SameTest, Seam, SegmentFit, SharedFit

LAW = ("a", "b", "ceiling")

_LAW_COLUMNS = tuple(Column(name, name, estimate=True) for name in LAW)

PARTS = (
    Column("run", "run"),
    Column("part", "part"),
    Column("n", "evaluations"),
    Column("valid", "valid"),
    *_LAW_COLUMNS,
)


def describe(result: SharedFit | SegmentFit) -> list[Block]:
    """What runs have in common, or the law between level shifts."""
    return (
        shared_blocks(result) if isinstance(result, SharedFit) else [Heading("Segments"), *_segments(result)]
    )


def table(result: SharedFit | SegmentFit) -> Table:
    """Every run beside the common coefficients, or every segment."""
    rows = shared_rows(result) if isinstance(result, SharedFit) else segment_rows(result)
    return Table(PARTS, [tuple(row.get(column.key) for column in PARTS) for row in rows], words=2)


def shared_blocks(fit: SharedFit, level: int = 2) -> list[Block]:
    """The test, the coefficients in common, each run beside them, and the recipe over its seeds."""
    interval = f"{format_percent(fit.level)} interval ({fit.a.method})"
    rows = [row for row in shared_rows(fit) if "run" in row]
    shown = [tuple(row.get(column.key) for column in PARTS) for row in rows]
    spread = [(one.coefficient, one.answer, one.new_seed, one.tau) for one in fit.spread]
    names = ("this recipe", "mean over seeds", "a new seed", "sd between seeds")
    seeds: Block = Table([Column(name, name) for name in names], spread)
    methods = [f"{one.coefficient}: {one.answer.method}" for one in fit.spread]
    if fit.spread and fit.spread[0].between.value is None:
        seeds, methods = Notes([]), [f"none: {fit.spread[0].between.note}"]
    return [
        Heading("In common", level, name="shared"),
        paragraphs(f"{shared.title(fit)}."),
        _same(fit.same, "runs"),
        Notes(labelled("caution", fit.cautions)),
        Facts("in common", [Fact(name, getattr(fit, name)) for name in LAW], interval),
        Table(PARTS, shown, words=2),
        seeds,
        Notes(labelled("mean over seeds", methods)),
    ]


def shared_rows(fit: SharedFit) -> Iterator[dict[str, Cell]]:
    """The coefficients that runs have in common, each run beside them, and the recipe over its seeds."""
    common: dict[str, Cell] = {"level": fit.level, "method": fit.a.method, "p_value": fit.same.p_value}
    yield common | {"part": "in common"} | {name: getattr(fit, name) for name in LAW}
    for run in fit.runs:
        base: dict[str, Cell] = {"run": run.run, "n": run.n, "valid": run.valid}
        yield base | {"part": "alone", **run.own}
        yield base | {"part": "with those in common", **run.together}
        yield base | {"part": "less the other runs'", **run.deviation}
    for part, key in (("mean over seeds", "answer"), ("a new seed", "new_seed"), ("sd of seeds", "tau")):
        yield {"part": part} | {one.coefficient: getattr(one, key) for one in fit.spread}


def segment_blocks(seams: Iterable[Seam], fit: SegmentFit | None, notes: Iterable[str]) -> list[Block]:
    """The level shifts that were found and the law between them; nothing where nobody asked."""
    found = [shared.seam_words(seam) for seam in seams] + list(notes)
    if not found and fit is None:
        return []
    blocks: list[Block] = [Heading("Segments", name="segments"), Notes(labelled("level shift", found))]
    return blocks + (_segments(fit) if fit is not None else [])


def _segments(fit: SegmentFit) -> list[Block]:
    note = f"; {fit.note}" if fit.note else ""
    blocks: list[Block] = [paragraphs(f"{shared.segments_title(fit)}{note}.")]
    blocks += [_same(fit.same, "segments")] if fit.same is not None else []
    columns = (
        Column("steps", "steps"),
        Column("n", "evaluations"),
        *_LAW_COLUMNS,
        Column("verdict", "verdict"),
    )
    rows = [
        (
            f"{format_step(part.first_step)}–{format_step(part.last_step)}",
            part.n,
            *(getattr(part.law, name, None) for name in LAW),
            headline(part.law) if part.law is not None else part.refusal or "refused",
        )
        for part in fit.segments
    ]
    return [*blocks, Table(columns, rows)]


def segment_rows(fit: SegmentFit) -> Iterator[dict[str, Cell]]:
    """Every segment; the test that they are alike stands beside the first of them."""
    for place, part in enumerate(fit.segments):
        yield {
            "part": f"segment {place + 1}",
            "n": part.n,
            "valid": part.law.validity.ok if part.law is not None else None,
            **{name: getattr(part.law, name, None) for name in LAW},
            "first_step": part.first_step,
            "last_step": part.last_step,
            "p_value": fit.same.p_value if fit.same is not None and place == 0 else None,
            "refusal": part.refusal,
        }


def seam_rows(seams: Iterable[Seam]) -> Iterator[dict[str, Cell]]:
    """Every level shift."""
    for seam in seams:
        steps: dict[str, Cell] = {"first_step": seam.after, "last_step": seam.step, "p_value": seam.p_value}
        yield steps | {"part": f"jump of {seam.series}", "jump": seam.jump}


def _same(test: SameTest, what: str) -> Verdict:
    badge, text = shared.verdict(test, what)
    return Verdict(badge, text, None if badge == "SAME?" else False)
