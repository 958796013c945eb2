"""Finds strategic n-grams in text: which tokens announce a plan, and the entropy of the plans by step.

A gram is a phrase ("let's try") by which a model announces its next step (arXiv:2509.03646): tokens inside
one are *planning*, all others *execution*. The list is the user's, or a short default.

Text is split into units: words, punctuation marks, and single characters in scripts without spaces. A gram
matches whole units, so that "try" does not match in "trying" nor "let" in "let's". Units are compared after
NFKC and case folding, with all apostrophes equal; white space between them is ignored, punctuation is not.

A table of tokens is read once; one chunk of whole responses is in memory, and 16 bytes per occurrence.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from entropylaw.arrays import BoolArray, IntArray
from entropylaw.errors import InputError
from entropylaw.escaping import shown
from entropylaw.paths import shown_path
from entropylaw.tokens.query import TokenColumns
from entropylaw.tokens.semantic import semantic_entropy

Notation = Literal["byte-level", "sentencepiece", "plain"]

PLANNING = "planning_by_gram"
"""Column of the rows that a gram covers."""

_MOST_GRAMS = 10_000
"""Largest number of grams in a list; the published one has 249."""

_MOST_WORDS = 32
"""Largest number of words in a gram."""

_BREAK_BYTE = b"\0"
_OTHER = 0
"""Code of a unit that is in no gram."""
_SPACE = -1
"""Code of white space."""

# Thai to Tibetan, Myanmar, Khmer, and the scripts of China and Japan: no spaces between words.
_SPACELESS = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_APOSTROPHES = "'\u2018\u2019\u02bc\uff07\u00b4"
# Byte-level BPE writes every byte as a visible character: the inverse of GPT-2's table.
_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _VISIBLE]
_BYTE_OF = {chr(b): b for b in _VISIBLE} | {chr(256 + i): b for i, b in enumerate(_OTHERS)}
_ALL_STRAIGHT = str.maketrans(dict.fromkeys(_APOSTROPHES, "'"))


class GramList:
    """Strategic n-grams, normalised and without repetition, with their numbers of words and of units.

    A gram is a sequence of codes of its units, which is looked up by its first unit and its length.
    """

    def __init__(self, words: Mapping[str, int]) -> None:
        self.grams = tuple(words)
        self.words = np.array([*words.values()], dtype=np.int64)
        self._codes: dict[str, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._lengths: dict[int, set[int]] = {}
        for number, gram in enumerate(self.grams):
            key = tuple(self._codes.setdefault(unit, len(self._codes) + 1) for unit in gram.split(" "))
            self._numbers[key] = number
            self._lengths.setdefault(key[0], set()).add(len(key))
        self._begins = np.isin(np.arange(len(self._codes) + 1), list(self._lengths))
        self.length = np.array([len(key) for key in self._numbers], dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the normalised grams in alphabetical order."""
        return hashlib.sha256("\n".join(sorted(self.grams)).encode("utf-8")).hexdigest()

    def encode(self, pieces: list[str]) -> IntArray:
        """Code of every piece: above 0 for a unit of a gram, otherwise its kind."""
        codes = {}
        for piece in set(pieces):
            codes[piece] = _SPACE if piece.isspace() else self._codes.get(_folded(piece), _OTHER)
        return np.array([codes[piece] for piece in pieces], dtype=np.int64)

    def occurrences(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """Every occurrence of every gram: position of its first unit, and the gram."""
        units = codes.tolist()
        pairs = []
        for at in np.flatnonzero(self._begins[np.maximum(codes, 0)]).tolist():
            for length in self._lengths[units[at]]:
                number = self._numbers.get(tuple(units[at : at + length]))
                if number is not None:
                    pairs.append((at, number))
        position, gram = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return position, gram

    def counted(self, position: IntArray, gram: IntArray) -> IntArray:
        """Indices, by position, of the occurrences that count: the longest first, without overlap."""
        length = self.length[gram]
        order = np.lexsort((position, -length, -self.words[gram]))
        starts = position[order].tolist()
        stops = (position + length)[order].tolist()
        taken = set[int]()
        chosen = list[int]()
        for index, start, stop in zip(order.tolist(), starts, stops, strict=True):
            if taken.isdisjoint(range(start, stop)):
                taken.update(range(start, stop))
                chosen.append(index)
        return np.array(sorted(chosen), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class GramMatches:
    """Occurrences of grams in a sequence of n tokens.

    ``covered`` (n,) marks tokens of any occurrence, counted or not. The other arrays have one entry per
    *counted* occurrence, by position: ``gram`` its index in the list, ``start`` and ``stop`` its tokens
    (start included, stop not). Of two overlapping ones only that with more words is counted, then that
    with more units, then the earlier one.
    """

    covered: BoolArray
    gram: IntArray
    start: IntArray
    stop: IntArray


def read_grams(path: str | Path) -> GramList:
    """Read a list of grams: UTF-8, one per line, ``#`` for comments; ``default`` is our short English list.

    Ours is ``entropylaw/tokens/data/grams.txt``, not that of arXiv:2509.03646.

    InputErrors are ``grams-unreadable`` (not a file, not UTF-8, or a line is not a gram), ``grams-empty``
    and ``grams-too-many`` (more than 10,000).
    """
    name = shown_path(str(path))
    if path == "default":
        text = resources.files("entropylaw.tokens").joinpath("data/grams.txt").read_text(encoding="utf-8")
        return parse_grams(text, "entropylaw's default list")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise _unreadable(f"{name} is not UTF-8 at byte {problem.start}") from None
    except (OSError, ValueError) as problem:
        raise _unreadable(f"{name} cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    return parse_grams(text, name)


def parse_grams(text: str, source: str) -> GramList:
    """Parse a list from its text, see :func:`read_grams`; ``source`` is its name in messages."""
    grams: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        units = [_folded(unit) for unit in _pattern().findall(line) if not unit.isspace()]
        words = sum(unit.startswith("_") or any(map(str.isalnum, unit)) for unit in units)
        if not 1 <= words <= _MOST_WORDS:
            raise _unreadable(
                f"line {number} of {source} has {words} words, 1 to {_MOST_WORDS} were expected"
            )
        grams.setdefault(" ".join(units), words)
    if not grams:
        raise InputError(
            "grams-empty",
            f"{source} holds no gram, expected a line that is no comment",
            "write one gram per line, such as let's try",
        )
    if len(grams) > _MOST_GRAMS:
        raise InputError(
            "grams-too-many",
            f"{source} holds {len(grams):,} grams, at most {_MOST_GRAMS:,} were expected",
            "keep the grams that many responses share",
        )
    return GramList(grams)


def match_tokens(grams: GramList, tokens: Iterable[bytes], breaks: BoolArray | None = None) -> GramMatches:
    """Find grams in tokens, which are UTF-8 bytes (:func:`token_bytes`) and may split a character.

    ``breaks[i]`` is True where a new text starts at token i: no gram crosses a break.
    """
    pieces = list(tokens)
    if breaks is not None:
        for at in np.flatnonzero(breaks).tolist():
            pieces[at] = _BREAK_BYTE + pieces[at]
    joined = b"".join(pieces)
    start, stop = _extents(pieces)
    text = joined.decode("utf-8", "surrogateescape")
    units = _pattern().findall(text)
    codes = grams.encode(units)
    solid = np.flatnonzero(codes != _SPACE)
    ascii_only = len(text) == len(joined)
    begin, end = _extents(
        units if ascii_only else [unit.encode("utf-8", "surrogateescape") for unit in units]
    )
    position, gram = grams.occurrences(codes[solid])
    last = position + grams.length[gram] - 1
    first_token = np.searchsorted(stop, begin[solid][position], side="right")
    after_token = np.searchsorted(start, end[solid][last], side="left")
    counted = grams.counted(position, gram)
    # Which tokens are in any interval from the first token to the one after it.
    change = np.bincount(first_token, minlength=len(start) + 1)
    change -= np.bincount(after_token, minlength=len(start) + 1)
    return GramMatches(
        covered=np.asarray(np.cumsum(change[:-1]) > 0),
        gram=gram[counted],
        start=first_token[counted],
        stop=after_token[counted],
    )


def token_notation(tokens: Iterable[str]) -> Notation | None:
    """A tokenizer's notation by its most frequent mark of a leading space; None if no token has one."""
    firsts = Counter(token[:1] for token in tokens)
    marks: dict[str, Notation] = {"\u0120": "byte-level", "\u2581": "sentencepiece", " ": "plain"}
    best = max(marks, key=firsts.__getitem__)
    return marks[best] if firsts[best] else None


def token_bytes(token: str, notation: Notation) -> bytes:
    """The UTF-8 bytes of a token.

    ``byte-level``: every byte is a visible character, as in GPT-2 (``Ġlet``, ``Ċ``, ``Ã©``); a token with
    other characters is special and is its own text. ``sentencepiece``: ``▁`` is a space, ``<0x0A>`` a byte.
    ``plain``: the text itself, spaces included.
    """
    if notation == "byte-level" and all(c in _BYTE_OF for c in token):
        return bytes(_BYTE_OF[c] for c in token)
    if notation == "sentencepiece":
        if re.fullmatch("<0x[0-9A-Fa-f]{2}>", token):
            return bytes.fromhex(token[3:5])
        token = token.replace("\u2581", " ")
    return token.encode("utf-8", "replace")


def mark(ordered: Path, columns: TokenColumns, grams: GramList, target: Path) -> GramScan:
    """Write a token table with :data:`PLANNING`, without text, to a Parquet file.

    ``ordered`` is a Parquet file sorted by step, response and position (:func:`query.in_order`), read in
    batches. Returns the scan, with the entropies of the grams.
    """
    scan = GramScan(grams, columns)
    batches = scan.batches(pq.ParquetFile(ordered).iter_batches())
    text = [columns.token, columns.position]
    tables = (pa.Table.from_batches([batch]).drop_columns(text) for batch in batches)
    # There is one: a table without a row that counts was refused.
    leader = next(tables)
    with pq.ParquetWriter(target, leader.schema) as writer:
        for table in chain([leader], tables):
            writer.write_table(table)
    return scan


class GramScan:
    """One pass over a table of tokens, in which the rows of a response must be adjacent (not checked).

    Parameters
    ----------
    grams
        The list.
    columns
        Names of the columns: ``response`` and the step identify a response; ``position`` must increase within
        a response, and a gap in it ends the text.
    chunk_rows
        Number of rows that are matched at once, except for the end of their last response.

    The tokenizer's notation is that of the first chunk in which a token has a leading space.
    """

    def __init__(self, grams: GramList, columns: TokenColumns, *, chunk_rows: int = 65_536) -> None:
        assert columns.position is not None and columns.token is not None  # noqa: PT018
        self.grams = grams
        self.chunk_rows = chunk_rows
        self._key = tuple(dict.fromkeys((columns.step, *columns.response)))
        self._step = columns.step
        self._position = columns.position
        self._token = columns.token
        self._notation: Notation | None = None
        # The step and the gram of every occurrence.
        self._steps = list[IntArray]()
        self._grams = list[IntArray]()

    def batches(self, source: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order with the column :data:`PLANNING`.

        InputErrors are ``tokens-without-column`` (a step, response or position is null or not whole),
        ``tokens-without-text``, and ``tokens-unordered`` if a position does not increase within a response.
        """
        waiting = list[pa.RecordBatch]()
        for batch in source:
            waiting.append(batch)
            if sum(rows.num_rows for rows in waiting) >= self.chunk_rows:
                table = pa.Table.from_batches(waiting).combine_chunks()
                starts = self._starts(table)
                # Fails early where the columns do not identify responses.
                self._jumps(table, starts)
                if cut := int(np.flatnonzero(starts)[-1]):
                    yield from self._classified(table.slice(0, cut))
                waiting = table.slice(cut).to_batches()
        if waiting:
            yield from self._classified(pa.Table.from_batches(waiting).combine_chunks())

    def result(self, steps: Sequence[int]) -> pa.Table:
        """Semantic entropy over the rows read so far, one row per step, see :func:`semantic_entropy`."""
        none = np.zeros(0, np.int64)
        step = np.concatenate([none, *self._steps])
        return semantic_entropy(step, np.concatenate([none, *self._grams]), steps=steps)

    def _starts(self, table: pa.Table) -> BoolArray:
        """Rows in which a response begins."""
        starts: BoolArray = np.arange(table.num_rows) == 0
        for column in (_plain(table, name) for name in self._key):
            starts[1:] |= np.asarray(pc.not_equal(column[1:], column[:-1]), dtype=bool)
        return starts

    def _classified(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """The rows of whole responses, with the column :data:`PLANNING`; their occurrences are kept."""
        starts = self._starts(table)
        breaks = starts | self._jumps(table, starts)
        column = table[self._token].combine_chunks()
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if kind not in (pa.string(), pa.large_string(), pa.string_view()):
            raise InputError(
                "tokens-without-text",
                f"column {shown(self._token)} holds {kind}, the text of tokens was expected",
                "decode the token ids with the tokenizer of the run first",
            )
        coded = column.cast(pa.string()).dictionary_encode()
        if self._notation is None:
            self._notation = token_notation(column.drop_null()[:100_000].cast(pa.string()).to_pylist())
        texts = [token_bytes(name, self._notation or "plain") for name in coded.dictionary.to_pylist()]
        # A null token is unknown text, so that no gram may cross it.
        texts.append(_BREAK_BYTE)
        places = coded.indices.fill_null(len(texts) - 1).to_pylist()
        matches = match_tokens(self.grams, map(texts.__getitem__, places), breaks)
        self._steps.append(_integers(table, self._step)[matches.start])
        self._grams.append(matches.gram)
        yield from table.append_column(PLANNING, pa.array(matches.covered)).to_batches()

    def _jumps(self, table: pa.Table, starts: BoolArray) -> BoolArray:
        """Rows before which there is a gap in the positions."""
        position = _integers(table, self._position)
        rise = np.diff(position, prepend=position[0])
        back = np.flatnonzero((rise <= 0) & ~starts)
        if len(back):
            row = back[0]
            raise InputError(
                "tokens-unordered",
                f"column {shown(self._position)} goes from {position[row - 1]} to {position[row]} "
                "within one response, "
                "it was expected to increase",
                "name every column that identifies a response with --response",
            )
        return np.asarray((rise > 1) & ~starts)


def _unreadable(message: str) -> InputError:
    """The error for a list of grams that cannot be read."""
    return InputError("grams-unreadable", message, "give a UTF-8 text file with one gram per line")


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """Split a text into units and the white space between them, without loss."""
    # Combining marks are part of a word, and Python's \w does not match them.
    marks = "".join(chr(c) for c in range(0x300, 0x1F000) if unicodedata.category(chr(c))[0] == "M")
    marks = re.sub(f"[{_SPACELESS}]", "", marks) + "\u200c\u200d"
    letter = rf"[^\W{_SPACELESS}]"
    word = rf"{letter}++(?:[{marks}]++|{letter}++|[{_APOSTROPHES}](?={letter}))*+"
    return re.compile(rf"\s++|{word}|.", re.DOTALL)


@lru_cache(maxsize=500_000)
def _folded(unit: str) -> str:
    """A unit as grams are compared: after NFKC and case folding, with straight apostrophes."""
    folded = unicodedata.normalize("NFKC", unit.translate(_ALL_STRAIGHT)).casefold()
    # A few marks decompose into a space and a mark, and a space would end the unit.
    return unicodedata.normalize("NFKC", folded).replace(" ", "") or unit


def _extents(parts: Sequence[str] | Sequence[bytes]) -> tuple[IntArray, IntArray]:
    """Start and stop of each part in the concatenation of all."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    stops = np.cumsum(lengths)
    return stops - lengths, stops


def _plain(table: pa.Table, name: str) -> pa.Array:
    """A column without nulls as one array, decoded if it is a dictionary."""
    array = table[name].combine_chunks()
    if array.null_count:
        raise InputError(
            "tokens-without-column",
            f"column {shown(name)} is null in {array.null_count} rows",
            "leave out rows whose step, response or position is unknown",
        )
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _integers(table: pa.Table, name: str) -> IntArray:
    """A column of whole numbers without nulls (n,)."""
    array = _plain(table, name)
    try:
        return np.asarray(array.cast(pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            "tokens-without-column",
            f"column {shown(name)} holds {array.type}, whole numbers were expected",
            "name the columns of step, response, position and token",
        ) from None
