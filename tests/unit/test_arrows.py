"""Who may import whom: the arrows of docs/design.md, and no circle of files or packages."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "entropylaw"

SMALL = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
"""Modules beside the packages: errors, options, paths and the like."""

KNOW_NO_LAW = {"logs", "tokens", "samples"}
"""Rooms that are of use without the law; what they import of this package is general."""

BASE = {
    *("arguments", "arrays", "arrow", "errors", "escaping", "files", "kinds", "option", "paths", "units"),
    "wandb_runs",
}
"""What a room that knows nothing of the law may import beside itself."""

DESIGN = (ROOT.parent / "docs" / "design.md").read_text(encoding="utf-8")

_ROW = re.compile(r"^\| `(\w+)/` \| .* \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
_NAMED_FILE = re.compile(r"`([\w/]+\.py)`")


def may_import() -> dict[str, set[str]]:
    """The table of packages in docs/design.md: package → what it may import, modules by their path."""
    rows = {package: cell.strip() for package, cell, _ in _ROW.findall(DESIGN)}
    return {package: set() if cell == "–" else set(cell.split(", ")) for package, cell in rows.items()}


MAY_IMPORT = may_import()


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


FILES_OF_REPOSITORY = [
    path
    for folder in ("entropylaw", "tests", "docs", "benchmarks", "lab")
    for path in (ROOT.parent / folder).rglob("*.py")
]
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


PACKAGED = {
    "yaml": "pyyaml",
    "PIL": "pillow",
    "ibis": "ibis-framework",
    "markupsafe": "jinja2",
    "py4j": "pyspark",
}
"""What is imported by another name than that of its package, or comes with one."""


def third_parties(path: Path) -> Iterator[str]:
    """What a file imports from other projects, but for its types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and _checks_types(node)
        for child in ast.walk(node)
    }
    own = {"entropylaw", *sys.stdlib_module_names}
    for node in ast.walk(tree):
        if node in typed:
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from {name.split(".")[0] for name in names} - own


def test_the_libraries_in_the_table_are_those_that_a_package_imports() -> None:
    named = {package: set(re.findall(r"[\w-]+", cell)) for package, _, cell in _ROW.findall(DESIGN)}
    for package, libraries in named.items():
        used = {name for path in (ROOT / package).rglob("*.py") for name in third_parties(path)}
        assert {PACKAGED.get(name, name) for name in used} == libraries - {"inside", "methods"}, package


def test_every_package_is_in_the_table() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(MAY_IMPORT)


def test_the_files_that_the_design_names_exist() -> None:
    # A name without a folder is of a file anywhere in the repository.
    files = [path.relative_to(ROOT.parent).as_posix() for path in FILES_OF_REPOSITORY]
    named = set(_NAMED_FILE.findall(DESIGN))
    assert named
    missing = [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)]
    assert not missing


def test_no_file_imports_itself_by_a_circle() -> None:
    edges = {name: {found for found, now in imports(path) if now} for name, path in MODULES.items()}
    assert not _circle(edges)


def test_no_file_is_in_a_circle_of_what_it_imports_later_or_for_its_types() -> None:
    edges = {name: {found for found, _ in imports(path)} - {name} for name, path in MODULES.items()}
    assert not _circle(edges)


def test_no_package_imports_itself_by_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    # A module that a package may import alone, such as a registry, is no arrow to its whole package.
    modules_alone = {target for targets in MAY_IMPORT.values() for target in targets if "." in target}
    for name, path in MODULES.items():
        package = name.split(".")[0]
        found = {module.split(".")[0] for module, _ in imports(path) if module not in modules_alone}
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
