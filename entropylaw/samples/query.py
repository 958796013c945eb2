"""The queries over samples, in DuckDB's SQL, which Ibis translates for Spark; and what may be counted.

A query counts, so that no result depends on the order of rows, on files or on threads.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import pyarrow as pa

from entropylaw.errors import InputError
from entropylaw.escaping import listing, shown
from entropylaw.tokens.query import Table, quoted, stripped, text

RIGHT = ("true", "1", "1.0", "c", "correct", "pass", "passed", "success")
WRONG = ("false", "0", "0.0", "-1", "-1.0", "i", "n", "incorrect", "wrong", "fail", "failed", "timeout")
ABSENT = ("", "nan", "null", "none")
"""Verdicts as text in lower case."""

_MIXED = "runs or tasks may be mixed: --by run or --by COLUMN divides them"
_COUNTS = "of n samples of a problem c are right; --count names another column"
FLAWS = (
    ("repeated-samples", "with a sample that is named again", _MIXED),
    ("shared-ids", "with other reference answers of one id", _MIXED),
    ("no-problem", "without a name", _MIXED),
    ("bad-count", "with a count that is not a whole number", _COUNTS),
    ("bad-count", "with a count below 0, or c above n", _COUNTS),
)
"""What can be wrong with problems: slug, what they have, and a hint."""

MOST_VERDICTS = 12
"""Different verdicts that are counted; more are scores."""


_LENGTH = "CASE WHEN ABS(tokens) < CAST('Infinity' AS DOUBLE) THEN tokens END"
"""A number of tokens that is not finite is unknown."""

_BY_ROLE = {
    "stepless": ("step", "", "FALSE"),
    "sample": ("sample", "", "CAST(NULL AS VARCHAR)"),
    "error": ("error", "", "FALSE"),
    "truncated": ("truncated", "", "FALSE"),
    "each": ("count", "", "CAST(1 AS BIGINT)"),
    "answer": ("answer", "", "CAST(NULL AS VARCHAR)"),
    "label": ("label", "", "CAST(NULL AS VARCHAR)"),
    "tokens": ("tokens", f"SUM({_LENGTH})", "CAST(NULL AS DOUBLE)"),
    "measured": ("tokens", f"COUNT({_LENGTH})", "CAST(0 AS BIGINT)"),
    "reference": ("reference", "MIN(reference)", "CAST(NULL AS VARCHAR)"),
    "other_reference": ("reference", "MAX(reference)", "CAST(NULL AS VARCHAR)"),
}
"""Column of the counts → its role; what it is of samples that are alike, '' where these have the same; and
what it is where no file has that role."""


def units(table: Table, names: Sequence[str]) -> str:
    """How many samples of a problem at a step have the same values of some columns."""
    keys = row_keys(names)
    rows = f"SELECT {keys}, each AS times, {_tidy(table, 'problem')} AS problem FROM {table.name}"
    return _summed(f"({rows}) AS units", f"{keys}, problem", "times > 0")


def counted(table: Table, groups: Sequence[str], roles: Container[str], missing: str) -> str:
    """Samples that are alike, which are read once: ``rows`` of the files, each for ``each`` samples.

    ``id`` is the problem, ``padded`` whether it had white space around it. ``verdict`` is 1 right, 0 wrong,
    null without one, or 0 where one that is ``missing`` is wrong; ``lacking`` says that it is missing.
    ``tokens`` are those of ``measured`` rows. Columns of none of the ``roles`` are left out: to compare them
    takes time.
    """
    keys = row_keys(groups)
    present = {name: value for name, (role, value, _) in _BY_ROLE.items() if role in roles}
    alike = ", ".join((keys, "problem", '"right"', *(name for name, value in present.items() if not value)))
    sums = "".join(f", {value} AS {name}" for name, value in present.items() if value)
    rows = f'SELECT {alike}, COUNT(*) AS "rows"{sums} FROM {table.name} GROUP BY {alike}'
    word = 'LOWER(TRIM("right"))' if _is_text(table, "right") else 'CAST("right" AS VARCHAR)'
    right, wrong, absent = (", ".join(map(text, words)) for words in (RIGHT, WRONG, ABSENT))
    error = "error" if "error" in roles else "FALSE"
    unknown = "0" if missing == "wrong" else "NULL"
    columns = {name: name for name in (*present, '"rows"')} | {
        "id": _tidy(table, "problem"),
        "padded": f"problem <> {stripped('problem')}" if _is_text(table, "problem") else "FALSE",
        '"right"': word,
        "verdict": f"CASE WHEN {error} THEN {unknown} WHEN {word} IN ({right}) THEN 1 "
        f"WHEN {word} IN ({wrong}) THEN 0 ELSE {unknown} END",
        "lacking": f"{error} OR {word} IS NULL OR {word} IN ({absent})",
    }
    if "answer" in roles and _is_text(table, "answer"):
        columns["answer"] = "TRIM(answer)"
    named = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    return f"SELECT {keys}, {named} FROM ({rows}) AS alike"


def judged(table: str, roles: Container[str]) -> str:
    """The counts with the columns that no file has; ``times`` are the samples of all rows that are alike."""
    absent = "".join(
        f", {value} AS {name}" for name, (role, _, value) in _BY_ROLE.items() if role not in roles
    )
    return f'SELECT *, each * "rows" AS times FROM (SELECT *{absent} FROM {table}) AS whole'


def _is_text(table: Table, name: str) -> bool:
    return bool(pa.types.is_string(table.types[name]))


def _tidy(table: Table, name: str) -> str:
    """A column without white space at its ends, null where nothing is left."""
    return f"NULLIF({stripped(name)}, '')" if _is_text(table, name) else name


def _summed(table: str, keys: str, where: str) -> str:
    """How many samples have the same keys."""
    return f"SELECT {keys}, CAST(SUM(times) AS BIGINT) AS times FROM {table} WHERE {where} GROUP BY {keys}"


def verdicts(table: str) -> str:
    """The commonest verdicts, and how many samples have each."""
    counts = _summed(table, '"right"', "NOT error")
    return f'SELECT * FROM ({counts}) AS counted ORDER BY times DESC, "right" LIMIT {MOST_VERDICTS}'


def check_verdicts(counts: Mapping[str | None, int], column: str) -> None:
    """Refuse verdicts that are neither right nor wrong: InputError ``not-a-verdict``."""
    values = [value for value in counts if value not in (None, *ABSENT)]
    others = sorted(set(values) - {*RIGHT, *WRONG}, key=values.index)
    numbers = {number(value) for value in values}
    hint = f"say what is right, such as --right-when '{column}>=1', or name another column with --right"
    most = max((0.0, *filter(None, numbers)))
    nested = [value for value in others if value.startswith(("[", "{"))]
    if not others and not {0.0, -1.0} <= numbers:
        return
    if nested:
        message = f"has a list or an object for a sample ({shown(nested[0])}), not one verdict"
        hint = "name the field of it with --right, such as scores.match"
    elif not others:
        message = "has 0 and -1: one of them may stand for no verdict"
    elif None not in numbers and most > 1.0:
        message = (
            f"has values up to {most:g} ({listing(values, 5)}): per cent or counts, not verdicts on single "
            "samples"
        )
        hint = (
            "name the column or field of verdicts with --right, or when a score is right: "
            f"--right-when '{column}>=LIMIT'"
        )
    else:
        message = f"is a score, or has words that are no verdicts: {listing(values, 5)}"
    raise InputError("not-a-verdict", f"{shown(column)} {message}", hint)


def number(value: str | float) -> float | None:
    """A text as a number; None where it is not one."""
    try:
        return float(value)
    except ValueError:
        return None


def problems(table: str, groups: Sequence[str], roles: Container[str]) -> str:
    """A row per step, group and problem: samples with a verdict, right ones, missing ones, tokens.

    ``flaw`` is the position of what is wrong in :data:`FLAWS`: a row names a sample again, or of counts an
    answer; the samples of a problem have several references; there is no problem; a count is no whole number;
    one is below 0, as that of wrong samples is where more are right than there are. ``stepless`` counts rows
    whose column of steps has no number, ``padded`` those whose problem has white space at its ends.
    """
    keys = row_keys(groups)
    again = "FALSE"
    if "sample" in roles:
        again = 'SUM(CASE WHEN sample IS NULL THEN 0 ELSE "rows" END) > COUNT(DISTINCT sample)'
    elif "count" in roles:
        answer = "COALESCE(CAST(answer AS VARCHAR), '')"
        different = f"COUNT(DISTINCT COALESCE(CAST(verdict AS VARCHAR), '') || {answer})"
        again = f'SUM("rows") > {different}'
    flaws = (
        again,
        "MIN(reference) <> MAX(other_reference)",
        "id IS NULL",
        "COUNT(*) > COUNT(each)",
        "MIN(each) < 0",
    )
    cases = " ".join(f"WHEN {flaw} THEN {number}" for number, flaw in enumerate(flaws))
    sums = {
        "n": ("problem", "CASE WHEN verdict IS NULL THEN 0 ELSE times END"),
        "c": ("problem", "CASE WHEN verdict = 1 THEN times ELSE 0 END"),
        "missing": ("problem", "CASE WHEN lacking THEN times ELSE 0 END"),
        "padded": ("problem", 'CASE WHEN padded THEN "rows" ELSE 0 END'),
        "errors": ("error", "CASE WHEN error THEN times ELSE 0 END"),
        "truncated": ("truncated", "CASE WHEN truncated THEN times ELSE 0 END"),
        "lengths": ("tokens", "measured * each"),
        "unmeasured": ("tokens", '("rows" - measured) * each'),
        "stepless": ("step", 'CASE WHEN stepless THEN "rows" ELSE 0 END'),
    }
    totals = ", ".join(
        f"CAST({f'SUM({value})' if role in roles else 0} AS BIGINT) AS {name}"
        for name, (role, value) in sums.items()
    )
    return (
        f"SELECT {keys}, CAST(id AS VARCHAR) AS problem, {totals}, SUM(tokens * each) AS tokens, "
        f"CAST(CASE {cases} ELSE {len(flaws)} END AS BIGINT) AS flaw "
        f"FROM {table} GROUP BY {keys}, id ORDER BY {keys}, problem"
    )


def answers(table: str, groups: Sequence[str]) -> str:
    """Per step, group, problem and verdict: how many answers were given so many times."""
    keys = row_keys(groups)
    is_known = "verdict IS NOT NULL AND answer IS NOT NULL"
    counts = _summed(table, f"{keys}, id, verdict, answer", is_known)
    return (
        f"SELECT {keys}, CAST(id AS VARCHAR) AS problem, verdict, times AS given, COUNT(*) AS alike "
        f"FROM ({counts}) AS counted GROUP BY {keys}, id, verdict, times "
        f"ORDER BY {keys}, problem, verdict, given"
    )


def occurrences(table: str, name: str) -> str:
    """Different values of a column, and the fewest and most samples of a step that have one of them."""
    cells = f"(SELECT step, {quoted(f'by_{name}')} AS value, each AS times FROM {table}) AS cells"
    counts = _summed(cells, "step, value", "value IS NOT NULL")
    return (
        "SELECT COUNT(DISTINCT value) AS size, MIN(times) AS fewest, MAX(times) AS most "
        f"FROM ({counts}) AS counted"
    )


def splits(table: str, name: str, groups: Sequence[str]) -> str:
    """How a column splits the samples of problems: a row per step and value.

    n samples of a unit (a problem of a step and of ``groups``) have a value: ``units`` of the step have it,
    in ``total`` samples, from ``fewest`` to ``most`` of a unit. ``share`` is the sum of n² divided by all
    samples of the unit, which are ``least`` to ``size``; ``whole`` is the sum of 1 divided by the unit's
    values, of which one has up to ``values``.
    """
    unit = f"{row_keys(groups)}, problem"
    value = quoted(f"by_{name}")
    within = (
        f"SELECT step, {value} AS value, CAST(times AS DOUBLE) AS n, "
        f"COUNT(*) OVER (PARTITION BY {unit}) AS number, "
        f"CAST(SUM(times) OVER (PARTITION BY {unit}) AS DOUBLE) AS size "
        f"FROM ({_summed(table, f'{unit}, {value}', 'times > 0')}) AS counted"
    )
    return (
        "SELECT step, value, COUNT(*) AS units, SUM(n) AS total, MIN(n) AS fewest, MAX(n) AS most, "
        "SUM(n * n / size) AS share, MIN(size) AS least, MAX(size) AS size, "
        "SUM(CAST(1 AS DOUBLE) / number) AS whole, MAX(number) AS number "
        f"FROM ({within}) AS split GROUP BY step, value ORDER BY step, value"
    )


def labels(table: str, groups: Sequence[str]) -> str:
    """Per step, group and label: samples, the commonest label first."""
    keys = row_keys(groups)
    counts = _summed(table, f"{keys}, label", "label IS NOT NULL")
    return f"SELECT * FROM ({counts}) AS counted ORDER BY {keys}, times DESC, label"


def row_keys(groups: Sequence[str]) -> str:
    """The columns that make a row of the summary."""
    return ", ".join(("step", *(quoted(f"by_{name}") for name in groups)))
