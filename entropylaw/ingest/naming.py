"""Names for runs that share one: what tells their files apart is added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from entropylaw.paths import hostless


def told_apart(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Give every run a name of its own.

    Where runs of different files have the same name, the part of the paths that differs is added; then a
    number, where that does not help.
    """
    paths = [hostless(path) for path in paths]
    shared: dict[str, set[str]] = {}
    for name, path in zip(names, paths, strict=True):
        shared.setdefault(name, set()).add(path)
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for name, path in zip(names, paths, strict=True):
        own = f"{name} ({_difference(path, shared[name])})" if len(shared[name]) > 1 else name
        seen[own] += 1
        unique.append(own if seen[own] == 1 else f"{own} ({seen[own]})")
    return unique


def _difference(path: str, others: set[str]) -> str:
    """Return the parts of a path from the first to the last in which the others differ."""
    # Of a run that was joined from several files, the first one stands for all.
    split = {other: PurePath(other.split(" + ")[0]).parts for other in others}
    rows = list(split.values())
    shortest = min(map(len, rows))
    start = next((i for i in range(shortest) if len({row[i] for row in rows}) > 1), shortest)
    end = next((i for i in range(1, shortest + 1) if len({row[-i] for row in rows}) > 1), shortest + 1)
    parts = split[path]
    middle = parts[start : len(parts) - end + 1]
    return "/".join(middle) or parts[-1]
