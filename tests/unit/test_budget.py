"""The size of the package: lines, statements, and text that is not Python (docs/design.md, The budget)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2] / "entropylaw"

MOST = {
    "logs": 9_326,
    "roles": 1_615,
    "analysis": 5_404,
    "report": 6_231,
    "tokens": 3_158,
    "results": 1_775,
    "cli": 2_724,
    "pipeline": 2_924,
    "engine": 2_470,
    "top": 1_885,
    "gates": 1_320,
    "documents": 961,
    "all lines": 39_793,
    "all statements": 24_505,
    "other lines": 1_645,
    "other bytes": 50_917,
    "demo bytes": 300_000,
}
"""Package → its lines of Python at most; the sum, the statements, other text, and the files of the demo."""


def measured() -> Counter[str]:
    """The same of the package as it is."""
    sizes: Counter[str] = Counter()
    for path in ROOT.rglob("*"):
        if not path.is_file() or path.suffix == ".pyc":
            continue
        content = path.read_bytes()
        if path.parent.name == "demo":
            sizes["demo bytes"] += len(content)
            continue
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
