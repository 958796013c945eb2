"""What the lines of a console or a text hold: names with numbers, by line, by dict or by table.

``name=value``, ``name: value``, ``name value`` between bars or commas, JSON and Python dicts anywhere in a
line or over several, tables in boxes or below a header, blocks of YAML. What loggers put before a line is
left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np

from entropylaw.logs.readers.console import BAD_PAIR, CUT_ENTRY, box_cells, dict_pairs
from entropylaw.logs.readers.jsonl import leaves
from entropylaw.logs.runs.number_parsing import (
    DECIMAL_COMMA,
    classify,
    comma_number,
    json_at,
    parse_number,
    separates_decimals,
)
from entropylaw.logs.suggest import is_like

CUT_NAME = "metric whose name the table cuts off"

# In front of a line: the process by Ray, the level by a logger.
_PROCESS = re.compile(r"\s*\([^()]{0,120}pid=\d{1,10}[^()]{0,80}\) ?", re.ASCII)
_LEVEL = re.compile(
    r"(?:\b[\w.]{1,80}:\d{1,6}\s{1,4}\[)?\b(?:DEBUG|INFO|WARNING|WARN|SUCCESS|ERROR|CRITICAL)\b[:\]|]?\s*"
    r"|\S{1,80}\.py\b:?\S*"
    r"|\[(?:PID|PIPELINE|rank|gpu)[ :=]?\d[^\]]*\]",
    re.IGNORECASE,
)
_WORD = r"[^\W\d][\w./@%#+-]{0,120}+(?:\([\w ]{1,20}\))?…?"
_NUMBER = r"[+-]?(?:(?:\d{1,400}+\.?\d{0,400}+|\.\d{1,400}+)(?:e[+-]?\d{1,9}+)?|inf(?:inity)?|nan)"
_PAIR = re.compile(
    rf"(?<![\w./@:-])['\"]?(?P<name>{_WORD}(?: {_WORD}){{0,4}})['\"]?"
    r"(?P<mark>\s{0,8}[:=]\s{0,20}|\s{1,20})['\"\[(]?(?:[a-z.]{2,20}\d{0,2}\()?"
    rf"(?P<number>{_NUMBER})(?P<commas>(?:,\d{{1,30}})+)?(?P<of>\s?/\s?\d{{1,12}})?(?P<unit>(?:\s?%|[A-Za-z/]{{1,16}})?)"
    r"(?=$|[\s;|)\]}'\"±\[]|[:,](?!\d))",
    re.IGNORECASE,
)
# A count such as 3/100, or in brackets that open a line.
_FRACTION = re.compile(r"\A\s*\[(\d{1,12})\]|(?<![\w./-])(\d{1,12})\s?/\s?\d{1,12}(?![\w./-])", re.ASCII)
_SECTION = re.compile(rf"(?P<indent>\s*)['\"]?(?P<name>{_WORD})['\"]?:(?=\s|$)")
_OPENS = re.compile(r"\{\s*(?=['\"])")
_GROUP = re.compile(r"\s{0,3}(?P<group>[^\s:=\d]{1,100})\s{2,}(?P<rest>\S.*)")
# From a dict as Python prints it to JSON.
_PYTHON = (
    (re.compile(r"(?:np|numpy|torch)\.\w+\(([^()]*)\)"), r"\1"),
    (re.compile(r"\bNone\b|\bnan\b"), "null"),
    (re.compile("'"), '"'),
)
# Words that number records, the best first, and words with which they do not.
COUNTS = ("step", "iteration", "iter", "it", "update", "timestep", "batch", "round", "episode", "epoch")
_NO_COUNTS = frozenset(("time", "timing", "per", "size", "lr", "length", "tokens", "perf", "max", "total"))
# What stands before a metric's name in a sentence.
_FILLERS = frozenset(("with", "and", "at", "the", "of", "is", "in", "for", "after", "on", "done", "finished"))
_ALONE = re.compile(r"[\s\[\],}]*\{\s*")
_INSIDE = re.compile(r"\s*['\"]")
_HEADING = re.compile(r"[^\W\d](?:[^\s=:]|\s(?!\d))*")
# The words of a progress bar, which has a single minibatch's metrics.
BAR = "%|"
# By what a number with a unit is divided; numbers with others are not metrics.
_DIVISORS = {"": 1, "%": 100}
_MESSAGES = ("message", "msg", "event")
# A longer line is no record; so many lines of others may come between two lines of a dict.
LONGEST_LINE = 1 << 16
_MOST_OTHERS = 200


class Printed(NamedTuple):
    """What a line, a dict or a table has: names with numbers, other words, and a fraction such as 3/100.

    ``form`` is ``"line"``, ``"dict"``, ``"table"``, or empty for a line that breaks off.
    """

    pairs: list[tuple[str, float]]
    title: str = ""
    fraction: float | None = None
    form: str = "line"


def counts(name: str, number: float) -> str:
    """The word with which a name numbers records; empty where it does not."""
    word = _counting_word(name)
    return word if word and number == number // 1 >= 0 else ""


@lru_cache(maxsize=1 << 14)
def _counting_word(name: str) -> str:
    words = re.findall("[a-z]+", name.casefold())
    word = words[-1].removesuffix("s") if words else ""
    return word if word in COUNTS and _NO_COUNTS.isdisjoint(words) else ""


class _Braces:
    """Puts a dict or an object over several lines together; ``text`` is that of an open one.

    ``broken`` counts those without an end.
    """

    def __init__(self) -> None:
        self.broken = 0
        self.text = ""
        self._depth = self._others = 0

    def opened(self, line: str) -> str:
        """Take a dict that opens in a line and goes on below; returns what stands before it."""
        start = _OPENS.search(line)
        if start is None or "}" in line or not line.rstrip().endswith(","):
            return line
        self.text, self._others = line[start.start() :], 0
        return line[: start.start()]

    def take(self, line: str) -> str | None:
        """The whole dict where a line ends it, an empty text within it, None for a line of something else."""
        if not self.text:
            if _ALONE.fullmatch(line) is None:
                return None
            self.text, self._depth = line.strip(), 1
            return ""
        inside = self._depth > 0 or _INSIDE.match(line) is not None
        self._others = 0 if inside else self._others + 1
        another = line.startswith("{") and self._depth == 0
        if another or len(self.text) > LONGEST_LINE or self._others > _MOST_OTHERS:
            self.text, self._depth = "", 0
            self.broken += 1
            return None
        if not inside:
            return ""
        self.text += f" {line.strip()}"
        if self._depth:
            self._depth += line.count("{") - line.count("}")
        if self._depth or not line.rstrip().endswith(("}", "},", "]", "],")):
            return ""
        whole = self.text.strip("[], ")
        self.text = ""
        return whole


class Prints:
    """Goes through the lines, and puts dicts and tables over several lines together.

    ``dropped`` counts what breaks off.
    """

    def __init__(self, dropped: Counter[str]) -> None:
        self._dropped = dropped
        # Names of sections of YAML above the line with their indents, by process.
        self._sections: dict[str, list[tuple[int, str]]] = {}
        self._names = set[str]()
        self._header: list[str] = []
        self._table: list[tuple[str, float]] = []
        self._groups: list[list[str]] = []
        self._prefix = ""
        # Whether a number has shown that commas separate decimals.
        self._decimal_commas = False

    def of(self, lines: Iterable[tuple[str, bool]]) -> Iterator[Printed]:
        """Yield what is printed."""
        unfinished = False
        braces = _Braces()
        for raw, ended in lines:
            process = _PROCESS.match(raw)
            line = raw[process.end() :] if process else raw
            if (text := braces.take(line)) is not None:
                if text:
                    yield Printed(self._of_dict(text), form="dict")
                continue
            line = braces.opened(line)
            cells = box_cells(line)
            unfinished = cells is not None and not ended
            if cells is not None:
                yield from self._of_row(cells)
                continue
            yield from self._whole_table()
            if line.strip():
                yield from self._of_line(line, process.group() if process else "", ended)
        self._dropped[CUT_ENTRY] += braces.broken + (unfinished or bool(braces.text))
        yield from self._whole_table()

    def _of_dict(self, text: str) -> list[tuple[str, float]]:
        """The numbers of a dict or an object that opens the text; none where it breaks off."""
        value, _ = json_at(text)
        if not isinstance(value, dict) and text.count("{") > 1:  # one that holds others, as Python prints it
            as_json = text
            for pattern, replacement in _PYTHON:
                as_json = pattern.sub(replacement, as_json)
            value, _ = json_at(as_json)
        if isinstance(value, dict):
            return self._of_object(value)
        start = _OPENS.match(text)
        values, closed, _ = dict_pairs(text, start.end() if start else 0)
        if closed:
            return list(values.items())
        damaged = text.rstrip().endswith("}")
        self._dropped[BAD_PAIR if damaged else CUT_ENTRY] += 1
        return self._pairs(text, True) if damaged else []

    def _of_object(self, value: dict[str, object]) -> list[tuple[str, float]]:
        """The numbers of an object, those of its ``metrics`` without a prefix; then those in its message."""
        inner = value.pop("metrics", None)
        if isinstance(inner, dict):
            value |= inner
        pairs: list[tuple[str, float]] = []
        in_messages: list[tuple[str, float]] = []
        for path, cell in leaves(value, 1000):
            if isinstance(cell, str) and path in _MESSAGES:
                in_messages += self._pairs(cell, True)  # a logger's own JSON has the line as its message
            number = parse_number(cell)
            # Of a nan, only the number was logged as a value.
            if number == number or isinstance(cell, float):
                pairs.append((path, number))
        return pairs + in_messages

    def _of_row(self, cells: list[str]) -> Iterator[Printed]:
        """Take a row of a table in a box."""
        words = [cell.strip(" \t*`") for cell in cells]
        if not any(words):
            return
        if words[0].endswith("/") and not any(words[1:]):
            self._prefix = words[0]
        elif (below := self._below_header(words)) is not None:
            yield below
        elif len(words) == 1 and (group := _GROUP.fullmatch(cells[0])):
            self._groups.append([group["group"], group["rest"]])
        elif len(words) == 1 and self._groups:  # more pairs of the group
            self._groups[-1][1] += f" {cells[0].strip()}"
        elif named := self._named_cells(words):
            if not dict(named).keys().isdisjoint(dict(self._table)):
                yield from self._whole_table()
            self._table += named
        else:
            printed = self._pairs(" | ".join(cells), True)
            self._table += printed
            if any(starmap(counts, printed)):
                yield from self._whole_table()

    def _named_cells(self, words: Sequence[str]) -> list[tuple[str, float]]:
        """The numbers in cells whose left neighbour is a name; a name that is cut off is counted alone."""
        named = list[tuple[str, float]]()
        for name, word in pairwise(words):
            number, is_text = classify(word)
            if word and not is_text and _HEADING.match(name):
                if name.endswith("…"):
                    self._dropped[CUT_NAME] += 1
                else:
                    named.append((f"{self._prefix}{name}", number))
        return named

    def _whole_table(self) -> Iterator[Printed]:
        """Yield what the rows of a table have together, if there are any."""
        pairs = self._table
        for group, text in self._groups:
            prefix = "" if group == "other" else f"{group}/"
            pairs += [(f"{prefix}{name}", number) for name, number in self._pairs(text, True)]
        self._table, self._groups, self._prefix = [], [], ""
        if pairs:
            yield Printed(pairs, form="table")

    def _of_line(self, line: str, process: str, ended: bool) -> Iterator[Printed]:
        """Take a line that is no row of a table."""
        if ended:
            # The cells of a row have two blanks or more between them, or else one.
            row = line.strip().removeprefix("# ")
            words = re.split(" {2,}", row)
            if len(words) <= 2 and "\t" not in row:
                words = row.split()
            below = self._below_header(words)
            if below is not None:
                yield below
                return
        pairs = list[tuple[str, float]]()
        title = _LEVEL.sub(" ", line)
        if (prefix := self._section(line, process)) is None:
            return
        if (start := _OPENS.search(line)) is not None:
            pairs += self._of_dict(line[start.start() :].rstrip())
            if not pairs:
                return
            title = title[: max(title.find("{"), 0)]
        form = "dict" if len(pairs) > 1 else "line" if ended else ""
        pairs = [*self._pairs(title, ended or start is not None), *pairs]
        fraction = _FRACTION.search(title)
        yield Printed(
            [(f"{prefix}{name}", number) for name, number in pairs],
            BAR if "%|" in line else _PAIR.sub(" ", title).strip(" \t:|-=*#,[]()"),
            float(fraction[fraction.lastindex or 0]) if fraction else None,
            form,
        )

    def _below_header(self, words: list[str]) -> Printed | None:
        """The numbers of a row below a header, none of the header itself; None for what is neither."""
        # A header has names alone, one of a step and one of an entropy among them.
        named = len(words) > 2 and all(map(_HEADING.fullmatch, words))
        counted = named and any(counts(word, 1.0) for word in words)
        if counted and any(is_like("entropy", word) for word in words):
            self._header = words
            return Printed([], form="table")
        numbers = list(map(parse_number, words))
        if len(words) != len(self._header) or np.isnan(numbers).all() or classify(words[0])[1]:
            return None
        pairs = [(name, n) for name, n in zip(self._header, numbers, strict=True) if n == n]
        return Printed(pairs, form="table")

    def _section(self, line: str, process: str) -> str | None:
        """The names of the sections of YAML above a line, each with a slash; None where it opens one."""
        sections = self._sections.setdefault(process, [])
        named = _SECTION.match(line)
        if named is None:
            if line[:1].strip(" -"):
                sections.clear()
            return ""
        indent = len(named["indent"])
        while sections and sections[-1][0] >= indent:
            sections.pop()
        prefix = "".join(f"{name}/" for _, name in sections)
        if not line[named.end() :].strip():
            sections.append((indent, named["name"]))
        return prefix if line[named.end() :].strip() else None

    def _pairs(self, text: str, ended: bool) -> list[tuple[str, float]]:
        """The names with numbers in a text; the last one is left out where the text may break off in it."""
        matches = [match for match in _PAIR.finditer(text) if ended or match.end() < len(text)]
        # In a sentence, a word before a number names nothing.
        if len(matches) == 1 and not (
            matches[0]["mark"].strip()
            or counts(matches[0]["name"], 1.0)
            or (len(matches[0]["mark"]) > 1 and matches[0].group() == text.strip())
        ):
            return []
        pairs = list(filter(None, map(self.pair, matches)))
        if not ended:
            # A last line that breaks off may lack a part of a name.
            return [(name, number) for name, number in pairs if name in self._names]
        if "%|" not in text:
            self._names.update(name for name, _ in pairs)
        return pairs

    def pair(self, match: re.Match[str]) -> tuple[str, float] | None:
        """A name with its number; None where these are something else, or the name is cut off."""
        words = match["name"].split(" ")
        while len(words) > 1 and words[0].casefold() in _FILLERS:
            del words[0]
        if words[-1].endswith("…"):
            self._dropped[CUT_NAME] += 1
            return None
        if match["of"] and not counts(words[-1], 1.0):
            return None  # a share of others, or a number that is damaged
        unit = match["unit"].strip()
        divisor = _DIVISORS.get(unit)
        if divisor is None or words[-1] in ("pid", "ip") or match.string.startswith("|", match.end()):
            return None
        number = self._number(match, words[-1])
        if number is None:
            return None
        self._dropped["%"] += unit == "%"
        return " ".join(words), number / divisor

    def _number(self, match: re.Match[str], name: str) -> float | None:
        """The number; None where commas in it may separate thousands or decimals."""
        if match["commas"] is None:
            return float(match["number"])
        written = f"{match['number']}{match['commas']}"
        if counts(name, 1.0) and all(len(group) == 3 for group in written.split(",")[1:]):
            return float(written.replace(",", ""))
        decimal = DECIMAL_COMMA.fullmatch(written)
        if decimal is None:
            return None
        self._decimal_commas |= separates_decimals(decimal)
        return comma_number(decimal) if self._decimal_commas else None
