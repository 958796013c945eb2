"""Which column of a token table is which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entropylaw.errors import InputError
from entropylaw.ingest.wording import listing, nearest, shown
from entropylaw.tokens.expression import TokenColumns
from entropylaw.tokens.files import TokenFile

NAMES: dict[str, tuple[str, ...]] = {
    "step": ("step", "global_step", "training_step", "train_step", "trainer_step", "export_step", "_step"),
    "entropy": ("entropy", "token_entropy", "entropies", "policy_entropy"),
    "planning": ("is_planning", "token_class", "class"),
    "mask": ("loss_mask", "response_mask", "completion_mask", "action_mask", "token_mask", "mask"),
    "logprob": ("logprob", "log_prob", "trainer_logprobs", "logprobs", "old_log_prob"),
    "correct": ("correct", "is_correct"),
    "position": ("position", "pos", "token_position", "position_ids"),
    "token": ("token", "text", "token_text", "token_str"),
}
"""Names that are looked for, best first; upper and lower case are the same."""

RESPONSES: tuple[tuple[str, ...], ...] = (
    *(("prompt", "sample"), ("prompt_id", "sample_id"), ("prompt_idx", "sample_idx")),
    *(("response_id",), ("completion_id",), ("rollout_id",), ("seq_key",), ("seq_id",), ("sequence_id",)),
    *(("sequence",), ("export_sequence_idx",)),
)
"""Columns that tell one response of a step from another, best first."""

_SPREAD = ("rank", "run_id")
"""Columns beside which the numbers of responses start anew."""

_RUNS = ("run", "run_id", "run_name", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The columns, whether entropies are lists (one sequence a row), and what to tell the user."""

    columns: TokenColumns
    lists: tuple[str, ...]
    notes: tuple[str, ...]


def resolve(file: TokenFile, asked: dict[str, str | None], response: Sequence[str] | None) -> Roles:
    """Find the columns of a table, as asked or by their names.

    Raises
    ------
    InputError
        ``column-not-found`` for one that was asked for, ``no-step-column``, ``no-entropy-column``,
        ``column-not-numeric``, ``step-not-whole``.

    """
    names = [*file.types, *(name for name in file.hive if name not in file.types)]
    found = {role: _found(role, names, asked.get(role)) for role in NAMES}
    for role in ("step", "entropy"):
        if found[role] is None:
            raise _missing(role, names, file.name)
    responses = _responses(names, response)
    columns = TokenColumns(**found, response=responses)  # type: ignore[arg-type]
    lists = tuple(name for name in columns.all if file.types.get(name, "").startswith("list"))
    entropy = file.types.get(columns.entropy, "")
    if "string" in entropy or "bool" in entropy or "struct" in entropy:
        raise InputError(
            "column-not-numeric",
            f"column {shown(columns.entropy)} of {shown(file.name)} holds {entropy}, entropies are needed",
            "name the column of entropies with --entropy",
        )
    kind = file.types.get(columns.step, "")
    if "string" in kind or "bool" in kind or "struct" in kind:
        raise InputError(
            "step-not-whole",
            f"column {shown(columns.step)} of {shown(file.name)} holds {kind}, whole numbers are needed",
            "name the column of steps with --step",
        )
    if lists and columns.entropy not in lists:
        # A list beside a plain entropy cannot be aligned with it, and nobody asked for it by name.
        columns = _without(columns, lists)
        lists = ()
    runs = [name for name in names if name.casefold() in _RUNS and name not in columns.response]
    notes = [f"column {shown(name)} is not used: all rows count as one run" for name in runs]
    return Roles(columns=columns, lists=lists, notes=tuple(notes))


def _without(columns: TokenColumns, lists: Sequence[str]) -> TokenColumns:
    from dataclasses import replace

    dropped = {role: None for role in NAMES if getattr(columns, role) in lists}
    return replace(columns, **dropped)  # type: ignore[arg-type]


def _found(role: str, names: Sequence[str], asked: str | None) -> str | None:
    if asked is not None:
        return _exactly(asked, names) if asked else None
    folded = {name.casefold(): name for name in reversed(names)}
    return next((folded[name] for name in NAMES[role] if name in folded), None)


def _exactly(asked: str, names: Sequence[str]) -> str:
    if asked in names:
        return asked
    close = nearest([asked], names)
    raise InputError(
        "column-not-found",
        f"there is no column {shown(asked)}; "
        + (f"similar: {listing(close)}" if close else f"the columns are {listing(list(names))}"),
        "name one of the table's columns",
    )


def _responses(names: Sequence[str], asked: Sequence[str] | None) -> tuple[str, ...]:
    if asked:
        return tuple(_exactly(name, names) for name in asked)
    folded = {name.casefold(): name for name in reversed(names)}
    for candidate in RESPONSES:
        if all(name in folded for name in candidate):
            extra = tuple(folded[name] for name in _SPREAD if name in folded)
            return (*extra, *(folded[name] for name in candidate))
    return ()


def _missing(role: str, names: Sequence[str], file: str) -> InputError:
    close = nearest(NAMES[role], names)
    where = f"; similar: {listing(close)}" if close else f"; its columns are {listing(list(names))}"
    message = f"{shown(file)} has no column of {role}s by name, such as {listing(NAMES[role], 3)}{where}"
    if role == "step":
        return InputError("no-step-column", message, "name it with --step")
    message = message.replace("entropys", "entropies")
    return InputError("no-entropy-column", message, "name it with --entropy; in nats, one a token")
