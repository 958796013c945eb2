"""Which column of a token table is which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The columns, whether entropies are lists (one sequence a row), and what to tell the user."""

    columns: TokenColumns
    lists: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns that the files have: all but the number of the row."""
        return tuple(name for name in self.columns.all if name != ROW)


def looked_for(options: TokenOptions) -> dict[str, Sequence[str]]:
    """Names by role that stand for a column: the one of the options, or those that are looked for."""
    given = {role: getattr(options, role) for role in NAMES}
    return {role: names if given[role] is None else [given[role]] for role, names in NAMES.items()}


def resolve(files: Sequence[TokenFile], options: TokenOptions) -> Roles:
    """Find the columns of a table, as the options say or by their names.

    Raises
    ------
    InputError
        ``column-not-found`` for one that was asked for, ``no-step-column``, ``no-entropy-column``,
        ``column-not-numeric``, ``step-not-whole``.

    """
    file, types = files[0], _types(files)
    names = [*types, *(name for name in file.hive if name not in types)]
    columns = _columns(names, options, file.name)
    _check_types(columns, types, file.name)
    nested = types.get(columns.entropy, "").startswith("list")
    lists = _lists(columns, types, nested=nested)
    notes: list[str] = []
    more: list[str] = []
    if lists and not nested:
        # A list beside a plain entropy cannot be aligned with it, and nobody asked for it by name.
        notes.append(f"{listing(lists)} holds lists, and {shown(columns.entropy)} one number a row: not used")
        dropped = {role: None for role in NAMES if getattr(columns, role) in lists}
        columns, lists = replace(columns, **dropped), ()  # type: ignore[arg-type]
    if not columns.response and nested:
        columns = replace(columns, response=(ROW,))
        more.append("no column tells responses apart: each row is taken for one (--response names columns)")
    elif not columns.response:
        columns = replace(columns, prompt=None)
        more.append(
            "no column tells responses apart: no mean of responses, no error between them; see --response"
        )
    if columns.prompt is not None and columns.prompt not in columns.response:
        # A response is of one prompt.
        columns = replace(columns, response=(columns.prompt, *columns.response))
    for name in names:
        if name.casefold() in ("run", "run_id", "run_name", "seed") and name not in columns.response:
            notes.append(f"column {shown(name)} is not used: all rows count as one run")
    return Roles(columns=columns, lists=lists, notes=(*notes, *more))


def _lists(columns: TokenColumns, types: dict[str, str], *, nested: bool) -> tuple[str, ...]:
    """The columns of lists; beside lists of entropies a column without a value holds them, too."""
    per_token = ("planning", "mask", "logprob", "position", "token")
    empty = {getattr(columns, role) for role in per_token} if nested else set()
    kinds = {name: types.get(name, "") for name in columns.all}
    return tuple(n for n, kind in kinds.items() if kind.startswith("list") or (kind == "null" and n in empty))


def _types(files: Sequence[TokenFile]) -> dict[str, str]:
    """The first file's types; of JSON lines what all the files' records say together."""
    types = dict(files[0].types)
    for file in files[1:] if files[0].kind == "jsonl" else ():
        types |= {name: both(types[name], kind) for name, kind in file.types.items() if name in types}
    return types


def _columns(names: Sequence[str], options: TokenOptions, file: str) -> TokenColumns:
    """The columns of the options, and by their names those for which nothing was said."""
    folded = _folded(names)
    found: dict[str, str | None] = {}
    for role, candidates in NAMES.items():
        name = getattr(options, role)
        if name is None:
            found[role] = next((folded[each] for each in candidates if each in folded), None)
        else:
            found[role] = _exactly(name, names) if name else None
    for role in ("step", "entropy"):
        if found[role] is None:
            raise _missing(role, names, file)
    responses = _responses(names, options.response)
    if found["prompt"] is None and options.prompt is None:
        prompts = {first for first, *second in RESPONSES if second}
        found["prompt"] = next((name for name in responses if name.casefold() in prompts), None)
    return TokenColumns(**found, response=responses)  # type: ignore[arg-type]


def _folded(names: Sequence[str]) -> dict[str, str]:
    """Names by their lower case; of several the first."""
    return {name.casefold(): name for name in reversed(names)}


def _missing(role: str, names: Sequence[str], file: str) -> InputError:
    close = nearest(NAMES[role], names)
    values = {"step": "steps", "entropy": "entropies"}[role]
    there = f"similar: {listing(close)}" if close else f"its columns are {listing(names)}"
    message = f"{shown(file)} has no column of {values} by name, such as {listing(NAMES[role], 3)}; {there}"
    if role == "step":
        return InputError("no-step-column", message, "name it with --step")
    return InputError("no-entropy-column", message, "name it with --entropy; in nats, one a token")


def _exactly(asked: str, names: Sequence[str]) -> str:
    if asked in names:
        return asked
    close = nearest([asked], names)
    raise InputError(
        "column-not-found",
        f"there is no column {shown(asked)}; "
        + (f"similar: {listing(close)}" if close else f"the columns are {listing(names)}"),
        "name one of the table's columns",
    )


def _responses(names: Sequence[str], asked: Sequence[str] | None) -> tuple[str, ...]:
    if asked:
        return tuple(_exactly(name, names) for name in asked)
    folded = _folded(names)
    for candidate in RESPONSES:
        if all(name in folded for name in candidate):
            # Beside these, the numbers of responses start anew.
            extra = (name for name in ("rank", "run_id") if name in folded)
            return tuple(folded[name] for name in (*extra, *candidate))
    return ()


def _check_types(columns: TokenColumns, types: dict[str, str], file: str) -> None:
    """Notice columns that are no numbers, before an engine blames the file for them."""
    for role in NAMES:
        name = getattr(columns, role)
        kind = "" if name is None else types.get(name, "").removeprefix("list of ")
        allowed = _ALSO.get(role, ("bool", "string"))
        # The first three may hold anything, or are looked at where they are used.
        if not kind or role in ("token", "prompt", "position") or _NUMBER.fullmatch(kind) or kind in allowed:
            continue
        message = f"column {shown(name)} of {shown(file)} holds {kind}, "
        if role == "step":
            hint = "name the column of steps with --step"
            raise InputError("step-not-whole", f"{message}whole numbers are needed", hint)
        needed = {"entropy": "entropies are", "logprob": "log-probabilities are"}.get(role, "0 and 1 are")
        option = "--class" if role == "planning" else f"--{role}"
        hint = f"name the column with {option}" + ("" if role == "entropy" else f", or {option} '' for none")
        raise InputError("column-not-numeric", f"{message}{needed} needed", hint)
