"""Designs that parts of the engine started from: peers in benchmarks where they lie beside the project."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

from benchmarks.finished import ROOT

FOLDERS = (ROOT / "shared" / "prototypes", ROOT.parent / "shared" / "prototypes")


@cache
def prototype(name: str) -> Any:
    """The module of a prototype, such as ``state``; None where it is absent."""
    path = next((folder / f"{name}.py" for folder in FOLDERS if (folder / f"{name}.py").exists()), None)
    if path is None:
        return None
    spec = importlib.util.spec_from_file_location(f"prototype_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
