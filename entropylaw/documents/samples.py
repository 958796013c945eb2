"""Defines the document of samples per problem: a row per step, and two tables paired by problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from entropylaw.documents.document import AnyDocument
from entropylaw.documents.kinds import KINDS
from entropylaw.escaping import counted
from entropylaw.results import Estimate

Cell = float | int | str | None


SHARES = ("pass@", "pass^", "maj@", "cover@", "none_right", "some_right", "all_right")
"""How the names of columns begin that are shares of a problem's samples."""


def with_both(mean: float, error: float, problems: int) -> tuple[float, float]:
    """Mean and standard error with two further problems, one of 0 and one of 1.

    Where nearly all problems are at one end, the t interval of the problems themselves is too narrow
    (docs/benchmarks/samples.md).
    """
    size = problems + 2
    squares = problems * (problems - 1) * error**2 + problems * mean**2 + 1.0
    centre = (problems * mean + 1.0) / size
    return centre, math.sqrt(max(squares - size * centre**2, 0.0) / (size - 1) / size)


class SampleTable(Struct, frozen=True, kw_only=True):
    """A file that was read: its name as given, and its bytes."""

    name: str
    bytes: int


class UnreadTable(Struct, frozen=True, kw_only=True):
    """A file, a folder or an argument that was found and is not read.

    ``fate`` is ``refused`` where it may hold samples, ``copy`` where these were read from another file,
    ``skipped`` where it holds none. ``slug``, ``why`` and ``hint`` are those of its error, of the others a
    sentence alone.
    """

    name: str
    fate: Literal["refused", "copy", "skipped"]
    why: str
    slug: str = ""
    hint: str = ""


class AtK(Struct, frozen=True, kw_only=True):
    """pass@k of two tables.

    ``difference`` has the interval on problems like these, for this k alone, and ``on_benchmark`` that on
    these very problems, for further samples of them; None where a problem has no more than k. The band from
    ``band_low`` to ``band_high`` holds the differences on problems like these of all k together. ``word`` is
    ``gain`` or ``loss`` where the band excludes 0, or ``unclear``.
    """

    k: int
    now: float
    base: float
    difference: Estimate
    on_benchmark: Estimate | None
    band_low: float
    band_high: float
    word: str

    def simultaneous(self, level: float) -> Estimate:
        """The difference with the band's ends as its interval."""
        return Estimate(
            value=self.difference.value,
            low=self.band_low,
            high=self.band_high,
            level=level,
            method="band over all k",
        )


class Fate(Struct, frozen=True, kw_only=True):
    """The problems of one fate: ``kept``, ``gained``, ``lost`` or ``neither``.

    ``problems`` are those of which it is the most probable fate, ``mistakes`` how many of them are expected
    to have another one, ``expected`` how many problems there are of this fate.
    """

    fate: str
    problems: tuple[str, ...]
    mistakes: float
    expected: Estimate


class Unsolved(Struct, frozen=True, kw_only=True):
    """Distinct answers to problems that neither table solves in one half of the samples, in the other half.

    ``problems`` is the expected number of such problems; ``difference`` is None where it is below 1.
    """

    problems: float
    now: float | None = None
    base: float | None = None
    difference: Estimate | None = None


class PairedSamples(Struct, frozen=True, kw_only=True):
    """Two tables of samples, paired by problem.

    ``now`` and ``base`` are their names, ``row`` is the position of the first one's row, and ``base_row``
    that of the other one, None where it is in another table; ``problems`` how many both have, ``left_out``
    how many are in one alone. ``solved`` is the chance of a right sample above which a problem is solved.
    ``no_fates`` says why there are no fates, where the samples are too few.
    """

    now: str
    base: str
    row: int
    base_row: int | None
    problems: int
    left_out: int
    solved: float
    level: float
    at_k: tuple[AtK, ...]
    fates: tuple[Fate, ...]
    unsolved: Unsolved
    no_fates: str = ""

    def fate(self, name: str) -> Fate:
        """The problems of a fate."""
        return next(fate for fate in self.fates if fate.fate == name)


class SamplesDocument(AnyDocument, frozen=True, kw_only=True):
    """Samples per problem.

    ``tables`` are the files that were read, ``unread`` those that were not. ``rows`` have the columns of each
    step, the names of ``groups`` among them; ``columns`` are those of the
    tables by role, ``format`` is what wrote them. ``rarefied`` is the number of samples among which distinct
    answers are counted, ``missing`` what a sample without a verdict is. ``t`` has for every row how many
    standard errors are from a mean to the ends of its interval. ``against`` has a comparison for each group.
    """

    tables: tuple[SampleTable, ...]
    unread: tuple[UnreadTable, ...] = ()
    format: str
    columns: Mapping[str, str]
    groups: tuple[str, ...]
    missing: str
    rarefied: int
    level: float
    rows: tuple[Mapping[str, Cell], ...]
    t: tuple[float, ...]
    notes: tuple[str, ...] = ()
    against: tuple[PairedSamples, ...] = ()
    schema: str = KINDS["samples"].schema

    @property
    def refused(self) -> tuple[UnreadTable, ...]:
        """The files that may hold samples and could not be read."""
        return tuple(file for file in self.unread if file.fate == "refused")

    @property
    def incomplete(self) -> str:
        """Why its numbers are not those of all samples; empty where every file was read."""
        if not self.refused:
            return ""
        files = counted(len(self.refused), "file was", "files were")
        return f"{files} not read: {'; '.join(file.why for file in self.refused[:3])}"

    def estimate(self, row: int, name: str) -> Estimate | None:
        """A column of a row with its interval over problems; None where it is no mean over problems."""
        cells = self.rows[row]
        value = cells.get(name)
        error = cells.get(f"{name}_se")
        if not isinstance(value, float | int) or not isinstance(error, float | int):
            return None
        is_share = name.startswith(SHARES)
        centre = float(value)
        spread = float(error)
        method = "t over problems"
        if is_share:
            centre, spread = with_both(value, error, int(cells["problems"] or 0))
            method += ", with one of 0 and one of 1"
        if not spread:
            note = "all problems have the same"
            return Estimate(value=value, low=None, high=None, level=self.level, method=method, note=note)
        half = self.t[row] * spread
        low = min(centre - half, value)
        high = max(centre + half, value)
        if is_share:
            low = max(low, 0.0)
            high = min(high, 1.0)
        return Estimate(value=value, low=low, high=high, level=self.level, method=method, std_error=error)

    def pair_of(self, row: int) -> PairedSamples | None:
        """The comparison of a row; None of one that is compared with none."""
        return next((pair for pair in self.against if pair.row == row), None)

    def latest(self) -> list[tuple[int, str]]:
        """The rows of the last step, and their groups in words."""
        rows = [row for row, cells in enumerate(self.rows) if cells["step"] == self.rows[-1]["step"]]
        return [(row, " ".join(str(self.rows[row][name]) for name in self.groups)) for row in rows]
