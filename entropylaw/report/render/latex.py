r"""Blocks as LaTeX for a paper, for ``\input``: tables by booktabs, with numbers aligned by siunitx."""

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
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_PLAIN = re.compile(r"(-?)(\d+)(?:\.(\d+))?")
_UNCERTAIN = re.compile(rf"(?:(?:[<>]|{_NUMBER}) ?)?(?:{_NUMBER}|\[[^][]*\])")
"""A number with its interval, an interval alone, a number with an exponent, or one that is only bounded."""

_LEVELS = {1: "section*", 2: "subsection*", 3: "paragraph"}


def render(blocks: Sequence[Block]) -> str:
    """The blocks, one after another; figures as the files that `entropylaw plot` writes."""
    head = """\
% needs in the preamble:
%   \\usepackage{booktabs}
%   \\usepackage{siunitx}
%   \\usepackage{graphicx}
% and an engine that reads UTF-8
"""
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
            mark = " " if note.label.endswith("?") else ": "
            label = f"\\emph{{{escaped(note.label)}}}{mark}" if note.label else ""
            yield f"{label}{escaped(note.text)}\n"
    elif isinstance(block, Facts):
        if block.unsafe:
            yield f"\\emph{{{escaped(block.unsafe)}}}\n"
        facts = [(fact.name, *fact_text(fact)) for fact in block.facts]
        yield from _tabular((block.title, "value", block.interval, ""), facts)
    elif isinstance(block, Table) and not block.instead:
        labels = [column.label for column in block.columns]
        yield from _tabular(labels, [row_text(block, row) for row in block.rows], words=block.words)
    elif isinstance(block, Figure):
        yield f"% \\includegraphics{{{block.name}.pdf}}  made by: entropylaw plot {block.name}"


def _tabular(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    """A table; a column with a plain number is aligned at the decimal point, but for those of ``words``."""
    cells = list(zip(*rows, strict=True)) or [()] * len(head)
    formats = ["" if place < words else _format(column) for place, column in enumerate(cells)]
    kinds = "".join(f"S[table-format={each}]" if each else "l" for each in formats)
    yield f"\\begin{{tabular}}{{{kinds}}}\n\\toprule"
    lines = [" & ".join(map(_cell, row, formats)) + " \\\\" for row in (head, *rows)]
    yield from (lines[0], "\\midrule", *lines[1:])
    yield "\\bottomrule\n\\end{tabular}\n"


def _format(column: Sequence[str]) -> str:
    """The digits before and after the decimal point of the numbers in a column; empty where it has none."""
    parts = [found.groups("") for found in map(_PLAIN.fullmatch, column) if found]
    if not parts:
        return ""
    sign = "-" if any(minus for minus, _, _ in parts) else ""
    whole, decimals = (max(len(part[i]) for part in parts) for i in (1, 2))
    return f"{sign}{whole}.{decimals}"


def _cell(text: str, aligned: str) -> str:
    """A cell; what is not a plain number is in braces where numbers are aligned."""
    if aligned and _PLAIN.fullmatch(text):
        return text
    plain = escaped(text)
    if _UNCERTAIN.fullmatch(text):
        plain = re.sub(_NUMBER, r"\\num{\g<0>}", text).replace("<", "$<$").replace(">", "$>$")
    return f"{{{plain}}}" if aligned else plain


def escaped(text: str) -> str:
    """Text without commands, with minus signs before numbers."""
    text = re.sub(r"(?<![\w.)-])-(?=\d)", "−", one_line(text))
    return "".join(_SPECIAL.get(char, char) for char in text)
