"""A run's configuration, where W&B keeps it beside the log: ``config.yaml`` with ``key: {value: …}``.

YAML is read without what makes it dangerous. PyYAML's loaders build objects by tag, copy merged mappings
without end and recurse as deep as a file says. Here its events are read, with a bound on their number, by
libyaml where that is installed: both parsers give the same for what is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from entropylaw.ingest.wording import shown
from entropylaw.inputs import note_input
from entropylaw.paths import is_file

# No configuration is longer, deeper or wider; YAML's references could make a small file endless.
_LONGEST_FILE = 1 << 20
_MOST_SETTINGS = 100_000
_LONGEST_NAME = 500

_MOST_NODES = 100_000
_DEEPEST = 64
_MERGE = "<<"
# YAML 1.1, which PyYAML, W&B and Hydra write, has all of these.
_FLAGS = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(("false", "no", "off"), False)
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?", re.IGNORECASE | re.ASCII)

Node = dict[str, Any] | list[Any] | str | float | int | bool | None


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
            found = flat_settings(read_yaml(data))
        except (OSError, ValueError) as problem:
            why = problem.strerror or type(problem).__name__ if isinstance(problem, OSError) else problem
            return {}, (f"{name} beside the log was not read: {why}",)
        return found, (f"settings are read from {name} beside the log",) if found else ()
    return {}, ()


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


@lru_cache(maxsize=4)  # the logs of one folder share a file
def read_yaml(data: bytes) -> Node:
    """Return the first document of some YAML.

    A tag is left out, its value stays. An alias is the very object that its anchor names, so that the result
    may contain itself: who walks it needs a bound.

    Raises
    ------
    ValueError
        Where the bytes are no YAML, or hold more than 100,000 values or 64 levels; the message says which.
    """
    import yaml

    try:
        events = yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return _Builder().built(events)
    except (yaml.YAMLError, UnicodeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        raise ValueError(f"no YAML at line {mark.line + 1}" if mark else "no YAML") from None


class _Builder:
    """Puts events together, innermost collection last."""

    def __init__(self) -> None:
        self._anchors: dict[str, Node] = {}
        self._nodes = 0

    def built(self, events: Iterator[Any]) -> Node:
        import yaml

        root: list[Node] = []
        # Each open collection, and the names that wait for their values.
        open_nodes: list[Any] = [root]
        names: list[list[Node]] = [[]]
        for event in events:
            if isinstance(event, yaml.CollectionEndEvent):
                self._merge(open_nodes.pop())
                names.pop()
                continue
            if isinstance(event, yaml.DocumentEndEvent):
                break
            if not isinstance(event, yaml.NodeEvent):
                continue
            self._count(1)
            node: Node
            if isinstance(event, yaml.AliasEvent):
                if event.anchor not in self._anchors:
                    raise ValueError("no YAML: an alias without its anchor")
                node = self._anchors[event.anchor]
            elif isinstance(event, yaml.ScalarEvent):
                event.value.encode()  # half a surrogate pair, which libyaml refuses by itself
                node = _plain(event.value) if event.implicit[0] and not event.tag else event.value
            else:
                node = {} if isinstance(event, yaml.MappingStartEvent) else []
            if event.anchor and not isinstance(event, yaml.AliasEvent):
                self._anchors[event.anchor] = node
            parent, waiting = open_nodes[-1], names[-1]
            if isinstance(parent, list):
                parent.append(node)
            elif not waiting:
                waiting.append(node)
            else:
                name = waiting.pop()
                if not isinstance(name, dict | list):
                    parent[str(name)] = node
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append(node)
                names.append([])
                if len(open_nodes) > _DEEPEST:
                    raise ValueError(f"more than {_DEEPEST} levels")
        return root[0] if root else None

    def _merge(self, node: Any) -> None:
        """Take over what ``<<`` names and the mapping itself does not have, the first one named first."""
        if not isinstance(node, dict) or _MERGE not in node:
            return
        merged = node.pop(_MERGE)
        for other in merged if isinstance(merged, list) else [merged]:
            if isinstance(other, dict):
                self._count(len(other))
                for name, value in tuple(other.items()):
                    node.setdefault(name, value)

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise ValueError(f"more than {_MOST_NODES} values")


def _plain(text: str) -> Node:
    """Return what an unquoted scalar means."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.casefold() in _FLAGS:
        return _FLAGS[text.casefold()]
    number = text.replace("_", "")
    if re.fullmatch(r"[-+]?[0-9]{1,300}", number):
        return int(number)
    return float(number) if _FLOAT.fullmatch(number) else text
