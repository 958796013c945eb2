"""The queries over samples, in DuckDB's SQL, which Ibis translates for Spark; and what may be counted.

A query counts, so that no result depends on the order of rows, on files or on threads.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from entropylaw.errors import InputError
from entropylaw.escaping import listing, shown
from entropylaw.tokens.query import quoted, text

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


def counted(table: str, groups: Sequence[str]) -> str:
    """Samples with the same step, groups, problem, verdict, answer and number, which are read once.

    ``rows`` are those of the files, ``uncounted`` those without a whole number of samples, of which the
    smallest is ``least``.
    """
    verdict = 'LOWER(TRIM("right"))'
    keys = f"{_keys_of(groups)}, problem, sample, error"
    # A number of tokens that is not finite is unknown.
    length = "CASE WHEN ABS(tokens) < CAST('Infinity' AS DOUBLE) THEN tokens END"
    sums = {
        "times": "times",
        "rows": "1",
        "uncounted": "CASE WHEN times IS NULL THEN 1 ELSE 0 END",
        "truncated": "CASE WHEN truncated THEN times ELSE 0 END",
        "lengths": f"CASE WHEN {length} IS NULL THEN 0 ELSE times END",
        "unmeasured": f"CASE WHEN {length} IS NULL THEN times ELSE 0 END",
        "stepless": "CASE WHEN stepless THEN 1 ELSE 0 END",
        "padded": "CASE WHEN padded THEN 1 ELSE 0 END",
    }
    totals = ", ".join(f"CAST(SUM({value}) AS BIGINT) AS {quoted(name)}" for name, value in sums.items())
    return (
        f'SELECT {keys}, {verdict} AS "right", TRIM(answer) AS answer, {totals}, MIN(times) AS least, '
        f"SUM({length} * times) AS tokens, MIN(reference) AS reference, MAX(reference) AS other_reference "
        f"FROM {table} GROUP BY {keys}, {verdict}, TRIM(answer)"
    )


def verdicts(table: str) -> str:
    """The commonest verdicts, and how many samples have each."""
    return (
        f'SELECT "right" AS verdict, CAST(SUM(times) AS BIGINT) AS samples FROM {table} WHERE NOT error '
        f'GROUP BY "right" ORDER BY samples DESC, verdict LIMIT {MOST_VERDICTS}'
    )


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


def judged(table: str, missing: str) -> str:
    """The samples with ``verdict``: 1 right, 0 wrong, null without one; a missing one as wrong if so said."""
    verdict = '"right"'
    right, wrong = (", ".join(map(text, words)) for words in (RIGHT, WRONG))
    absent = "0" if missing == "wrong" else "NULL"
    return (
        f"SELECT *, CASE WHEN error THEN {absent} WHEN {verdict} IN ({right}) THEN 1 "
        f"WHEN {verdict} IN ({wrong}) THEN 0 ELSE {absent} END AS verdict, "
        f"CASE WHEN error OR {verdict} IS NULL OR {verdict} IN ({', '.join(map(text, ABSENT))}) "
        f"THEN times ELSE 0 END AS absent FROM {table}"
    )


def problems(table: str, groups: Sequence[str], roles: Container[str]) -> str:
    """A row per step, group and problem: samples with a verdict, right ones, missing ones, tokens.

    ``flaw`` is the position of what is wrong in :data:`FLAWS`: a row names a sample again, or of counts an
    answer; the samples of a problem have several references; there is no problem; a count is no whole number;
    one is below 0, as that of wrong samples is where more are right than there are. ``stepless`` counts rows
    whose column of steps has no number, ``padded`` those whose problem has white space at its ends.
    """
    keys = _keys_of(groups)
    again = "FALSE"
    if "sample" in roles:
        again = 'SUM(CASE WHEN sample IS NULL THEN 0 ELSE "rows" END) > COUNT(DISTINCT sample)'
    elif "count" in roles:
        different = "COUNT(DISTINCT COALESCE(CAST(verdict AS VARCHAR), '') || COALESCE(answer, ''))"
        again = f'SUM("rows") > {different}'
    flaws = (
        again,
        "MIN(reference) <> MAX(other_reference)",
        "problem IS NULL",
        "SUM(uncounted) > 0",
        "MIN(least) < 0",
    )
    cases = " ".join(f"WHEN {flaw} THEN {number}" for number, flaw in enumerate(flaws))
    sums = {
        "n": "CASE WHEN verdict IS NULL THEN 0 ELSE times END",
        "c": "CASE WHEN verdict = 1 THEN times ELSE 0 END",
        "missing": "absent",
        "errors": "CASE WHEN error THEN times ELSE 0 END",
        **{name: name for name in ("truncated", "lengths", "unmeasured", "stepless", "padded")},
    }
    totals = ", ".join(f"CAST(SUM({value}) AS BIGINT) AS {name}" for name, value in sums.items())
    return (
        f"SELECT {keys}, problem, {totals}, SUM(tokens) AS tokens, "
        f"CAST(CASE {cases} ELSE {len(flaws)} END AS BIGINT) AS flaw "
        f"FROM {table} GROUP BY {keys}, problem ORDER BY {keys}, problem"
    )


def answers(table: str, groups: Sequence[str]) -> str:
    """Per step, group, problem and verdict: how many answers were given so many times."""
    keys = _keys_of(groups)
    counts = (
        f"SELECT {keys}, problem, verdict, answer, CAST(SUM(times) AS BIGINT) AS given "
        f"FROM {table} WHERE verdict IS NOT NULL AND answer IS NOT NULL "
        f"GROUP BY {keys}, problem, verdict, answer"
    )
    return (
        f"SELECT {keys}, problem, verdict, given, COUNT(*) AS alike FROM ({counts}) AS counted "
        f"GROUP BY {keys}, problem, verdict, given ORDER BY {keys}, problem, verdict, given"
    )


def occurrences(table: str, name: str) -> str:
    """Different values of a column, and the fewest and most samples of a step that have one of them."""
    value = quoted(f"by_{name}")
    cells = (
        f"SELECT step, {value} AS value, CAST(SUM(times) AS BIGINT) AS n FROM {table} "
        f"WHERE {value} IS NOT NULL GROUP BY step, {value}"
    )
    return f"SELECT COUNT(DISTINCT value) AS size, MIN(n) AS fewest, MAX(n) AS most FROM ({cells}) AS counted"


def pairs(table: str, names: Sequence[str]) -> str:
    """The number of different values that some columns have together."""
    columns = ", ".join(quoted(f"by_{name}") for name in names) or "1 AS one"
    return f"SELECT COUNT(*) AS size FROM (SELECT DISTINCT {columns} FROM {table}) AS pairs"


def selected(table: str, names: Sequence[str]) -> str:
    """Columns of the samples."""
    return f"SELECT {', '.join(quoted(f'by_{name}') for name in names)} FROM {table}"


def sizes(table: str, names: Sequence[str]) -> str:
    """The number of different values of each column, nothing among them."""
    parts = (f"COUNT(DISTINCT COALESCE({quoted(f'by_{name}')}, '')) AS {quoted(name)}" for name in names)
    return f"SELECT {', '.join(parts)} FROM {table}"


def splits(table: str, name: str, groups: Sequence[str]) -> str:
    """How a column splits the samples of problems: a row per step and value.

    n samples of a unit (a problem of a step and of ``groups``) have a value: ``units`` of the step have it,
    in ``total`` samples, from ``fewest`` to ``most`` of a unit. ``share`` is the sum of n² divided by all
    samples of the unit, which are ``least`` to ``size``; ``whole`` is the sum of 1 divided by the unit's
    values, of which one has up to ``values``.
    """
    value = quoted(f"by_{name}")
    unit = f"{_keys_of(groups)}, problem"
    counts = (
        f"SELECT {unit}, {value} AS value, CAST(SUM(times) AS DOUBLE) AS n FROM {table} "
        f"WHERE times > 0 GROUP BY {unit}, {value}"
    )
    within = (
        f"SELECT step, value, n, SUM(n) OVER (PARTITION BY {unit}) AS size, "
        f"COUNT(*) OVER (PARTITION BY {unit}) AS number FROM ({counts}) AS counted"
    )
    return (
        "SELECT step, value, COUNT(*) AS units, SUM(n) AS total, MIN(n) AS fewest, MAX(n) AS most, "
        "SUM(n * n / size) AS share, MIN(size) AS least, MAX(size) AS size, "
        "SUM(CAST(1 AS DOUBLE) / number) AS whole, MAX(number) AS number "
        f"FROM ({within}) AS split GROUP BY step, value ORDER BY step, value"
    )


def labels(table: str, groups: Sequence[str]) -> str:
    """Per step, group and label: samples."""
    keys = _keys_of(groups)
    return (
        f"SELECT {keys}, label, CAST(SUM(times) AS BIGINT) AS samples FROM {table} WHERE label IS NOT NULL "
        f"GROUP BY {keys}, label ORDER BY {keys}, samples DESC, label"
    )


def _keys_of(groups: Sequence[str]) -> str:
    """The columns that make a row of the summary."""
    return ", ".join(("step", *(quoted(f"by_{name}") for name in groups)))
