"""Objects within objects, as JSON logs have them, made flat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def leaves(value: Mapping[str, Any], longest: int, separator: str = "/") -> Iterator[tuple[str, Any]]:
    """Yield what is no list and no medium (``{"_type": "histogram", …}``) by its path, in order.

    A path with more than ``longest`` characters is left out. The stack is our own, for a file decides how
    deep it goes.
    """
    stack = list(value.items())[::-1]
    while stack:
        path, node = stack.pop()
        if len(path) > longest or isinstance(node, list):
            continue
        if not isinstance(node, Mapping):
            yield path, node
        elif "_type" not in node:
            stack += [(f"{path}{separator}{key}", child) for key, child in node.items()][::-1]
