"""Blocks as HTML: the part between the head and the foot of a page, or an output in a notebook."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from entropylaw.escaping import one_line
from entropylaw.report import numbers
from entropylaw.report.blocks import Answers, Block, Figure, Heading, Note, Notes, Table, Trace, Verdict
from entropylaw.report.figures import NAMED, palette
from entropylaw.report.figures.palette import glyphs, inline
from entropylaw.results import Estimate

_KINDS = {"": "paragraphs"} | dict.fromkeys(("reason", "caution", "warning", "checks"), "checks")


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
        Put before the ids of figures, which are their names, and of all else on a page.
    follow
        Whether the figures take the colours of the page.
    frame
        The attributes of an element around a figure where there is no style sheet.
    """
    title = next((one_line(block.text) for block in blocks if isinstance(block, Heading)), "")
    # All outputs of a notebook have the same letters.
    letters = prefix
    hidden = 'class="glyphs"'
    if frame:
        letters = ""
        hidden = 'style="position:absolute;width:0;height:0"'
    svgs = {}
    for figure in (block for block in blocks if isinstance(block, Figure) and block.name in figures):
        entry = NAMED[figure.name]
        svg = figures[figure.name]
        name = f"{prefix}{figure.name}"
        described = one_line(figure.described or entry.caption(figure.part))
        svg = inline(svg, name, f"{entry.title} {title}", described, letters=letters, follow=follow)
        svgs[figure.name] = Markup(svg)  # inline escapes all text from logs
    sections = _sectioned(blocks, svgs, links or {})
    template = environment().get_template("blocks.html.j2")
    body = template.render(
        sections=sections, svgs=svgs, links=links or {}, prefix=prefix, frame=Markup(frame)
    )
    shapes = glyphs(map(figures.__getitem__, svgs), letters, hidden) if svgs else ""
    return Markup(f"{shapes}\n{body}")


def _sectioned(
    blocks: Sequence[Block], svgs: Container[str], links: Mapping[str, Sequence[str]]
) -> list[tuple[Heading | None, list[Block], list[Block]]]:
    """Parts with their headings, figures and other blocks; those before the first part have no heading.

    Runs have their headings above. A figure that can be neither shown nor linked is left out.
    """
    sections: list[tuple[Heading | None, list[Block], list[Block]]] = [(None, [], [])]
    for block in blocks:
        match block:
            case Heading(level=3):
                sections.append((block, [], []))
            case Figure() if block.name in svgs or links.get(block.name):
                sections[-1][1].append(block)
            case Heading() | Figure():
                continue
            case _:
                sections[-1][2].append(block)
    return sections


@lru_cache
def environment() -> Environment:
    """The templates and filters of every page; text from logs is escaped."""
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
        "line": line,
        "typeset": typeset,
        "one_line": one_line,
        "kind": lambda block: type(block).__name__,
        "by_kind": by_kind,
        "caption": lambda block: NAMED[block.name].caption(block.part),
    }
    made.tests["opening"] = lambda block: (
        isinstance(block, Verdict | Answers) or (isinstance(block, Table) and block.overview)
    )
    made.tests["estimate"] = lambda value: isinstance(value, Estimate)
    made.globals["colours"] = Markup(palette.css())
    # The policy of a page allows this script alone.
    script = files("entropylaw.report").joinpath("templates/order.js").read_bytes()
    digest = b64encode(sha256(script).digest()).decode()
    made.globals |= {"script": Markup(script.decode()), "script_hash": f"sha256-{digest}"}
    return made


def by_kind(block: Notes) -> list[tuple[str, list[Note]]]:
    """Groups of notes: checks, lists of labelled facts, paragraphs."""
    sentences = (note for note in block.notes if note.text)
    groups = groupby(sentences, lambda note: _KINDS.get(note.label, "list"))
    return [(kind, list(notes)) for kind, notes in groups]


def line(trace: Trace) -> Markup:
    """A series between its own least and largest value, as a line with a dot at its end."""
    first_step = trace.steps[0]
    low = min(trace.values)
    across = 96.0 / ((trace.steps[-1] - first_step) or 1.0)
    up = 18.0 / ((max(trace.values) - low) or 1.0)
    points = [
        (f"{2 + (step - first_step) * across:.1f}", f"{20 - (value - low) * up:.1f}")
        for step, value in zip(trace.steps, trace.values, strict=True)
    ]
    x, y = points[-1]
    path = " ".join(map(",".join, points)).replace(".0", "")
    return Markup(f'<polyline points="{path}"/><circle cx="{x}" cy="{y}" r="2.4"/>')


def typeset(text: str) -> str:
    """Minus signs before numbers, and no line break before per cent signs."""
    return numbers.with_minus(text).replace(" %", "\u00a0%")
