"""Which column of a token table is which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from entropylaw.errors import InputError
from entropylaw.ingest.wording import listing, nearest, shown
from entropylaw.options import TokenOptions
from entropylaw.tokens.files import TokenFile, both
from entropylaw.tokens.query import ROW, TokenColumns

NAMES: dict[str, tuple[str, ...]] = {
    "step": ("step", "global_step", "training_step", "train_step", "trainer_step", "export_step", "_step"),
    "entropy": ("entropy", "token_entropy", "entropies", "policy_entropy"),
    "planning": ("is_planning", "token_class", "class"),
    "mask": ("loss_mask", "response_mask", "completion_mask", "action_mask", "token_mask", "mask"),
    "logprob": ("logprob", "log_prob", "trainer_logprobs", "logprobs", "old_log_prob"),
    "correct": ("correct", "is_correct"),
    "position": ("position", "pos", "token_position", "position_ids"),
    "token": ("token", "text", "token_text", "token_str"),
    "prompt": ("prompt_id", "prompt_idx", "problem_id", "group_id", "example_id"),
}
"""Names that are looked for, best first; upper and lower case are the same."""

RESPONSES: tuple[tuple[str, ...], ...] = (
    *(("prompt", "sample"), ("prompt_id", "sample_id"), ("prompt_idx", "sample_idx")),
    *(("response_id",), ("completion_id",), ("rollout_id",), ("seq_key",), ("seq_id",), ("sequence_id",)),
    *(("sequence",), ("export_sequence_idx",)),
)
"""Columns that tell one response of a step from another, best first."""

_NUMBER = re.compile(r"u?int\d+|halffloat|float|double|decimal.*|null")
_ALSO: dict[str, tuple[str, ...]] = {"step": ("string",), "entropy": (), "logprob": ()}
"""What else than numbers the columns of a role may hold; of the other roles flags and their names."""


def looked_for(options: TokenOptions) -> dict[str, set[str]]:
    """Names by role that stand for a column, in lower case: the one of the options, or :data:`NAMES`."""
    given = {role: getattr(options, role) for role in NAMES}
    return {role: set(NAMES[role]) if name is None else {name.casefold()} for role, name in given.items()}


def resolve(files: Sequence[TokenFile], options: TokenOptions) -> tuple[TokenColumns, list[str]]:
    """Find the columns of a table, as the options say or by their names, and what to say of them.

    Others are an InputError: ``column-not-found`` for one that an option names, ``no-step-column``,
    ``no-entropy-column``, ``column-not-numeric``, ``step-not-whole``.
    """
    file = files[0]
    types = dict(file.types)
    # JSON lines do not all have a value in every field.
    for other in files[1:] if file.kind == "jsonl" else ():
        types |= {name: both(types[name], kind) for name, kind in other.types.items() if name in types}
    names = [*types, *(name for name in file.hive if name not in types)]
    columns = _columns(names, options, file.name)
    _check_types(columns, types, file.name)
    nested = types.get(columns.entropy, "").startswith("list")
    # Beside lists of entropies a column without a value holds lists, too.
    per_token = ("planning", "mask", "logprob", "position", "token")
    empty = [name for role in per_token if types.get(name := getattr(columns, role)) == "null" and nested]
    lists = tuple(n for n in columns.all if types.get(n, "").startswith("list") or n in empty)
    notes: list[str] = []
    more: list[str] = []
    if lists and not nested:
        # A list beside a plain entropy cannot be aligned with it, and no option named it.
        notes.append(f"{listing(lists)} holds lists, and {shown(columns.entropy)} one number a row: not used")
        dropped = {role: None for role in NAMES if getattr(columns, role) in lists}
        columns, lists = replace(columns, **dropped), ()  # type: ignore[arg-type]
    untold = "no column tells responses apart: "
    if not columns.response and nested:
        columns = replace(columns, response=(ROW,))
        more = [f"{untold}each row is taken for one (--response names columns)"]
    elif not columns.response:
        columns = replace(columns, prompt=None)
        more = [f"{untold}no mean of responses, no error between them; see --response"]
    if columns.prompt is not None and columns.prompt not in columns.response:
        # A response is of one prompt.
        columns = replace(columns, response=(columns.prompt, *columns.response))
    runs = ("run", "run_id", "run_name", "seed")
    unused = [name for name in names if name.casefold() in runs and name not in columns.response]
    notes += [f"column {shown(name)} is not used: all rows count as one run" for name in unused]
    if options.top_quantile is not None or options.grams is not None:
        columns = replace(columns, planning=None)
    lists = tuple(name for name in lists if name in columns.all)
    return replace(columns, lists=lists), [*notes, *more]


def _columns(names: Sequence[str], options: TokenOptions, file: str) -> TokenColumns:
    """The columns of the options, and by their names those for which nothing was said."""
    # Upper and lower case are the same; of several the first.
    folded = {name.casefold(): name for name in reversed(names)}
    found: dict[str, str | None] = {}
    for role, candidates in NAMES.items():
        name = getattr(options, role)
        default = next((folded[each] for each in candidates if each in folded), None)
        found[role] = default if name is None else _exactly(name, names) if name else None
    for role, values in (("step", "steps"), ("entropy", "entropies")):
        if found[role] is None:
            there = _similar(NAMES[role], names, "its columns are")
            such = listing(NAMES[role], 3)
            message = f"{shown(file)} has no column of {values} by name, such as {such}; {there}"
            if role == "step":
                raise InputError("no-step-column", message, "name it with --step")
            raise InputError("no-entropy-column", message, "name it with --entropy; in nats, one a token")
    responses = tuple(_exactly(name, names) for name in options.response)
    if not responses:
        known = next((every for every in RESPONSES if folded.keys() >= {*every}), ())
        # Beside these, the numbers of responses start anew.
        apart = [name for name in ("rank", "run_id") if known and name in folded]
        responses = tuple(folded[name] for name in (*apart, *known))
    if found["prompt"] is None and options.prompt is None:
        prompts = {first for first, *second in RESPONSES if second}
        found["prompt"] = next((name for name in responses if name.casefold() in prompts), None)
    return TokenColumns(**found, response=responses)  # type: ignore[arg-type]


def _exactly(name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    message = f"there is no column {shown(name)}; {_similar([name], names, 'the columns are')}"
    raise InputError("column-not-found", message, "name one of the table's columns")


def _similar(wanted: Sequence[str], names: Sequence[str], otherwise: str) -> str:
    """The names that come near, or all of them."""
    close = nearest(wanted, names)
    return f"similar: {listing(close)}" if close else f"{otherwise} {listing(names)}"


def _check_types(columns: TokenColumns, types: dict[str, str], file: str) -> None:
    """Notice columns that are no numbers, before an engine blames the file for them."""
    # The other three may hold anything, or are looked at where they are used.
    for role in ("step", "entropy", "planning", "mask", "logprob", "correct"):
        name = getattr(columns, role)
        kind = types.get(name, "").removeprefix("list of ")
        if not kind or _NUMBER.fullmatch(kind) or kind in _ALSO.get(role, ("bool", "string")):
            continue
        message = f"column {shown(name)} of {shown(file)} holds {kind}, "
        if role == "step":
            hint = "name the column of steps with --step"
            raise InputError("step-not-whole", f"{message}whole numbers are needed", hint)
        needed = {"entropy": "entropies are", "logprob": "log-probabilities are"}.get(role, "0 and 1 are")
        option = "--class" if role == "planning" else f"--{role}"
        hint = f"name the column with {option}" + ("" if role == "entropy" else f", or {option} '' for none")
        raise InputError("column-not-numeric", f"{message}{needed} needed", hint)
