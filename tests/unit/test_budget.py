"""The size of the package: lines, statements, and text that is not Python (docs/design.md, The budget)."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2] / "entropylaw"

MOST = {
    "logs": 9_491,
    "samples": 1_741,
    "roles": 1_613,
    "analysis": 5_460,
    "report": 6_720,
    "tokens": 2_981,
    "results": 1_899,
    "cli": 2_776,
    "pipeline": 3_532,
    "engine": 2_318,
    "top": 1_818,
    "gates": 1_397,
    "documents": 1_105,
    "all lines": 42_851,
    "all statements": 26_619,
    "other lines": 1_686,
    "other bytes": 53_083,
    "demo bytes": 292_108,
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
