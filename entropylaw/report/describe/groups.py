"""Several runs, and the segments of one: whether they share the law, and the coefficients of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from entropylaw.report import blocks as b
from entropylaw.report.numbers import count, format_interval, format_percent, format_step
from entropylaw.report.words import headline
from entropylaw.results.groups import SameTest, Seam, SegmentFit, SharedFit

LAW = ("a", "b", "ceiling")
_LAW_COLUMNS = b.columns("a b ceiling", estimate=True)
PARTS = (*b.columns("run part"), b.Column("n", "evaluations"), *b.columns("valid"), *_LAW_COLUMNS)


def describe(result: SharedFit | SegmentFit) -> list[b.Block]:
    """What runs have in common, or the law between level shifts."""
    if isinstance(result, SharedFit):
        return shared_blocks(result)
    return [b.Heading("Segments"), *_segments(result)]


def table(result: SharedFit | SegmentFit) -> b.Table:
    """Every run beside the common coefficients, or every segment."""
    rows = shared_rows(result) if isinstance(result, SharedFit) else segment_rows(result)
    return b.table_of(PARTS, rows, words=2)


def shared_blocks(fit: SharedFit, level: int = 2) -> list[b.Block]:
    """The test, the coefficients in common, each run beside them, and the recipe over its seeds."""
    interval = f"{format_percent(fit.level)} interval ({fit.a.method})"
    names = "a, b and ceiling" if len(fit.shared) > 1 else fit.shared[0]
    spread = [(one.coefficient, one.answer, one.new_seed, one.tau) for one in fit.spread]
    heads = ("this recipe", "mean over seeds", "a new seed", "sd between seeds")
    seeds: b.Block = b.Table([b.Column(head, head) for head in heads], spread)
    methods = [f"{one.coefficient}: {one.answer.method}" for one in fit.spread]
    if fit.spread and fit.spread[0].between.value is None:
        seeds, methods = b.Notes([]), [f"none: {fit.spread[0].between.note}"]
    return [
        b.Heading("In common", level, name="shared"),
        b.paragraphs(f"{len(fit.runs)} runs with {names} in common."),
        _same(fit.same, "runs"),
        b.Notes(b.labelled("caution", fit.cautions)),
        b.Facts("in common", [b.Fact(name, getattr(fit, name)) for name in LAW], interval),
        b.table_of(PARTS, (row for row in shared_rows(fit) if "run" in row), words=2),
        seeds,
        b.Notes(b.labelled("mean over seeds", methods)),
    ]


def shared_rows(fit: SharedFit) -> Iterator[dict[str, b.Cell]]:
    """The coefficients that runs have in common, each run beside them, and the recipe over its seeds."""
    common: dict[str, b.Cell] = {"level": fit.level, "method": fit.a.method, "p_value": fit.same.p_value}
    yield common | {"part": "in common"} | {name: getattr(fit, name) for name in LAW}
    for run in fit.runs:
        base: dict[str, b.Cell] = {"run": run.run, "n": run.n, "valid": run.valid}
        yield base | {"part": "alone", **run.own}
        yield base | {"part": "with those in common", **run.together}
        yield base | {"part": "less the other runs'", **run.deviation}
    for part, key in (("mean over seeds", "answer"), ("a new seed", "new_seed"), ("sd of seeds", "tau")):
        yield {"part": part} | {one.coefficient: getattr(one, key) for one in fit.spread}


def segment_blocks(seams: Iterable[Seam], fit: SegmentFit | None, notes: Iterable[str]) -> list[b.Block]:
    """The level shifts that were found and the law between them; nothing where nobody asked."""
    found = [*map(seam_words, seams), *notes]
    if not found and fit is None:
        return []
    head = [b.Heading("Segments", name="segments"), b.Notes(b.labelled("level shift", found))]
    return [*head, *(_segments(fit) if fit is not None else ())]


def _segments(fit: SegmentFit) -> list[b.Block]:
    title = "; ".join(filter(None, (_segments_title(fit), fit.note)))
    same = [_same(fit.same, "segments")] if fit.same is not None else []
    heads = (b.Column("steps", "steps"), PARTS[2], *_LAW_COLUMNS, b.Column("verdict", "verdict"))
    rows = [
        (
            f"{format_step(part.first_step)}–{format_step(part.last_step)}",
            part.n,
            *(getattr(part.law, name, None) for name in LAW),
            headline(part.law) if part.law is not None else part.refusal or "refused",
        )
        for part in fit.segments
    ]
    return [b.paragraphs(f"{title}."), *same, b.Table(heads, rows)]


def segment_rows(fit: SegmentFit) -> Iterator[dict[str, b.Cell]]:
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


def seam_rows(seams: Iterable[Seam]) -> Iterator[dict[str, b.Cell]]:
    """Every level shift."""
    for seam in seams:
        steps: dict[str, b.Cell] = {"first_step": seam.after, "last_step": seam.step, "p_value": seam.p_value}
        yield steps | {"part": f"jump of {seam.series}", "jump": seam.jump}


def segments_sentence(seams: Iterable[Seam], fit: SegmentFit | None) -> str:
    """The jumps and the test of the segments in a sentence; empty where there are none."""
    parts = [seam_words(seam) for seam in seams]
    if fit is not None:
        same = [_same(fit.same, "segments")] if fit.same is not None else []
        parts += [_segments_title(fit), *(f"{one.badge}: {one.text}" for one in same), fit.note or ""]
    return "; ".join(filter(None, parts))


def seam_words(seam: Seam) -> str:
    """A jump of a series: ``reward jumps by -0.12 [-0.15, -0.09] between steps 400 and 410 (…)``."""
    between = f"between steps {format_step(seam.after)} and {format_step(seam.step)}"
    chance = _chance(seam.p_value)
    return f"{seam.series} jumps by {format_interval(seam.jump)} {between} ({chance} against drift)"


def _segments_title(fit: SegmentFit) -> str:
    """How many segments there are, and where they begin."""
    at = ", ".join(format_step(step) for step in fit.seams)
    return f"{count(len(fit.segments), 'segment')}, " + (f"seams at step {at}" if at else "no seam")


def _same(test: SameTest, what: str) -> b.Verdict:
    """The test of a common law; not rejecting is not the same as being equal."""
    said = f"the {what} do not share the law" if test.differs else f"no sign that the {what} differ"
    said += f": {_chance(test.p_value)} ({test.method})"
    return b.Verdict("DIFFERENT", said, False) if test.differs else b.Verdict("SAME?", said)


def _chance(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
