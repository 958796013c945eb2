"""Strategic n-grams in text: which tokens announce a plan, and which gram each of them belongs to.

A gram is a turn of phrase ("let's try") by which a model says what it is going to do (arXiv:2509.03646):
tokens inside one are *planning*, all others *execution*. The list is the caller's, or a short one of our own.

Text is cut into units: words, punctuation marks, and single characters in scripts without spaces. A gram
matches whole units, so that "try" is not found in "trying" nor "let" in "let's". Units are compared after
NFKC and case folding, with apostrophes the same; white space between them does not matter, punctuation does.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropylaw.errors import InputError
from entropylaw.ingest.wording import shown_path
from entropylaw.tokens.query import IntArray

BoolArray = NDArray[np.bool_]
Notation = Literal["byte-level", "sentencepiece", "plain"]

MOST_GRAMS, MOST_WORDS = 10_000, 32
"""Most entries of a list (the published one has 249), and most words of a gram: a longer line is prose."""
SHORT, BREAK = 2, "\0"
"""Words of the longest short gram, without which results are shown, too; and what no gram reaches over."""
_OTHER, _SPACE, _MARK, _BREAK = 0, -1, -2, -3
"""What a unit is where no gram holds it: some other word, white space, punctuation, a break."""

# Thai to Tibetan, Myanmar, Khmer, and the scripts of China and Japan: no spaces between words.
_SPACELESS = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u31f0-\u31ff"
_SPACELESS += "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_APOSTROPHES = "'\u2018\u2019\u02bc\uff07\u00b4"
# Byte-level BPE writes every byte as a visible character: the inverse of GPT-2's table.
_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _VISIBLE]
_BYTE_OF = {chr(b): b for b in _VISIBLE} | {chr(256 + i): b for i, b in enumerate(_OTHERS)}
_ALL_STRAIGHT = str.maketrans(dict.fromkeys(_APOSTROPHES, "'"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GramList:
    """Strategic n-grams, normalised, each once, in the order of the file; ``grams[i]`` has ``words[i]``."""

    grams: tuple[str, ...]
    words: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.grams)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the normalised grams in alphabetical order: the same grams, the same name."""
        return hashlib.sha256("\n".join(sorted(self.grams)).encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class GramMatches:
    """Where grams are in a sequence of n tokens.

    ``covered`` (n,) marks tokens that any occurrence touches, counted or not; ``covered_long`` the same for
    grams of more than two words. The other arrays have one entry for each *counted* occurrence, by position:
    ``gram`` its index in the list, ``start`` and ``stop`` its tokens, start included, stop not, and
    ``follower`` the word after it, folded (None where the text ends before that; punctuation is skipped).

    Of two occurrences that overlap only one is counted: the one with more words, then with more units, then
    the earlier. Leaving out the occurrences of short grams is so the same as a list without them.
    """

    covered: BoolArray
    covered_long: BoolArray
    gram: IntArray
    start: IntArray
    stop: IntArray
    follower: tuple[str | None, ...]


def default_grams() -> GramList:
    """Our own short English list, ``entropylaw/tokens/data/grams.txt``; not that of arXiv:2509.03646."""
    text = resources.files("entropylaw.tokens").joinpath("data/grams.txt").read_text(encoding="utf-8")
    return parse_grams(text, "entropylaw's default list")


def read_grams(path: str | Path) -> GramList:
    """Read a list of grams: UTF-8, one a line, ``#`` for comments.

    A file that cannot be opened, is not UTF-8, or has a line that is no gram is an InputError
    ``grams-unreadable``, one without a gram ``grams-empty``, and one above 10,000 ``grams-too-many``.
    """
    name = shown_path(str(path))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise _unreadable(f"{name} is not UTF-8 at byte {problem.start}") from None
    except (OSError, ValueError) as problem:
        raise _unreadable(f"{name} cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    return parse_grams(text, name)


def parse_grams(text: str, source: str) -> GramList:
    """Read a list from its text, see :func:`read_grams`; ``source`` is how messages name it."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        units = [_folded(unit) for unit in _pattern().findall(line) if not unit.isspace()]
        words = sum(map(_is_word, units))
        if not 1 <= words <= MOST_WORDS:
            raise _unreadable(f"line {number} of {source} has {words} words, 1 to {MOST_WORDS} were expected")
        found.setdefault(" ".join(units), words)
    if not found:
        message = f"{source} holds no gram, at least one line that is no comment was expected"
        raise InputError("grams-empty", message, "write one gram a line, as let's try")
    if len(found) > MOST_GRAMS:
        message = f"{source} holds {len(found):,} grams, at most {MOST_GRAMS:,} were expected"
        raise InputError("grams-too-many", message, "keep the grams that many answers share")
    return GramList(grams=tuple(found), words=tuple(found.values()))


def match_tokens(grams: GramList, tokens: Iterable[bytes], breaks: BoolArray | None = None) -> GramMatches:
    """Find grams in tokens given as UTF-8 bytes (:func:`token_bytes`); a character may lie in several.

    ``breaks[i]`` says that a new text starts at token i: no gram and no follower reaches over it.
    """
    parts = list(tokens)
    if breaks is not None:
        parts = [b"\0" + part if cut else part for part, cut in zip(parts, breaks.tolist(), strict=True)]
    joined = b"".join(parts)
    start, stop = _extents(parts)
    text = joined.decode("utf-8", "surrogateescape")
    matcher, units = _matcher(grams), _pattern().findall(text)
    codes = matcher.encode(units)
    solid = np.flatnonzero(codes != _SPACE)
    ascii_only = len(text) == len(joined)
    places = _extents(units if ascii_only else [unit.encode("utf-8", "surrogateescape") for unit in units])
    codes, begin, end = codes[solid], places[0][solid], places[1][solid]
    place, gram = matcher.events(codes)
    last = place + matcher.length[gram] - 1
    first_token = np.searchsorted(stop, begin[place], side="right")
    after_token = np.searchsorted(start, end[last], side="left")
    long = matcher.words[gram] > SHORT
    kept = matcher.counted(place, gram)
    follower = matcher.next_words(codes, last[kept] + 1)
    return GramMatches(
        covered=_covered(len(start), first_token, after_token),
        covered_long=_covered(len(start), first_token[long], after_token[long]),
        gram=gram[kept],
        start=first_token[kept],
        stop=after_token[kept],
        follower=tuple(None if at < 0 else _folded(units[solid[at]]) for at in follower.tolist()),
    )


def token_notation(tokens: Iterable[str]) -> Notation | None:
    """How a tokenizer wrote these, by the commonest mark of a leading space; None where there is no mark."""
    firsts = Counter(token[:1] for token in tokens)
    marks: dict[str, Notation] = {"\u0120": "byte-level", "\u2581": "sentencepiece", " ": "plain"}
    best = max(marks, key=firsts.__getitem__)
    return marks[best] if firsts[best] else None


def token_bytes(token: str, notation: Notation) -> bytes:
    """Return the UTF-8 bytes that a token stands for.

    ``byte-level``: every byte a visible character, as GPT-2 (``Ġlet``, ``Ċ``, ``Ã©``); a token with other
    characters is special and stands for itself. ``sentencepiece``: ``▁`` is a space, ``<0x0A>`` a byte.
    ``plain``: the text itself, spaces included.
    """
    if notation == "byte-level" and all(c in _BYTE_OF for c in token):
        return bytes(_BYTE_OF[c] for c in token)
    if notation == "sentencepiece":
        if re.fullmatch("<0x[0-9A-Fa-f]{2}>", token):
            return bytes.fromhex(token[3:5])
        token = token.replace("\u2581", " ")
    return token.encode("utf-8", "replace")


def _unreadable(message: str) -> InputError:
    return InputError("grams-unreadable", message, "pass a UTF-8 text file with one gram a line")


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """Cut a text into units and the white space between them; nothing is left out."""
    # Combining marks belong to the word: Python's \w has none of them.
    marks = "".join(chr(c) for c in range(0x300, 0x1F000) if unicodedata.category(chr(c))[0] == "M")
    marks = re.sub(f"[{_SPACELESS}]", "", marks) + "\u200c\u200d"
    letter = rf"[^\W{_SPACELESS}]"
    word = rf"{letter}++(?:[{marks}]++|{letter}++|[{_APOSTROPHES}](?={letter}))*+"
    return re.compile(rf"\s++|{word}|.", re.DOTALL)


@lru_cache(maxsize=500_000)
def _folded(unit: str) -> str:
    folded = unicodedata.normalize("NFKC", unit.translate(_ALL_STRAIGHT)).casefold()
    # A few marks decompose into a space and a mark, and a space would end the unit.
    return unicodedata.normalize("NFKC", folded).replace(" ", "") or unit


def _is_word(unit: str) -> bool:
    return any(c.isalnum() for c in unit) or unit.startswith("_")


class _Matcher:
    """The grams as sequences of codes of their units, by length and first unit."""

    def __init__(self, grams: GramList) -> None:
        self.units: dict[str, int] = {}
        self.grams: dict[tuple[int, ...], int] = {}
        self.lengths: dict[int, set[int]] = {}
        for number, gram in enumerate(grams.grams):
            key = tuple(self.units.setdefault(unit, len(self.units) + 1) for unit in gram.split(" "))
            self.grams[key] = number
            self.lengths.setdefault(key[0], set()).add(len(key))
        self.is_word = np.array([True, *map(_is_word, self.units)])
        self.begins = np.isin(np.arange(len(self.is_word)), list(self.lengths))
        self.words = np.array(grams.words, dtype=np.int64)
        self.length = np.array([len(key) for key in self.grams], dtype=np.int64)

    def encode(self, pieces: list[str]) -> IntArray:
        """Code of every piece: above 0 where a gram holds it, otherwise what kind it is."""
        codes = {}
        for piece in set(pieces):
            folded = _folded(piece)
            kind = _OTHER if _is_word(folded) else _BREAK if piece == BREAK else _MARK
            codes[piece] = _SPACE if piece.isspace() else self.units.get(folded, kind)
        return np.array([codes[piece] for piece in pieces], dtype=np.int64)

    def events(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """Every occurrence of every gram: position of its first unit, and the gram."""
        listed, known, lengths = codes.tolist(), self.grams, self.lengths
        found = [
            (at, known[key])
            for at in np.flatnonzero(self.begins[np.maximum(codes, 0)]).tolist()
            for length in lengths[listed[at]]
            if (key := tuple(listed[at : at + length])) in known
        ]
        place, gram = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return place, gram

    def counted(self, place: IntArray, gram: IntArray) -> IntArray:
        """Which events count: the longest first, none over another; indices by position."""
        length = self.length[gram]
        order = np.lexsort((place, -length, -self.words[gram]))
        first, last = place[order].tolist(), (place + length)[order].tolist()
        taken, kept = set[int](), list[int]()
        for event, a, b in zip(order.tolist(), first, last, strict=True):
            if taken.isdisjoint(range(a, b)):
                taken.update(range(a, b))
                kept.append(event)
        return np.array(sorted(kept), dtype=np.int64)

    def next_words(self, codes: IntArray, after: IntArray) -> IntArray:
        """The first word from each unit ``after`` on; -1 where a break or the end comes first."""
        word = np.flatnonzero((codes == _OTHER) | self.is_word[np.maximum(codes, 0)] & (codes > 0))
        limit = np.append(np.flatnonzero(codes == _BREAK), len(codes))
        found = np.append(word, len(codes))[np.searchsorted(word, after)]
        return np.where(found < limit[np.searchsorted(limit, after)], found, -1)


_matcher = lru_cache(maxsize=4)(_Matcher)


def _extents(parts: Sequence[str] | Sequence[bytes]) -> tuple[IntArray, IntArray]:
    """Where each part starts and stops in all of them joined."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return np.cumsum(lengths) - lengths, np.cumsum(lengths)


def _covered(n: int, first: IntArray, after: IntArray) -> BoolArray:
    """Which of n tokens lie in any [first, after)."""
    change = np.bincount(first, minlength=n + 1) - np.bincount(after, minlength=n + 1)
    return np.asarray(np.cumsum(change[:n]) > 0)
