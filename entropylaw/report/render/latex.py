r"""Blocks as LaTeX for a paper: tables by booktabs, for ``\input``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from entropylaw.escaping import one_line
from entropylaw.report.blocks import Block, Facts, Figure, Heading, Notes, Table, Verdict
from entropylaw.report.numbers import fact_text, row_text

_SPECIAL = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "·": r"$\cdot$",
    "→": r"$\to$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "—": "---",
    "–": "--",
    "…": r"\dots{}",
    "±": r"$\pm$",
}
_LEVELS = {1: "section*", 2: "subsection*", 3: "paragraph"}


def render(blocks: Sequence[Block]) -> str:
    """The blocks, one after another; figures as the files that `entropylaw plot` writes."""
    head = "% needs \\usepackage{booktabs,graphicx} and an engine that reads UTF-8\n"
    return head + "".join(f"{line}\n" for block in blocks for line in _lines(block))


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        about = f"\n{escaped(block.about)}\n" if block.about else ""
        yield f"\n\\{_LEVELS[block.level]}{{{escaped(block.text)}}}{about}"
    elif isinstance(block, Verdict):
        name = f"{escaped(block.name)}: " if block.name else ""
        yield f"{name}\\textbf{{{escaped(block.badge)}}}: {escaped(block.text)}\n"
    elif isinstance(block, Notes):
        for note in filter(lambda note: note.text, block.notes):
            label = f"\\emph{{{escaped(note.label)}}}: " if note.label else ""
            yield f"{label}{escaped(note.text)}\n"
    elif isinstance(block, Facts):
        if block.unsafe:
            yield f"\\emph{{{escaped(block.unsafe)}}}\n"
        facts = [(fact.name, *fact_text(fact)) for fact in block.facts]
        yield from _tabular((block.title, "value", block.interval, ""), facts, "lrll")
    elif isinstance(block, Table):
        labels = [column.label for column in block.columns]
        yield from _tabular(labels, [row_text(block, row) for row in block.rows], "l" * len(labels))
    elif isinstance(block, Figure):
        yield f"% \\includegraphics{{{block.name}.pdf}}  made by: entropylaw plot {block.name}"


def _tabular(head: Sequence[str], rows: Sequence[Sequence[str]], columns: str) -> Iterator[str]:
    yield f"\\begin{{tabular}}{{{columns}}}\n\\toprule"
    yield " & ".join(map(escaped, head)) + " \\\\\n\\midrule"
    yield from (" & ".join(map(escaped, row)) + " \\\\" for row in rows)
    yield "\\bottomrule\n\\end{tabular}\n"


def escaped(text: str) -> str:
    """Text without commands, with minus signs before numbers."""
    text = re.sub(r"(?<![\w.)-])-(?=\d)", "−", one_line(text))
    return "".join(_SPECIAL.get(char, char) for char in text)
