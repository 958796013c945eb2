"""Who may import whom: the arrows of docs/design.md, and no circle of files or packages."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "entropylaw"

SMALL = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
"""Modules beside the packages: errors, options, paths and the like."""

REGISTRIES = {"analysis.forms", "analysis.law.residual_models"}
"""What reports name forms and residual models by."""

KNOW_NO_LAW = {"logs", "tokens", "samples"}
"""Rooms that are of use without the law; what they import of this package is general."""

BASE = {
    *("arguments", "arrays", "arrow", "errors", "escaping", "files", "kinds", "option", "paths", "units"),
    "wandb_runs",
}
"""What a room that knows nothing of the law may import beside itself."""

MAY_IMPORT: Mapping[str, set[str]] = {
    "logs": set(),
    "roles": {"logs", "results"},
    "results": {"logs.source"},
    "engine": {"results"},
    "analysis": {"engine", "results"},
    "documents": {"results", "logs", "roles"},
    "tokens": set(),
    "samples": {"tokens"},
    "report": {"results", "documents", "logs.source", *REGISTRIES},
    "gates": {"results", "documents"},
    "pipeline": {
        "results",
        "engine",
        "analysis",
        "logs",
        "roles",
        "documents",
        "report",
        "gates",
        "tokens",
        "samples",
    },
    "cli": {
        "results",
        "analysis",
        "logs",
        "roles",
        "documents",
        "report",
        "gates",
        "tokens",
        "samples",
        "pipeline",
    },
}
"""Package → the packages and registries that it may import, beside itself and the small modules."""


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Module of this package that a file imports, and whether it does so when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and _checks_types(node))
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "entropylaw":
            module = (node.module or "").partition(".")[2]
            for alias in node.names:
                whole = f"{module}.{alias.name}".strip(".")
                yield (whole if _file(whole) else module), node not in inside
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("entropylaw."):
                    yield alias.name.partition(".")[2], node not in inside


def _checks_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    found = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in found if file.exists()), None)


FILES = {str(path.relative_to(ROOT).with_suffix("")).replace("/", "."): path for path in ROOT.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items() if name != "__init__"}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    base = BASE if package in KNOW_NO_LAW else SMALL | {""}
    allowed = MAY_IMPORT[package] | base | {package}
    wrong = [
        f"{name} imports {found}"
        for name, path in MODULES.items()
        if name.split(".")[0] == package
        for found, _ in imports(path)
        if found.split(".")[0] not in allowed and found not in allowed
    ]
    assert not wrong


def test_every_package_is_in_the_table() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(MAY_IMPORT)


def test_no_file_imports_itself_by_a_circle() -> None:
    edges = {name: {found for found, now in imports(path) if now} for name, path in MODULES.items()}
    assert not _circle(edges)


def test_no_file_is_in_a_circle_of_what_it_imports_later_or_for_its_types() -> None:
    edges = {name: {found for found, _ in imports(path)} - {name} for name, path in MODULES.items()}
    assert not _circle(edges)


def test_no_package_imports_itself_by_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        package = name.split(".")[0]
        found = {module.split(".")[0] for module, _ in imports(path) if module not in REGISTRIES}
        if package not in SMALL:
            edges.setdefault(package, set()).update(found - {package, *SMALL})
    assert not _circle(edges)


def _circle(edges: Mapping[str, set[str]]) -> list[str]:
    """A circle of imports; empty where there is none."""
    done: set[str] = set()

    def search(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        done.add(node)
        for after in sorted(edges.get(node, ())):
            if found := search(after, [*path, node]):
                return found
        return []

    return next((found for node in sorted(edges) if (found := search(node, []))), [])
