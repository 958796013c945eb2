"""Runs at W&B, read and written by the public API of the ``wandb`` package, which is imported when needed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from entropylaw.errors import EntropyLawError, InputError, OutputError, UsageError
from entropylaw.escaping import shown

SCHEME = "wandb://"
_FORM = "wandb://ENTITY/PROJECT/RUN, where RUN is the id at the end of the run's address"
# Seconds that each request may take.
_PATIENCE = 30

T = TypeVar("T")


class History(NamedTuple):
    """A run's display name, its configuration, its history as JSON lines, and its group (may be empty)."""

    name: str
    config: Mapping[str, object]
    lines: bytes
    group: str = ""


def history(url: str) -> History:
    """Fetch the whole history of the run at ``wandb://ENTITY/PROJECT/RUN``.

    Raises
    ------
    UsageError
        ``remote-not-installed`` without the package, ``wandb-path`` for a path of another form.
    InputError
        ``wandb-run-not-found``, ``wandb-not-logged-in``, ``wandb-unreachable``.
    """
    run, path = _open(url)

    def fetch() -> History:
        rows = [json.dumps(row, sort_keys=True) for row in run.scan_history()]
        lines, group = "\n".join([*rows, ""]).encode(), getattr(run, "group", None)
        return History(str(run.name or run.id), dict(run.config), lines, str(group or ""))

    return _answered(path, fetch)


def write_summary(run_path: str, values: Mapping[str, float | str | None]) -> None:
    """Write values into the summary of a run, as ``entropylaw/NAME``; None and not finite ones are left out.

    ``run_path`` is ``ENTITY/PROJECT/RUN``, with or without ``wandb://``.

    Raises as :func:`history`, and OutputError ``wandb-not-written``.
    """
    run, path = _open(run_path)
    written = {}
    for name, value in values.items():
        if isinstance(value, str) or (value is not None and math.isfinite(value)):
            written[f"entropylaw/{name}"] = value
    try:
        _answered(path, lambda: run.summary.update(written))
    except InputError as error:
        message = f"the summary of {shown(path)} was not written: {error.message}"
        raise OutputError("wandb-not-written", message, error.hint) from None


def _open(url: str) -> tuple[Any, str]:
    """The run of the public API, and its path."""
    path = url.removeprefix(SCHEME).strip("/")
    if len(path.split("/")) != 3 or not all(path.split("/")):
        raise UsageError("wandb-path", f"{shown(url)} is no run of W&B", f"write {_FORM}")
    try:
        import wandb
    except ImportError:
        message = f"{shown(url)} is a run at W&B, and the package that reads it is not installed"
        hint = "pip install wandb, then wandb login; or download the run's .wandb file and name that"
        raise UsageError("remote-not-installed", message, hint) from None
    return _answered(path, lambda: wandb.Api(timeout=_PATIENCE).run(path)), path


def _answered(path: str, call: Callable[[], T]) -> T:
    """Call the package; any of its errors becomes one of ours, by what its message says."""
    try:
        return call()
    except (EntropyLawError, MemoryError):
        raise
    except Exception as problem:  # the package raises errors of several libraries
        text = str(problem).casefold()
        busy = "did not respond" in text or "timed out" in text
        if "could not find" in text or "not found" in text:
            message = f"W&B has no run {shown(path)}, or you may not see it"
            hint = f"check the path: {_FORM}; `wandb login` changes the user"
            raise InputError("wandb-run-not-found", message, hint) from None
        denied = ("api key", "credentials", "log in", "login", "permission", "401", "403", "unauthorized")
        if not busy and any(word in text for word in denied):
            message = f"W&B does not let this user read or write {shown(path)}"
            hint = "type `wandb login`, or set WANDB_API_KEY; WANDB_BASE_URL names a server of your own"
            raise InputError("wandb-not-logged-in", message, hint) from None
        message = f"W&B gave no answer for {shown(path)}: {type(problem).__name__}"
        hint = "check the network, and WANDB_BASE_URL for a server of your own; then try again"
        raise InputError("wandb-unreachable", message, hint) from None
