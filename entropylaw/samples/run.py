"""From tables of samples to one row per step: find, check, query, summarise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from entropylaw.arrow import to_numpy
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import note_input
from entropylaw.samples import numbers, query
from entropylaw.samples.columns import HUGE, SampleColumns, canonical, resolve
from entropylaw.samples.conditions import divided, key_of
from entropylaw.samples.files import find
from entropylaw.samples.numbers import Counts
from entropylaw.samples.options import SampleOptions
from entropylaw.tokens.files import TableFile
from entropylaw.tokens.gather import Gathered, Unread
from entropylaw.tokens.on_duckdb import Progress, duckdb_backend, temporary_folder
from entropylaw.tokens.query import Table, text
from entropylaw.tokens.run import backend

if TYPE_CHECKING:
    from entropylaw.tokens.run import Backend

MEMORY = "1GB"
"""Memory of DuckDB, which has the different answers to every problem of every step in it, or on disk."""

MOST_OF_PROBLEM = 1 << 16
"""Samples of a problem at a step that are counted: maj@k takes time for each of them."""

MOST_OF_STEP = 1 << 26
"""Samples of all problems at a step that are counted, each of which takes memory."""

TOO_HIGH = 2.0**53
"""From this step on, whole numbers are not exact."""

Key = tuple[Any, ...]
"""The step of a row and its groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The samples of some tables.

    Attributes
    ----------
    files, unread
        The names of files and their bytes; what was found and is not read.
    rows
        The columns of each step, in ascending order: see :func:`entropylaw.samples.numbers.summary`.
    counts
        The counts of each row's problems.
    groups
        The names of the columns that divide the rows of a step.
    about
        What wrote the files, columns by role, and options, by the names that documents have for them.
    notes
        Data left out and assumptions, a sentence each.
    """

    files: list[tuple[str, int]]
    unread: list[Unread]
    rows: list[dict[str, Any]]
    counts: list[Counts]
    groups: tuple[str, ...]
    about: dict[str, Any]
    notes: tuple[str, ...]

    def name(self, row: int) -> str:
        """A row in words."""
        return described(tuple(self.rows[row][name] for name in ("step", *self.groups)), self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Tables of samples in an engine: the columns of each file, and what their samples hold.

    ``layout`` is what wrote the files; ``roles`` are those of which any file has a column; ``verdicts`` are
    the commonest ones with their numbers of samples; ``judged`` is the table of counts by verdict and answer.
    """

    engine: Backend
    layout: str
    columns: list[SampleColumns]
    roles: frozenset[str]
    groups: tuple[str, ...]
    unread: list[Unread]
    notes: list[str]
    verdicts: dict[str | None, int]
    judged: str


@contextmanager
def opened(
    tables: Sequence[str], options: SampleOptions, starting: AbstractContextManager[Backend]
) -> Iterator[Opened]:
    """Tables of samples in the engine that is ``starting``."""
    with temporary_folder() as folder:
        files, gathered = find(tables, folder, options.by)
        for file in files:
            note_input(file.source)
        columns = _columns_of(files, options, gathered)
        with starting as engine:
            if any(chosen.ordered for chosen in columns):
                engine.keep_order()
            samples, names = _viewed(engine, columns)
            if len(columns[0].keys) > 1:
                key = key_of(engine, samples.name, columns[0].keys)
                columns = [resolve(chosen.file, options, key) for chosen in columns]
                samples, names = _viewed(engine, columns)
            _check_lengths(engine, [chosen for chosen in columns if not chosen.roles["problem"]])
            groups, notes = (names, []) if options.by else divided(engine, samples, names, columns)
            roles = frozenset(chain.from_iterable(chosen.roles for chosen in columns))
            counted = engine.keep("counted", query.counted(samples, groups, roles, options.missing)).name
            judged = engine.view("judged", query.judged(counted, roles)).name
            verdicts = engine.run(query.verdicts(judged)).to_pylist()
            yield Opened(
                engine=engine,
                layout=", ".join(sorted({chosen.layout for chosen in columns})),
                columns=columns,
                roles=roles,
                groups=tuple(groups),
                unread=gathered.unread,
                notes=[*gathered.notes, *notes],
                verdicts={row["right"]: row["times"] for row in verdicts},
                judged=judged,
            )


def _viewed(engine: Backend, columns: Sequence[SampleColumns]) -> tuple[Table, list[str]]:
    """The samples of all files as a table, and the names of the columns that may divide them."""
    names = list(dict.fromkeys(chain.from_iterable(chosen.groups for chosen in columns)))
    return engine.view("samples", union(engine, columns, names)), names


def _columns_of(
    files: Sequence[TableFile], options: SampleOptions, gathered: Gathered
) -> list[SampleColumns]:
    """The columns of each file; one without those that are needed is not read, where another one has them."""
    columns = []
    for file in files:
        try:
            columns.append(resolve(file, options))
        except InputError as error:
            if file.single and error.slug == "no-verdict-column":
                gathered.skip(
                    file.name, f"{shown(file.name)} is a single record, such as a configuration or a summary"
                )
            else:
                gathered.refuse(file.name, error)
    gathered.check_any(columns, "no-sample-files")
    return columns


def summarise_tables(
    tables: Sequence[str], options: SampleOptions, *, progress: Progress | None = None
) -> Sampled:
    """Summarise tables of samples.

    Raises
    ------
    InputError
        A file cannot be read, or has no problems, verdicts or samples; see the modules of this package.
    UsageError
        ``k-too-large``, ``bad-condition``, ``two-verdicts``, ``bad-solved``.
    """
    _check_options(options)
    with opened(tables, options, backend(options.backend, options.master, progress, MEMORY)) as source:
        leader = source.columns[0]
        groups = source.groups
        query.check_verdicts(source.verdicts, leader.named["right"])
        run = source.engine.run
        table = source.judged
        problems = by_key(run(query.problems(table, groups, source.roles)), groups)
        answers = by_key(run(query.answers(table, groups)), groups) if "answer" in source.roles else {}
        labels = by_key(run(query.labels(table, groups)), groups) if "label" in source.roles else {}
    _check_problems(problems)
    _check_steps(problems, leader.named.get("step", ""))
    counts = {key: _counts_of(key, rows, answers.get(key), groups) for key, rows in problems.items()}
    fewest = [count.least for count in counts.values()]
    ks = sizes(fewest, options.k)
    least = min(fewest)
    rows = [
        dict(zip(("step", *groups), key, strict=True))
        | _row_of(problems[key], count, labels.get(key), numbers.summary(count, ks, least))
        for key, count in counts.items()
    ]
    # Rows have the same columns, in the order of the longest, without those that have a value in none.
    every = dict.fromkeys(name for row in sorted(rows, key=len, reverse=True) for name in row)
    names = [name for name in every if name == "step" or any(row.get(name) is not None for row in rows)]
    about = {"format": source.layout, "columns": leader.named, "rarefied": least, "missing": options.missing}
    return Sampled(
        files=[(chosen.file.name, chosen.file.size) for chosen in source.columns],
        unread=source.unread,
        rows=[{name: row.get(name) for name in names} for row in rows],
        counts=[*counts.values()],
        groups=groups,
        about=about,
        notes=(*source.notes, *_notes_on_problems(leader, problems), *sentences(rows, about, least)),
    )


def _notes_on_problems(columns: SampleColumns, rows: Mapping[Key, Mapping[str, Any]]) -> Iterator[str]:
    """What identifies problems, where that is not an id as it is; and where a step is no number."""
    problem = shown(columns.named["problem"])
    if columns.hashed:
        yield f"problems are distinguished by {problem} without its chat template"
    if not columns.roles["problem"]:
        yield "no column identifies problems: the position of a row does"
    padded = sum(int(table["padded"].sum()) for table in rows.values())
    if padded:
        yield f"{counted(padded, 'row')} with white space at the ends of {problem}, which is left out"
    unmeasured = sum(int(table["unmeasured"].sum()) for table in rows.values())
    if "tokens" in columns.roles and unmeasured:
        yield f"{counted(unmeasured, 'sample')} without a number of tokens, left out of their mean"
    if any(table["stepless"].any() for table in rows.values()):
        yield f"{shown(columns.named['step'])} has no number: all rows count as one step"


def _check_options(options: SampleOptions) -> None:
    """Refuse options that contradict each other."""
    if options.right is not None and options.right_when is not None:
        raise UsageError(
            "two-verdicts",
            "--right and --right-when both say what is right",
            "give one of them: --right-when names its own column",
        )
    if not 0 <= options.solved < 1:
        raise UsageError(
            "bad-solved",
            f"--solved {options.solved:g} is not a probability from 0 to below 1",
            "0.01: a problem is solved where p > 0.01",
        )


def _check_lengths(engine: Backend, columns: Sequence[SampleColumns]) -> None:
    """Refuse files of different lengths whose rows only have a position: ``no-problem-column``."""
    rows = "SELECT COUNT(*) AS size FROM"
    tables = {chosen.file.name: engine.scan([chosen.file], chosen.stored) for chosen in columns}
    sizes = {name: engine.run(f"{rows} {table}")["size"][0].as_py() for name, table in tables.items()}
    if len(set(sizes.values())) > 1:
        (short, low), (long, high) = (pick(sizes.items(), key=lambda item: item[1]) for pick in (min, max))
        raise InputError(
            "no-problem-column",
            f"no column identifies problems, and {shown(short)} has {low} rows, {shown(long)} {high}",
            "name the column of problems with --problem",
        )


def union(engine: Backend, columns: Sequence[SampleColumns], groups: Sequence[str]) -> str:
    """The query of all files' samples; those alike are read together."""
    sets = defaultdict[Any, list[SampleColumns]](list)
    for chosen in columns:
        file = chosen.file
        header = (file.mark, *file.types) if file.kind == "csv" else ()
        sets[file.kind, header, repr(chosen), file.step is None, chosen.ordered and file.path].append(chosen)
    queries = []
    for together in sets.values():
        leader = together[0]
        files = [chosen.file for chosen in together]
        source = engine.scan(files, leader.stored)
        steps = engine.by_file({file.path: file.step for file in files if file.step is not None})
        runs = engine.by_file({file.path: text(file.run) for file in files})
        queries.append(canonical(leader, source, steps, runs, groups, alone=len(sets) == 1))
    return " UNION ALL ".join(queries)


def _row_of(
    table: Mapping[str, Any],
    counts: Counts,
    labels: Mapping[str, Any] | None,
    summary: Mapping[str, float | None],
) -> dict[str, object]:
    """The columns of a row: problems and samples, those without a verdict, the ``summary``, tokens, label."""
    lengths = int(table["lengths"].sum())
    row: dict[str, object] = {
        "problems": len(counts.n),
        "samples": int(counts.n.sum()),
        "n": counts.least,
        "n_most": int(counts.n.max()),
        **{name: int(table[name].sum()) for name in ("missing", "errors", "truncated")},
        "unscored_problems": len(table["problem"]) - len(counts.n),
        **summary,
        "tokens": float(np.nansum(table["tokens"])) / lengths if lengths else None,
    }
    if labels is not None:
        row["leading_label"] = str(labels["label"][0])
        row["leading_label_share"] = float(labels["times"][0] / labels["times"].sum())
    return row


def by_key(table: pa.Table, groups: Sequence[str]) -> dict[Key, dict[str, Any]]:
    """Step and groups → the columns of their rows, which follow each other; in ascending order.

    Texts stay in Arrow.
    """
    names = ["step", *(f"by_{name}" for name in groups)]
    columns = {name: table[name].combine_chunks() for name in table.column_names[len(names) :]}
    columns |= {name: to_numpy(columns[name]) for name in columns.keys() - {"problem", "label"}}
    begins = np.arange(len(table)) == 0
    for name in names:
        codes = to_numpy(table[name].combine_chunks().dictionary_encode().indices)
        begins[1:] |= np.diff(np.nan_to_num(codes, nan=-1)) != 0
    tables: dict[Key, dict[str, Any]] = {}
    for start, stop in pairwise([*np.flatnonzero(begins).tolist(), len(table)]):
        step, *cells = (table[name][start].as_py() for name in names)
        # A whole step is an integer.
        key = (int(step) if step is not None and step.is_integer() else step, *cells)
        tables[key] = {name: values[start:stop] for name, values in columns.items()}
    return {key: tables[key] for key in sorted(tables, key=lambda key: [*map(_ordinal, key)])}


def _ordinal(cell: float | str | None) -> tuple[bool, float, str]:
    """Sort key of a cell: nothing first, numbers by their value, also where they are text."""
    order = query.number(cell or 0.0)
    if order is None or math.isnan(order):
        order = math.inf
    return cell is not None, order, str(cell)


def _counts_of(
    key: Key, table: Mapping[str, Any], answers: Mapping[str, Any] | None, groups: Sequence[str]
) -> Counts:
    """The counts of a row without the problems that have no verdict; InputError ``no-verdicts``."""
    problem = table["problem"].to_pylist()
    rows = np.empty((0, 4), dtype=np.int64)
    if answers is not None:
        number = {name: row for row, name in enumerate(problem)}
        numbered = [number[name] for name in answers["problem"].to_pylist()]
        rows = np.column_stack([numbered, *(answers[name] for name in ("verdict", "given", "alike"))])
    n = table["n"].astype(np.int64)
    right = table["c"].astype(np.int64)
    if not n.any():
        raise InputError(
            "no-verdicts", f"no sample of {described(key, groups)} has a verdict", "see --missing"
        )
    counts = Counts(problem=problem, n=n, right=right, answers=rows.astype(np.int64))
    return counts if n.all() else counts.take(np.flatnonzero(n))


def _check_problems(rows: Mapping[Key, Mapping[str, Any]]) -> None:
    """Refuse problems with one of the :data:`query.FLAWS`, and tables without any: ``no-samples``."""
    if not rows:
        raise InputError("no-samples", "the tables have no samples", "check --only, and the files")
    for key, table in rows.items():
        flaw = int(table["flaw"].min())
        if flaw < len(query.FLAWS):
            slug, words, hint = query.FLAWS[flaw]
            at = np.flatnonzero(table["flaw"] == flaw)
            step = "" if key[0] is None else f" of step {key[0]:g}"
            example = shown(table["problem"][int(at[0])].as_py())
            raise InputError(slug, f"{counted(len(at), 'problem')}{step} {words}, such as {example}", hint)
        _check_sizes(table)


def _check_sizes(table: Mapping[str, Any]) -> None:
    """Refuse more samples than are counted of a problem or a step: ``too-many-samples``."""
    n = table["n"] + table["missing"]
    if n.max() <= MOST_OF_PROBLEM and n.sum() <= MOST_OF_STEP:
        return
    problem = shown(table["problem"][int(n.argmax())].as_py())
    most = int(n.max())
    # A count is known up to a limit.
    number = f"{most:,}" if most < HUGE else f"{HUGE:,} or more"
    raise InputError(
        "too-many-samples",
        f"a step has {number} samples of problem {problem}; at most {MOST_OF_PROBLEM:,} samples of a problem "
        f"and {MOST_OF_STEP:,} of a step are counted",
        "check the counts; --count names another column",
    )


def _check_steps(rows: Mapping[Key, Mapping[str, Any]], column: str) -> None:
    """Refuse steps of some rows alone, and those that are not exact: ``step-missing``, ``step-not-whole``."""
    steps = [key[0] for key in rows if key[0] is not None]
    stepless = sum(int(table["stepless"].sum()) for table in rows.values())
    if steps and stepless:
        raise InputError(
            "step-missing",
            f"{counted(stepless, 'row')} have no step in {shown(column)} "
            "(null, nan, infinite, or text that is not a number), and others have one",
            "give every sample its step, or leave these rows out",
        )
    if steps and max(map(abs, steps)) >= TOO_HIGH:
        raise InputError(
            "step-not-whole",
            f"step {max(steps, key=abs):g} is not below 2^53, where numbers are no longer exact",
            "name the step column with --step; a time is not a step",
        )


def described(key: Key, groups: Sequence[str]) -> str:
    """A row in words."""
    step = "the table" if key[0] is None else f"step {key[0]:g}"
    return ", ".join([step, *(f"{name} {shown(cell)}" for name, cell in zip(groups, key[1:], strict=True))])


def sizes(fewest: Sequence[int], requested: Sequence[int]) -> list[int]:
    """The numbers of samples for pass@k, of steps with such ``fewest`` samples of a problem.

    UsageError ``k-too-large`` for one that no step has of every problem.
    """
    most = max(fewest)
    if max(requested, default=0) > most:
        raise UsageError(
            "k-too-large",
            f"--k {max(requested)}, and every problem has at most {most} samples at a step",
            "pass@k ends at n; see --missing",
        )
    powers = {1 << i for i in range(most.bit_length())}
    return sorted({1, *requested} if requested else powers | {most, min(fewest)})


def sentences(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], least: int) -> Iterator[str]:
    """Data that were left out or are unequal, a sentence each."""
    names = ("missing", "errors", "truncated", "unscored_problems", "n", "n_most")
    cells = np.array([[row[name] for name in names] for row in rows])
    missing, errors, truncated, unscored = cells.sum(axis=0)[:4].tolist()
    fewest, most = cells[:, 4], cells[:, 5]
    if missing:
        consequence = "left out; --missing wrong counts them as wrong"
        if about["missing"] == "wrong":
            consequence = "counted as wrong"
        yield f"{counted(missing, 'sample')} without a verdict ({errors} with an error): {consequence}"
    if truncated:
        yield f"{counted(truncated, 'sample')} truncated: those with a verdict keep it"
    if unscored:
        yield f"{counted(unscored, 'problem')} without any verdict, in no mean"
    uneven = fewest != most
    if uneven.any():
        low, high = fewest[uneven].min(), most[uneven].max()
        yield f"problems have {low} to {high} samples: pass@k is given for k up to the fewest"
    if "answer" not in about["columns"]:
        yield (
            "no column has answers (--answer names one): no distinct answers; in maj@k all wrong "
            "samples are one answer"
        )
    elif len(set(fewest)) > 1:
        yield f"distinct answers are counted among {least} samples, the fewest of a problem"


def column_lines(tables: Sequence[str], options: SampleOptions) -> Iterator[str]:
    """What would be read of some tables, a line each; what would be refused is one of them."""
    with opened(tables, options, duckdb_backend(memory=MEMORY)) as source:
        leader = source.columns[0]
        lines = {"format": source.layout, "files": f"{len(source.columns)}"}
        for role in ("problem", "right", "answer", "step", "sample", "tokens", "count", "error", "truncated"):
            lines[role] = leader.named.get(role, "none")
            if role in leader.lists:
                lines[role] += ", one per sample"
        steps = [chosen.file.step for chosen in source.columns if chosen.file.step is not None]
        if "step" not in leader.roles and steps:
            lines["step"] = f"by the names of files: {min(steps)} to {max(steps)}"
        lines["a row for each"] = ", ".join(("step", *source.groups))
        used = {name.partition(".")[0] for name in leader.named.values()}
        lines["not used"] = listing([name for name in leader.file.types if name not in used])
        lines |= contents(source)
    yield from (f"{name:<16}  {value}" for name, value in lines.items())
    yield from (f"not read          {unread.why}" for unread in source.unread)
    yield from (f"note              {note}" for note in source.notes)


def contents(source: Opened) -> dict[str, str]:
    """Filters, verdicts, and how many problems and samples there are; or why the verdicts are refused."""
    leader = source.columns[0]
    lines = dict[str, str]()
    lines["verdicts"] = ", ".join(f"{shown(verdict)} {count:,}" for verdict, count in source.verdicts.items())
    try:
        query.check_verdicts(source.verdicts, leader.named["right"])
    except InputError as error:
        return {**lines, "refused": f"{error.message}; {error.hint}"}
    columns = source.engine.run(query.problems(source.judged, source.groups, source.roles)).to_pydict()
    return {
        **lines,
        "problems": f"{len(set(columns['problem'])):,}",
        "samples of each": f"{min(columns['n'])} to {max(columns['n'])}",
        "without verdict": f"{sum(columns['missing']):,}",
    }
