"""A run's configuration, where W&B keeps it beside the log: ``config.yaml`` with ``key: {value: …}``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from entropylaw.ingest.wording import shown

# No configuration is longer, deeper or wider; YAML's references could make a small file endless.
_LONGEST_FILE = 1 << 20
_MOST_SETTINGS = 20_000
_LONGEST_NAME = 500


def settings_beside(path: str) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return the settings in the ``config.yaml`` beside a log or in ``files/`` beside it, and notes."""
    try:
        folder = Path(path).parent
        for place in (folder / "config.yaml", folder / "files" / "config.yaml"):
            if place.is_file() and place.stat().st_size <= _LONGEST_FILE:
                return _read(place)
    except (OSError, ValueError):
        pass
    return {}, ()


def _read(place: Path) -> tuple[Mapping[str, object], tuple[str, ...]]:
    import yaml

    try:
        # The loader written in Python: nesting without end raises there, and overflows the stack in C.
        whole = yaml.load(place.read_bytes(), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as problem:
        return {}, (
            f"{shown(place.name)} beside the log is no YAML ({type(problem).__name__}) and was left out",
        )
    found = flat_settings(whole)
    return found, (f"settings are read from {shown(place.name)} beside the log",) if found else ()


def flat_settings(whole: object) -> dict[str, object]:
    """Return numbers, flags and text by their path, W&B's ``value`` taken out of the way.

    W&B's own entry (``_wandb``) is left out: it tells of the machine.
    """
    if not isinstance(whole, Mapping):
        return {}
    unwrapped = {
        name: node["value"] if isinstance(node, Mapping) and "value" in node else node
        for name, node in whole.items()
        if name not in ("_wandb", "wandb_version")
    }
    flat: dict[str, object] = {}
    stack: list[tuple[str, object]] = [("", unwrapped)]
    budget = _MOST_SETTINGS
    while stack and budget:
        budget -= 1
        path, node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend((f"{path}/{name}" if path else str(name), inner) for name, inner in node.items())
        elif isinstance(node, (bool, int, float, str)) and len(path) <= _LONGEST_NAME:
            flat[path] = node
    return dict(sorted(flat.items()))
