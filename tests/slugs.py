"""The slugs of the errors that entropylaw raises."""

import ast
from functools import cache

from entropylaw.logs.sources.registry import READERS
from tests.conftest import ROOT

ERRORS = {"error", "EntropyLawError", "FitError", "InputError", "OutputError", "UsageError"}


def slugs() -> set[str]:
    """Slugs that stand in a call of an error, those of refusing readers, and those composed of a role."""
    raised = {reader.slug for reader in READERS if reader.refuses} | {"no-entropy-column", "no-reward-column"}
    for node in nodes():
        called = getattr(node, "func", None)
        name = getattr(called, "id", None) or getattr(called, "attr", None)
        if name in ERRORS and isinstance(node.args[0], ast.Constant):
            raised.add(node.args[0].value)
    return raised


def words() -> set[str]:
    """All short texts of the package, since some errors are made by helpers that get the slug."""
    return {node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@cache
def nodes() -> list[ast.AST]:
    """The syntax tree of every module of the package."""
    paths = sorted((ROOT / "entropylaw").rglob("*.py"))
    return [node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
