"""From token tables to summaries: find, check, query, summarise, write; and join the sums of shards."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from entropylaw.errors import InputError, OutputError, UsageError
from entropylaw.escaping import counted, listing, shown
from entropylaw.options import TokenOptions
from entropylaw.paths import check_targets, note_input, shown_path
from entropylaw.results.columns import TokenSummary
from entropylaw.tokens import query, summary
from entropylaw.tokens import sums as token_sums
from entropylaw.tokens.files import METADATA, SUMMARY_SUFFIX, check_alike, check_gaps, copies, find, matching
from entropylaw.tokens.sums import Sums

if TYPE_CHECKING:
    from entropylaw.tokens.backends import Backend, Progress

Part = tuple[str, Sums, dict[str, Any]]
"""A shard: its name, its sums, and the metadata of its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    """A summary, and the tables that it is written as: its rows, and the sums of its histograms."""

    result: TokenSummary
    steps: pa.Table
    histogram: pa.Table


def summarise_tokens(
    tables: Sequence[str],
    options: TokenOptions,
    *,
    output: str | None = None,
    progress: Progress | None = None,
) -> Summarised:
    """Summarise token logs, or join the sums of shards that were summarised separately.

    ``output`` is the file to which the summary will be written, with the histograms next to it: it must not
    be an input. ``progress`` is called with the share of a query that is done.

    Raises
    ------
    InputError
        If a file cannot be read or is not a table of entropies; see the modules of this package. For shards:
        ``file-not-found``, ``shard-twice``, ``shards-differ``, and the errors of :meth:`Sums.read`.
    UsageError
        ``bad-quantile``, ``two-class-rules``, ``sums-are-fixed``, ``grams-need-duckdb``,
        ``master-needs-spark``, ``output-is-input``.
    """
    share, rules = options.top_quantile, (options.planning, options.top_quantile, options.grams)
    for wrong, slug, message, hint in (
        (
            options.master is not None and options.backend != "spark",
            "master-needs-spark",
            f"--master {options.master} names a Spark cluster",
            "add --backend spark",
        ),
        (
            share is not None and not 0 < share < 1,
            "bad-quantile",
            f"--top-quantile {share or 0:g} is not a share, expected a number between 0 and 1",
            "0.2 classes the fifth of each step's tokens with the highest entropy as planning",
        ),
        (
            options.grams is not None and options.backend == "spark",
            "grams-need-duckdb",
            "--grams reads the tokens of each response in order, which --backend spark does not support",
            "mark the tokens in a column of the table, or use --backend duckdb",
        ),
        (
            sum(map(bool, rules)) > 1,
            "two-class-rules",
            "--class, --top-quantile and --grams each define classes, and several were given",
            "give one of them",
        ),
    ):
        if wrong:
            raise UsageError(slug, message, hint)
    stored = [table for table in tables if table.endswith(SUMMARY_SUFFIX)]
    if 0 < len(stored) < len(tables):
        tokens = min({*tables} - {*stored})
        message = f"{shown(stored[0])} holds sums, and {shown(tokens)} tokens"
        raise UsageError("sums-are-fixed", message, "summarise the tokens first, then join the sums")
    return _joined(stored, options, output) if stored else _summarised(tables, options, output, progress)


def _summarised(
    tables: Sequence[str], options: TokenOptions, output: str | None, progress: Progress | None
) -> Summarised:
    from entropylaw.tokens.backends import duckdb_backend, spark_backend

    names = query.names_by_role(options)
    files, notes = find(tables, names=names)
    notes += check_gaps(files, allow_missing=options.allow_missing)
    grams = [] if options.grams in (None, "default") else [Path(options.grams or "")]
    _check_inputs([*(file.path for file in files), *grams], output)
    columns, column_notes = query.resolve(files, options)
    check_alike(files, columns.stored)
    read = [{"name": file.name, "bytes": file.size, "rows": file.rows} for file in files]
    about: dict[str, Any] = {"read": _read(read), "columns": columns.named()}
    if columns.planning is not None:
        about["class"] = {"rule": f"column '{columns.planning}'", "column": columns.planning}
    spark = spark_backend(options.master, console=progress is not None)
    with spark if options.backend == "spark" else duckdb_backend(progress) as engine:
        table = engine.table(files, columns)
        notes += column_notes
        if columns.lists:
            (counts,) = engine.run(query.inspected(table, columns)).to_pylist()
            notes += summary.check_lists(counts, columns)
            table = engine.unrolled(table, columns)
        if options.grams is None:
            return _finished(_queried(engine, table, columns), options, about, notes)
        sums, about["class"], others = _by_grams(engine, table, columns, options.grams)
    return _finished(sums, options, about, notes, others)


def _read(files: list[dict[str, Any]]) -> dict[str, Any]:
    return {"files": files, "bytes": sum(file["bytes"] for file in files)}


def _check_inputs(files: Sequence[Path], output: str | None) -> None:
    """Note the input files, and refuse an output that would replace one of them."""
    for file in files:
        note_input(file)
    check_targets(() if output is None else (histogram_path(output), output))


def _queried(engine: Backend, table: query.Table, columns: query.TokenColumns) -> Sums:
    """The sums by the queries, with the checks between them."""
    sums = Sums.from_table(engine.run(query.cells(table, columns)))
    unknown: list[str] = []
    if (sums.cells["planning"] == query.UNKNOWN_CLASS).any():
        unknown = engine.run(query.unknown_classes(table, columns))["value"].to_pylist()
    summary.check(sums, columns, unknown)
    if summary.count_high(sums):
        summary.check_padding(engine.run(query.high(table, columns)).to_pylist(), sums, columns)
    if not columns.response:
        return sums
    # Responses one by one, or only their sums by step if there are too many.
    rows = engine.run(f"{query.each_response(table, columns)} LIMIT {token_sums.MOST + 1}")
    if rows.num_rows <= token_sums.MOST:
        return sums.with_responses(token_sums.responses_of(rows, columns), prompts=columns.prompt is not None)
    del rows
    by_step: dict[str, Any] = {}
    for role, keys in (("responses", columns.response), ("prompts", (columns.prompt or "",))):
        if any(keys):
            result = engine.run(query.responses(table, replace(columns, response=keys)))
            by_step[role] = token_sums.sums_by_step(result)
    return replace(sums, **by_step)


def _by_grams(
    engine: Backend, table: query.Table, columns: query.TokenColumns, given: str
) -> tuple[Sums, dict[str, Any], Sequence[tuple[pa.Table, str]]]:
    """Sums with the tokens in strategic n-grams as planning, the rule, and tables with further columns."""
    from entropylaw.tokens.backends import DuckDB, temporary_folder
    from entropylaw.tokens.grams import PLANNING, PLANNING_LONG, default_grams, mark, read_grams

    assert isinstance(engine, DuckDB)
    summary.check_text(columns)
    grams = default_grams() if given == "default" else read_grams(given)
    with temporary_folder() as folder:
        target, ordered = folder / "marked.parquet", folder / "ordered.parquet"
        all_tokens = _queried(engine, table, replace(columns, response=(), prompt=None))
        engine.write(query.in_order(table, columns), ordered)
        scan = mark(ordered, columns, grams, target)
        ordered.unlink()
        marked = engine.parquet(target)
        columns = replace(columns, position=None, token=None)
        sums = _queried(engine, marked, replace(columns, planning=PLANNING))
        long = _queried(engine, marked, replace(columns, planning=PLANNING_LONG, response=(), prompt=None))
    name = "our own default list" if given == "default" else repr(Path(given).name)
    rule = {"rule": f"{len(grams)} n-grams of {name}", "grams": len(grams), "sha256": grams.fingerprint}
    by_long = ("step", "planning_share", "tokens_planning", "entropy_planning", "entropy_execution")
    others = [(summary.summarise(long).select(by_long), "_long"), (scan.result(), "")]
    return sums.with_masked(all_tokens), rule, [*others, (scan.result(long_only=True), "_long")]


def _finished(
    sums: Sums,
    options: TokenOptions,
    about: dict[str, Any],
    notes: Sequence[str],
    others: Sequence[tuple[pa.Table, str]] = (),
) -> Summarised:
    """Apply the rule for classes and summarise; ``others`` are tables with further columns, and suffixes."""
    cuts, rule = None, about.get("class", {"rule": "none"})
    if options.top_quantile is not None:
        sums, cuts = sums.by_quantile(options.top_quantile)
        share = f"{100 * options.top_quantile:g} %"
        rule = {"rule": f"top quantile, {share}", "share": options.top_quantile}
        choice = f"planning = the {share} of each step's tokens with the highest entropy: a choice, "
        notes = [*notes, f"{choice}not a finding; cut at the nearest edge of a bin (class_cut)"]
    elif rule["rule"] == "none":
        notes = [*notes, "no class column; --class, --top-quantile or --grams defines classes"]
    about = {**about, "class": rule, "sums": sums.identity()}
    steps = summary.summarise(sums, cuts)
    for other, suffix in others:
        import pyarrow.compute as pc

        # Null for a step that the other table does not have.
        at = pc.index_in(steps["step"], value_set=other["step"])
        for name in other.column_names[1:]:
            steps = steps.append_column(f"{name}{suffix}", other[name].take(at))
    metadata = json.dumps({"format": "entropylaw steps 1", **about}, sort_keys=True)
    notes = (*notes, *summary.notes(sums), *summary.unit_changes(sums), *summary.logprob_mismatch(sums))
    columns = {name: tuple(column) for name, column in steps.to_pydict().items()}
    steps = steps.replace_schema_metadata({METADATA: metadata.encode()})
    result = TokenSummary(columns=columns, about=about, notes=notes)
    return Summarised(result=result, steps=steps, histogram=sums.to_arrow(about))


def _joined(paths: Sequence[str], options: TokenOptions, output: str | None) -> Summarised:
    """The sums of several shards as one, equal to those of all their tokens read at once."""
    if any(getattr(options, role) for role in (*query.NAMES, "response", "grams")):
        message = "sums have no columns and no text, and options that name some were given"
        raise UsageError("sums-are-fixed", message, "summarise the tokens themselves with these options")
    parts = _shards(paths, output)
    names, shards, metadata = zip(*parts, strict=True)
    sums, first = Sums.merged(shards), metadata[0]
    summary.check(sums, query.TokenColumns(step="step", entropy="entropy"))
    read = [
        (name, file) for name, facts in zip(names, metadata, strict=True) for file in facts["read"]["files"]
    ]
    files = sorted((file for _, file in read), key=lambda file: str(file["name"]))
    about = {"read": _read(files), "columns": first["columns"]}
    notes: list[str] = []
    seen: dict[tuple[str, int, int | None], str] = {}
    for name, file in read:
        earlier = seen.setdefault((file["name"], file["bytes"], file["rows"]), name)
        if earlier != name:
            notes.append(
                f"{shown(name)} and {shown(earlier)} were both made from a file {shown(file['name'])} "
                f"of {file['bytes']:,} bytes: if it is one file, its tokens count twice"
            )
    notes += _split_responses(parts, sums)
    if "grams" in first["class"]:
        notes.append(
            "the sums do not hold n-grams: grams, entropy_semantic and entropy_conditional, and all columns "
            "without 1-2-word grams (_long) are left out; summarise all tokens at once for them"
        )
    if options.top_quantile is None:
        options = replace(options, top_quantile=first["class"].get("share"))
        about["class"] = first["class"]
    return _finished(sums, options, about, notes)


def _shards(paths: Sequence[str], output: str | None) -> list[Part]:
    """The sums of each file; refuses copies, and shards that were made with different options."""
    files: list[Path] = []
    for path in map(Path, paths):
        files += [path] if path.exists() else matching(str(path)) or [path]
    for file in files:
        if not file.is_file():
            raise InputError("file-not-found", f"{shown(str(file))} does not exist", "check the path")
    _check_inputs(files, output)
    for later, earlier in copies(list(zip(map(str, files), files, strict=True))):
        message = f"{shown(later)} holds the same sums as {shown(earlier)}: its tokens would count twice"
        raise InputError("shard-twice", message, "give each shard once")
    parts = [(file.name, *Sums.read(file)) for file in files]
    name, _, first = parts[0]
    for (other, _, metadata), key in product(parts[1:], ("class", "columns")):
        if metadata[key] != first[key]:
            there, here = json.dumps(metadata[key], sort_keys=True), json.dumps(first[key], sort_keys=True)
            message = f"{shown(other)} was made with {key} {there}, {shown(name)} with {here}"
            raise InputError("shards-differ", message, "summarise all shards with the same options")
    return parts


def _split_responses(parts: Sequence[Part], sums: Sums) -> list[str]:
    """Notes on responses that have tokens in several shards."""
    if sums.responses is None:
        missing = [name for name, part, _ in parts if part.responses is None]
        return [f"no responses: {listing(missing)} has none"] if len(missing) < len(parts) else []
    unknown = sum(step is None for step in sums.responses.values())
    if unknown and len(parts) > 1:
        return [
            f"{counted(unknown, 'step')} in several shards whose responses are not kept one by one (too "
            "many, or an earlier version's): responses, response_length, entropy_response_mean and the "
            "errors between responses are unknown there; summarise all tokens at once for them"
        ]
    split = sum(part.number for _, part, _ in parts) - sums.number
    note = f"{split:,} times a response has tokens in another shard, too: it counts as one response"
    return [note] if split else []


def table_format(path: str | None) -> str | None:
    """``parquet``, ``csv``, ``json`` by the suffix, None for no file; or UsageError ``unknown-suffix``."""
    if path is None or path == "-":
        return None
    suffix, known = Path(path).suffix.lower(), (".parquet", ".csv", ".json")
    if suffix not in known or path.lower().endswith(SUMMARY_SUFFIX):
        message = f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(known)}"
        hint = "the suffix decides the format; .hist.parquet is for the histograms"
        raise UsageError("unknown-suffix", message, hint)
    return suffix.removeprefix(".")


def histogram_path(path: str) -> str:
    """The file for the histograms of the summary at ``path``."""
    return str(Path(path).with_suffix(SUMMARY_SUFFIX))


def as_parquet(table: pa.Table) -> bytes:
    """A table as Parquet: the same bytes for the same table."""
    # A dictionary of values that hardly repeat takes time and space.
    repeated = [name for name in table.column_names if name in ("step", "class", "low", "high", "bin")]
    pq.write_table(table, buffer := io.BytesIO(), compression="zstd", use_dictionary=repeated)
    return buffer.getvalue()


def write_together(files: Mapping[str, bytes]) -> None:
    """Write several files of one folder: all are replaced, or none.

    If one cannot be replaced (OutputError ``cannot-write``), the files that were there are put back.
    """
    from entropylaw.documents.codec import TEMPORARY, write_atomically

    check_targets(files)
    target = Path(next(iter(files)))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            place = TemporaryDirectory(dir=target.parent, prefix=TEMPORARY, ignore_cleanup_errors=True)
            staged = Path(stack.enter_context(place))
            for target, data in zip(map(Path, files), files.values(), strict=True):
                if target.is_dir():
                    raise OSError("it is a folder")
                write_atomically(staged / target.name, data)
            undo = stack.enter_context(ExitStack())
            for target in map(Path, files):
                if target.exists():
                    undo.callback(Path(shutil.copy2(target, staged / f"{target.name}.old")).replace, target)
                else:
                    undo.callback(target.unlink, missing_ok=True)
                (staged / target.name).replace(target)
            undo.pop_all()
    except (OSError, OutputError) as error:
        cause = error.__cause__ or error
        reason = getattr(cause, "strerror", None) or cause
        message = f"{shown_path(str(target))} could not be written ({reason}); the files are unchanged"
        hint = "check the folder's permissions and the space left, or choose another place with -o"
        raise OutputError("cannot-write", message, hint) from error
