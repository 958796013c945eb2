"""From tables of samples to one row per step: find, check, query, summarise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from entropylaw.arrow import to_numpy
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import note_input
from entropylaw.samples import numbers, query
from entropylaw.samples.columns import OCCURRENCE, SampleColumns, aligned, canonical, resolve, text
from entropylaw.samples.files import SampleFile, find
from entropylaw.samples.numbers import Counts
from entropylaw.samples.options import SampleOptions
from entropylaw.tokens.backends import Backend
from entropylaw.tokens.on_duckdb import Progress, duckdb_backend, temporary_folder
from entropylaw.tokens.run import backend

Key = tuple[Any, ...]
"""The step of a row and its groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The samples of some tables.

    Attributes
    ----------
    rows
        The columns of each step, in ascending order: see :func:`entropylaw.samples.numbers.summary`.
    counts
        The counts of each row's problems.
    groups
        The names of the columns that divide the rows of a step.
    about
        Files, columns, and what counts as right: JSON values.
    notes
        Data left out and assumptions, a sentence each.
    """

    rows: list[dict[str, Any]]
    counts: list[Counts]
    groups: tuple[str, ...]
    about: dict[str, Any]
    notes: tuple[str, ...]


def summarise_samples(
    tables: Sequence[str], options: SampleOptions, *, progress: Progress | None = None
) -> Sampled:
    """Summarise tables of samples.

    Raises
    ------
    InputError
        A file cannot be read, or has no problems, verdicts or samples; see the modules of this package.
    UsageError
        ``k-too-large``, ``rows-are-not-samples``, ``bad-condition``.
    """
    check_options(options)
    for table in tables:
        note_input(table)
    with temporary_folder() as folder:
        files, notes = find(tables, folder)
        columns = aligned([resolve(file, options) for file in files])
        first, groups = columns[0], tuple(columns[0].groups)
        with backend(options.backend, options.master, progress) as engine:
            samples = opened(engine, files, columns)
            verdicts = engine.run(query.verdicts(samples)).to_pylist()
            query.check_verdicts({row["verdict"]: row["samples"] for row in verdicts}, first.named["right"])
            if first.variants:
                (row,) = engine.run(query.variants(samples, [*first.variants])).to_pylist()
                query.check_variants(row, [*first.variants])
            judged = engine.view("judged", query.judged(samples, options.missing)).name
            listed = engine.run(query.problems(judged, groups, first.roles))
            answers = engine.run(query.answers(judged, groups)) if "answer" in first.roles else None
            labels = engine.run(query.labels(judged, groups)) if "label" in first.roles else None
    about: dict[str, Any] = {
        "read": [{"name": file.name, "bytes": file.size} for file in files],
        "format": layouts(columns),
        "columns": {role: name for role, name in first.named.items() if role in first.roles},
        "missing": options.missing,
    }
    if first.hashed:
        notes.append(
            f"problems are distinguished by {shown(first.named['problem'])} without its chat template"
        )
    if not first.roles["problem"]:
        notes.append("no column identifies problems: the position of a row does")
    return _finished(listed, answers, labels, groups, options, about, notes)


def opened(engine: Backend, files: Sequence[SampleFile], columns: Sequence[SampleColumns]) -> str:
    """The samples of files as a table of the engine."""
    if any(not each.roles["problem"] or OCCURRENCE in each.variants for each in columns):
        engine.keep_order()
        check_lengths(engine, files, columns)
    return engine.view("samples", union(engine, files, columns)).name


def layouts(columns: Sequence[SampleColumns]) -> str:
    """What wrote the files."""
    return ", ".join(sorted({each.layout or "table" for each in columns}))


def check_options(options: SampleOptions) -> None:
    """Refuse options that contradict each other."""
    if options.right is not None and options.right_when is not None:
        message = "--right and --right-when both say what is right"
        raise UsageError("two-verdicts", message, "give one of them: --right-when names its own column")
    if not 0 <= options.solved < 1:
        message = f"--solved {options.solved:g} is not a probability from 0 to below 1"
        raise UsageError("bad-solved", message, "0.01: a problem is solved where p > 0.01")


def check_lengths(engine: Backend, files: Sequence[SampleFile], columns: Sequence[SampleColumns]) -> None:
    """Refuse files of different lengths whose rows only have a position: ``no-problem-column``."""
    sizes = {}
    for file, each in zip(files, columns, strict=True):
        if not each.roles["problem"]:
            source = engine.scan(file.kind, [file.path], each.stored)
            sizes[file.name] = engine.run(f"SELECT COUNT(*) AS size FROM {source}").to_pylist()[0]["size"]
    if len(set(sizes.values())) > 1:
        (short, low), (long, high) = (pick(sizes.items(), key=lambda item: item[1]) for pick in (min, max))
        message = f"no column identifies problems, and {shown(short)} has {low} rows, {shown(long)} {high}"
        raise InputError("no-problem-column", message, "name the column of problems with --problem")


def union(engine: Backend, files: Sequence[SampleFile], columns: Sequence[SampleColumns]) -> str:
    """The query of all files' samples; those alike are read together."""
    parts: dict[Any, list[tuple[SampleFile, SampleColumns]]] = {}
    for file, each in zip(files, columns, strict=True):
        ordered = not each.roles["problem"] or OCCURRENCE in each.variants
        parts.setdefault((file.kind, repr(each), file.path if ordered else None), []).append((file, each))
    queries = []
    for members in parts.values():
        inside, (first, each) = [file for file, _ in members], members[0]
        stored = each.stored or tuple(first.columns)[:1]
        source = engine.scan(first.kind, [file.path for file in inside], stored)
        steps = {file.path: file.step for file in inside if file.step is not None}
        runs = {file.path: text(file.run) for file in inside}
        queries.append(canonical(each, source, engine.by_file(steps), engine.by_file(runs)))
    return " UNION ALL ".join(queries)


def _finished(
    listed: pa.Table,
    answers: pa.Table | None,
    labels: pa.Table | None,
    groups: tuple[str, ...],
    options: SampleOptions,
    about: dict[str, Any],
    notes: list[str],
) -> Sampled:
    """The rows from the results of the queries, with the checks of counts."""
    rows, totals = by_key(listed, groups), by_key(answers, groups)
    if not rows:
        raise InputError("no-samples", "the tables have no samples", "check --only, and the files")
    check_repeated(rows)
    counts = [counts_of(table, totals.get(key)) for key, table in rows.items()]
    empty = [key for key, each in zip(rows, counts, strict=True) if not len(each.n)]
    if empty:
        raise InputError(
            "no-verdicts", f"no sample of {described(empty[0], groups)} has a verdict", "see --missing"
        )
    least = min(each.least for each in counts)
    ks = sizes([each.least for each in counts], options.k)
    leading = leading_labels(by_key(labels, groups))
    made = []
    for (key, table), each in zip(rows.items(), counts, strict=True):
        sums = {
            name: int(np.nansum(table[name])) for name in ("n", "missing", "errors", "truncated", "lengths")
        }
        row = dict(zip(("step", *groups), key, strict=True))
        row |= {"problems": len(each.n), "samples": sums["n"], "n": each.least, "n_most": int(each.n.max())}
        row |= {name: sums[name] for name in ("missing", "errors", "truncated")}
        row["unscored_problems"] = len(table["problem"]) - len(each.n)
        row |= numbers.summary(each, ks, least)
        if "tokens" in about["columns"]:
            row["tokens"] = float(np.nansum(table["tokens"])) / sums["lengths"] if sums["lengths"] else None
        if leading:
            row["leading_label"], row["leading_label_share"] = leading.get(key, (None, None))
        made.append(row)
    empty_columns = {name for name in made[0] if all(row[name] is None for row in made)} - {"step"}
    made = [{name: cell for name, cell in row.items() if name not in empty_columns} for row in made]
    about |= {"rarefied": least, "solved": options.solved}
    return Sampled(
        rows=made, counts=counts, groups=groups, about=about, notes=(*notes, *said(made, about, least))
    )


def by_key(table: pa.Table | None, groups: Sequence[str]) -> dict[Key, dict[str, Any]]:
    """Step and groups → the columns of their rows; the query has ordered them."""
    if table is None or not table.num_rows:
        return {}
    columns = {
        name: np.array(table[name].to_pylist(), dtype=object)
        for name in ("step", *(f"by_{g}" for g in groups))
    }
    keys = list(zip(*columns.values(), strict=True))
    starts = [row for row in range(len(keys)) if not row or keys[row] != keys[row - 1]]
    others = {
        name: table[name].to_pylist() if name in ("problem", "label") else to_numpy(table[name]).astype(float)
        for name in table.column_names
        if name not in columns
    }
    ends = [*starts[1:], len(keys)]
    rows = {
        plain_key(keys[start]): {name: values[start:end] for name, values in others.items()}
        for start, end in zip(starts, ends, strict=True)
    }
    return dict(
        sorted(
            rows.items(),
            key=lambda item: [(cell is not None, str(type(cell)), cell or 0) for cell in item[0]],
        )
    )


def plain_key(key: Key) -> Key:
    """A key whose step is a whole number where it can be."""
    step = key[0]
    return (int(step) if step is not None and float(step).is_integer() else step, *key[1:])


def counts_of(table: Mapping[str, Any], answers: Mapping[str, Any] | None) -> Counts:
    """The counts of a row; problems without a verdict are left out."""
    problem = [str(key) for key in table["problem"]]
    place = {key: row for row, key in enumerate(problem)}
    rows = np.empty((0, 4), dtype=np.int64)
    if answers is not None:
        at = [place[str(key)] for key in answers["problem"]]
        cells = [at, answers["verdict"], answers["given"], answers["alike"]]
        rows = np.column_stack([np.asarray(cell, dtype=np.int64) for cell in cells])
    n, right = (np.asarray(table[name], dtype=np.int64) for name in ("n", "c"))
    counts = Counts(problem=problem, n=n, right=right, answers=rows)
    return counts if n.all() else counts.take(np.flatnonzero(n))


def check_repeated(rows: Mapping[Key, Mapping[str, Any]]) -> None:
    """Refuse a sample that a problem has twice, and ids that several problems share.

    InputErrors ``repeated-samples``, ``shared-ids``, ``no-problem``.
    """
    problems = {
        "repeated": ("repeated-samples", "name a sample again"),
        "ambiguous": ("shared-ids", "have samples with other reference answers"),
        "impossible": ("no-problem", "have no name, or a count below 0"),
    }
    for (key, table), (column, (slug, words)) in product(rows.items(), problems.items()):
        rows_of_it = np.flatnonzero(table[column])
        if len(rows_of_it):
            step = "" if key[0] is None else f" of step {key[0]:g}"
            first = shown(table["problem"][int(rows_of_it[0])])
            message = f"{counted(len(rows_of_it), 'problem')}{step} {words}, such as {first}"
            hint = "runs or tasks may be mixed: --by run divides them by folder, --by COLUMN otherwise"
            raise InputError(slug, message, hint)


def described(key: Key, groups: Sequence[str]) -> str:
    """A row in words."""
    step = "the table" if key[0] is None else f"step {key[0]:g}"
    return ", ".join([step, *(f"{name} {shown(cell)}" for name, cell in zip(groups, key[1:], strict=True))])


def sizes(fewest: Sequence[int], given: Sequence[int]) -> list[int]:
    """The numbers of samples for pass@k, of steps with such ``fewest`` samples of a problem.

    UsageError ``k-too-large`` for one that no step has of every problem.
    """
    least, most = min(fewest), max(fewest)
    if max(given, default=0) > most:
        message = f"--k {max(given)}, and every problem has at most {most} samples at a step"
        raise UsageError("k-too-large", message, "pass@k beyond n would be an extrapolation; see --missing")
    return sorted({1, *given} if given else {*numbers.powers(most), least})


def leading_labels(labels: Mapping[Key, Mapping[str, Any]]) -> dict[Key, tuple[str, float]]:
    """The commonest label of each row, and its share of the samples with a label."""
    return {
        key: (str(table["label"][0]), float(table["samples"][0] / table["samples"].sum()))
        for key, table in labels.items()
    }


def said(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any], least: int) -> Iterator[str]:
    """Data that were left out or are unequal, a sentence each."""
    total = {
        name: sum(row.get(name) or 0 for row in rows)
        for name in ("missing", "errors", "truncated", "samples")
    }
    if total["missing"]:
        parts = f"{counted(total['missing'], 'sample')} without a verdict ({total['errors']} with an error)"
        left_out = "left out; --missing wrong counts them as wrong"
        yield f"{parts}: {'counted as wrong' if about['missing'] == 'wrong' else left_out}"
    if total["truncated"]:
        yield f"{counted(total['truncated'], 'sample')} truncated: those with a verdict keep it"
    if unscored := sum(row.get("unscored_problems") or 0 for row in rows):
        yield f"{counted(unscored, 'problem')} without any verdict, in no mean"
    if uneven := [row for row in rows if row["n"] != row["n_most"]]:
        low, high = min(row["n"] for row in uneven), max(row["n_most"] for row in uneven)
        yield f"problems have {low} to {high} samples: pass@k is given for k up to the fewest"
    if "answer" not in about["columns"]:
        yield "no column has answers: no distinct answers; --answer names one, and maj@k counts right samples"
    elif len({row["n"] for row in rows}) > 1:
        yield f"distinct answers are counted among {least} samples, the fewest of a problem"


def column_lines(tables: Sequence[str], options: SampleOptions) -> Iterator[str]:
    """What would be read of some tables, a line each; what would be refused is one of them."""
    with temporary_folder() as folder:
        files, notes = find(tables, folder)
        columns = aligned([resolve(file, options) for file in files])
        first = columns[0]
        lines = {"format": layouts(columns), "files": f"{len(files)}"}
        for role in ("problem", "right", "answer", "step", "sample", "tokens", "count", "error", "truncated"):
            lines[role] = first.named.get(role, "none") + ", one per sample" * (role in first.lists)
        steps = [file.step for file in files if file.step is not None]
        if "step" not in first.roles and steps:
            lines["step"] = f"by the names of files: {min(steps)} to {max(steps)}"
        lines["a row for each"] = ", ".join(("step", *first.groups))
        used = {name.partition(".")[0] for name in first.named.values()}
        lines["not used"] = listing([name for name in files[0].columns if name not in used])
        with duckdb_backend() as engine:
            samples = opened(engine, files, columns)
            if first.variants:
                (row,) = engine.run(query.variants(samples, [*first.variants])).to_pylist()
                values = (f"{name} {row[name]} ({shown(row[f'{name}_low'])} …)" for name in first.variants)
                lines["filters"] = ", ".join(values)
            verdicts = engine.run(query.verdicts(samples)).to_pylist()
            lines["verdicts"] = ", ".join(f"{shown(row['verdict'])} {row['samples']:,}" for row in verdicts)
            try:
                query.check_verdicts(
                    {row["verdict"]: row["samples"] for row in verdicts}, first.named["right"]
                )
            except InputError as error:
                lines["refused"] = f"{error.message}; {error.hint}"
            else:
                judged = engine.view("judged", query.judged(samples, options.missing)).name
                listed = engine.run(query.problems(judged, tuple(first.groups), first.roles)).to_pydict()
                lines["problems"] = f"{len(set(listed['problem'])):,}"
                lines["samples of each"] = f"{min(listed['n'])} to {max(listed['n'])}"
                lines["without verdict"] = f"{sum(listed['missing']):,}"
    yield from (f"{name:<16}  {value}" for name, value in lines.items())
    yield from (f"note              {note}" for note in notes)
