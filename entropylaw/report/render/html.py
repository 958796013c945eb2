"""Blocks as HTML: the part between the head and the foot of a page, or an output in a notebook."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from entropylaw.escaping import one_line
from entropylaw.report import numbers
from entropylaw.report.blocks import Answers, Block, Figure, Heading, Note, Notes, Trace, Verdict
from entropylaw.report.figures import NAMED, palette
from entropylaw.report.figures.palette import glyphs, inline
from entropylaw.results import Estimate

# Label of a note → the kind of group that it is in; notes with other labels are a list of facts.
_KIND_BY_LABEL = {
    "": "paragraphs",
    "reason": "checks",
    "caution": "checks",
    "warning": "checks",
    "checks": "checks",
}


def fragment(
    blocks: Sequence[Block],
    figures: Mapping[str, str],
    links: Mapping[str, Sequence[str]] | None = None,
    *,
    prefix: str = "",
    follow: bool = True,
    frame: str = "",
    folded: bool = False,
) -> Markup:
    """The blocks as sections.

    Parameters
    ----------
    blocks
        Of one result.
    figures
        Name of a figure → SVG as text. Others are left out, or named with their files.
    links
        Name of a figure → addresses of its files.
    prefix
        Put before every id, so that the ids of several results on a page differ. The ids of figures are
        their names.
    follow
        Whether the figures take the colours of the page.
    frame
        The attributes of an element around a figure where there is no style sheet.
    folded
        Whether the sections are folded away.
    """
    title = next((one_line(block.text) for block in blocks if isinstance(block, Heading)), "")
    # The figures of a page share the shapes of their letters, by ids. Those of an output in a notebook are
    # the same in all outputs, and its style is its own, as there is no style sheet.
    letters = prefix
    hidden = 'class="glyphs"'
    if frame:
        letters = ""
        hidden = 'style="position:absolute;width:0;height:0"'
    svgs: dict[str, Markup] = {}
    for block in blocks:
        if isinstance(block, Figure) and block.name in figures:
            entry = NAMED[block.name]
            svg = inline(
                figures[block.name],
                f"{prefix}{block.name}",
                f"{entry.title} {title}",
                one_line(block.described or entry.caption(block.part)),
                letters=letters,
                follow=follow,
            )
            # Its text is escaped: inline escapes all that is from logs.
            svgs[block.name] = Markup(svg)
    body = (
        environment()
        .get_template("blocks.html.j2")
        .render(
            sections=_sections_of(blocks, svgs, links or {}),
            svgs=svgs,
            links=links or {},
            prefix=prefix,
            frame=Markup(frame),
            folded=folded,
        )
    )
    shapes = glyphs([figures[name] for name in svgs], letters, hidden) if svgs else ""
    return Markup(f"{shapes}\n{body}")


class _Section(NamedTuple):
    """A part of a result: its heading, what it says in short, its figures, and its other blocks in order."""

    heading: Heading | None
    about: str
    figures: list[Block]
    blocks: list[Block]


def _sections_of(
    blocks: Sequence[Block], svgs: Container[str], links: Mapping[str, Sequence[str]]
) -> list[_Section]:
    """The parts of a result; the blocks before the first heading of a part are a section without one.

    The heading of the result itself is above them on the page. Of the answers about a run, those about the
    law stand with the section of the law. A figure that can be neither shown nor linked is left out.
    """
    sections = [_Section(None, "", [], [])]
    of_law = ""
    for block in blocks:
        match block:
            case Heading(level=3):
                sections.append(_Section(block, of_law if block.name == "law" else "", [], []))
            case Answers():
                sections[-1].blocks.append(Answers([note for note in block.notes if note.label != "law"]))
                # The word is said before the numbers.
                of_law = "; ".join(note.text for note in reversed(block.notes) if note.label == "law")
            case Figure() if block.name in svgs or links.get(block.name):
                sections[-1].figures.append(block)
            case Heading() | Figure():
                continue
            case _:
                sections[-1].blocks.append(block)
    return sections


@lru_cache
def environment() -> Environment:
    """The templates and filters of every page; text from logs is escaped."""
    templates = Environment(
        loader=PackageLoader("entropylaw.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {
        "cell": numbers.cell_text,
        "fact": numbers.fact_text,
        "estimate": numbers.format_estimate,
        "sparkline": sparkline,
        "typeset": typeset,
        "one_line": one_line,
        "has_cautions": has_cautions,
        "kind": lambda block: type(block).__name__,
        "by_kind": by_kind,
        "caption": lambda block: NAMED[block.name].caption(block.part),
    }
    templates.tests |= {
        # Verdict, answers and the table of all runs are above the figures of their section.
        "opening": lambda block: isinstance(block, Verdict | Answers) or getattr(block, "overview", False),
        "estimate": lambda value: isinstance(value, Estimate),
    }
    templates.globals["colours"] = Markup(palette.css())
    # The policy of a page allows this script alone.
    script = files("entropylaw.report").joinpath("templates/order.js").read_bytes()
    digest = b64encode(sha256(script).digest()).decode()
    templates.globals |= {"script": Markup(script.decode()), "script_hash": f"sha256-{digest}"}
    return templates


def has_cautions(blocks: Sequence[Block]) -> bool:
    """Whether some block has a caution, which a page does not fold away."""
    notes = [note for block in blocks if isinstance(block, Notes) for note in block.notes]
    return any(note.label == "caution" for note in notes)


def by_kind(block: Notes) -> list[tuple[str, list[Note]]]:
    """Groups of notes: checks, lists of labelled facts, paragraphs."""
    sentences = (note for note in block.notes if note.text)
    groups = groupby(sentences, lambda note: _KIND_BY_LABEL.get(note.label, "list"))
    return [(kind, list(notes)) for kind, notes in groups]


def sparkline(trace: Trace) -> Markup:
    """A series as a line, with the fan of what is ahead behind it, in a box of 120 × 24 with a rim of 2.

    The box holds the series; of a fan that goes far beyond it only a part is shown.
    """
    fan = _fan_in_reach(trace)
    box = _box_of(trace, fan)
    drawn = ""
    if trace.lost_since is not None:
        left = box.x(max(trace.lost_since, box.first_step))
        drawn += f'<rect class="lost" x="{left:.1f}" y="0" width="{120 - left:.1f}" height="24"/>'
    if fan:
        upper = box.points([(step, top) for step, _, _, top in fan])
        lower = box.points([(step, bottom) for step, bottom, _, _ in reversed(fan)])
        middle = box.points([(step, value) for step, _, value, _ in fan])
        drawn += f'<polygon points="{upper} {lower}"/><polyline class="next" points="{middle}"/>'
    path = box.points(zip(trace.steps, trace.values, strict=True))
    return Markup(f'{drawn}<polyline points="{path}"/>')


_Fan = Sequence[tuple[float, float, float, float]]
"""Steps ahead, each with the low end, the value and the high end of a forecast."""


class _Box(NamedTuple):
    """Where the first step and the lowest value are, and the units of the box per step and per value."""

    first_step: float
    low: float
    across: float
    up: float

    def x(self, step: float) -> float:
        """A step's distance from the left of the box."""
        return 2 + (step - self.first_step) * self.across

    def points(self, series: Iterable[tuple[float, float]]) -> str:
        """Points of an SVG; each number has one decimal, which is left out where it is 0."""
        written = []
        for step, value in series:
            x = f"{self.x(step):.1f}".removesuffix(".0")
            y = f"{22 - (value - self.low) * self.up:.1f}".removesuffix(".0")
            written.append(f"{x},{y}")
        return " ".join(written)


def _fan_in_reach(trace: Trace) -> _Fan:
    """The fan as far as it is near the series."""
    low = min(trace.values)
    high = max(trace.values)
    reach = 0.75 * ((high - low) or abs(high) or 1.0)

    def within(value: float) -> float:
        return min(max(value, low - reach), high + reach)

    return [(step, within(bottom), within(value), within(top)) for step, bottom, value, top in trace.fan]


def _box_of(trace: Trace, fan: _Fan) -> _Box:
    """The box that holds a series, its fan, and the beginning of what is lost."""
    first_step = trace.steps[0]
    last_step = max([trace.steps[-1], *(step for step, *_ in fan)])
    if trace.lost_since is not None:
        # There may be no reward after that step.
        last_step = max(last_step, trace.lost_since + 0.1 * (last_step - first_step))
    low = min([*trace.values, *(bottom for _, bottom, _, _ in fan)])
    high = max([*trace.values, *(top for _, _, _, top in fan)])
    # A series of one step or of one value has no range.
    return _Box(first_step, low, 116.0 / ((last_step - first_step) or 1.0), 20.0 / ((high - low) or 1.0))


def typeset(text: str) -> str:
    """Minus signs before numbers, and no line break before per cent signs."""
    return numbers.with_minus(text).replace(" %", "\u00a0%")
