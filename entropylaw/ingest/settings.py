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
from typing import Any, cast

from entropylaw.ingest.wording import shown
from entropylaw.inputs import note_input
from entropylaw.paths import is_file

# No configuration is longer, deeper or wider; YAML's references could make a small file endless.
_LONGEST_FILE, _LONGEST_NAME = 1 << 20, 500
_MOST_NODES, _DEEPEST = 100_000, 64
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
    budget = _MOST_NODES
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

    Raises a :class:`ValueError` where the bytes are no YAML, or hold more than 100,000 values or 64 levels.
    """
    import yaml

    try:
        events = yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        found = map(_Builder(events).node, (event for event in events if isinstance(event, yaml.NodeEvent)))
        root = next(found, None)
        next(events, None)  # the document's end, before which may stand what is no YAML
        return root
    except (yaml.YAMLError, UnicodeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        raise ValueError(f"no YAML at line {mark.line + 1}" if mark else "no YAML") from None


class _Builder:
    """Puts events together."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._nodes = 0

    def node(self, event: Any, depth: int = 1) -> Node:
        """Return the value that begins with an event."""
        import yaml

        self._count(1)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise ValueError("no YAML: an alias without its anchor")
            return self._anchors[event.anchor]
        node: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        if isinstance(event, yaml.ScalarEvent):
            event.value.encode()  # half a surrogate pair, which libyaml refuses by itself
            node = _plain(event.value) if event.implicit[0] and not event.tag else event.value
        if event.anchor:
            self._anchors[event.anchor] = node
        if isinstance(event, yaml.ScalarEvent):
            return cast(Node, node)
        if depth == _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels")
        while not isinstance(inner := next(self._events), yaml.CollectionEndEvent):
            first = self.node(inner, depth + 1)
            if isinstance(node, list):
                node.append(first)
                continue
            value = self.node(next(self._events), depth + 1)
            if not isinstance(first, dict | list):
                node[str(first)] = value
        self._merge(node)
        return cast(Node, node)

    def _merge(self, node: Any) -> None:
        """Take over what ``<<`` names and the mapping itself does not have, the first one named first."""
        merged = node.pop("<<", None) if isinstance(node, dict) else None
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
