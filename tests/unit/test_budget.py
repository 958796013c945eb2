"""The size of the package: lines, statements, and text that is not Python (docs/design.md, The budget)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2] / "entropylaw"

MOST = {
    "logs": 8_764,
    "roles": 1_343,
    "analysis": 6_237,
    "report": 6_646,
    "tokens": 3_163,
    "results": 1_791,
    "cli": 2_674,
    "pipeline": 2_749,
    "engine": 2_564,
    "top": 1_801,
    "gates": 1_156,
    "documents": 1_047,
    "all lines": 39_935,
    "all statements": 24_183,
    "other lines": 1_789,
    "other bytes": 51_896,
}
"""Package → its lines of Python at most; the sum, the statements, and the text that is not Python."""


def measured() -> Counter[str]:
    """The same of the package as it is."""
    sizes: Counter[str] = Counter()
    for path in ROOT.rglob("*"):
        if not path.is_file() or path.suffix == ".pyc":
            continue
        content = path.read_bytes()
        if path.suffix != ".py":
            sizes["other lines"] += len(content.splitlines())
            sizes["other bytes"] += len(content)
            continue
        inside = path.relative_to(ROOT).parts
        lines = content.count(b"\n")
        sizes[inside[0] if len(inside) > 1 else "top"] += lines
        sizes["all lines"] += lines
        sizes["all statements"] += sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(content)))
    return sizes


def test_the_package_is_within_its_budget() -> None:
    sizes = measured()
    assert sizes.keys() == MOST.keys()
    over = {name: f"{size}, at most {MOST[name]}" for name, size in sizes.items() if size > MOST[name]}
    assert not over, "take lines out, or raise the number in a commit that says why (docs/design.md)"
