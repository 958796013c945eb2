"""Reads the index of a report, and the documents of the runs that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from entropylaw.documents.loading import Stored, damaged, find_document
from entropylaw.errors import InputError
from entropylaw.paths import is_file, shown_path

INDEX = "report.json"
"""The index in a report's folder."""


def _pages(index: Stored) -> list[tuple[Path, Mapping[str, Any]]]:
    """The path of the document of each run that a report's index names, with its row there."""
    rows = index.data.get("rows") if index.kind == "index" else None
    if not isinstance(rows, list):
        return []
    folder = Path(index.path).parent / "runs"
    pages: list[tuple[Path, Mapping[str, Any]]] = []
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("slug"), str):
            pages.append((folder / f"{row['slug']}.json", row))
    return pages


def _pages_of(index: Stored) -> list[Path]:
    """The paths of the runs' documents that a report's index names; none of other documents."""
    return list(dict.fromkeys(page for page, _ in _pages(index)))


def whole_pages(index: Stored) -> list[Path]:
    """The same, of a report that lacks nothing; raises the InputError of its first flaw."""
    for _, error in flaws_of(index):
        raise error
    return _pages_of(index)


def documents_of(index: Stored) -> list[Stored]:
    """The runs' documents that a report's index names, as far as they are there."""
    return [
        # What is not a document was one.
        find_document(str(path)) or Stored(path=str(path), content=path.read_bytes(), data=None)
        for path in filter(is_file, _pages_of(index))
    ]


def flaws_of(index: Stored) -> Iterator[tuple[str, InputError]]:
    """Runs of a report's index whose documents are missing or say something else; none of other documents."""
    unfinished = index.data.get("unfinished") if index.kind == "index" else 0
    if unfinished:
        name = shown_path(index.path)
        message = f"{name}: the report was interrupted before {unfinished} of its runs"
        yield name, InputError("file-not-found", message, "make the report again, which finishes it")
    for page, row in _pages(index):
        name = shown_path(str(page))
        if not is_file(page):
            message = f"there is no {name}, which the index of the report names"
            yield name, InputError("file-not-found", message, "make the report again")
            continue
        document = find_document(str(page))
        difference = _difference_of(row, document.data) if document else ""
        if difference:
            yield name, damaged(name, f"(its {difference} is not the one in the index of the report)")


def _in_row(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the row of a run has of its answer, as far as it is in both under some name."""
    same = ("level", "gain", "no_forecast", "stop_line", "drop_per_100_steps")
    expected = {name: answer[name] for name in same}
    state = answer["state"]
    if state:
        expected |= {name: state[name] for name in ("since", "now", "gained", "change", "noise")}
        expected["state"] = state["word"]
    law = answer["law"]
    expected["law"] = law["verdict"] if law else "none"
    if law:
        expected |= {name: law[name] for name in ("why", "n", "a", "b", "ceiling", "r_squared")}
    if answer["forecast"] and expected.get("state") != "broken":
        expected["forecast"] = answer["forecast"]["rewards"][-1]
    return expected


def _difference_of(row: Mapping[str, Any], document: Any) -> str:
    """What the document of a run has otherwise than its row in an index; empty where it cannot be read."""
    try:
        fits = {run["reward"]: run for run in document["runs"]}
        fit = fits[row["label"] or ""]
        expected = {"run": fit["run"], "path": fit["path"], "refusal": (fit["refusal"] or {}).get("slug")}
        if fit["result"]:
            expected |= _in_row(fit["result"])
        return next((name for name in expected if name in row and row[name] != expected[name]), "")
    except (KeyError, TypeError, ValueError, AttributeError):
        return ""
