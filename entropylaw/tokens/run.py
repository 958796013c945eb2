"""From token tables to summaries: find, check, query, summarise, write."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.errors import UsageError
from entropylaw.ingest.wording import shown
from entropylaw.tokens import checks, expression, responses, sequences, units
from entropylaw.tokens.columntypes import METADATA
from entropylaw.tokens.files import SUMMARY_SUFFIX, TokenFile, check_alike, find
from entropylaw.tokens.output import check_apart
from entropylaw.tokens.roles import Roles, looked_for, resolve
from entropylaw.tokens.summary import summarise
from entropylaw.tokens.sums import Sums, from_table, identity, to_arrow, with_masked, with_responses

if TYPE_CHECKING:
    import pyarrow as pa

    from entropylaw.tokens.backends import Backend
    from entropylaw.tokens.grams import GramList

OpenBackend = Callable[[], AbstractContextManager["Backend"]]
QUANTILE = "top quantile"
_NAMED = {sequences.ROW: "(each row)"}


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
        For what cannot be read or is no table of entropies; see the modules of this package.
    UsageError
        ``bad-quantile``, ``two-class-rules``, ``sums-are-fixed``.

    """
    _check_asked(asked)
    stored = [table for table in tables if table.endswith(SUMMARY_SUFFIX)]
    if stored and len(stored) < len(tables):
        raise UsageError(
            "sums-are-fixed",
            f"{shown(stored[0])} holds sums, and {shown(next(t for t in tables if t not in stored))} tokens",
            "summarise the tokens first, then join the sums",
        )
    if stored:
        from entropylaw.tokens.join import join

        return join(stored, asked)
    if asked.grams is not None:
        _check_grams(backend)
    found = find(tables, allow_missing=asked.allow_missing, looked_for=looked_for(asked.columns))
    files = found.files
    check_apart(asked.output, [*(file.path for file in files), *_lists(asked)])
    roles = resolve(files, asked.columns, asked.response)
    if asked.top_quantile is not None or asked.grams is not None:
        roles = replace(roles, columns=replace(roles.columns, planning=None))
        roles = replace(roles, lists=tuple(name for name in roles.lists if name in roles.columns.all))
    check_alike(files, roles.stored)
    about = {"read": _about(files), "columns": _about_columns(roles)}
    with backend() as engine:
        table, told = _opened(engine, files, roles)
        notes = [*found.notes, *roles.notes, *told]
        if asked.grams is not None:
            return _by_grams(engine, table, roles.columns, asked, about, notes)
        sums = _queried(engine, table, roles.columns)
    return finished(sums, asked, about, notes, roles.columns.planning)


def _opened(engine: Backend, files: Sequence[TokenFile], roles: Roles) -> tuple[Any, list[str]]:
    """The files as a table of one row a token, and notes on the lists that it was made from."""
    table, columns = engine.table(files, roles), roles.columns
    if not roles.lists:
        return table, []
    step = expression.step_of(table, columns)
    (found,) = engine.run(sequences.inspected(table, columns.entropy, step, roles.lists)).to_pylist()
    notes = sequences.check_lists(found, columns.entropy, roles.lists)
    scalars = [name for name in columns.all if name not in roles.lists]
    return sequences.unrolled(table, roles.lists, scalars), notes


def _lists(asked: Asked) -> list[Path]:
    """The user's own list of grams."""
    return [] if asked.grams in (None, "default") else [Path(asked.grams or "")]


def _check_asked(asked: Asked) -> None:
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


def _queried(engine: Backend, table: Any, columns: expression.TokenColumns) -> Sums:
    """The queries, and the checks between them."""
    sums = from_table(engine.run(expression.cells(table, columns)))
    strange: list[str] = []
    if (sums.cells["planning"] == expression.UNKNOWN_CLASS).any():
        strange = engine.run(expression.unknown_classes(table, columns)).column("value").to_pylist()
    checks.check(sums, columns, strange)
    _check_padding(engine, table, columns, sums)
    return _with_responses(engine, table, columns, sums) if columns.response else sums


def _check_padding(engine: Backend, table: Any, columns: expression.TokenColumns, sums: Sums) -> None:
    above = checks.above(sums)
    if above:
        values = engine.run(expression.high(table, columns)).to_pylist()
        checks.check_padding(values, above, sum(sums.counts().values()), columns)


def _with_responses(engine: Backend, table: Any, columns: expression.TokenColumns, sums: Sums) -> Sums:
    """Responses one by one, or where they are too many what they sum to."""
    rows = engine.run(expression.each_response(table, columns, responses.MOST))
    if rows.num_rows <= responses.MOST:
        prompt = None if columns.prompt is None else columns.response.index(columns.prompt)
        by_row = sequences.ROW in columns.response
        each = responses.each_of(rows, len(columns.response), prompt, by_row=by_row)
        return with_responses(sums, each, prompts=prompt is not None)
    del rows
    by_step = responses.from_rows(engine.run(expression.responses(table, columns)))
    if columns.prompt is None:
        return replace(sums, responses=by_step)
    by_prompt = engine.run(expression.responses(table, replace(columns, response=(columns.prompt,))))
    return replace(sums, responses=by_step, prompts=responses.from_rows(by_prompt))


def finished(
    sums: Sums, asked: Asked, about: dict[str, Any], notes: Sequence[str], planning: str | None
) -> Summary:
    """Apply the rule for classes and summarise."""
    cuts = None
    rule: dict[str, Any] = {"rule": "none"}
    if asked.top_quantile is not None:
        from entropylaw.tokens.classes import by_quantile

        sums, cuts = by_quantile(sums, asked.top_quantile)
        share = f"{100 * asked.top_quantile:g} %"
        rule = {"rule": f"{QUANTILE}, {share}", "share": asked.top_quantile}
        notes = [
            *notes,
            f"planning = the {share} of each step's tokens with most entropy: a choice, no finding; cut at "
            "the nearest edge of a bin (class_cut)",
        ]
    elif planning is not None:
        rule = {"rule": f"column '{planning}'", "column": planning}
    else:
        notes = [
            *notes,
            "no column of classes; --class, --top-quantile or --grams makes them",
        ]
    about = about | {"class": about.get("class", rule), "sums": identity(sums)}
    table = summarise(sums, cuts)
    told = [*notes, *checks.notes(sums), *units.cautions(sums)]
    return Summary(
        steps=_described(table, about), histogram=to_arrow(sums, about), about=about, notes=tuple(told)
    )


def _check_grams(backend: OpenBackend) -> None:
    """Notice an engine that cannot look for grams before it is started, which takes Spark a while."""
    from entropylaw.tokens.backends import spark_backend

    if getattr(backend, "func", backend) is spark_backend:
        raise UsageError(
            "grams-need-duckdb",
            "--grams reads the tokens of each response in their order, which --backend spark does not",
            "mark the tokens in a column of the table, or use --backend duckdb",
        )


def _by_grams(
    engine: Backend,
    table: Any,
    columns: expression.TokenColumns,
    asked: Asked,
    about: dict[str, Any],
    notes: Sequence[str],
) -> Summary:
    """Mark tokens that strategic n-grams cover, then summarise, with and without the short ones."""
    from entropylaw.tokens import classes
    from entropylaw.tokens.backends import LocalBackend, temporary_folder
    from entropylaw.tokens.grams import default_grams, read_grams
    from entropylaw.tokens.gramscan import PLANNING, PLANNING_LONG

    assert asked.grams is not None
    assert isinstance(engine, LocalBackend)
    classes.check_text(columns)
    grams: GramList = default_grams() if asked.grams == "default" else read_grams(asked.grams)
    with temporary_folder() as folder:
        target, ordered = folder / "marked.parquet", folder / "ordered.parquet"
        everything = from_table(engine.run(expression.cells(table, columns)))
        checks.check(everything, columns)
        _check_padding(engine, table, columns, everything)
        engine.write(classes.in_order(table, columns), ordered)
        scan = classes.mark(ordered, columns, grams, target)
        ordered.unlink()
        marked = engine.parquet(target)
        columns = replace(columns, position=None, token=None)
        sums = _queried(engine, marked, replace(columns, planning=PLANNING))
        long = _queried(engine, marked, replace(columns, planning=PLANNING_LONG, response=(), prompt=None))
    sums = with_masked(sums, everything)
    name = Path(asked.grams).name
    rule = f"{len(grams)} n-grams of {'our own default list' if asked.grams == 'default' else repr(name)}"
    about |= {"class": {"rule": rule, "grams": len(grams), "sha256": grams.fingerprint}}
    done = finished(sums, asked, about, notes, rule)
    steps = _beside(done.steps, summarise(long), _LONG, "_long")
    for long_only in (False, True):
        found = scan.result(long_only=long_only).table()
        names = [each for each in found.column_names if each.startswith(("gram", "entropy_"))]
        steps = _beside(steps, found, names, "_long" if long_only else "")
    return replace(done, steps=steps)


_LONG = ("planning_share", "tokens_planning", "entropy_planning", "entropy_execution")


def _beside(steps: pa.Table, other: pa.Table, names: Sequence[str], suffix: str) -> pa.Table:
    """Columns of another table by step, beside those of ``steps``; null for a step that it does not have."""
    rows = {step: at for at, step in enumerate(other.column("step").to_pylist())}
    import pyarrow as pa

    at = pa.array([rows.get(step) for step in steps.column("step").to_pylist()], pa.int64())
    for name in names:
        if name in other.column_names:
            steps = steps.append_column(f"{name}{suffix}", other.column(name).take(at))
    return steps


def _about(files: Sequence[TokenFile]) -> dict[str, Any]:
    listed = [{"name": file.name, "bytes": file.size, "rows": file.rows} for file in files]
    return {"files": listed, "bytes": sum(file.size for file in files)}


def _about_columns(roles: Roles) -> dict[str, Any]:
    columns = roles.columns
    parts = {
        "step": columns.step,
        "entropy": columns.entropy,
        "class": columns.planning,
        "mask": columns.mask,
        "logprob": columns.logprob,
        "correct": columns.correct,
        "response": [_NAMED.get(name, name) for name in columns.response] or None,
        "prompt": columns.prompt,
    }
    return {role: name for role, name in parts.items() if name is not None}


def _described(table: pa.Table, about: dict[str, Any]) -> pa.Table:
    facts = {"format": "entropylaw steps 1", **about}
    return table.replace_schema_metadata({METADATA: json.dumps(facts, sort_keys=True).encode()})
