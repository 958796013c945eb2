"""Blocks as HTML: what stands between the head and the foot of a page, and in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from entropylaw.report import numbers, palette
from entropylaw.report.blocks import Block, Figure, Heading, Note, Notes
from entropylaw.report.figures import NAMED
from entropylaw.report.printable import one_line
from entropylaw.report.svg import glyphs, inline

_CHECKS = ("reason", "caution", "warning", "checks")


def fragment(
    blocks: Sequence[Block],
    figures: Mapping[str, str],
    links: Mapping[str, Sequence[str]] | None = None,
    *,
    prefix: str = "",
    follow: bool = True,
    frame: str = "",
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
        Before the ids of figures, which are their names.
    follow
        Whether the figures take the colours of the page.
    frame
        The attributes of an element around a figure where there is no style sheet.
    """
    drawn = {block.name: block for block in blocks if isinstance(block, Figure) and block.name in figures}
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    svgs = {
        name: Markup(  # all from outside is escaped in inline
            inline(
                figures[name],
                f"{prefix}{name}",
                f"{NAMED[name].title} {one_line(title)}",
                one_line(block.described or str(NAMED[name].caption(block.part))),
                follow=follow,
            )
        )
        for name, block in drawn.items()
    }
    template = environment().get_template("blocks.html.j2")
    body = template.render(
        sections=list(_sections(blocks)), svgs=svgs, links=links or {}, frame=Markup(frame)
    )
    letters = glyphs(figures[name] for name in drawn) if drawn else ""
    if frame:
        letters = letters.replace('class="glyphs"', 'style="position:absolute;width:0;height:0"')
    return Markup(letters + "\n" + body)


def _sections(blocks: Iterable[Block]) -> Iterator[tuple[Heading | None, list[Block]]]:
    """Parts with their headings; what stands before the first has none. Runs have theirs above."""
    heading: Heading | None = None
    found: list[Block] = []
    for block in blocks:
        if isinstance(block, Heading) and block.level == 3:
            yield heading, found
            heading, found = block, []
        elif not isinstance(block, Heading):
            found.append(block)
    yield heading, found


@lru_cache
def environment() -> Environment:
    """Templates and filters that every page shares; what comes from outside is escaped."""
    made = Environment(
        loader=PackageLoader("entropylaw.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "cell": numbers.cell_text,
        "fact": numbers.fact_text,
        "estimate": numbers.format_estimate,
        "percent": numbers.format_percent,
        "typeset": typeset,
        "one_line": one_line,
        "kind": lambda block: type(block).__name__,
        "by_kind": _by_kind,
        "caption": lambda block: NAMED[block.name].caption(block.part),
    }
    made.tests["series"] = lambda value: isinstance(value, tuple)
    made.globals["colours"] = Markup(palette.css())
    return made


def _by_kind(block: Notes) -> list[tuple[str, list[Note]]]:
    """Notes in groups: checks, lists of labelled facts, paragraphs."""

    def kind(note: Note) -> str:
        return "checks" if note.label in _CHECKS else "list" if note.label else "paragraphs"

    shown = (note for note in block.notes if note.text)
    return [(name, list(group)) for name, group in groupby(shown, kind)]


def typeset(text: str) -> str:
    """Minus signs before numbers (exponents such as 1e-7 stay), and per cent signs that keep to theirs."""
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", text).replace(" %", "\u00a0%")
