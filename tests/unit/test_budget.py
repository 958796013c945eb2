"""The size of the package: lines, statements, and text that is not Python (docs/design.md, The budget)."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2] / "entropylaw"

MOST = {
    "logs": 8_800,
    "samples": 1_629,
    "roles": 1_572,
    "analysis": 5_040,
    "report": 5_953,
    "tokens": 2_630,
    "results": 1_860,
    "cli": 2_178,
    "pipeline": 3_255,
    "engine": 2_241,
    "top": 1_699,
    "gates": 1_362,
    "documents": 1_087,
    "all lines": 39_306,
    "all statements": 24_406,
    "other lines": 1_654,
    "other bytes": 51_856,
    "demo bytes": 246_014,
}
"""Package → its lines of Python at most; the sum, the statements, other text, and the files of the demo."""


def measured() -> Counter[str]:
    """The same of the package as it is."""
    sizes: Counter[str] = Counter()
    for path in ROOT.rglob("*"):
        # Another process may be compiling a module, into a file that has another name until it is whole.
        if not path.is_file() or "__pycache__" in path.parts:
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
