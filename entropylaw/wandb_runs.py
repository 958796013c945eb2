"""Runs at W&B, read by the public API of the ``wandb`` package, which is imported when needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import shown

SCHEME = "wandb://"
_FORM = "wandb://ENTITY/PROJECT/RUN, where RUN is the id at the end of the run's address"
# Seconds that each request may take.
_PATIENCE = 30


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
    path = url.removeprefix(SCHEME).strip("/")
    if len(path.split("/")) != 3 or not all(path.split("/")):
        raise UsageError("wandb-path", f"{shown(url)} is no run of W&B", f"write {_FORM}")
    try:
        import wandb
    except ImportError:
        raise UsageError(
            "remote-not-installed",
            f"{shown(url)} is a run at W&B, and the package that reads it is not installed",
            "pip install wandb, then wandb login; or download the run's .wandb file and name that",
        ) from None
    try:
        run = wandb.Api(timeout=_PATIENCE).run(path)
        rows = [json.dumps(row, sort_keys=True) for row in run.scan_history()]
        lines, group = "\n".join([*rows, ""]).encode(), getattr(run, "group", None)
        return History(str(run.name or run.id), dict(run.config), lines, str(group or ""))
    except MemoryError:
        raise
    except Exception as problem:  # the package raises errors of several libraries
        raise unread(path, problem) from None


def unread(path: str, problem: Exception) -> InputError:
    """The error for any of the package's, by what its message says."""
    text = str(problem).casefold()
    busy = "did not respond" in text or "timed out" in text
    if "could not find" in text or "not found" in text:
        return InputError(
            "wandb-run-not-found",
            f"W&B has no run {shown(path)}, or you may not see it",
            f"check the path: {_FORM}; `wandb login` changes the user",
        )
    denied = ("api key", "credentials", "log in", "login", "permission", "401", "403", "unauthorized")
    if not busy and any(word in text for word in denied):
        return InputError(
            "wandb-not-logged-in",
            f"W&B does not let this user read {shown(path)}",
            "type `wandb login`, or set WANDB_API_KEY; WANDB_BASE_URL names a server of your own",
        )
    return InputError(
        "wandb-unreachable",
        f"W&B gave no answer for {shown(path)}: {type(problem).__name__}",
        "check the network, and WANDB_BASE_URL for a server of your own; then try again",
    )
