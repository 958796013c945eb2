"""Numbers as they are written in logs.

A cell is a *number*, *missing* (``None``, ``""``, ``"NaN"``, ``"N/A"`` …) or *text*. Booleans are text: a
flag averaged into a curve is a mistake. In a column of percentages alone, they are hundredths; ``"2.28%"``
beside ``0.0228`` is text: the column has two units, and which was meant is unknown. So it is with decimal
commas, beside which whole numbers may stand. Underscores and thousands separators are not part of a number.
An integer beyond the range of a double is infinite, so that pairing counts it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropylaw.arrays import FloatArray, IntArray

Column = Sequence[object] | NDArray[Any]

#: What a column of numbers can hold in a cell without one.
TEXT = "text in place of a number"

#: What it holds where a nan was written as a value.
NAN = "not a number"

NANS = {"nan", "-nan", "+nan", "nan(ind)", "-nan(ind)"}
MISSING = NANS | {
    "",
    "none",
    "null",
    "nil",
    "na",
    "n/a",
    "#n/a",
    "<na>",
    "nat",
    "-",
    "--",
    "?",
    "undefined",
    "missing",
}
#: Code of a cell in a :class:`MixedColumn` that has no text.
NO_TEXT = -1
#: Code of a cell without text that is there, and is nan.
NOT_A_NUMBER = -2

_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII)
_CALL = re.compile(
    r"(?:(?:np|numpy|torch|jnp|jax|tf)\.)?(?:b?float\d*|u?int\d*|double|tensor|array)\((?P<inside>.*)\)",
    re.IGNORECASE | re.DOTALL,
)
_KEYWORDS = re.compile(r",\s*[a-z_]+=.*\Z", re.IGNORECASE | re.DOTALL)
_PERCENT = re.compile(r"['\"\s]*([+-]?\d{1,30}[.,]?\d{0,30})\s*%['\"\s]*", re.ASCII)
#: A number with a decimal comma: 1,234 may be a thousand, unlike 0,354 and 1,25.
DECIMAL_COMMA = re.compile(
    r"['\"\s]*(?P<whole>[+-]?\d{1,30}),(?P<decimals>\d{1,30}(?:e[+-]?\d{1,3})?)['\"\s]*",
    re.ASCII | re.IGNORECASE,
)
_FRACTION = re.compile(r"\s*(\d+)\s*/\s*\d+\s*", re.ASCII)
#: int() refuses more than 4300 digits; float() makes them infinite, which pairing counts.
JSON_DECODER = json.JSONDecoder(parse_int=float)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parsed:
    """A column as floats, nan where a cell is missing or text; the number of texts, and the first of them.

    ``written`` says how all numbers are written, where that is another way than usual.
    ``where`` are the records that have text, ``nans`` those with a nan that was written as a value.
    """

    values: FloatArray
    texts: int = 0
    where: Sequence[int] = ()
    nans: Sequence[int] = ()
    written: str = ""
    example: str | None = None

    @property
    def numeric(self) -> bool:
        """Whether the column is a metric: some number, or nothing but missing cells."""
        return self.texts == 0 or not bool(np.isnan(self.values).all())

    @property
    def spoiled(self) -> dict[str, IntArray]:
        """The records that hold no number, by what they hold."""
        return {TEXT: np.array(self.where, dtype=np.intp), NAN: np.array(self.nans, dtype=np.intp)}


class MixedColumn(Sequence[object]):
    """A column with text among its numbers: cells are numbers (nan where missing) or text."""

    def __init__(self, values: FloatArray, codes: NDArray[np.int32], words: list[str]) -> None:
        self.values, self._codes, self._words = values, codes, words

    def parsed(self) -> Parsed:
        """Return the column as floats."""
        where = np.flatnonzero(self._codes >= 0).tolist()
        if where and (numbers := _otherwise_written(self._words, self.values)) is not None:
            values = self.values.copy()
            values[where] = numbers[0][self._codes[where]]
            return Parsed(values=values, written=numbers[1])
        example = self._words[self._codes[where[0]]] if where else None
        nans = np.flatnonzero(self._codes == NOT_A_NUMBER).tolist()
        return Parsed(values=self.values, texts=len(where), where=where, nans=nans, example=example)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        code = self._codes[index]
        return self._words[code] if code >= 0 else float(self.values[index])

    def __iter__(self) -> Iterator[object]:
        for code, value in zip(self._codes.tolist(), self.values.tolist(), strict=True):
            yield self._words[code] if code >= 0 else value


def json_at(text: str) -> tuple[object, int]:
    """Return the JSON value that opens here, None where it is none or breaks off, and where it ends."""
    with suppress(ValueError, RecursionError):
        return JSON_DECODER.raw_decode(text)
    return None, len(text)


def parse_number(cell: object) -> float:
    """Read one cell; nan where it is missing or not a number.

    Accepts numbers, numeric text in any number of quotes, ``inf`` and ``Infinity`` with a sign, and the
    spellings ``np.float64(0.3)``, ``tensor(0.3, device='cuda:0')``, ``array(0.3)``.
    """
    return classify(cell)[0]


def parse_step(cell: object) -> float:
    """Read one step: a number, or ``"10/438"`` for step 10 of 438; nan where it is neither."""
    fraction = _FRACTION.fullmatch(cell) if isinstance(cell, str) else None
    return float(fraction[1]) if fraction else parse_number(cell)


def is_missing(cell: object) -> bool:
    """Whether the cell marks a missing value."""
    value, is_text = classify(cell)
    return math.isnan(value) and not is_text


def parse_column(cells: Column) -> Parsed:
    """Read a column; whole columns at once where they are clean, cell by cell where they are not."""
    if isinstance(cells, MixedColumn):
        return cells.parsed()
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind in "fiu":
            return Parsed(values=cells.astype(np.float64, copy=False))
        # tolist() would turn a time stamp into an integer
        listed: list[object] = (cells if cells.dtype.kind in "ObUS" else cells.astype(str)).tolist()
    else:
        listed = list(cells)
    values = _clean(listed)
    if values is not None:
        return Parsed(values=values, nans=_nans(cells, values))
    read = list(map(classify, listed))
    where = [row for row, (_, is_text) in enumerate(read) if is_text]
    values = np.array([value for value, _ in read], dtype=np.float64)
    if not where:
        return Parsed(values=values, nans=_nans(cells, values))
    if (numbers := _otherwise_written([str(listed[row]) for row in where], values)) is not None:
        values[where] = numbers[0]
        return Parsed(values=values, written=numbers[1])
    return Parsed(
        values=values, texts=len(where), where=where, nans=_nans(cells, values), example=str(listed[where[0]])
    )


def _otherwise_written(cells: Sequence[str], values: FloatArray) -> tuple[FloatArray, str] | None:
    """The numbers that texts such as 35.2 % or 0,354 are, and how they are written.

    None where one of them is something else, or the column has ``values`` of another kind beside them.
    """
    others = values[np.isfinite(values)]
    shares = [_PERCENT.fullmatch(cell) for cell in cells]
    if all(shares) and not others.size:
        numbers = [float(share[1].replace(",", ".")) / 100 for share in shares if share]
        return np.array(numbers), "numbers with a % sign, read as hundredths"
    commas = [match for match in map(DECIMAL_COMMA.fullmatch, cells) if match]
    if (
        len(commas) < len(cells)
        or not any(map(separates_decimals, commas))
        or (others != np.floor(others)).any()
    ):
        return None
    return np.array([comma_number(match) for match in commas]), "numbers with decimal commas"


def separates_decimals(match: re.Match[str]) -> bool:
    """Whether the comma of a number cannot separate thousands."""
    return len(match["decimals"]) != 3 or not match["whole"].strip("+-0")


def comma_number(match: re.Match[str]) -> float:
    """The number with a decimal comma."""
    return float(f"{match['whole']}.{match['decimals']}")


def is_nan(cell: object) -> bool:
    """Whether the cell is the text of a nan: a value that was written, and not one that is missing."""
    return isinstance(cell, str) and cell.strip(" \t'\"").casefold() in NANS


def _nans(cells: Column, values: FloatArray) -> list[int]:
    """The records with the text of a nan; in memory, as in pandas, nan means that there is no value."""
    return [row for row in np.flatnonzero(np.isnan(values)).tolist() if is_nan(cells[row])]


def _clean(cells: Sequence[object]) -> FloatArray | None:
    """Parse all cells at once, or return None where one of them needs :func:`classify`."""
    types = set(map(type, cells))
    with suppress(ValueError, OverflowError, TypeError):
        if types <= {float, int, type(None)}:
            return np.array(cells, dtype=np.float64)
        # float() reads "1_000" and "١", we do not.
        if types == {str} and "_" not in (joined := "".join(cells)) and joined.isascii():  # type: ignore[arg-type]
            return np.array([cell or "nan" for cell in cells], dtype=np.float64)
    return None


def classify(cell: object) -> tuple[float, bool]:
    """Return a cell's value (nan where there is none) and whether it is text."""
    if cell is None:
        return math.nan, False
    if isinstance(cell, (bool, np.bool_)):
        return math.nan, True
    if isinstance(cell, (float, int, np.floating, np.integer)):
        try:
            return float(cell), False
        except OverflowError:
            return math.inf if cell > 0 else -math.inf, False
    text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
    for _ in range(4):  # levels of nested quotes and calls
        text = text.strip().strip("'\"").strip()
        if text.casefold() in MISSING:
            return math.nan, False
        # No number is written with more characters; longer text is text, whatever it consists of.
        if len(text) <= 400 and _PLAIN.fullmatch(text):
            return float(text), False
        call = _CALL.fullmatch(text)
        if not call:
            break
        text = _KEYWORDS.sub("", call.group("inside")).strip().removeprefix("[").removesuffix("]")
    return math.nan, True
