"""Finds the columns of a token table, by the options or by their own names, and checks their types."""

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

_PER_TOKEN = ("planning", "mask", "logprob", "advantage", "position", "token")


def resolve(files: Sequence[TableFile], options: TokenOptions) -> tuple[TokenColumns, list[str]]:
    """The columns of a table, by the options or by their names, and notes on them.

    InputErrors are ``column-not-found`` for one that an option names, ``no-step-column``,
    ``no-entropy-column``, ``column-not-numeric``, ``step-not-whole``, ``entropy-in-bits``,
    ``entropy-is-perplexity``, ``shards-differ``, ``columns-repeat``.
    """
    leader = files[0]
    types = dict(leader.types)
    keys = _keys_used(leader, options)
    types |= dict.fromkeys(keys, pa.string())
    # Fields of JSON lines need not have a value in every file.
    for file, (name, kind) in product(files[1:], leader.types.items()):
        if element_type(types[name]) == pa.null():
            types[name] = file.types.get(name, kind)
    columns = named_columns([*types], options, leader.name)
    columns = replace(columns, keys=tuple(key for key in keys if key in columns.all))
    _check_types(columns, types, leader.name)
    nested = pa.types.is_list(types[columns.entropy])
    lists = _list_columns(columns, types)
    notes = [f"column {shown(key)} is that of the folders' names" for key in columns.keys]
    if lists and not nested:
        notes.append(f"{listing(lists)} holds lists, {shown(columns.entropy)} one number per row: not used")
        unused = {role: None for role in NAMES if getattr(columns, role) in lists}
        columns = replace(columns, **unused)  # type: ignore[arg-type]
        lists = ()
    runs = ("run", "run_id", "run_name", "seed")
    notes += [
        f"column {shown(name)} is not used: all rows count as one run"
        for name in types
        if name.casefold() in runs and name not in columns.response
    ]
    columns, unidentified = _with_response(columns, nested=nested)
    notes += unidentified
    if (options.top_quantile, options.grams) != (None, None):
        columns = replace(columns, planning=None)
    _check_alike(files, (*columns.stored, *columns.keys))
    for file in files:
        check_distinct(file, columns.stored)
    return replace(columns, lists=tuple(name for name in lists if name in columns.all)), notes


def named_keys(options: TokenOptions) -> set[str]:
    """The keys in the names of folders that may be columns: those of a step, and those that options name."""
    named = {getattr(options, role) for role in NAMES} - {None}
    return {*NAMES["step"], *named, *options.response}


def _keys_used(file: TableFile, options: TokenOptions) -> list[str]:
    """The keys of a file's folders that may be columns: no column of the file has such a name."""
    stored = set(map(str.casefold, file.types))
    named = named_keys(options)
    return [key for key in file.keys if key in named and key.casefold() not in stored]


def _check_alike(files: Sequence[TableFile], columns: Sequence[str]) -> None:
    """Refuse a file whose types differ from the first file's in the ``columns`` (``shards-differ``)."""
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
                "write all files with the same columns and types, or name only those that belong "
                f"together; the file's columns are {listing(list(file.types))}",
            )


def _stored_as(file: TableFile, column: str) -> pa.DataType | str | None:
    """The type of a column of a file, "partition" for a key of its folders; None where it has neither."""
    return file.types.get(column, "partition" if column in file.keys else None)


def _storage(kind: pa.DataType | str | None) -> str:
    """How a file has a column of this type, in a message."""
    return f"as {kind}" if kind else "not at all"


def _is_alike_in_json(a: pa.DataType | str | None, b: pa.DataType | str | None) -> bool:
    """Whether types of two JSON files can be one: 0 and 0.5 are both numbers, and null may be anything."""
    if not isinstance(a, pa.DataType) or not isinstance(b, pa.DataType):
        return False
    if pa.types.is_list(a) and pa.types.is_list(b):
        a = a.value_type
        b = b.value_type
    return pa.null() in (a, b) or {a, b} <= {pa.int64(), pa.float64()}


def _list_columns(columns: TokenColumns, types: Mapping[str, pa.DataType]) -> tuple[str, ...]:
    """The columns of lists; next to lists of entropies a column without a value holds lists, too."""
    lists = {name for name in columns.all if pa.types.is_list(types[name])}
    if columns.entropy in lists:
        per_token = {getattr(columns, role) for role in _PER_TOKEN} - {None}
        lists |= {name for name in per_token if types[name] == pa.null()}
    return tuple(name for name in columns.all if name in lists)


def _with_response(columns: TokenColumns, *, nested: bool) -> tuple[TokenColumns, list[str]]:
    """The columns with those that identify a response, and a note where a table has none."""
    notes = []
    if not columns.response:
        consequence = "no mean of responses, no error between them; see --response"
        if nested:
            consequence = "each row counts as one (--response names columns)"
        notes.append(f"no column identifies responses: {consequence}")
        columns = replace(columns, response=(ROW,)) if nested else replace(columns, prompt=None)
    if columns.prompt is not None and columns.prompt not in columns.response:
        # A response belongs to one prompt.
        columns = replace(columns, response=(columns.prompt, *columns.response))
    return columns, notes


def named_columns(names: Sequence[str], options: TokenOptions, file: str) -> TokenColumns:
    """The columns that the options name, and by their own names those without an option."""
    folded = {name.casefold(): name for name in reversed(names)}
    columns: dict[str, str | None] = {}
    for role, candidates in NAMES.items():
        columns[role] = getattr(options, role) or None
        if getattr(options, role) is None:
            columns[role] = next(filter(None, map(folded.get, candidates)), None)
    _check_named(columns, options.response, names, file)
    responses = options.response or _response_columns(folded)
    if options.prompt is None:
        # The other names of a prompt are found in any case.
        column = next((name for name in responses if name.casefold() == "prompt"), None)
        columns["prompt"] = columns["prompt"] or column
    return TokenColumns(**columns, response=responses)  # type: ignore[arg-type]


def _check_named(
    columns: Mapping[str, str | None], response: Sequence[str], names: Sequence[str], file: str
) -> None:
    """Refuse an option that names no column of the table, and a table without step or entropy."""
    for column in filter(None, (*columns.values(), *response)):
        if column not in names:
            raise no_column(file, column, names)
    for role, hint in {"step": "--step", "entropy": "--entropy; in nats, per token"}.items():
        if columns[role] is None:
            examples = listing(NAMES[role], 3)
            message = f"{shown(file)} has no {role} column by name, such as {examples}; "
            message += similar_columns(NAMES[role], names)
            raise InputError(f"no-{role}-column", message, f"name it with {hint}")


def _response_columns(folded: Mapping[str, str]) -> tuple[str, ...]:
    """Columns that identify a response by their names in lower case (``folded``)."""
    for key in RESPONSES:
        if folded.keys() >= {*key}:
            # In each rank and run the numbers of responses start again.
            return tuple(folded[name] for name in ("rank", "run_id", *key) if name in folded)
    return ()


def _check_types(columns: TokenColumns, types: Mapping[str, pa.DataType], file: str) -> None:
    """Refuse columns of other types than numbers, and by its name an entropy that is not in nats."""
    needed = {"step": "whole numbers", "entropy": "entropies", "logprob": "log-probabilities"}
    needed |= {"advantage": "advantages"}
    without_numbers = {"step": {pa.string()}, "entropy": set(), "logprob": set(), "advantage": set()}
    # The roles that are not here may have any type, or are checked where they are used.
    for role in ("step", "entropy", "planning", "mask", "logprob", "advantage", "correct"):
        name = getattr(columns, role)
        kind = element_type(types.get(name, pa.null()))
        if kind in without_numbers.get(role, {pa.bool_(), pa.string()}):
            continue
        if pa.types.is_null(kind) or is_number(kind):
            continue
        slug = "step-not-whole" if role == "step" else "column-not-numeric"
        message = f"column {shown(name)} of {shown(file)} holds {kind}, expected "
        option = "--class" if role == "planning" else f"--{role}"
        hint = f"name the column with {option}"
        if role not in ("step", "entropy"):
            hint += f", or {option} '' for none"
        raise InputError(slug, message + needed.get(role, "0 and 1"), hint)
    nats, unit = nats_per_unit(columns.entropy)
    message = f"{shown(columns.entropy)} of {shown(file)} is "
    if is_perplexity(columns.entropy):
        message += "a perplexity by its name, the exponential of an entropy"
        raise InputError("entropy-is-perplexity", message, "write its logarithm into a column of its own")
    # Tokens are summed as they are.
    if unit != "nats":
        message += f"in {unit} by its name, and tokens' entropies are in nats"
        raise InputError("entropy-in-bits", message, f"multiply it by {nats:.6f}, and name it without {unit}")


def json_types(files: Sequence[TableFile], columns: TokenColumns) -> dict[str, str]:
    """SQL types of the used columns of JSON lines, which each engine would otherwise infer in its own way.

    Measured numbers are ``double``, whatever the first records hold; flags are text, because 0.5 would be
    rounded to a flag.
    """
    sql = {pa.bool_(): "boolean", pa.int64(): "bigint", pa.float64(): "double"}
    numbers = {pa.int64(), pa.float64()}
    flags = (columns.planning, columns.mask, columns.correct)
    measured = (columns.entropy, columns.logprob, columns.advantage, columns.position)
    types = {}
    for name in columns.stored:
        kinds = {element_type(file.types[name]) for file in files} - {pa.null()}
        kind = sql.get(next(iter(kinds), pa.string()), "string")
        if name in measured or kinds == numbers or (name == columns.step and kinds <= numbers):
            kind = "double"
        if name in flags:
            kind = "string"
        types[name] = f"{kind}[]" if name in columns.lists else kind
    return types
