"""From token tables to summaries: find, check, query, summarise, write; and the sums of shards as one."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from entropylaw.errors import InputError, OutputError, UsageError
from entropylaw.ingest.wording import counted, listing, shown, shown_path
from entropylaw.inputs import check_targets, note_input
from entropylaw.options import TokenOptions
from entropylaw.results.tokens import TokenSummary
from entropylaw.tokens import checks, query, responses
from entropylaw.tokens.files import METADATA, SUMMARY_SUFFIX, check_alike, find, matching
from entropylaw.tokens.roles import NAMES, looked_for, resolve
from entropylaw.tokens.shards import copies
from entropylaw.tokens.summary import summarise
from entropylaw.tokens.sums import Sums

if TYPE_CHECKING:
    from entropylaw.tokens.backends import Backend, Progress

Part = tuple[str, Sums, dict[str, Any]]
"""A shard: its name, its sums, what stands beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    """A summary, and the tables that it is written as: its rows, and the sums behind it."""

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
    """Summarise token logs, or join the sums of shards that were summarised apart.

    ``output`` is the file that the summary will be written to, with the histograms beside it: it must be none
    of those that are read. ``progress`` is called with how much of a query is done.

    Raises
    ------
    InputError
        For what cannot be read or is no table of entropies; see the modules of this package. Of shards:
        ``file-not-found``, ``shard-twice``, ``shards-differ``, and what is wrong with a file of sums.
    UsageError
        ``bad-quantile``, ``two-class-rules``, ``sums-are-fixed``, ``grams-need-duckdb``,
        ``master-needs-spark``, ``output-is-input``.
    """
    share = options.top_quantile
    if options.master is not None and options.backend != "spark":
        message = f"--master {options.master} names a Spark cluster"
        raise UsageError("master-needs-spark", message, "add --backend spark")
    if share is not None and not 0 < share < 1:
        message = f"--top-quantile {share:g} is no share, expected a number between 0 and 1"
        hint = "0.2 calls the fifth of each step's tokens with most entropy planning"
        raise UsageError("bad-quantile", message, hint)
    if sum(rule not in (None, "") for rule in (options.planning, share, options.grams)) > 1:
        message = "--class, --top-quantile and --grams each make classes, and several were given"
        raise UsageError("two-class-rules", message, "give one of them")
    stored = [table for table in tables if table.endswith(SUMMARY_SUFFIX)]
    if stored and len(stored) < len(tables):
        tokens = next(table for table in tables if table not in stored)
        message = f"{shown(stored[0])} holds sums, and {shown(tokens)} tokens"
        raise UsageError("sums-are-fixed", message, "summarise the tokens first, then join the sums")
    return _joined(stored, options, output) if stored else _summarised(tables, options, output, progress)


def _summarised(
    tables: Sequence[str], options: TokenOptions, output: str | None, progress: Progress | None
) -> Summarised:
    from entropylaw.tokens.backends import duckdb_backend, spark_backend

    # Before it is started, which takes Spark a while.
    if options.grams is not None and options.backend == "spark":
        message = "--grams reads the tokens of each response in their order, which --backend spark does not"
        hint = "mark the tokens in a column of the table, or use --backend duckdb"
        raise UsageError("grams-need-duckdb", message, hint)
    files, notes = find(tables, allow_missing=options.allow_missing, looked_for=looked_for(options))
    lists = [] if options.grams in (None, "default") else [Path(options.grams or "")]
    _check_apart(output, [*(file.path for file in files), *lists])
    columns, more = resolve(files, options)
    check_alike(files, columns.stored)
    read = [{"name": file.name, "bytes": file.size, "rows": file.rows} for file in files]
    about: dict[str, Any] = {"read": _read(read), "columns": columns.named()}
    if columns.planning is not None:
        about["class"] = {"rule": f"column '{columns.planning}'", "column": columns.planning}
    spark = spark_backend(options.master, console=progress is not None)
    with spark if options.backend == "spark" else duckdb_backend(progress) as engine:
        table = engine.table(files, columns)
        notes += more
        if columns.lists:
            (found,) = engine.run(query.inspected(table, columns)).to_pylist()
            notes += checks.check_lists(found, columns)
            table = query.unrolled(table, columns)
        if options.grams is None:
            return _finished(_queried(engine, table, columns), options, about, notes)
        sums, about["class"], others = _by_grams(engine, table, columns, options.grams)
    return _finished(sums, options, about, notes, others)


def _read(files: list[dict[str, Any]]) -> dict[str, Any]:
    return {"files": files, "bytes": sum(file["bytes"] for file in files)}


def _check_apart(output: str | None, files: Sequence[Path]) -> None:
    """Note the files that are read, and refuse an output that would be written over one of them."""
    for file in files:
        note_input(file)
    check_targets(() if output is None else (beside(output), output))


def _queried(engine: Backend, table: Any, columns: query.TokenColumns) -> Sums:
    """The queries, and the checks between them."""
    sums = Sums.from_table(engine.run(query.cells(table, columns)))
    strange = (sums.cells["planning"] == query.UNKNOWN_CLASS).any()
    unknown = engine.run(query.unknown_classes(table, columns))["value"].to_pylist() if strange else ()
    checks.check(sums, columns, unknown)
    if checks.above(sums):
        checks.check_padding(engine.run(query.high(table, columns)).to_pylist(), sums, columns)
    if not columns.response:
        return sums
    # Responses one by one, or where they are too many what they sum to.
    rows = engine.run(query.each_response(table, columns).limit(responses.MOST + 1))
    if rows.num_rows <= responses.MOST:
        return sums.with_responses(responses.each_of(rows, columns), prompts=columns.prompt is not None)
    del rows
    clusters = (columns.prompt,) if columns.prompt else ()
    found: dict[str, Any] = {
        role: responses.by_step_of(engine.run(query.responses(table, replace(columns, response=keys))))
        for role, keys in (("responses", columns.response), ("prompts", clusters))
        if keys
    }
    return replace(sums, **found)


def _by_grams(
    engine: Backend, table: Any, columns: query.TokenColumns, given: str
) -> tuple[Sums, dict[str, Any], Sequence[tuple[pa.Table, str]]]:
    """Sums with the tokens that strategic n-grams cover as planning, the rule, and more columns."""
    from entropylaw.tokens.backends import DuckDB, temporary_folder
    from entropylaw.tokens.grams import default_grams, read_grams
    from entropylaw.tokens.gramscan import PLANNING, PLANNING_LONG, mark

    assert isinstance(engine, DuckDB)
    checks.check_text(columns)
    grams = default_grams() if given == "default" else read_grams(given)
    with temporary_folder() as folder:
        target, ordered = folder / "marked.parquet", folder / "ordered.parquet"
        everything = _queried(engine, table, replace(columns, response=(), prompt=None))
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
    more = [(summarise(long).select(by_long), "_long"), (scan.result(), "")]
    return sums.with_masked(everything), rule, [*more, (scan.result(long_only=True), "_long")]


def _finished(
    sums: Sums,
    options: TokenOptions,
    about: dict[str, Any],
    notes: Sequence[str],
    others: Sequence[tuple[pa.Table, str]] = (),
) -> Summarised:
    """Apply the rule for classes and summarise; ``others`` have more columns, and what their names end in."""
    cuts, rule = None, about.get("class", {"rule": "none"})
    if options.top_quantile is not None:
        sums, cuts = sums.by_quantile(options.top_quantile)
        share = f"{100 * options.top_quantile:g} %"
        rule = {"rule": f"top quantile, {share}", "share": options.top_quantile}
        choice = f"planning = the {share} of each step's tokens with most entropy: a choice, no finding; "
        notes = [*notes, f"{choice}cut at the nearest edge of a bin (class_cut)"]
    elif rule["rule"] == "none":
        notes = [*notes, "no column of classes; --class, --top-quantile or --grams makes them"]
    about = {**about, "class": rule, "sums": sums.identity()}
    steps = summarise(sums, cuts)
    for other, suffix in others:
        # Null for a step that the other table does not have.
        at = pc.index_in(steps["step"], value_set=other["step"])
        for name in other.column_names[1:]:
            steps = steps.append_column(f"{name}{suffix}", other[name].take(at))
    facts = json.dumps({"format": "entropylaw steps 1", **about}, sort_keys=True)
    notes = (*notes, *checks.notes(sums), *checks.unit_changes(sums), *checks.beside_logprobs(sums))
    cells = {name: tuple(column) for name, column in steps.to_pydict().items()}
    steps = steps.replace_schema_metadata({METADATA: facts.encode()})
    result = TokenSummary(columns=cells, about=about, notes=notes)
    return Summarised(result=result, steps=steps, histogram=sums.to_arrow(about))


def _joined(paths: Sequence[str], options: TokenOptions, output: str | None) -> Summarised:
    """The sums of several shards as one: they come out as if all had been read at once."""
    if any(getattr(options, role) for role in (*NAMES, "response", "grams")):
        message = "sums have no columns and no text any more, and options that name some were given"
        raise UsageError("sums-are-fixed", message, "summarise the tokens themselves with these options")
    parts = _shards(paths, output)
    sums, first = Sums.merged([sums for _, sums, _ in parts]), parts[0][2]
    checks.check(sums, query.TokenColumns(step="step", entropy="entropy"))
    read = [(name, file) for name, _, facts in parts for file in facts["read"]["files"]]
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
    notes += _spread(parts, sums)
    if "grams" in first["class"]:
        notes.append(
            "the shards' n-grams are not in their sums: grams, entropy_semantic and entropy_conditional, and "
            "all columns without 1-2-word grams (_long) are left out; summarise all tokens at once for them"
        )
    if options.top_quantile is None:
        options = replace(options, top_quantile=first["class"].get("share"))
        about["class"] = first["class"]
    return _finished(sums, options, about, notes)


def _shards(paths: Sequence[str], output: str | None) -> list[Part]:
    """The sums of each file, each given once and all made with the same options."""
    named = ([path] if path.exists() else matching(str(path)) or [path] for path in map(Path, paths))
    files = [file for group in named for file in group]
    for file in files:
        if not file.is_file():
            raise InputError("file-not-found", f"{shown(str(file))} does not exist", "check the path")
    _check_apart(output, files)
    for later, earlier in copies(list(zip(map(str, files), files, strict=True))):
        message = f"{shown(later)} holds the same sums as {shown(earlier)}: its tokens would count twice"
        raise InputError("shard-twice", message, "give each shard once")
    parts = [(file.name, *Sums.read(file)) for file in files]
    name, _, first = parts[0]
    for (other, _, facts), part in product(parts[1:], ("class", "columns")):
        if facts[part] != first[part]:
            here, there = (json.dumps(each[part], sort_keys=True) for each in (first, facts))
            message = f"{shown(other)} was made with {part} {there}, {shown(name)} with {here}"
            raise InputError("shards-differ", message, "summarise all shards with the same options")
    return parts


def _spread(parts: Sequence[Part], sums: Sums) -> list[str]:
    """Notes on responses that have tokens in several shards."""
    if sums.responses is None:
        missing = [name for name, part, _ in parts if part.responses is None]
        return [f"no responses: {listing(missing)} has none"] if len(missing) < len(parts) else []
    unknown = sum(one is None for one in sums.responses.values())
    if unknown and len(parts) > 1:
        return [
            f"{counted(unknown, 'step')} in several shards whose responses are not kept one by one (too "
            "many, or an earlier version's): responses, response_length, entropy_response_mean and the "
            "errors between responses are unknown there; summarise all tokens at once for them"
        ]
    apart = sum(part.number for _, part, _ in parts) - sums.number
    note = f"{apart:,} times a response has tokens in another shard, too: it counts as one response"
    return [note] if apart else []


def format_of(path: str | None) -> str | None:
    """``parquet``, ``csv``, ``json`` by the suffix, None for no file; or UsageError ``unknown-suffix``."""
    if path is None or path == "-":
        return None
    suffix, known = Path(path).suffix.lower(), (".parquet", ".csv", ".json")
    if suffix not in known or path.lower().endswith(SUMMARY_SUFFIX):
        message = f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(known)}"
        hint = "the suffix decides the format; .hist.parquet is for the histograms beside it"
        raise UsageError("unknown-suffix", message, hint)
    return suffix.removeprefix(".")


def beside(path: str) -> str:
    """Where the histograms go that belong to the summary at ``path``."""
    return str(Path(path).with_suffix(SUMMARY_SUFFIX))


def as_parquet(table: pa.Table) -> bytes:
    """A table as Parquet: the same bytes for the same table."""
    pq.write_table(table, buffer := io.BytesIO(), compression="zstd")
    return buffer.getvalue()


def write_together(files: Mapping[str, bytes]) -> None:
    """Write several files: a reader finds all of the old ones or, but for an instant, all new ones.

    Where one cannot take its place, an OutputError ``cannot-write``, those before it are put back.
    """
    from entropylaw.documents.store import TEMPORARY, write_atomically

    check_targets(files)
    target = Path()
    try:
        with ExitStack() as stack:
            staged: dict[Path, Path] = {}
            for target, data in zip(map(Path, files), files.values(), strict=True):
                if target.is_dir():
                    raise OSError("it is a folder")
                target.parent.mkdir(parents=True, exist_ok=True)
                # A folder of our own: no name in it can be somebody's file.
                place = TemporaryDirectory(dir=target.parent, prefix=TEMPORARY, ignore_cleanup_errors=True)
                staged[target] = Path(stack.enter_context(place))
                write_atomically(staged[target] / "new", data)
            # Whatever stops it half-way, the files that were replaced come back.
            undo = stack.enter_context(ExitStack())
            for target, folder in staged.items():
                old = folder / "old"
                if target.exists():
                    try:
                        os.link(target, old)
                    except OSError:  # a file system without links: for an instant there is no file
                        target.replace(old)
                    undo.callback(old.replace, target)
                else:
                    undo.callback(target.unlink, missing_ok=True)
                (folder / "new").replace(target)
            undo.pop_all()
    except (OSError, OutputError) as error:
        cause = error.__cause__ or error
        reason = getattr(cause, "strerror", None) or cause
        message = f"{shown_path(str(target))} could not be written ({reason}); what stood there is unchanged"
        hint = "check the folder's permissions and the space left, or choose another place with -o"
        raise OutputError("cannot-write", message, hint) from error
