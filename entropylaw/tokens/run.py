"""Makes the summary of token tables: finds the files, checks them, runs the queries, adds up, writes."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from entropylaw.arrow import METADATA
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.paths import check_targets, note_input
from entropylaw.tokens import query, summary
from entropylaw.tokens.columns import json_types, named_keys, resolve
from entropylaw.tokens.files import TableFile, find
from entropylaw.tokens.gather import Unread
from entropylaw.tokens.on_duckdb import MEMORY, DuckDB, Progress, duckdb_backend, temporary_folder
from entropylaw.tokens.options import TokenOptions
from entropylaw.tokens.sums import ByStep, Responses, Sums, covariances_by_step

if TYPE_CHECKING:
    from entropylaw.tokens.on_spark import Spark

    Backend = DuckDB | Spark
    """An engine that opens tables of tokens or samples, and runs queries on them."""

_MASTER = re.compile(r"local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+")
"""Addresses of Spark clusters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    """A summary of token logs.

    Attributes
    ----------
    steps
        A row per step, see :func:`entropylaw.tokens.summary.summarise`.
    about
        Files, their columns, and the definition of classes: JSON values.
    notes
        Data left out and assumptions, a sentence each.
    """

    steps: pa.Table
    about: dict[str, Any]
    notes: tuple[str, ...]


def summarise_tokens(
    tables: Sequence[str],
    options: TokenOptions,
    *,
    output: str | None = None,
    progress: Progress | None = None,
) -> Summarised:
    """Summarise token logs.

    ``output`` is the file to which the summary will be written: it must not be an input. ``progress`` is
    called with the share of a query that is done.

    Raises
    ------
    InputError
        If a file cannot be read or is not a table of entropies; see the modules of this package.
    UsageError
        ``bad-quantile``, ``two-class-rules``, ``grams-need-duckdb``, ``master-needs-spark``,
        ``output-is-input``.
    """
    _check_options(options)
    if options.grams is not None and options.grams != "default":
        note_input(options.grams)
    with temporary_folder() as folder:
        files, gathered = find(tables, folder, named_keys(options))
        for file in files:
            note_input(file.source)
        check_targets(() if output is None else (output,))
        columns, notes = resolve(files, options)
        notes = [*gathered.notes, *notes]
        about = _about_files(files, gathered.unread, columns)
        with backend(options.backend, options.master, progress) as engine:
            table = tokens_of(engine, files, columns)
            if columns.lists:
                (counts,) = engine.run(query.inspected(table, columns)).to_pylist()
                notes += summary.notes_on_lists(counts, columns)
                table = engine.unrolled(table, columns)
            if options.grams is None:
                return _finished(_queried(engine, table, columns), options, about, notes)
            sums, rule, plans = _by_grams(engine, table, columns, options.grams)
        about["class"] = rule
        return _finished(sums, options, about, notes, plans)


def _about_files(
    files: Sequence[TableFile], unread: Sequence[Unread], columns: query.TokenColumns
) -> dict[str, object]:
    """What was read and what was not, the columns and the class of tokens, as a summary has them."""
    read: dict[str, object] = {
        "files": [{"name": file.name, "bytes": file.size, "rows": file.rows} for file in files],
        "bytes": sum(file.size for file in files),
    }
    if unread:
        read["unread"] = [asdict(file) for file in unread]
    about: dict[str, object] = {"read": read, "columns": columns.named()}
    if columns.planning is not None:
        about["class"] = {"rule": f"column '{columns.planning}'", "column": columns.planning}
    return about


def backend(
    name: str, master: str | None, progress: Progress | None, memory: str = MEMORY
) -> AbstractContextManager[Backend]:
    """The engine ``duckdb`` or ``spark``.

    UsageErrors are ``master-needs-spark``, ``spark-not-installed``, ``spark-failed``.
    """
    if name != "spark":
        if master is not None:
            raise UsageError(
                "master-needs-spark",
                f"--master {shown(master)} names a Spark cluster",
                "add --backend spark",
            )
        return duckdb_backend(progress, memory)
    if master is not None and not _MASTER.fullmatch(master):
        raise UsageError(
            "spark-failed",
            f"--master {shown(master)} is not a Spark master",
            "spark://HOST:7077, yarn, k8s://HOST, local or local[4]",
        )
    try:
        # ibis and pyspark warn about the newest pandas, which nothing here uses.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from entropylaw.tokens.on_spark import spark_backend
    except ImportError as error:
        raise UsageError(
            "spark-not-installed",
            f"--backend spark needs pyspark, which cannot be imported ({error})",
            "pip install 'entropylaw[spark]', and Java 17 or later",
        ) from None
    return spark_backend(master, console=progress is not None)


def _check_options(options: TokenOptions) -> None:
    """Raise UsageError for options that contradict each other, and a share that is none."""
    share = options.top_quantile
    if share is not None and not 0 < share < 1:
        raise UsageError(
            "bad-quantile",
            f"--top-quantile {share:g} is not a share, expected a number between 0 and 1",
            "0.2 is the fifth of each step's tokens with the highest entropy",
        )
    if options.grams is not None and options.backend == "spark":
        raise UsageError(
            "grams-need-duckdb",
            "--grams reads tokens in order, which --backend spark does not support",
            "mark the tokens in a column of the table, or use --backend duckdb",
        )
    if sum(map(bool, (options.planning, share, options.grams))) > 1:
        raise UsageError(
            "two-class-rules",
            "--class, --top-quantile and --grams each define classes, and several were given",
            "give one of them",
        )


def tokens_of(engine: Backend, files: Sequence[TableFile], columns: query.TokenColumns) -> query.Table:
    """The files as one table, with the values of their folders, and a number for each row if that is used."""
    source = engine.scan(files, json_types(files, columns))
    parts = ["*"]
    if query.ROW in columns.response:
        parts.append(f"uuid() AS {query.ROW}")
    for key in columns.keys:
        values = {file.path: query.text(file.keys[key]) for file in files}
        parts.append(f"{engine.by_file(values)} AS {query.quoted(key)}")
    return engine.view("tokens", f"SELECT {', '.join(parts)} FROM {source}")


def _queried(engine: Backend, table: query.Table, columns: query.TokenColumns) -> Sums:
    """The sums by the queries, with the checks between them."""
    sums = Sums.from_table(engine.run(query.cells(table, columns)))
    unknown: list[str] = []
    if (sums.cells["planning"] == query.UNKNOWN_CLASS).any():
        unknown = engine.run(query.unknown_classes(table, columns))["value"].to_pylist()
    summary.check_values(sums, columns, unknown)
    if summary.count_high(sums):
        summary.check_padding(engine.run(query.high(table, columns)).to_pylist(), sums, columns)
    if columns.logprob is not None and columns.advantage is not None:
        sums = replace(sums, covariances=covariances_by_step(engine.run(query.covariances(table, columns))))
    if not columns.response:
        return sums
    sums = replace(sums, responses=_responses_by_step(engine, table, columns))
    if columns.prompt:
        # All responses to one prompt form one cluster.
        sums = replace(
            sums, prompts=_responses_by_step(engine, table, replace(columns, response=(columns.prompt,)))
        )
    return sums


def _responses_by_step(engine: Backend, table: query.Table, columns: query.TokenColumns) -> ByStep:
    """The sums over the responses of each step, as the columns identify these."""
    names = ("responses", "mean_total", "n", "t", "tt", "tn", "nn")
    rows = engine.run(query.responses(table, columns)).to_pylist()
    return {int(row["step"]): Responses(*(int(row[name]) for name in names)) for row in rows}


def _by_grams(
    engine: Backend, table: query.Table, columns: query.TokenColumns, listed: str
) -> tuple[Sums, dict[str, str | int], pa.Table]:
    """Sums with the tokens in strategic n-grams as planning, the rule, and the semantic entropy by step."""
    from entropylaw.tokens.grams import PLANNING, mark, read_grams

    assert isinstance(engine, DuckDB)
    missing = [role for role in ("token", "response", "position") if not getattr(columns, role)]
    if missing:
        raise InputError(
            "grams-need-text",
            "grams are matched in text, and there is no column of " + ", ".join(missing),
            f"name it with --{', --'.join(missing)}; token ids are not text: decode them first",
        )
    grams = read_grams(listed)
    with temporary_folder() as folder:
        target = folder / "marked.parquet"
        ordered = folder / "ordered.parquet"
        all_tokens = _queried(engine, table, replace(columns, response=(), prompt=None))
        engine.write(query.in_order(table, columns), ordered)
        scan = mark(ordered, columns, grams, target)
        ordered.unlink()
        marked = engine.view("stored", f"SELECT * FROM read_parquet({query.text(str(target))})")
        columns = replace(columns, position=None, token=None)
        sums = _queried(engine, marked, replace(columns, planning=PLANNING))
    name = "our own default list" if listed == "default" else repr(Path(listed).name)
    rule: dict[str, str | int] = {
        "rule": f"{len(grams.grams)} n-grams of {name}",
        "grams": len(grams.grams),
        "sha256": grams.fingerprint,
    }
    sums = sums.with_masked(all_tokens)
    return sums, rule, scan.result(sums.steps)


def _finished(
    sums: Sums,
    options: TokenOptions,
    about: Mapping[str, Any],
    notes: Sequence[str],
    plans: pa.Table | None = None,
) -> Summarised:
    """The summary of the sums, by the rule of ``options`` for classes, with notes on both.

    ``plans`` has further columns by step.
    """
    # By step, the entropy from which a token is of planning.
    cuts = None
    rule = about.get("class", {"rule": "none"})
    if options.top_quantile is not None:
        sums, cuts = sums.by_quantile(options.top_quantile)
        share = f"{100 * options.top_quantile:g} %"
        rule = {"rule": f"top quantile, {share}", "share": options.top_quantile}
        notes = [
            *notes,
            f"planning = the {share} of each step's tokens with the highest entropy, a convention; cut "
            f"at the nearest edge of a bin (class_cut)",
        ]
    elif rule["rule"] == "none":
        notes = [*notes, "no class column; --class, --top-quantile or --grams defines classes"]
    about = {**about, "class": rule}
    steps = summary.summarise(sums, cuts)
    if plans is not None:
        for name in plans.column_names[1:]:
            steps = steps.append_column(name, plans[name])
    notes = (*notes, *summary.notes(sums), *summary.logprob_mismatch(sums))
    steps = with_metadata(steps, {"format": "entropylaw steps 1", **about})
    return Summarised(steps=steps, about=about, notes=notes)


def with_metadata(table: pa.Table, about: Mapping[str, Any]) -> pa.Table:
    """A table with what is said about it, as JSON values."""
    return table.replace_schema_metadata({METADATA: json.dumps(about, sort_keys=True).encode()})


def as_parquet(table: pa.Table) -> bytes:
    """A table as Parquet: the same bytes for the same table."""
    buffer = io.BytesIO()
    # A dictionary of values that hardly repeat takes time and space.
    pq.write_table(table, buffer, compression="zstd", use_dictionary=["step"])
    return buffer.getvalue()
