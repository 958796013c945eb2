"""What divides the samples of problems, and what identifies these, by counts.

A column that splits every problem alike is a condition: its values make other samples, and are not pooled.
Of a column of what came of a sample (how it ended, how long it was) some problems have more than others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtr

from entropylaw.arrow import to_numpy
from entropylaw.escaping import listing, shown
from entropylaw.samples import query
from entropylaw.samples.columns import NAMES, OCCURRENCE, SampleColumns, is_text
from entropylaw.tokens.query import quoted

if TYPE_CHECKING:
    from entropylaw.tokens.query import Table
    from entropylaw.tokens.run import Backend

MOST_VALUES = 64
"""Different values that a condition may have."""

LONGEST = 200
"""Characters of a value; longer ones are prompts or responses."""

PEEKED = 1000
"""Rows from which is seen which columns have short texts, of few values."""

ALIKE = 1e-3
"""Probability of so equal a split, or a more equal one, where the values are drawn (chi-square)."""

MOST_PARTS = 12
"""Values of a column, each of other problems, up to which a note names it."""

COARSER = 16
"""How many texts of a problem may have one id on average: those of other prompts, or of other ids."""

_DRAWS = re.compile(
    r"sample|rollout|completion|response|draw|generation|attempt|trial|seed|epoch|repeat|replica|"
    r"idx|index|(?:^|_)(?:id|i|no|number|run)$"
)
"""What is in the names of numbers of samples, where each problem has each number once."""

_SETTINGS = re.compile(
    r"temp|top_|shot|budget|effort|level|depth|version|beam|width|length|size|limit|max|min|rank|step|stage|turn|"
    r"round|difficulty|hint|(?:^|_)(?:num|n)_"
)
"""What is in the names of settings, whose whole numbers in a row are no numbers of samples."""

PARTS = frozenset(
    (
        *("run", "run_id", "run_name", "arm", "model", "model_name", "domain", "data_source", "dataset"),
        *("benchmark", "env_name", "env", "task", "split", "stage"),
    )
)
"""Names of columns that divide the rows where each of their values has other problems."""

VARIANTS = frozenset(("filter", "metric", "scorer", "grader", "turn", "output_index", OCCURRENCE))
"""Names of columns that always divide: two filters of one sample are not two samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How a column splits the samples of problems.

    ``alike``: of every problem in the same way; ``nested``: each problem has one of its values; ``by_step``:
    each step has. ``most`` is the largest number of samples of a problem with one value.
    """

    name: str
    values: list[str]
    alike: bool
    nested: bool
    by_step: bool
    most: float

    @property
    def may_number(self) -> bool:
        """Whether its values may be numbers of draws, or of files: whole ones in a row.

        Those of a column that is not called so begin at 0 or 1; 0 and 1 alone may be a flag.
        """
        parts = [re.fullmatch(r"(\D*)(\d+)(\D*)", value) for value in self.values]
        numbers = {int(part[2]) for part in parts if part}
        around = {(part[1], part[3]) for part in parts if part}
        if None in parts or len(around) > 1 or len(numbers) < len(parts):
            return False
        name = self.name.casefold()
        if name in (*NAMES["sample"], "seed", "epoch"):
            return True
        in_a_row = max(numbers) - min(numbers) == len(numbers) - 1
        if _DRAWS.search(name) or not in_a_row:
            return in_a_row
        is_bare = around == {("", "")} and _SETTINGS.search(name) is None
        return is_bare and min(numbers) in (0, 1) and numbers != {0, 1}


def key_of(engine: Backend, samples: str, keys: Sequence[str]) -> str:
    """The column that identifies problems, of those that may by their names, the likeliest first.

    Each of its values occurs equally often, and more than once, and the text of a problem says which it is.
    """
    found = {name: engine.run(query.occurrences(samples, name)).to_pylist()[0] for name in keys}

    def order(name: str) -> tuple[int, bool, int]:
        size = found[name]["size"]
        if size < 2 or found[name]["most"] == 1:
            return 4 - min(size, 2), False, 0
        for other in keys:
            repeated = found[other]["most"] > 1
            if other != name and is_text(other) and repeated:
                together = _size(engine, samples, (name, other))
                if together > found[other]["size"] or COARSER * size < found[other]["size"]:
                    return 2, is_text(name), -size
        return int(found[name]["fewest"] != found[name]["most"]), is_text(name), -size

    return min(keys, key=order)


def divided(
    engine: Backend, samples: Table, names: Sequence[str], columns: Sequence[SampleColumns]
) -> tuple[list[str], list[str]]:
    """The columns of ``names`` that divide the rows, and what was found of these in sentences.

    ``columns`` are those of every file.
    """
    of_files = set(names).difference(*(chosen.file.types for chosen in columns))
    left_out = columns[0].named["problem"].split(" + ")
    if len({chosen.file.run for chosen in columns}) == 1:
        left_out += {"run"} & of_files
    may_divide = [name for name in names if name not in left_out]
    rows = engine.peek(f"SELECT {query.row_keys(may_divide)} FROM {samples.name}", PEEKED).to_pydict()
    texts = {name: {text or "" for text in rows[f"by_{name}"]} for name in may_divide}
    short = [name for name in may_divide if max(map(len, texts[name]), default=0) <= LONGEST]
    short = [name for name in short if len(texts[name]) <= MOST_VALUES]
    if not short:
        return [], []
    units = engine.keep("units", query.units(samples, short)).name
    size = _size(engine, units, ())
    splits = [_split(engine, units, name, ()) for name in short if size]
    splits = [split for split in splits if 1 < len(split.values) <= MOST_VALUES]
    splits.sort(key=lambda split: (split.may_number, split.name == "run", len(split.values)))
    groups: list[str] = []
    notes: list[str] = []
    for split in splits:
        name = split.name
        if split.by_step:
            continue
        size_divided = _size(engine, units, [*groups, name])
        if size_divided == size:
            continue
        numbers = split.alike and split.may_number
        is_once = numbers and _split(engine, units, name, groups).most == 1
        divides, note = _use_of(split, is_of_files=name in of_files, is_once=is_once)
        if divides:
            groups.append(name)
            size = size_divided
        if note:
            notes.append(note)
    return groups, notes


def _use_of(split: Split, *, is_of_files: bool, is_once: bool) -> tuple[bool, str]:
    """Whether a column divides the rows, and what is said of it; nothing of one that is a part by its name.

    ``is_of_files``: the files have no such column, their names or folders say it; ``is_once``: each of its
    values is there once in a problem.
    """
    name = split.name
    values = f"{shown(name)} ({listing(split.values, 4)})"
    if name in VARIANTS or (name == "task" and is_of_files):
        return True, f"rows differ in {values}, which are not samples of one problem: a row for each"
    if split.nested and name in PARTS and not is_of_files:
        return True, ""
    measured = (re.fullmatch(r"-?\d*\.\d+", value) for value in split.values)
    if split.nested and name != "run" and len(split.values) <= MOST_PARTS and not any(measured):
        return False, f"problems differ in {values}, all together: --by {name} divides them"
    if not split.alike:
        return False, ""
    if is_once:
        return False, f"{shown(name)} numbers the samples of a problem: --by {name} divides them"
    if split.may_number and name == "run" and is_of_files:
        return False, "files that differ in a number are of the same problems; --by run divides them"
    return True, f"every problem has each of {values}: a row for each; --by '' takes all together"


def _size(engine: Backend, table: str, names: Sequence[str]) -> int:
    """The number of different values that some columns have together."""
    columns = ", ".join(quoted(f"by_{name}") for name in names) or "1 AS one"
    rows = engine.run(f"SELECT COUNT(*) AS size FROM (SELECT DISTINCT {columns} FROM {table}) AS pairs")
    return int(rows["size"][0].as_py())


def _split(engine: Backend, units: str, name: str, groups: Sequence[str]) -> Split:
    """How a column splits the samples of the problems of each step and of ``groups``.

    Where each sample draws its value, chi-square has the distribution of that name; a column that splits all
    problems alike has next to 0.
    """
    table = engine.run(query.splits(units, name, groups))
    columns = {key: to_numpy(table[key]) for key in table.column_names if key not in ("step", "value")}
    _, step = np.unique(np.array(table["step"].to_pylist(), dtype=float), return_inverse=True)
    values = np.bincount(step)
    samples_of_step = np.bincount(step, columns["total"])[step]
    chi_square = (samples_of_step * columns["share"] / columns["total"] - columns["total"]).sum()
    freedom = ((np.bincount(step, columns["whole"]) - 1.0) * (values - 1)).sum()
    is_alike = chdtr(max(freedom, 1.0), max(chi_square, 0.0)) < ALIKE
    # Two benchmarks of other sizes whose ids are the same: each value has its number of samples.
    even = (columns["fewest"] == columns["most"]).all() and columns["fewest"].min() > 1
    uneven_units = columns["least"].min() < columns["size"].max() and len(step) <= MOST_PARTS
    nested = columns["number"].max() == 1
    return Split(
        name=name,
        values=sorted({value or "" for value in table["value"].to_pylist()}),
        alike=not nested and freedom > 0.5 and bool(is_alike or (even and uneven_units)),
        nested=nested,
        by_step=values.max() == 1,
        most=columns["most"].max(),
    )
