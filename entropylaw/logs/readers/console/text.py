"""Logs that people write by hand, and consoles that print a step's metrics over several lines.

A record is what is printed from one step to the next: ``name=value``, ``name: value``, ``name value`` between
bars or commas, JSON and Python dicts anywhere in a line, tables in boxes or below a header, blocks of YAML.
What loggers put before a line is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from entropylaw.escaping import counted
from entropylaw.logs import catalog
from entropylaw.logs.catalog import is_evaluation, is_training
from entropylaw.logs.readers import jsonl
from entropylaw.logs.readers.console import BAD_PAIR, CUT_ENTRY, NESTING_PAIR, box_cells, dict_pairs, plain
from entropylaw.logs.readers.jsonl import leaves
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import classify, json_at, parse_number
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.gather import Records
from entropylaw.logs.sources.kinds import KIND
from entropylaw.logs.suggest import is_like

LATER_VALUE = "later value of a metric at the same step"
CUT_NAME = "metric whose name the table cuts off"

# In front of a line: the process by Ray, the level by a logger.
_PROCESS = re.compile(r"\s*\([^()]{0,120}pid=\d{1,10}[^()]{0,80}\) ?", re.ASCII)
_LEVEL = re.compile(
    r"\b(?:DEBUG|INFO|WARNING|WARN|SUCCESS|ERROR|CRITICAL)\b[:\]|]?\s*|\S{1,80}\.py\b:?\S*"
    r"|\[(?:PID|PIPELINE|rank|gpu)[ :=]?\d[^\]]*\]",
    re.IGNORECASE,
)
_WORD = r"[^\W\d][\w./@%#+-]{0,120}+(?:\([\w ]{1,20}\))?…?"
_NUMBER = r"[+-]?(?:(?:\d{1,400}+\.?\d{0,400}+|\.\d{1,400}+)(?:e[+-]?\d{1,9}+)?|inf(?:inity)?|nan)"
_PAIR = re.compile(
    rf"(?<![\w./@:-])['\"]?(?P<name>{_WORD}(?: {_WORD}){{0,4}})['\"]?"
    r"(?P<mark>\s{0,8}[:=]\s{0,20}|\s{1,20})['\"\[(]?(?:[a-z.]{2,20}\d{0,2}\()?"
    rf"(?P<number>{_NUMBER})(?P<of>\s?/\s?\d{{1,12}})?(?P<unit>\s?%|[A-Za-z/]{{1,16}})?(?=$|[\s,;|)\]}}'\"±\[]|:(?!\d))",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"(?<![\w./-])(\d{1,12})\s?/\s?\d{1,12}(?![\w./-])", re.ASCII)
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
_COUNTS = ("step", "iteration", "iter", "it", "update", "timestep", "batch", "round", "episode", "epoch")
_NO_COUNTS = frozenset(("time", "timing", "per", "size", "lr", "length", "tokens", "perf", "max", "total"))
# prime-rl logs the rewards apart from the entropy; it prints there how far off-policy they are.
_NAMES_AN_ENTROPY = re.compile(r"entrop|(?<![a-z])entr?(?![a-z])|off-policy", re.IGNORECASE)
# What stands before a metric's name in a sentence.
_FILLERS = frozenset(("with", "and", "at", "the", "of", "is", "in", "for", "after", "on", "done", "finished"))
_ALONE = re.compile(r"[\s\[\],}]*\{\s*")
_INSIDE = re.compile(r"\s*['\"]")
_HEADING = re.compile(r"[^\W\d](?:[^\s=:]|\s(?!\d))*")
# Text and programs may name an entropy and a step without being a log.
_PROSE = (".md", ".rst", ".tex", ".py", ".js", ".sh", ".toml", ".yaml", ".yml", ".cfg", ".ini")
_REPORT = "# Entropy law report"
# The words of a progress bar, which has a single minibatch's metrics.
_BAR = "%|"
_MESSAGES = ("message", "msg", "event")
_COLUMNS = ("step", "iteration", "iter", "update", "batch", "episode")
_AROUND, _SAMPLED = 1 << 13, 4000
# A longer line is no record; so many lines of others may come between two lines of a dict.
_LONGEST_LINE, _LONGEST_TITLE, _MOST_OTHERS = 1 << 16, 80, 200


class Printed(NamedTuple):
    """What a line, a dict or a table has: names with numbers, other words, and a fraction such as 3/100."""

    pairs: list[tuple[str, float]]
    title: str = ""
    fraction: float | None = None


def recognises(content: Content) -> bool:
    """Whether an entropy is printed with a step, anywhere."""
    if not content.is_text or content.suffix in (".csv", ".tsv") or jsonl.recognises(content):
        return False
    text = content.opening
    if text.lstrip().startswith(("<", _REPORT)):
        return False  # a page, or what this program wrote of a run
    fewest = 8 if content.suffix in _PROSE else 1
    for match in islice(_NAMES_AN_ENTROPY.finditer(text), 40):
        begin = text.rfind("\n", 0, max(match.start() - _AROUND, 0)) + 1
        around = list(_lines([text[begin : match.end() + _AROUND]]))
        records = _records(around, Counter())
        if sum(_is_measured(record) for record in records) >= fewest:
            return True
    return False


def _is_measured(names: Collection[str]) -> bool:
    """Whether a record has an entropy, or the reward of a trainer that logs the two apart."""
    role = "reward" if catalog.detect(names).trainer.halves else "entropy"
    return any(is_like(role, name) or is_like("entropy", name) for name in names)


def read(content: Content) -> Table:
    """Read it; raises ``no-records`` where no line holds a step and a metric."""
    records, dropped = Records(content.column_filter), Counter[str]()
    for record in _records(_lines(content.blocks()), dropped, content.opening):
        records.add(record)
    percent = dropped.pop("%", 0)
    notes = [f"{counted(percent, 'number')} with a % sign read as hundredths"] if percent else []
    table = records.table(content, dropped, notes, rows=records.rows)
    if _is_measured(tuple(table.columns)):
        return table
    hint = "write one record per step, such as `step=1 entropy=0.9 reward=0.1`, or leave the format out"
    raise content.error("no-records", "holds no line with a step and metrics", hint)


def _lines(blocks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the lines without escape sequences, and whether each one ends."""
    for block in blocks:
        *whole, rest = block.replace("\r", "\n").split("\n")
        yield from ((plain(line)[:_LONGEST_LINE], True) for line in whole if line)
        if rest:
            yield plain(rest)[:_LONGEST_LINE], False


def _records(
    lines: Iterable[tuple[str, bool]], dropped: Counter[str], opening: str | None = None
) -> Iterator[dict[str, object]]:
    """Yield the records: what is printed of one kind from one step to the next."""
    sample = lines
    if opening is not None:
        first = _NAMES_AN_ENTROPY.search(opening)
        sample = _lines([opening[max(first.start() - _LONGEST_LINE, 0) if first else 0 :][: 1 << 22]])
    seen = list(islice(_Prints(Counter()).of(sample), _SAMPLED))
    word = counting_word(seen)
    prints = _Prints(dropped).of(lines)
    if steps_come_last(seen, word):
        prints = _with_later_steps(prints, word)
    recorder = _Recorder(word, dropped)
    for printed in prints:
        yield from recorder.take(printed)
    yield from recorder.finished()


class _Recorder:
    """Puts what is printed into records; ``word`` numbers them, or fractions where it is empty."""

    def __init__(self, word: str, dropped: Counter[str]) -> None:
        self._word, self._dropped = word, dropped
        self._name = word if word in _COLUMNS else "step"
        self._record: dict[str, object] = {}
        # The evaluations of this step: a further one without its own step does not replace them.
        self._evaluated: dict[str, float] = {}

    def take(self, printed: Printed) -> Iterator[dict[str, object]]:
        """Take what is printed next; yields the record before, where a new one begins."""
        steps = [number for metric, number in printed.pairs if self._numbers(metric, number)]
        if not self._word and printed.fraction is not None:
            steps = [printed.fraction]
        if not steps and (self._name not in self._record or (self._word and printed.title == _BAR)):
            return
        step = steps[0] if steps else self._record[self._name]
        same = step == self._record.get(self._name)
        values, kind = self._values(printed, same=same), _kind(printed.title)
        record = self._record
        contradicts = any(n == n and record.get(metric, n) != n for metric, n in values.items())
        switches = bool(kind) and (kind == "eval") != (record.get(KIND) == "eval")
        if not same or switches or (steps and contradicts):
            yield from self.finished()
            self._record = {self._name: step}
        else:
            self._dropped[LATER_VALUE] += contradicts
        if kind:
            self._record.setdefault(KIND, kind)
        for metric, number in values.items():
            self._record.setdefault(metric, number)

    def finished(self) -> Iterator[dict[str, object]]:
        """Yield the last record, if it has a value."""
        if self._record.keys() - {self._name, KIND}:
            yield self._record

    def _numbers(self, metric: str, number: float) -> bool:
        return bool(self._word) and counts(metric, number) == self._word

    def _values(self, printed: Printed, *, same: bool) -> dict[str, float]:
        """The first value of each metric, and of an evaluation the first at this step."""
        values: dict[str, float] = {}
        self._evaluated = self._evaluated if same else {}
        for metric, number in printed.pairs:
            if not self._numbers(metric, number):
                first = self._evaluated.setdefault(metric, number)
                values.setdefault(metric, first if is_evaluation(metric) else number)
        return values


def steps_come_last(sample: Sequence[Printed], word: str) -> bool:
    """Whether an entropy, not of an evaluation, is printed before the first step: steps close records."""
    kind = ""
    for printed in sample:
        kind = _kind(printed.title) if printed.title else kind
        if any(word and counts(*pair) == word for pair in printed.pairs):
            return False
        if word and kind != "eval" and any(is_like("entropy", name) for name, _ in printed.pairs):
            return True
    return False


def _with_later_steps(prints: Iterable[Printed], word: str) -> Iterator[Printed]:
    """Put what is printed before each step together with it."""
    pending = list[tuple[str, float]]()
    title = ""
    for printed in prints:
        pending += printed.pairs
        title = title or (printed.title if _kind(printed.title) else "")
        if any(counts(*pair) == word for pair in printed.pairs):
            yield Printed(pending, title)
            pending, title = [], ""


@lru_cache(maxsize=1 << 10)
def _kind(title: str) -> str:
    """The kind of record that a title names, empty where it names none."""
    if len(title) > _LONGEST_TITLE:
        return ""
    return "eval" if is_evaluation(title) else "train" if is_training(title) else ""


def counts(name: str, number: float) -> str:
    """The word with which a name numbers records; empty where it does not."""
    word = _counting_word(name)
    return word if word and number == number // 1 >= 0 else ""


@lru_cache(maxsize=1 << 14)
def _counting_word(name: str) -> str:
    words = re.findall("[a-z]+", name.casefold())
    word = words[-1].removesuffix("s") if words else ""
    return word if word in _COUNTS and _NO_COUNTS.isdisjoint(words) else ""


def counting_word(sample: Sequence[Printed]) -> str:
    """The word that numbers the records; empty where they are numbered by fractions such as 3/100 alone."""
    seen: dict[str, list[float]] = {}
    for printed in sample:
        for name, number in printed.pairs:
            if word := counts(name, number):
                seen.setdefault(word, []).append(number)
    rising: dict[str, int] = {}
    for word, numbers in seen.items():
        # What starts again and again numbers parts of a step; two processes may be some steps apart.
        starts = np.count_nonzero(np.diff(numbers) * 2 < -np.ptp(numbers))
        if starts <= max(2, len(numbers) // 20):
            rising[word] = len(set(numbers))
    order = sorted(rising, key=lambda word: (word == "epoch", -rising[word], _COUNTS.index(word)))
    best = order[0] if order else ""
    entropies = [printed for printed in sample if any(is_like("entropy", name) for name, _ in printed.pairs)]
    numbered = sum(printed.fraction is not None for printed in entropies)
    return "" if numbered * 2 > len(entropies) > 2 * rising.get(best, 0) else best


class _Braces:
    """Puts a dict or an object over several lines together; ``text`` is that of an open one.

    ``broken`` counts those without an end.
    """

    def __init__(self) -> None:
        self.broken = 0
        self.text, self._depth, self._others = "", 0, 0

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
        if another or len(self.text) > _LONGEST_LINE or self._others > _MOST_OTHERS:
            self.text, self._depth = "", 0
            self.broken += 1
            return None
        if not inside:
            return ""
        self.text += f" {line.strip()}"
        self._depth += (line.count("{") - line.count("}")) if self._depth else 0
        if self._depth or not line.rstrip().endswith(("}", "},", "]", "],")):
            return ""
        text, self.text = self.text, ""
        return text.strip("[], ")


class _Prints:
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

    def of(self, lines: Iterable[tuple[str, bool]]) -> Iterator[Printed]:
        """Yield what is printed."""
        unfinished, braces = False, _Braces()
        for raw, ended in lines:
            process = _PROCESS.match(raw)
            line = raw[process.end() :] if process else raw
            if (text := braces.take(line)) is not None:
                if text:
                    yield Printed(self._of_dict(text))
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
        if not isinstance(value, dict) and text.count("{") > 1:
            converted = text
            for pattern, replacement in _PYTHON:
                converted = pattern.sub(replacement, converted)
            value, _ = json_at(converted)
        if isinstance(value, dict):
            inner = value.pop("metrics", None)
            value |= inner if isinstance(inner, dict) else {}
            cells = [(path, cell) for path, cell in leaves(value, 1000) if not isinstance(cell, bool)]
            numbers = [(path, parse_number(cell), cell) for path, cell in cells if cell is not None]
            pairs = [(path, n) for path, n, cell in numbers if n == n or not isinstance(cell, str)]
            # A logger's own JSON has the line as its message.
            messages = [cell for path, cell in cells if path in _MESSAGES and isinstance(cell, str)]
            return pairs + [pair for message in messages for pair in self._pairs(message, True)]
        start = _OPENS.match(text)
        values, closed, _ = dict_pairs(text, start.end() if start else 0, NESTING_PAIR)
        if closed:
            return list(values.items())
        damaged = text.rstrip().endswith("}")
        self._dropped[BAD_PAIR if damaged else CUT_ENTRY] += 1
        return self._pairs(text, True) if damaged else []

    def _of_row(self, cells: list[str]) -> Iterator[Printed]:
        """Take a row of a table in a box."""
        words = [cell.strip() for cell in cells]
        numbers = [classify(word)[0] if word else np.nan for word in words]
        if not any(words):
            return
        if words[0].endswith("/") and not any(words[1:]):
            self._prefix = words[0]
            return
        if (below := self._below_header(words)) is not None:
            yield below
        elif len(words) == 1 and (group := _GROUP.fullmatch(cells[0])):
            self._groups.append([group["group"], group["rest"]])
        elif len(words) == 1 and self._groups:
            self._groups[-1][1] += f" {words[0]}"
        else:
            named = [
                (name, number)
                for name, word, number in zip(words, words[1:], numbers[1:], strict=False)
                if word and _HEADING.match(name) and (number == number or not classify(word)[1])
            ]
            self._dropped[CUT_NAME] += sum(name.endswith("…") for name, _ in named)
            named = [(f"{self._prefix}{name}", number) for name, number in named if not name.endswith("…")]
            if {name for name, _ in named} & {name for name, _ in self._table}:
                yield from self._whole_table()
            self._table += named
            if not named and (printed := self._pairs(" | ".join(cells), True)):
                self._table += printed
                if any(counts(*pair) for pair in printed):
                    yield from self._whole_table()

    def _whole_table(self) -> Iterator[Printed]:
        """Yield what the rows of a table have together, if there are any."""
        pairs = self._table
        for group, text in self._groups:
            prefix = "" if group == "other" else f"{group}/"
            pairs += [(f"{prefix}{name}", number) for name, number in self._pairs(text, True)]
        self._table, self._groups, self._prefix = [], [], ""
        if pairs:
            yield Printed(pairs)

    def _of_line(self, line: str, process: str, ended: bool) -> Iterator[Printed]:
        """Take a line that is no row of a table."""
        words = re.split(" {2,}", line.strip())
        words = words if len(words) > 2 or "\t" in line else line.split()
        if ended and (below := self._below_header(words)) is not None:
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
        pairs = [*self._pairs(title, ended or start is not None), *pairs]
        fraction = _FRACTION.search(title)
        yield Printed(
            [(f"{prefix}{name}", number) for name, number in pairs],
            _BAR if "%|" in line else _PAIR.sub(" ", title).strip(" \t:|-=*#,[]()"),
            float(fraction[1]) if fraction else None,
        )

    def _below_header(self, words: list[str]) -> Printed | None:
        """The numbers of a row below a header, none of the header itself; None for what is neither."""
        names = len(words) > 2 and all(map(_HEADING.fullmatch, words))
        counted_by = names and any(counts(word, 1.0) for word in words)
        if counted_by and any(is_like("entropy", word) for word in words):
            self._header = words
            return Printed([])
        numbers = [classify(word)[0] if word else np.nan for word in words]
        if len(words) != len(self._header) or np.isnan(numbers).all() or classify(words[0])[1]:
            return None
        return Printed([(name, n) for name, n in zip(self._header, numbers, strict=True) if n == n])

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
        if len(matches) == 1 and not counts(matches[0]["name"], 1.0) and not matches[0]["mark"].strip():
            return []  # in a sentence, a word before a number is the name of nothing
        pairs = list[tuple[str, float]]()
        for match in matches:
            words = match["name"].split(" ")
            while len(words) > 1 and words[0].casefold() in _FILLERS:
                del words[0]
            unit = (match["unit"] or "").strip()
            if words[-1].endswith("…"):
                self._dropped[CUT_NAME] += 1
            elif match["of"] and not counts(words[-1], 1.0):
                continue  # a share of others, or a number that is damaged
            elif words[-1] in ("pid", "ip") or unit not in ("", "%") or text.startswith("|", match.end()):
                continue
            else:
                self._dropped["%"] += unit == "%"
                number = float(match["number"])
                pairs.append((" ".join(words), number / 100 if unit else number))
        if not ended:
            # A last line that breaks off may lack a part of a name.
            return [(name, number) for name, number in pairs if name in self._names]
        if "%|" not in text:
            self._names.update(name for name, _ in pairs)
        return pairs
