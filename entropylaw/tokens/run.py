"""From token tables to summaries: find, check, query, summarise, write."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest.wording import shown
from entropylaw.tokens import checks, expression
from entropylaw.tokens.files import SUMMARY_SUFFIX, TokenFile, check_alike, find
from entropylaw.tokens.grid import PERCENTS
from entropylaw.tokens.roles import Roles, resolve
from entropylaw.tokens.summary import summarise
from entropylaw.tokens.sums import (
    METADATA,
    Sums,
    from_table,
    masked_only,
    merged,
    read,
    responses_of,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from entropylaw.tokens.backends import Backend
    from entropylaw.tokens.grams import GramList

OpenBackend = Callable[[], AbstractContextManager["Backend"]]
QUANTILE = "top quantile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the caller asks for: columns by role (``""`` for none of that role), classes, gaps."""

    columns: dict[str, str | None] = field(default_factory=dict)
    response: tuple[str, ...] = ()
    top_quantile: float | None = None
    grams: str | None = None
    allow_missing: bool = False


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
        return _joined(stored, asked)
    files = find(tables, allow_missing=asked.allow_missing)
    roles = resolve(files[0], asked.columns, asked.response)
    if asked.top_quantile is not None or asked.grams is not None:
        roles = replace(roles, columns=replace(roles.columns, planning=None))
    check_alike(files, roles.columns.all)
    about = {"read": _about(files), "columns": _about_columns(roles)}
    with backend() as engine:
        if asked.grams is not None:
            return _by_grams(engine, files, roles, asked, about)
        sums = _queried(engine, engine.table(files, roles), roles.columns)
    return _finished(sums, asked, about, roles.notes, roles.columns.planning)


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
    """Both queries, and the checks between them."""
    sums = from_table(engine.run(expression.cells(table, columns)))
    strange: list[str] = []
    if (sums.cells["planning"] == expression.UNKNOWN_CLASS).any():
        strange = engine.run(expression.unknown_classes(table, columns)).column("value").to_pylist()
    checks.check(sums, columns, strange)
    if not columns.response:
        return sums
    return replace(sums, responses=responses_of(engine.run(expression.responses(table, columns))))


def _finished(
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
    about = about | {"class": about.get("class", rule)}
    table = summarise(sums, cuts)
    told = [*notes, *checks.notes(sums), *_units(table)]
    return Summary(
        steps=_described(table, about), histogram=to_arrow(sums, about), about=about, notes=tuple(told)
    )


def _units(table: pa.Table) -> list[str]:
    values = {percent: table.column(f"entropy_p{percent:02d}").to_pylist() for percent in PERCENTS}
    return checks.unit_cautions(table.column("step").to_pylist(), values)


def _joined(paths: Sequence[str], asked: Asked) -> Summary:
    """The sums of several shards as one."""
    given = [name for name in asked.columns.values() if name] or asked.response or asked.grams
    if given:
        raise UsageError(
            "sums-are-fixed",
            "sums have no columns and no text any more, and options that name some were given",
            "summarise the tokens themselves with these options",
        )
    parts = []
    for path in paths:
        if not Path(path).is_file():
            raise InputError("file-not-found", f"{shown(path)} does not exist", "check the path")
        parts.append((read(Path(path)), Path(path).name))
    first, name = parts[0][0][1], parts[0][1]
    for (_, facts), other in parts[1:]:
        for part in ("class", "columns"):
            if facts[part] != first[part]:
                raise InputError(
                    "shards-differ",
                    f"{shown(other)} was made with {part} {json.dumps(facts[part], sort_keys=True)}, "
                    f"{shown(name)} with {json.dumps(first[part], sort_keys=True)}",
                    "summarise all shards with the same options",
                )
    sums = merged([sums for (sums, _), _ in parts])
    checks.check(sums, expression.TokenColumns(step="step", entropy="entropy"))
    about = {"read": _all_read([facts["read"] for (_, facts), _ in parts]), "columns": first["columns"]}
    share = first["class"].get("share")
    if asked.top_quantile is None and share is not None:
        asked = replace(asked, top_quantile=share)
    elif asked.top_quantile is None:
        about["class"] = first["class"]
    rule = first["class"]["rule"]
    return _finished(sums, asked, about, [], None if rule == "none" else rule)


def _all_read(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    files = sorted((each for part in parts for each in part["files"]), key=lambda each: each["name"])
    return {"files": files, "bytes": sum(part["bytes"] for part in parts)}


def _by_grams(
    engine: Backend, files: Sequence[TokenFile], roles: Roles, asked: Asked, about: dict[str, Any]
) -> Summary:
    """Mark tokens that strategic n-grams cover, then summarise, with and without the short ones."""
    from entropylaw.tokens import classes
    from entropylaw.tokens.backends import LocalBackend
    from entropylaw.tokens.grams import default_grams, read_grams
    from entropylaw.tokens.gramscan import PLANNING, PLANNING_LONG

    assert asked.grams is not None
    if not isinstance(engine, LocalBackend):
        raise UsageError(
            "grams-need-duckdb",
            "--grams reads the tokens of each response in their order, which --backend spark does not",
            "mark the tokens in a column of the table, or use --backend duckdb",
        )
    classes.check_text(roles.columns)
    grams: GramList = default_grams() if asked.grams == "default" else read_grams(asked.grams)
    with tempfile.TemporaryDirectory(prefix="entropylaw-tokens-") as folder:
        target, ordered = Path(folder) / "marked.parquet", Path(folder) / "ordered.parquet"
        table = engine.table(files, roles)
        columns = replace(roles.columns, planning=None)
        everything = from_table(engine.run(expression.cells(table, columns)))
        checks.check(everything, columns)
        engine.write(classes.in_order(table, columns), ordered)
        scan = classes.mark(ordered, columns, grams, target)
        ordered.unlink()
        marked = engine.parquet(target)
        columns = replace(columns, position=None, token=None)
        sums = _queried(engine, marked, replace(columns, planning=PLANNING))
        long = _queried(engine, marked, replace(columns, planning=PLANNING_LONG, response=()))
    sums = replace(merged([sums, replace(masked_only(everything), responses={})]), responses=sums.responses)
    name = Path(asked.grams).name
    rule = f"{len(grams)} n-grams of {'our own default list' if asked.grams == 'default' else repr(name)}"
    about |= {"class": {"rule": rule, "grams": len(grams), "sha256": grams.fingerprint}}
    done = _finished(sums, asked, about, roles.notes, rule)
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
        "response": list(columns.response) or None,
    }
    return {role: name for role, name in parts.items() if name is not None}


def _described(table: pa.Table, about: dict[str, Any]) -> pa.Table:
    facts = {"format": "entropylaw steps 1", **about}
    return table.replace_schema_metadata({METADATA: json.dumps(facts, sort_keys=True).encode()})
