"""From token tables to summaries: find, check, query, summarise, write; and the sums of shards as one."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from entropylaw.errors import InputError, OutputError, UsageError
from entropylaw.ingest.wording import counted, listing, shown, shown_path
from entropylaw.inputs import check_targets, note_input
from entropylaw.reproducible import rounded
from entropylaw.tokens import checks, query, responses
from entropylaw.tokens.files import METADATA, SUMMARY_SUFFIX, TokenFile, check_alike, find, matching
from entropylaw.tokens.roles import looked_for, resolve
from entropylaw.tokens.shards import copies
from entropylaw.tokens.summary import summarise, text_of
from entropylaw.tokens.sums import Sums

if TYPE_CHECKING:
    import pyarrow as pa

    from entropylaw.tokens.backends import Backend

OpenBackend = Callable[[], AbstractContextManager["Backend"]]
Part = tuple[str, Sums, dict[str, Any]]
"""A shard: its name, its sums, what stands beside them."""

_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".json": "json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the caller asks for: columns by role (``""`` for none of that role), classes, gaps.

    ``output`` is the file that the summary will be written to, with the histograms beside it: it must be
    none of those that are read.
    """

    columns: dict[str, str | None] = field(default_factory=dict)
    response: tuple[str, ...] = ()
    top_quantile: float | None = None
    grams: str | None = None
    allow_missing: bool = False
    output: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A row a step, the sums behind it, what was read and how, and what to tell the user."""

    steps: pa.Table
    histogram: pa.Table
    about: dict[str, Any]
    notes: tuple[str, ...]


def summarise_tokens(tables: Sequence[str], asked: Asked, backend: OpenBackend) -> Summary:
    """Summarise token logs, or join the sums of shards that were summarised apart.

    Raises
    ------
    InputError
        For what cannot be read or is no table of entropies; see the modules of this package. Of shards:
        ``file-not-found``, ``shard-twice``, ``shards-differ``, and what is wrong with a file of sums.
    UsageError
        ``bad-quantile``, ``two-class-rules``, ``sums-are-fixed``, ``grams-need-duckdb``,
        ``output-is-input``.

    """
    if asked.top_quantile is not None and not 0 < asked.top_quantile < 1:
        raise UsageError(
            "bad-quantile",
            f"--top-quantile {asked.top_quantile:g} is no share, expected a number between 0 and 1",
            "0.2 calls the fifth of each step's tokens with most entropy planning",
        )
    rules = [asked.columns.get("planning"), asked.top_quantile, asked.grams]
    if sum(rule not in (None, "") for rule in rules) > 1:
        raise UsageError(
            "two-class-rules",
            "--class, --top-quantile and --grams each make classes, and several were given",
            "give one of them",
        )
    stored = [table for table in tables if table.endswith(SUMMARY_SUFFIX)]
    if stored and len(stored) < len(tables):
        raise UsageError(
            "sums-are-fixed",
            f"{shown(stored[0])} holds sums, and {shown(next(t for t in tables if t not in stored))} tokens",
            "summarise the tokens first, then join the sums",
        )
    return _joined(stored, asked) if stored else _summarised(tables, asked, backend)


def _summarised(tables: Sequence[str], asked: Asked, backend: OpenBackend) -> Summary:
    from entropylaw.tokens.backends import spark_backend

    # Before it is started, which takes Spark a while.
    if asked.grams is not None and getattr(backend, "func", backend) is spark_backend:
        raise UsageError(
            "grams-need-duckdb",
            "--grams reads the tokens of each response in their order, which --backend spark does not",
            "mark the tokens in a column of the table, or use --backend duckdb",
        )
    files, notes = find(tables, allow_missing=asked.allow_missing, looked_for=looked_for(asked.columns))
    lists = [] if asked.grams in (None, "default") else [Path(asked.grams or "")]
    _check_apart(asked.output, [*(file.path for file in files), *lists])
    roles = resolve(files, asked.columns, asked.response)
    if asked.top_quantile is not None or asked.grams is not None:
        columns = replace(roles.columns, planning=None)
        roles = replace(roles, columns=columns, lists=tuple(n for n in roles.lists if n in columns.all))
    check_alike(files, roles.stored)
    about = _about(files, roles.columns)
    with backend() as engine:
        table, columns = engine.table(files, roles), roles.columns
        notes += roles.notes
        if roles.lists:
            (found,) = engine.run(query.inspected(table, columns, roles.lists)).to_pylist()
            notes += checks.check_lists(found, columns.entropy, roles.lists)
            scalars = [name for name in columns.all if name not in roles.lists]
            table = query.unrolled(table, roles.lists, scalars)
        if asked.grams is not None:
            return _by_grams(engine, table, columns, asked, about, notes)
        sums = _queried(engine, table, columns)
    return _finished(sums, asked, about, notes)


def _check_apart(output: str | None, files: Sequence[Path]) -> None:
    """Note the files that are read, and refuse an output that would be written over one of them."""
    for file in files:
        note_input(file)
    if output is not None:
        check_targets((_beside_summary(output), output))


def _about(files: Sequence[TokenFile], columns: query.TokenColumns) -> dict[str, Any]:
    """What was read, and which columns of it."""
    listed = [{"name": file.name, "bytes": file.size, "rows": file.rows} for file in files]
    roles = ("step", "entropy", "planning", "mask", "logprob", "correct", "response", "prompt")
    parts = {"class" if role == "planning" else role: getattr(columns, role) for role in roles}
    parts["response"] = ["(each row)" if n == query.ROW else n for n in columns.response] or None
    about: dict[str, Any] = {
        "read": {"files": listed, "bytes": sum(file.size for file in files)},
        "columns": {role: name for role, name in parts.items() if name is not None},
    }
    if columns.planning is not None:
        about["class"] = {"rule": f"column '{columns.planning}'", "column": columns.planning}
    return about


def _queried(engine: Backend, table: Any, columns: query.TokenColumns) -> Sums:
    """The queries, and the checks between them."""
    sums = Sums.from_table(engine.run(query.cells(table, columns)))
    strange: list[str] = []
    if (sums.cells["planning"] == query.UNKNOWN_CLASS).any():
        strange = engine.run(query.unknown_classes(table, columns)).column("value").to_pylist()
    checks.check(sums, columns, strange)
    if checks.above(sums):
        checks.check_padding(engine.run(query.high(table, columns)).to_pylist(), sums, columns)
    if not columns.response:
        return sums
    # Responses one by one, or where they are too many what they sum to.
    rows = engine.run(query.each_response(table, columns).limit(responses.MOST + 1))
    if rows.num_rows <= responses.MOST:
        each = responses.each_of(rows, columns)
        return sums.with_responses(each, prompts=columns.prompt is not None)
    del rows
    sums = replace(sums, responses=responses.by_step_of(engine.run(query.responses(table, columns))))
    if columns.prompt is None:
        return sums
    by_prompt = engine.run(query.responses(table, replace(columns, response=(columns.prompt,))))
    return replace(sums, prompts=responses.by_step_of(by_prompt))


def _by_grams(
    engine: Backend,
    table: Any,
    columns: query.TokenColumns,
    asked: Asked,
    about: dict[str, Any],
    notes: Sequence[str],
) -> Summary:
    """Mark tokens that strategic n-grams cover, then summarise, with and without the short ones."""
    from entropylaw.tokens.backends import DuckDB, temporary_folder
    from entropylaw.tokens.grams import default_grams, read_grams
    from entropylaw.tokens.gramscan import PLANNING, PLANNING_LONG, mark

    assert asked.grams is not None
    assert isinstance(engine, DuckDB)
    checks.check_text(columns)
    grams = default_grams() if asked.grams == "default" else read_grams(asked.grams)
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
    sums = sums.with_masked(everything)
    name = "our own default list" if asked.grams == "default" else repr(Path(asked.grams).name)
    rule = f"{len(grams)} n-grams of {name}"
    about |= {"class": {"rule": rule, "grams": len(grams), "sha256": grams.fingerprint}}
    done = _finished(sums, asked, about, notes)
    shown_long = ("planning_share", "tokens_planning", "entropy_planning", "entropy_execution")
    steps = _beside(done.steps, summarise(long), shown_long, "_long")
    for suffix in ("", "_long"):
        found = scan.result(long_only=bool(suffix))
        names = [each for each in found.column_names if each.startswith(("gram", "entropy_"))]
        steps = _beside(steps, found, names, suffix)
    return replace(done, steps=steps)


def _beside(steps: pa.Table, other: pa.Table, names: Sequence[str], suffix: str) -> pa.Table:
    """Columns of another table by step, beside those of ``steps``; null for a step that it does not have."""
    import pyarrow as pa

    rows = {step: at for at, step in enumerate(other.column("step").to_pylist())}
    at = pa.array([rows.get(step) for step in steps.column("step").to_pylist()], pa.int64())
    for name in names:
        if name in other.column_names:
            steps = steps.append_column(f"{name}{suffix}", other.column(name).take(at))
    return steps


def _finished(sums: Sums, asked: Asked, about: dict[str, Any], notes: Sequence[str]) -> Summary:
    """Apply the rule for classes and summarise."""
    cuts, rule = None, about.get("class", {"rule": "none"})
    if asked.top_quantile is not None:
        sums, cuts = sums.by_quantile(asked.top_quantile)
        share = f"{100 * asked.top_quantile:g} %"
        rule = {"rule": f"top quantile, {share}", "share": asked.top_quantile}
        choice = f"planning = the {share} of each step's tokens with most entropy: a choice, no finding; "
        notes = [*notes, f"{choice}cut at the nearest edge of a bin (class_cut)"]
    elif rule["rule"] == "none":
        notes = [*notes, "no column of classes; --class, --top-quantile or --grams makes them"]
    about = {**about, "class": rule, "sums": sums.identity()}
    facts = json.dumps({"format": "entropylaw steps 1", **about}, sort_keys=True)
    return Summary(
        steps=summarise(sums, cuts).replace_schema_metadata({METADATA: facts.encode()}),
        histogram=sums.to_arrow(about),
        about=about,
        notes=(*notes, *checks.notes(sums), *checks.unit_changes(sums), *checks.beside_logprobs(sums)),
    )


def _joined(paths: Sequence[str], asked: Asked) -> Summary:
    """The sums of several shards as one: they come out as if all had been read at once."""
    if any(asked.columns.values()) or asked.response or asked.grams:
        raise UsageError(
            "sums-are-fixed",
            "sums have no columns and no text any more, and options that name some were given",
            "summarise the tokens themselves with these options",
        )
    parts = _shards(paths, asked.output)
    sums, first = Sums.merged([sums for _, sums, _ in parts]), parts[0][2]
    checks.check(sums, query.TokenColumns(step="step", entropy="entropy"))
    files = sorted((f for _, _, facts in parts for f in facts["read"]["files"]), key=lambda f: str(f["name"]))
    total = sum(facts["read"]["bytes"] for _, _, facts in parts)
    about = {"read": {"files": files, "bytes": total}, "columns": first["columns"]}
    notes = [*_repeated(parts), *_spread(parts, sums)]
    if "grams" in first["class"]:
        notes.append(
            "the shards' n-grams are not in their sums: grams, entropy_semantic and entropy_conditional, and "
            "all columns without 1-2-word grams (_long) are left out; summarise all tokens at once for them"
        )
    if asked.top_quantile is None:
        asked = replace(asked, top_quantile=first["class"].get("share"))
        about["class"] = first["class"]
    return _finished(sums, asked, about, notes)


def _shards(paths: Sequence[str], output: str | None) -> list[Part]:
    """The sums of each file, each given once, and all made with the same options."""
    files: list[Path] = []
    for path in paths:
        files += [Path(path)] if Path(path).exists() else matching(path) or [Path(path)]
    for file in files:
        if not file.is_file():
            raise InputError("file-not-found", f"{shown(str(file))} does not exist", "check the path")
    _check_apart(output, files)
    for later, earlier in copies(list(zip(map(str, files), files, strict=True))):
        raise InputError(
            "shard-twice",
            f"{shown(later)} holds the same sums as {shown(earlier)}: its tokens would count twice",
            "give each shard once",
        )
    parts = [(file.name, *Sums.read(file)) for file in files]
    name, _, first = parts[0]
    for (other, _, facts), part in product(parts[1:], ("class", "columns")):
        if facts[part] != first[part]:
            raise InputError(
                "shards-differ",
                f"{shown(other)} was made with {part} {json.dumps(facts[part], sort_keys=True)}, "
                f"{shown(name)} with {json.dumps(first[part], sort_keys=True)}",
                "summarise all shards with the same options",
            )
    return parts


def _repeated(parts: Sequence[Part]) -> list[str]:
    """A note on files of tokens that two shards say they were made from."""
    seen: dict[tuple[str, int, int | None], str] = {}
    notes = []
    for name, _, facts in parts:
        for file in facts["read"]["files"]:
            key = (file["name"], file["bytes"], file["rows"])
            if seen.setdefault(key, name) != name:
                notes.append(
                    f"{shown(name)} and {shown(seen[key])} were both made from a file {shown(file['name'])} "
                    f"of {file['bytes']:,} bytes: if it is one file, its tokens count twice"
                )
    return notes


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


def kind_of(path: str | None) -> str | None:
    """The format that a file's suffix stands for; None for no file.

    Raises
    ------
    UsageError
        ``unknown-suffix``.

    """
    if path is None or path == "-":
        return None
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES or path.lower().endswith(SUMMARY_SUFFIX):
        raise UsageError(
            "unknown-suffix",
            f"-o {path} has suffix {suffix or '(none)'!r}, expected one of {', '.join(_SUFFIXES)}",
            "the suffix decides the format; .hist.parquet is for the histograms beside it",
        )
    return _SUFFIXES[suffix]


def write(summary: Summary, path: str, kind: str) -> tuple[str, str]:
    """Write the histograms and the summary, both or neither; returns their paths.

    Raises
    ------
    OutputError
        ``cannot-write``: what stood there is as it was.

    """
    beside = _beside_summary(path)
    data = _parquet(summary.steps) if kind == "parquet" else rendered(summary, kind).encode("utf-8")
    write_together({beside: _parquet(summary.histogram), path: data})
    return beside, path


def _beside_summary(path: str) -> str:
    """Where the histograms go."""
    return str(Path(path).with_suffix(SUMMARY_SUFFIX))


def write_together(files: Mapping[str, bytes]) -> None:
    """Write several files so that a reader finds all of the old ones or, but for an instant, all new ones.

    All are written beside their targets before the first takes its place; where one cannot take it, those
    before it are put back.

    Raises
    ------
    OutputError
        ``cannot-write``.

    """
    from entropylaw.documents.store import TEMPORARY, write_atomically

    check_targets(files)
    with ExitStack() as stack:
        staged: list[tuple[Path, Path]] = []
        for name, data in files.items():
            target = Path(name)
            if target.is_dir():
                raise _unwritable(target, "it is a folder")
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                # A folder of our own: no name in it can be somebody's file.
                place = stack.enter_context(TemporaryDirectory(dir=target.parent, prefix=TEMPORARY))
                write_atomically(Path(place) / "new", data)
            except (OSError, OutputError) as error:
                raise _unwritable(target, error.__cause__ or error) from error
            staged.append((target, Path(place)))
        # Whatever stops it half-way, the files that were replaced come back.
        undo = stack.enter_context(ExitStack())
        for target, folder in staged:
            old = folder / "old"
            try:
                if target.exists():
                    try:
                        os.link(target, old)
                    except OSError:  # a file system without links: for an instant there is no file
                        target.replace(old)
                    undo.callback(old.replace, target)
                else:
                    undo.callback(target.unlink, missing_ok=True)
                (folder / "new").replace(target)
            except OSError as error:
                raise _unwritable(target, error) from error
        undo.pop_all()


def _unwritable(target: Path, cause: str | BaseException) -> OutputError:
    reason = getattr(cause, "strerror", None) or cause
    return OutputError(
        "cannot-write",
        f"{shown_path(str(target))} could not be written ({reason}); what stood there is unchanged",
        "check the folder's permissions and the space left, or choose another place with -o",
    )


def _parquet(table: pa.Table) -> bytes:
    """A table as Parquet: the same bytes for the same table."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def rendered(summary: Summary, kind: str) -> str:
    """A summary as ``text``, ``csv`` or ``json``."""
    rows = [
        {name: rounded(cell) if isinstance(cell, float) else cell for name, cell in row.items()}
        for row in summary.steps.to_pylist()
    ]
    if kind == "csv":
        from entropylaw.report.printable import csv_text

        return csv_text(summary.steps.column_names, rows)
    if kind == "json":
        from entropylaw.documents.store import dumps

        return dumps({**summary.about, "notes": list(summary.notes), "steps": rows})
    return text_of(summary.steps, summary.about)
