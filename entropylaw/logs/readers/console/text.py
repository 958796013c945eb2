"""Logs that people write by hand, and consoles that print a step's metrics over several lines.

A record is what is printed from one step to the next.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np

from entropylaw.escaping import counted
from entropylaw.logs import catalog
from entropylaw.logs.catalog import is_evaluation, is_training
from entropylaw.logs.readers import jsonl
from entropylaw.logs.readers.console import plain
from entropylaw.logs.readers.console.printed import BAR, COUNTS, LONGEST_LINE, Printed, Prints, counts
from entropylaw.logs.runs import Table
from entropylaw.logs.sources.content import PROGRAMS, Content
from entropylaw.logs.sources.gather import Records
from entropylaw.logs.sources.kinds import KIND
from entropylaw.logs.suggest import is_like, names_an_entropy
from entropylaw.paths import OWN_TEXT

LATER_VALUE = "later value of a metric at the same step"

# prime-rl logs the rewards apart from the entropy; it prints there how far off-policy they are.
_NAMES_AN_ENTROPY = re.compile(r"entrop|(?<![a-z])entr?(?![a-z])|off-policy", re.IGNORECASE)
_ENTROPY_AND_NUMBER = re.compile(r"entrop[\w/.@]{0,40}['\"]?\s{0,3}[:=|│┃]\s{0,20}['\"]?-?\d", re.IGNORECASE)
_COLUMNS = ("step", "iteration", "iter", "update", "batch", "episode")
_SAMPLED = 4000
_MOST_SEARCHED, _MOST_RECOGNISED = 1 << 22, 1 << 19
_FEWEST_LINES = 3
_HEADINGS = 4
# What is usual is printed once while the most usual record is so often.
_ONE_IN_USUAL = 8
_LONGEST_TITLE = 80
_IN_EPOCHS = "steps within epochs"


def recognises(content: Content) -> bool:
    """Whether an entropy is printed with a step, anywhere."""
    if not content.is_text or content.suffix in (".csv", ".tsv") or jsonl.recognises(content):
        return False
    text = content.opening
    if text.lstrip().startswith("<") or OWN_TEXT.match(text):
        return False  # a page, or what this program wrote
    fewest = 8 if content.suffix in PROGRAMS else 1
    near = _near_entropies(text, _MOST_RECOGNISED)
    records = filter(_is_measured, _records(_lines([near]), Counter(), near))
    return len([*islice(records, fewest)]) == fewest


def _is_measured(names: Collection[str]) -> bool:
    """Whether a record has an entropy, or the reward of a trainer that logs the two apart."""
    halves = catalog.detect(names).trainer.halves
    return names_an_entropy(names) or (halves and any(is_like("reward", name) for name in names))


def read(content: Content) -> Table:
    """Read it; raises ``no-records`` where no line holds a step and a metric."""
    records = Records(content.column_filter)
    dropped = Counter[str]()
    sample = _near_entropies(content.opening, _MOST_SEARCHED)
    for record in _records(_lines(content.blocks()), dropped, sample):
        records.add(record)
    percent = dropped.pop("%", 0)
    notes = [f"{counted(percent, 'number')} with a % sign read as hundredths"] if percent else []
    notes += ["steps begin anew in each epoch: they are counted on"] if dropped.pop(_IN_EPOCHS, 0) else []
    table = records.table(content, dropped, notes, rows=records.rows)
    if _is_measured(tuple(table.columns)):
        return table
    raise content.error(
        "no-records",
        "holds no line with a step and metrics",
        "write one record per step, such as `step=1 entropy=0.9 reward=0.1`, or leave the format out",
    )


def _lines(blocks: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the lines without escape sequences, and whether each one ends."""
    for block in blocks:
        *whole, rest = block.replace("\r", "\n").split("\n")
        yield from ((plain(line)[:LONGEST_LINE], True) for line in whole if line)
        if rest:
            yield plain(rest)[:LONGEST_LINE], False


def _records(
    lines: Iterable[tuple[str, bool]], dropped: Counter[str], sample: str
) -> Iterator[dict[str, object]]:
    """Yield the records: what is printed of one kind from one step to the next."""
    sampled = Prints(Counter()).of(_lines([sample]))
    seen = list(islice((printed for printed in sampled if printed.pairs or printed.title), _SAMPLED))
    prints = Prints(dropped).of(lines)
    if form := _Form.of(seen):
        seen = list(form.select(seen))
        prints = form.select(prints)
    word, in_epochs = _counting_word(seen)
    if in_epochs:
        dropped[_IN_EPOCHS] = 1
        prints = _over_epochs(prints, word)
    if _steps_come_last(seen, word):
        prints = _with_later_steps(prints, word)
    recorder = _Recorder(word, dropped)
    for printed in prints:
        yield from recorder.take(printed)
    yield from recorder.finished()


def _near_entropies(text: str, most: int) -> str:
    """The parts of a text that name an entropy, if possible with a number: other text may be long."""
    parts = [text[start : start + LONGEST_LINE] for start in range(0, len(text), LONGEST_LINE)]
    near = list(filter(_ENTROPY_AND_NUMBER.search, parts)) or list(filter(_NAMES_AN_ENTROPY.search, parts))
    return "".join(near)[:most]


class _Form(NamedTuple):
    """In which form records are printed: ``name`` is as in :class:`Printed`, ``usual`` what they have.

    ``first`` is the most usual record.
    """

    name: str
    usual: frozenset[object]
    first: Printed

    @staticmethod
    def of(sample: Sequence[Printed]) -> _Form | None:
        """That of records with known metrics; None where they are over several lines, or differ each time."""
        # What is the same each time is no record.
        distinct = {(_signature(printed), *printed.pairs, printed.fraction) for printed in sample}
        often = Counter(signature for signature, *_ in distinct)
        found: list[tuple[int, _Form]] = []
        for name, fewest in (("table", 1), ("dict", 1), ("line", _FEWEST_LINES)):
            records = [printed for printed in sample if printed.form == name and _is_record(printed)]
            first = max(records, key=lambda printed: often[_signature(printed)], default=Printed([]))
            most = often[_signature(first)]
            if first.pairs and most >= fewest:
                usually = max(_FEWEST_LINES, most // _ONE_IN_USUAL)
                usual = frozenset(shape for shape, n in often.items() if n >= usually)
                found.append((most, _Form(name, usual, first)))
        return max(found, key=itemgetter(0))[1] if found else None

    def select(self, prints: Iterable[Printed]) -> Iterator[Printed]:
        """What is printed in this form, and of lines what is usual, counts or evaluates."""
        above = deque[Printed](maxlen=_HEADINGS)
        evaluates = False
        for printed in prints:
            rewarded = evaluates and any(is_like("reward", name) for name, _ in printed.pairs)
            evaluates = _evaluates(printed)
            usual = evaluates or _signature(printed) in self.usual
            counts_only = bool(printed.pairs) and all(counts(*pair) for pair in printed.pairs)
            if printed.form == self.name:
                alike = self._lacks_little(printed) if self.name == "line" else _has_metric(printed)
                if usual or rewarded or alike:
                    yield from above
                    yield printed
                above.clear()
            elif printed.form == "line" and (usual or counts_only):
                above.append(printed)
            elif not printed.form and set(_signature(self.first)[0]).issuperset(dict(printed.pairs)):
                yield printed

    def _lacks_little(self, printed: Printed) -> bool:
        """Whether a line has half of the names of the most usual one, and the same other words."""
        names, words = _signature(self.first)
        common = set(names).intersection(dict(printed.pairs))
        return len(common) * 2 >= len(names) and _signature(printed)[1] == words


def _evaluates(printed: Printed) -> bool:
    """Whether a print is of an evaluation, by its title or a name."""
    return _kind(printed.title) == "eval" or any(is_evaluation(name) for name, _ in printed.pairs)


def _is_record(printed: Printed) -> bool:
    """Whether a print is a record: names with a known metric among them; on a line, with a step."""
    numbered = printed.fraction is not None or any(counts(*pair) for pair in printed.pairs)
    fewest = _FEWEST_LINES if printed.form == "line" else 2
    return len(printed.pairs) >= fewest and _has_metric(printed) and (numbered or printed.form != "line")


def _has_metric(printed: Printed) -> bool:
    return any(catalog.is_metric(name) for name, _ in printed.pairs)


def _signature(printed: Printed) -> tuple[tuple[str, ...], str]:
    """What is equal for records of one kind: the names, and the other words without their digits."""
    return tuple(name for name, _ in printed.pairs), re.sub(r"\d+", "0", printed.title)


class _Recorder:
    """Puts what is printed into records; ``word`` numbers them, or fractions where it is empty."""

    def __init__(self, word: str, dropped: Counter[str]) -> None:
        self._word = word or None
        self._dropped = dropped
        self._name = word if word in _COLUMNS else "step"
        self._record: dict[str, object] = {}
        # The evaluations of this step: a further one without its own step does not replace them.
        self._evaluated: dict[str, float] = {}

    def take(self, printed: Printed) -> Iterator[dict[str, object]]:
        """Take what is printed next; yields the record before, where a new one begins."""
        step, numbered = self._step_of(printed)
        if step is None:
            return
        if step != self._record.get(self._name):
            self._evaluated = {}
        values = self._values(printed)
        kind = _kind(printed.title)
        # Another value of a metric; nan contradicts nothing.
        contradicts = any(n == n and self._record.get(metric, n) != n for metric, n in values.items())
        switches = bool(kind) and (kind == "eval") != (self._record.get(KIND) == "eval")
        if step != self._record.get(self._name) or switches or (numbered and contradicts):
            yield from self.finished()
            self._record = {self._name: step}
        else:
            self._dropped[LATER_VALUE] += contradicts
        # Of two values of a metric, the first stays.
        for name, cell in {KIND: kind, **values}.items():
            if cell != "":
                self._record.setdefault(name, cell)

    def _step_of(self, printed: Printed) -> tuple[object, bool]:
        """The step that is printed, or else that of the record; and whether it is printed.

        None without either, and for a progress bar without a step.
        """
        step = printed.fraction
        if self._word:
            step = next(
                (number for metric, number in printed.pairs if counts(metric, number) == self._word), None
            )
            if step is None and printed.title == BAR:
                return None, False
        return (self._record.get(self._name), False) if step is None else (step, True)

    def finished(self) -> Iterator[dict[str, object]]:
        """Yield the last record, if it has a value."""
        if self._record.keys() - {self._name, KIND}:
            yield self._record

    def _values(self, printed: Printed) -> dict[str, float]:
        """The first value of each metric, and of an evaluation the first at this step."""
        values: dict[str, float] = {}
        for metric, number in printed.pairs:
            if counts(metric, number) != self._word:
                evaluated = self._evaluated.setdefault(metric, number)
                values.setdefault(metric, evaluated if is_evaluation(metric) else number)
        return values


def _steps_come_last(sample: Sequence[Printed], word: str) -> bool:
    """Whether an entropy, not of an evaluation, is printed before the first step: steps close records."""
    kind = ""
    for printed in sample:
        kind = _kind(printed.title) if printed.title else kind
        if any(word and counts(*pair) == word for pair in printed.pairs):
            return False
        if word and kind != "eval" and names_an_entropy(dict(printed.pairs)):
            return True
    return False


def _over_epochs(prints: Iterable[Printed], word: str) -> Iterator[Printed]:
    """Count on where a word that numbers the parts of an epoch begins anew."""
    before = 0.0
    last = -1.0
    for printed in prints:
        pairs = list[tuple[str, float]]()
        for name, number in printed.pairs:
            counting = counts(name, number) == word
            if counting:
                before += last + (number == 0) if number < last else 0
                last = number
            pairs.append((name, before + number if counting else number))
        yield printed._replace(pairs=pairs)


def _with_later_steps(prints: Iterable[Printed], word: str) -> Iterator[Printed]:
    """Put what is printed before each step together with it."""
    pending = list[tuple[str, float]]()
    title = ""
    for printed in prints:
        pending += printed.pairs
        title = title or (printed.title if _kind(printed.title) else "")
        if any(counts(*pair) == word for pair in printed.pairs):
            yield Printed(pending, title)
            pending = []
            title = ""


@lru_cache(maxsize=1 << 10)
def _kind(title: str) -> str:
    """The kind of record that a title names, empty where it names none."""
    if len(title) > _LONGEST_TITLE:
        return ""
    return "eval" if is_evaluation(title) else "train" if is_training(title) else ""


def _counting_word(sample: Sequence[Printed]) -> tuple[str, bool]:
    """The word that numbers the records, and whether it begins anew in each epoch.

    It is empty where they are numbered by fractions such as 3/100 alone.
    """
    seen = defaultdict[str, list[float]](list)
    for name, number in chain.from_iterable(map(attrgetter("pairs"), sample)):
        if word := counts(name, number):
            seen[word].append(number)
    starts: dict[str, int] = {}
    rising: dict[str, int] = {}
    for word, numbers in seen.items():
        # What starts again and again numbers parts of a step; two processes may be some steps apart.
        starts[word] = int(np.count_nonzero(np.diff(numbers) * 2 < -np.ptp(numbers)))
        if starts[word] <= max(2, len(numbers) // 20):
            rising[word] = len(set(numbers))
    rank = {word: (word == "epoch", -number, COUNTS.index(word)) for word, number in rising.items()}
    best = min(rank, key=rank.__getitem__, default="")
    entropies = [printed for printed in sample if names_an_entropy(dict(printed.pairs))]
    numbered = sum(printed.fraction is not None for printed in entropies)
    best = "" if numbered * 2 > len(entropies) > 2 * rising.get(best, 0) else best
    inner = next((word for word, number in starts.items() if number == rising.get("epoch", 0) - 1 > 0), "")
    return (inner, True) if inner and best in ("", "epoch", inner) else (best, False)
