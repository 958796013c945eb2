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


def _difference_of(row: Mapping[str, Any], document: Any) -> str:
    """What the document of a run has otherwise than its row in an index; empty where it cannot be read."""
    try:
        fits = {run["reward"]: run for run in document["runs"]}
        fit = fits[row["label"] or ""]
        expected = {"run": fit["run"], "path": fit["path"], "refusal": (fit["refusal"] or {}).get("slug")}
        answer = fit["result"]
        if answer:
            expected |= {name: answer[name] for name in _OF_ANSWER}
            expected |= _renamed(answer["state"] or {}, _OF_STATE)
            expected |= _renamed(answer["law"] or {}, _OF_LAW)
            if answer["forecast"] and row["forecast"]:
                expected["forecast"] = answer["forecast"]["rewards"][-1]
        return next((name for name in expected if name in row and row[name] != expected[name]), "")
    except (KeyError, TypeError, ValueError, AttributeError):
        return ""


_OF_ANSWER = ("level", "gain", "drop_per_100_steps", "stop_line", "no_forecast")
"""Fields of an answer that a row of an index has, too."""

_OF_STATE = {
    "word": "state",
    "since": "since",
    "now": "now",
    "gained": "gained",
    "change": "change",
    "noise": "noise",
}
"""Field of a state → its name in a row."""

_OF_LAW = {
    "verdict": "law",
    "why": "why",
    "n": "n",
    "a": "a",
    "b": "b",
    "ceiling": "ceiling",
    "r_squared": "r_squared",
}
"""Field of a law → its name in a row."""


def _renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The fields that have a name in a row, by that name."""
    return {name: fields[field] for field, name in names.items() if field in fields}
