"""A run's configuration, where W&B keeps it beside the log: ``config.yaml`` with ``key: {value: …}``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path

from entropylaw.ingest.wording import shown
from entropylaw.ingest.yamltext import read_yaml
from entropylaw.inputs import note_input
from entropylaw.paths import is_file

# No configuration is longer, deeper or wider; YAML's references could make a small file endless.
_LONGEST_FILE = 1 << 20
_MOST_SETTINGS = 100_000
_LONGEST_NAME = 500


def settings_beside(path: str) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return the settings in the ``config.yaml`` beside a log or in ``files/`` beside it, and notes.

    Where there is such a file and no setting can be read from it, the note says why.
    """
    folder = Path(path).parent
    for place in (folder / "config.yaml", folder / "files" / "config.yaml"):
        name = shown(place.name)
        try:
            if not is_file(place):
                continue
            note_input(place)
            with place.open("rb") as stream:
                data = stream.read(_LONGEST_FILE + 1)
            if len(data) > _LONGEST_FILE:
                raise ValueError(f"it is longer than {_LONGEST_FILE >> 20} MiB")
            found = _settings_in(data)
        except OSError as problem:
            return {}, (f"{name} beside the log was not read: {problem.strerror or type(problem).__name__}",)
        except ValueError as problem:
            return {}, (f"{name} beside the log was not read: {problem}",)
        return found, (f"settings are read from {name} beside the log",) if found else ()
    return {}, ()


@lru_cache(maxsize=4)  # the logs of one folder share a file
def _settings_in(data: bytes) -> Mapping[str, object]:
    return flat_settings(read_yaml(data))


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
    while stack:
        path, node = stack.pop()
        if isinstance(node, Mapping):
            # Counted as they are put down: a mapping that contains itself many times is no larger than a log.
            before = f"{path}/" if path else ""
            inner = [(f"{before}{name}", value) for name, value in islice(node.items(), budget)]
            budget -= len(inner)
            stack += (item for item in inner if len(item[0]) <= _LONGEST_NAME)
        elif isinstance(node, (bool, int, float, str)):
            flat[path] = node
    return dict(sorted(flat.items()))
