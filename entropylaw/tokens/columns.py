"""Finds the columns of a token table, by the options or by their own names, and checks their types.

A key is a column that is written into the names of folders, ``step=100/``, as Hive does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import pyarrow as pa

from entropylaw.errors import InputError
from entropylaw.escaping import listing, shown
from entropylaw.tokens.files import (
    TableFile,
    check_distinct,
    element_type,
    is_number,
    no_column,
    similar_columns,
)
from entropylaw.tokens.options import TokenOptions
from entropylaw.tokens.query import ROW, TokenColumns
from entropylaw.units import is_perplexity, nats_per_unit

NAMES: dict[str, tuple[str, ...]] = {
    "step": ("step", "global_step", "training_step", "train_step", "trainer_step", "export_step", "_step"),
    "entropy": ("entropy", "token_entropy", "entropies", "policy_entropy"),
    "planning": ("is_planning", "token_class", "class"),
    "mask": ("loss_mask", "response_mask", "completion_mask", "action_mask", "token_mask", "mask"),
    "logprob": ("logprob", "log_prob", "trainer_logprobs", "logprobs", "old_log_prob"),
    "advantage": ("advantage", "advantages"),
    "correct": ("correct", "is_correct"),
    "position": ("position", "pos", "token_position", "position_ids"),
    "token": ("token", "text", "token_text", "token_str"),
    "prompt": ("prompt_id", "prompt_idx", "problem_id", "group_id", "example_id"),
}
"""Names of columns by role, best first, in any case."""

RESPONSES: tuple[tuple[str, ...], ...] = (
    ("prompt", "sample"),
    ("prompt_id", "sample_id"),
    ("prompt_idx", "sample_idx"),
    ("response_id",),
    ("completion_id",),
    ("rollout_id",),
    ("seq_key",),
    ("seq_id",),
    ("sequence_id",),
    ("sequence",),
    ("export_sequence_idx",),
)
"""Columns that identify a response within a step, best first; of two, the first is the prompt."""

# Roles of columns that hold one value per token; the others have one per response or step.
_PER_TOKEN = ("planning", "mask", "logprob", "advantage", "position", "token")

# Names of columns by which a table may hold several runs, in any case.
_RUNS = ("run", "run_id", "run_name", "seed")


def resolve(files: Sequence[TableFile], options: TokenOptions) -> tuple[TokenColumns, list[str]]:
    """The columns of a table, by the options or by their names, and notes on them.

    InputErrors are ``column-not-found`` for one that an option names, ``no-step-column``,
    ``no-entropy-column``, ``column-not-numeric``, ``step-not-whole``, ``entropy-in-bits``,
    ``entropy-is-perplexity``, ``shards-differ``, ``columns-repeat``.
    """
    leader = files[0]
    types = dict(leader.types)
    stored = set(map(str.casefold, leader.types))
    keys = [key for key in leader.keys if key in named_keys(options) and key.casefold() not in stored]
    types |= dict.fromkeys(keys, pa.string())
    # Fields of JSON lines need not have a value in every file.
    for file, (name, kind) in product(files[1:], leader.types.items()):
        if element_type(types[name]) == pa.null():
            types[name] = file.types.get(name, kind)
    columns = _columns_by_name([*types], options, leader.name)
    columns = replace(columns, keys=tuple(key for key in keys if key in columns.all))
    _check_types(columns, types, leader.name)
    nested = pa.types.is_list(types[columns.entropy])
    has_lists = {name for name in columns.all if pa.types.is_list(types[name])}
    if nested:
        # Next to lists of entropies, a column per token without any value has lists.
        per_token = {getattr(columns, role) for role in _PER_TOKEN} - {None}
        has_lists |= {name for name in per_token if types[name] == pa.null()}
    lists = tuple(name for name in columns.all if name in has_lists)
    notes = [f"column {shown(key)} is that of the folders' names" for key in columns.keys]
    if lists and not nested:
        notes.append(f"{listing(lists)} holds lists, {shown(columns.entropy)} one number per row: not used")
        unused = {role: None for role in NAMES if getattr(columns, role) in lists}
        columns = replace(columns, **unused)  # type: ignore[arg-type]
        lists = ()
    runs = [name for name in types if name.casefold() in _RUNS and name not in columns.response]
    notes += [f"column {shown(name)} is not used: all rows count as one run" for name in runs]
    columns, unidentified = _with_response(columns, nested=nested)
    notes += unidentified
    # By a share of high entropy or by n-grams, no column says which tokens are of planning.
    if options.top_quantile is not None or options.grams is not None:
        columns = replace(columns, planning=None)
    _check_alike(files, (*columns.stored, *columns.keys))
    for file in files:
        check_distinct(file, columns.stored)
    return replace(columns, lists=tuple(name for name in lists if name in columns.all)), notes


def named_keys(options: TokenOptions) -> set[str]:
    """The keys in the names of folders that may be columns: those of a step, and those that options name."""
    named = {getattr(options, role) for role in NAMES} - {None}
    return {*NAMES["step"], *named, *options.response}


def _check_alike(files: Sequence[TableFile], columns: Sequence[str]) -> None:
    """Raise InputError ``shards-differ`` for a file with other types of ``columns`` than the first file."""
    for column in columns:
        expected = _stored_as(files[0], column)
        for file in files[1:]:
            kind = _stored_as(file, column)
            if kind == expected or (file.kind == "jsonl" and _is_alike_in_json(kind, expected)):
                continue
            raise InputError(
                "shards-differ",
                f"{shown(file.name)} has column {shown(column)} {_storage(kind)}, "
                f"{shown(files[0].name)} has it {_storage(expected)}",
                f"name files with the same columns and types; its columns are {listing(list(file.types))}",
            )


def _stored_as(file: TableFile, column: str) -> pa.DataType | str | None:
    """The type of a column of a file, "partition" for a key of its folders; None where it is not there."""
    return file.types.get(column, "partition" if column in file.keys else None)


def _storage(kind: pa.DataType | str | None) -> str:
    """How a file stores a column, in a message, by what :func:`_stored_as` gives."""
    return f"as {kind}" if kind else "not at all"


def _is_alike_in_json(a: pa.DataType | str | None, b: pa.DataType | str | None) -> bool:
    """Whether types of two JSON files can be one: 0 and 0.5 are both numbers, and null may be anything."""
    if not isinstance(a, pa.DataType) or not isinstance(b, pa.DataType):
        return False
    if pa.types.is_list(a) and pa.types.is_list(b):
        a = a.value_type
        b = b.value_type
    return pa.null() in (a, b) or {a, b} <= {pa.int64(), pa.float64()}


def _with_response(columns: TokenColumns, *, nested: bool) -> tuple[TokenColumns, list[str]]:
    """The columns with those that identify a response, and a note where a table has none."""
    notes: list[str] = []
    if not columns.response and nested:
        notes.append("no column identifies responses: each row counts as one (--response names columns)")
        columns = replace(columns, response=(ROW,))
    elif not columns.response:
        notes.append(
            "no column identifies responses (--response): no mean of responses, no error between them"
        )
        columns = replace(columns, prompt=None)
    if columns.prompt is not None and columns.prompt not in columns.response:
        # A response belongs to one prompt.
        columns = replace(columns, response=(columns.prompt, *columns.response))
    return columns, notes


def _columns_by_name(names: Sequence[str], options: TokenOptions, file: str) -> TokenColumns:
    """The columns that the options name, and by their own names those without an option.

    Raises InputError (``column-not-found``, ``no-step-column``, ``no-entropy-column``).
    """
    # Of names that differ in case alone, the first.
    folded = {name.casefold(): name for name in reversed(names)}
    columns: dict[str, str | None] = {}
    for role, candidates in NAMES.items():
        named = getattr(options, role)
        if named is None:
            columns[role] = next((folded[name] for name in candidates if name in folded), None)
        else:
            # An empty name is that of no column.
            columns[role] = named or None
    for column in (*columns.values(), *options.response):
        if column and column not in names:
            raise no_column(file, column, names)
    for role, hint in {"step": "--step", "entropy": "--entropy; in nats, per token"}.items():
        if columns[role] is None:
            examples = listing(NAMES[role], 3)
            near = similar_columns(NAMES[role], names)
            raise InputError(
                f"no-{role}-column",
                f"{shown(file)} has no {role} column by name, such as {examples}; {near}",
                f"name it with {hint}",
            )
    responses = options.response or _response_columns(folded)
    if options.prompt is None:
        # The other names of a prompt are found in any case.
        column = next((name for name in responses if name.casefold() == "prompt"), None)
        columns["prompt"] = columns["prompt"] or column
    return TokenColumns(**columns, response=responses)  # type: ignore[arg-type]


def _response_columns(folded: Mapping[str, str]) -> tuple[str, ...]:
    """Columns that identify a response by their names in lower case (``folded``)."""
    for key in RESPONSES:
        if folded.keys() >= set(key):
            # In each rank and run the numbers of responses start again.
            return tuple(folded[name] for name in ("rank", "run_id", *key) if name in folded)
    return ()


def _check_types(columns: TokenColumns, types: Mapping[str, pa.DataType], file: str) -> None:
    """Raise for columns of other types than numbers, and by its name for an entropy that is not in nats.

    Raises InputError (``column-not-numeric``, ``step-not-whole``, ``entropy-in-bits``,
    ``entropy-is-perplexity``).
    """
    # The roles that are not here may have any type, or are checked where they are used.
    expected = {
        "step": "whole numbers",
        "entropy": "entropies",
        "planning": "0 and 1",
        "mask": "0 and 1",
        "logprob": "log-probabilities",
        "advantage": "advantages",
        "correct": "0 and 1",
    }
    for role, content in expected.items():
        name = getattr(columns, role)
        kind = element_type(types.get(name, pa.null()))
        # A key is a text, and so is a flag that is written as a word.
        if kind == pa.string() and role in ("step", "planning", "mask", "correct"):
            continue
        if kind == pa.bool_() and content == "0 and 1":
            continue
        if pa.types.is_null(kind) or is_number(kind):
            continue
        option = "--class" if role == "planning" else f"--{role}"
        hint = f"name the column with {option}"
        if role not in ("step", "entropy"):
            hint += f", or {option} '' for none"
        raise InputError(
            "step-not-whole" if role == "step" else "column-not-numeric",
            f"column {shown(name)} of {shown(file)} holds {kind}, expected {content}",
            hint,
        )
    if is_perplexity(columns.entropy):
        raise InputError(
            "entropy-is-perplexity",
            f"{shown(columns.entropy)} of {shown(file)} is a perplexity by its name, the exponential of an "
            "entropy",
            "write its logarithm into a column of its own",
        )
    nats, unit = nats_per_unit(columns.entropy)
    # Tokens are summed as they are.
    if unit != "nats":
        raise InputError(
            "entropy-in-bits",
            f"{shown(columns.entropy)} of {shown(file)} is in {unit} by its name, and tokens' entropies are "
            "in nats",
            f"multiply it by {nats:.6f}, and name it without {unit}",
        )


def json_types(files: Sequence[TableFile], columns: TokenColumns) -> dict[str, str]:
    """SQL types of the used columns of JSON lines, which each engine would otherwise infer in its own way.

    Measured numbers are ``double``, whatever the first records hold; flags are text, because 0.5 would be
    rounded to a flag.
    """
    sql_types = {pa.bool_(): "boolean", pa.int64(): "bigint", pa.float64(): "double"}
    numbers = {pa.int64(), pa.float64()}
    flags = (columns.planning, columns.mask, columns.correct)
    measured = (columns.entropy, columns.logprob, columns.advantage, columns.position)
    types = {}
    for name in columns.stored:
        kinds = {element_type(file.types[name]) for file in files} - {pa.null()}
        kind = sql_types.get(next(iter(kinds), pa.string()), "string")
        if name in measured or kinds == numbers or (name == columns.step and kinds <= numbers):
            kind = "double"
        if name in flags:
            kind = "string"
        types[name] = f"{kind}[]" if name in columns.lists else kind
    return types
