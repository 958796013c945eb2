"""From tables of samples to one row per step: find, check, query, summarise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from entropylaw.arrow import to_numpy
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, listing, shown
from entropylaw.paths import note_input
from entropylaw.samples import numbers, query
from entropylaw.samples.columns import OCCURRENCE, SampleColumns, aligned, canonical, resolve, text
from entropylaw.samples.files import SampleFile, find, renamed_types
from entropylaw.samples.numbers import Counts
from entropylaw.samples.options import SampleOptions
from entropylaw.tokens.on_duckdb import DuckDB, Progress, duckdb_backend, temporary_folder

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
    with temporary_folder() as folder:
        files, notes = find(tables, folder)
        files = renamed_types(files)
        for table in tables:
            note_input(table)
        columns = aligned([resolve(file, options) for file in files])
        with duckdb_backend(progress) as engine:
            ordered = [each for each in columns if not each.roles["problem"] or OCCURRENCE in each.variants]
            if ordered:
                engine.keep_order()
                check_lengths(engine, files, columns)
            engine.view("samples", union(files, columns))
            groups, variants = tuple(columns[0].groups), tuple(columns[0].variants)
            named = columns[0].named["right"]
            found = engine.run(query.verdicts("samples")).to_pylist()
            query.check_verdicts({row["verdict"]: row["samples"] for row in found}, named)
            if variants:
                (row,) = engine.run(query.variants("samples", variants)).to_pylist()
                query.check_variants(row, variants)
            engine.view("judged", query.judged("samples", options.missing))
            roles = columns[0].roles
            listed = engine.run(
                query.problems("judged", groups, sampled="sample" in roles, counted="count" in roles)
            )
            answers = engine.run(query.answers("judged", groups)) if "answer" in roles else None
            labels = engine.run(query.labels("judged", groups)) if "label" in roles else None
    about = {
        "read": [{"name": file.name, "bytes": file.size} for file in files],
        "format": ", ".join(sorted({each.layout or "table" for each in columns})),
        "columns": {role: name for role, name in columns[0].named.items() if role in roles},
        "missing": options.missing,
    }
    if columns[0].hashed:
        notes.append(f"problems are told apart by the text of {shown(about['columns']['problem'])} without its chat template")
    if not roles["problem"]:
        notes.append("no column identifies problems: the position of a row does, since all files have as many rows")
    return _finished(listed, answers, labels, groups, options, about, notes)


def check_options(options: SampleOptions) -> None:
    """Refuse options that contradict each other."""
    if options.right is not None and options.right_when is not None:
        message = "--right and --right-when both say what is right"
        raise UsageError("two-verdicts", message, "give one of them: --right-when names its own column")
    if not 0 <= options.solved < 1:
        message = f"--solved {options.solved:g} is not a probability from 0 to below 1"
        raise UsageError("bad-solved", message, "0.01: a problem is solved where p > 0.01")


def check_lengths(engine: DuckDB, files: Sequence[SampleFile], columns: Sequence[SampleColumns]) -> None:
    """Refuse files of different lengths whose rows only their position tells apart: ``no-problem-column``."""
    alone = [(file, each) for file, each in zip(files, columns, strict=True) if not each.roles["problem"]]
    sizes = {}
    for file, each in alone:
        (row,) = engine.run(f"SELECT COUNT(*) AS rows FROM {scan([file], each.stored)}").to_pylist()
        sizes[file.name] = row["rows"]
    if len(set(sizes.values())) > 1:
        (short, low), (long, high) = (pick(sizes.items(), key=lambda item: item[1]) for pick in (min, max))
        message = f"no column identifies problems, and {shown(short)} has {low} rows, {shown(long)} {high}"
        raise InputError("no-problem-column", message, "name the column of problems with --problem")


def union(files: Sequence[SampleFile], columns: Sequence[SampleColumns]) -> str:
    """The query of all files' samples; those alike are read together.

    InputError ``no-problem-column`` where rows are counted and files differ in length.
    """
    alone = [not each.roles["problem"] for each in columns]
    queries = []
    numbered = zip(files, columns, alone, strict=True)

    def alike(entry: tuple[SampleFile, SampleColumns, bool]) -> Any:
        file, each, by_row = entry
        step = None if "step" in each.roles else file.step
        return file.kind, repr(each), step, file.path if by_row or each.layout.startswith("lm-") else None

    for (_, _, step, _), members in groupby(sorted(numbered, key=lambda entry: repr(alike(entry))), alike):
        together = list(members)
        stored = dict.fromkeys(name for _, each, _ in together for name in each.stored)
        source = scan([file for file, _, _ in together], [*stored])
        queries.append(canonical(*together[0][:2], source, f"CAST({'NULL' if step is None else step} AS DOUBLE)"))
    return " UNION ALL ".join(queries)


def scan(files: Sequence[SampleFile], stored: Sequence[str]) -> str:
    """Files of one kind in DuckDB's SQL, with the columns that are read."""
    paths = f"[{', '.join(text(str(file.path)) for file in files)}]"
    if files[0].kind == "parquet":
        return f"read_parquet({paths}, union_by_name = true)"
    if files[0].kind == "csv":
        return f"read_csv({paths}, all_varchar = true, header = true, union_by_name = true)"
    named = ", ".join(f"{text(name)}: 'JSON'" for name in stored)
    return f"read_json({paths}, columns = {{{named}}}, format = 'newline_delimited', maximum_object_size = 67108864)"


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
        raise InputError("no-verdicts", f"no sample of {described(empty[0], groups)} has a verdict", "see --missing")
    least = min(each.least for each in counts)
    ks = sizes([each.least for each in counts], options.k)
    leading = leading_labels(by_key(labels, groups))
    made = []
    for (key, table), each in zip(rows.items(), counts, strict=True):
        sums = {name: int(np.nansum(table[name])) for name in ("n", "missing", "errors", "truncated", "lengths")}
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
    return Sampled(rows=made, counts=counts, groups=groups, about=about, notes=(*notes, *said(made, about, least)))


def by_key(table: pa.Table | None, groups: Sequence[str]) -> dict[Key, dict[str, Any]]:
    """Step and groups → the columns of their rows; the query has ordered them."""
    if table is None or not table.num_rows:
        return {}
    columns = {name: np.array(table[name].to_pylist(), dtype=object) for name in ("step", *(f"by_{g}" for g in groups))}
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
    return dict(sorted(rows.items(), key=lambda item: [(cell is not None, str(type(cell)), cell or 0) for cell in item[0]]))


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
    """Refuse a sample that a problem has twice: InputError ``repeated-samples``."""
    for key, table in rows.items():
        again = np.flatnonzero(table["repeated"])
        if len(again):
            first = table["problem"][int(again[0])]
            message = f"{counted(len(again), 'problem')} of step {key[0]} name a sample again, the first {shown(first)}"
            hint = "runs or groups are mixed: --by run divides them by folder, --by COLUMN otherwise"
            raise InputError("repeated-samples", message, hint)


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
        message = f"--k {max(given)}, and no step has so many samples of every problem: at most {most}"
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
    total = {name: sum(row.get(name) or 0 for row in rows) for name in ("missing", "errors", "truncated", "samples")}
    if total["missing"]:
        parts = f"{counted(total['missing'], 'sample')} without a verdict ({total['errors']} with an error)"
        yield f"{parts}: {'counted as wrong' if about['missing'] == 'wrong' else 'left out, which --missing wrong changes'}"
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
    """What would be read of some tables, a line each, without refusing anything that can be shown."""
    with temporary_folder() as folder:
        files, notes = find(tables, folder)
        files = renamed_types(files)
        columns = aligned([resolve(file, options) for file in files])
        first = columns[0]
        yield f"format            {', '.join(sorted({each.layout or 'table' for each in columns}))}"
        yield f"files             {len(files)}"
        for role in ("problem", "right", "answer", "step", "sample", "tokens", "count", "error", "truncated", "label"):
            column = first.named.get(role)
            shown_name = "none" if column is None else f"{column}, one per sample" * (role in first.lists) or column
            yield f"{role:<18}{shown_name}"
        steps = [file.step for file in files if file.step is not None]
        if "step" not in first.roles and steps:
            yield f"step              by the names of files: {min(steps)} … {max(steps)}"
        for name in first.groups:
            yield f"a row for each    {name}"
        used = {name.split(".")[0] for name in first.named.values()}
        others = [name for name in files[0].columns if name not in used]
        yield f"not used          {listing(others)}"
        with duckdb_backend() as engine:
            engine.keep_order()
            engine.view("samples", union(files, columns))
            if first.variants:
                (row,) = engine.run(query.variants("samples", [*first.variants])).to_pylist()
                for name in first.variants:
                    yield f"filter            {name}: {row[name]} values, {shown(row[f'{name}_low'])} …"
            found = engine.run(query.verdicts("samples")).to_pylist()
            verdicts = ", ".join(f"{shown(row['verdict'])} {row['samples']:,}" for row in found)
            yield f"verdicts          {verdicts}"
            try:
                query.check_verdicts({row["verdict"]: row["samples"] for row in found}, first.named["right"])
            except InputError as error:
                yield f"refused           {error.message}; {error.hint}"
                return
            engine.view("judged", query.judged("samples", options.missing))
            listed = engine.run(
                query.problems("judged", [*first.groups], sampled="sample" in first.roles, counted="count" in first.roles)
            ).to_pydict()
        yield f"problems          {len(set(listed['problem'])):,}"
        yield f"samples of each   {min(listed['n'])} to {max(listed['n'])}"
        yield f"without verdict   {sum(listed['missing']):,}"
        if any(listed["repeated"]):
            yield f"refused           {sum(map(bool, listed['repeated']))} problems name a sample again"
        yield from (f"note              {note}" for note in notes)
