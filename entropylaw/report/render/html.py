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
    script = files("entropylaw.report").joinpath("templates/filter.js").read_bytes()
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
    low = min(trace.values)
    high = max(trace.values)
    reach = 0.75 * ((high - low) or abs(high) or 1.0)
    least = low - reach
    most = high + reach
    fan = [(step, *(min(max(y, least), most) for y in values)) for step, *values in trace.fan]
    low = min([low, *(min(values) for _, *values in fan)])
    high = max([high, *(max(values) for _, *values in fan)])
    first = trace.steps[0]
    last = max([trace.steps[-1], *(step for step, *_ in fan)])
    if trace.lost_since is not None:
        # There may be no reward after that step.
        last = max(last, trace.lost_since + 0.1 * (last - first))
    # A series of one step or of one value has no range.
    across = 116.0 / ((last - first) or 1.0)
    up = 20.0 / ((high - low) or 1.0)

    def line(series: Iterable[tuple[float, float]]) -> str:
        points = (f"{2 + (x - first) * across:.1f},{22 - (y - low) * up:.1f}" for x, y in series)
        return " ".join(points).replace(".0", "")

    drawn = ""
    if trace.lost_since is not None:
        left = 2 + max(trace.lost_since - first, 0.0) * across
        drawn += f'<rect class="lost" x="{left:.1f}" y="0" width="{120 - left:.1f}" height="24"/>'
    if fan:
        outline = [(step, top) for step, _, _, top in fan]
        outline += [(step, bottom) for step, bottom, *_ in reversed(fan)]
        middle = line((step, value) for step, _, value, _ in fan)
        drawn += f'<polygon points="{line(outline)}"/><polyline class="next" points="{middle}"/>'
    return Markup(f'{drawn}<polyline points="{line(zip(trace.steps, trace.values, strict=True))}"/>')


def typeset(text: str) -> str:
    """Minus signs before numbers, and no line break before per cent signs."""
    return numbers.with_minus(text).replace(" %", "\u00a0%")
