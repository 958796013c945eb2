"""Renderers, one per medium: each takes every block, and so every result."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from entropylaw.report import describe

MEDIA = ("text", "markdown", "csv", "latex", "junit")
"""Beside JSON, which is the result itself, and HTML, which has pages of its own."""


def rendered(result: Any, medium: str) -> str:
    """A result or document in one of :data:`MEDIA`."""
    renderer = import_module(f"entropylaw.report.render.{medium}")
    text: str = renderer.render(describe.table(result) if medium == "csv" else describe.describe(result))
    return text
