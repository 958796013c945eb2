"""The sums of several shards as one: what was summarised apart comes out as if it had been read at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest.wording import counted, listing, shown
from entropylaw.tokens import checks, expression
from entropylaw.tokens.output import check_apart
from entropylaw.tokens.run import Asked, Summary, finished
from entropylaw.tokens.shards import copies
from entropylaw.tokens.sums import Sums, merged, read

Part = tuple[str, Sums, dict[str, Any]]
"""A shard: its name, its sums, what stands beside them."""


def join(paths: Sequence[str], asked: Asked) -> Summary:
    """The sums of several shards as one.

    Raises
    ------
    InputError
        ``file-not-found``, ``shard-twice``, ``shards-differ``, and what is wrong with a file of sums.
    UsageError
        ``sums-are-fixed``, ``output-is-input``.

    """
    given = [name for name in asked.columns.values() if name] or asked.response or asked.grams
    if given:
        raise UsageError(
            "sums-are-fixed",
            "sums have no columns and no text any more, and options that name some were given",
            "summarise the tokens themselves with these options",
        )
    files = [file for path in paths for file in _expanded(path)]
    for file in files:
        if not file.is_file():
            raise InputError("file-not-found", f"{shown(str(file))} does not exist", "check the path")
    check_apart(asked.output, files)
    _check_once(files)
    parts = [(file.name, *read(file)) for file in files]
    _check_same(parts)
    sums, first = merged([sums for _, sums, _ in parts]), parts[0][2]
    checks.check(sums, expression.TokenColumns(step="step", entropy="entropy"))
    about = {"read": _all_read([facts["read"] for _, _, facts in parts]), "columns": first["columns"]}
    share = first["class"].get("share")
    if asked.top_quantile is None and share is not None:
        asked = replace(asked, top_quantile=share)
    elif asked.top_quantile is None:
        about["class"] = first["class"]
    rule = first["class"]["rule"]
    notes = [*_repeated(parts), *_spread(parts, sums), *_lost(first)]
    return finished(sums, asked, about, notes, None if rule == "none" else rule)


def _expanded(path: str) -> list[Path]:
    """The files of a pattern that no shell has expanded; a file's own name as it is."""
    file = Path(path)
    if file.exists() or not any(c in path for c in "*?["):
        return [file]
    anchor = Path(file.anchor or ".")
    return sorted(anchor.glob(str(file.relative_to(file.anchor)))) or [file]


def _check_once(files: Sequence[Path]) -> None:
    """Notice a shard that is given twice, by its place or by its bytes."""
    seen: dict[Path, Path] = {}
    for file in files:
        before = seen.setdefault(file.resolve(), file)
        if before is not file:
            raise _twice(str(file), str(before))
    for later, earlier in copies([(str(file), file) for file in files]):
        raise _twice(later, earlier)


def _twice(later: str, earlier: str) -> InputError:
    return InputError(
        "shard-twice",
        f"{shown(later)} holds the same sums as {shown(earlier)}: its tokens would count twice",
        "give each shard once",
    )


def _check_same(parts: Sequence[Part]) -> None:
    """Notice shards that were made with other options."""
    name, _, first = parts[0]
    for other, _, facts in parts[1:]:
        for part in ("class", "columns"):
            if facts[part] != first[part]:
                raise InputError(
                    "shards-differ",
                    f"{shown(other)} was made with {part} {json.dumps(facts[part], sort_keys=True)}, "
                    f"{shown(name)} with {json.dumps(first[part], sort_keys=True)}",
                    "summarise all shards with the same options",
                )


def _repeated(parts: Sequence[Part]) -> list[str]:
    """A note on files of tokens that two shards say they were made from."""
    seen: dict[tuple[str, int, int | None], str] = {}
    notes = []
    for name, _, facts in parts:
        for file in facts["read"]["files"]:
            key = (file["name"], file["bytes"], file["rows"])
            if seen.setdefault(key, name) != name:
                notes.append(
                    f"{shown(name)} and {shown(seen[key])} were both made from a file {shown(file['name'])} "
                    f"of {file['bytes']:,} bytes: if it is one file, its tokens count twice"
                )
    return notes


def _spread(parts: Sequence[Part], sums: Sums) -> list[str]:
    """Notes on responses that have tokens in several shards."""
    if len(parts) < 2:
        return []
    known = [part.responses for _, part, _ in parts]
    if sums.responses is None:
        missing = [name for name, part, _ in parts if part.responses is None]
        partly = 0 < len(missing) < len(parts)
        return [f"no responses: {listing(missing)} has none"] if partly else []
    unknown = sum(one is None for one in sums.responses.values())
    if unknown:
        return [
            f"{counted(unknown, 'step')} in several shards whose responses are not kept one by one (too "
            "many, or an earlier version's): responses, response_length, entropy_response_mean and the "
            "errors between responses are unknown there; summarise all tokens at once for them"
        ]
    apart = sum(one.number for each in known if each for one in each.values() if one)
    together = apart - sum(one.number for one in sums.responses.values() if one)
    if not together:
        return []
    return [f"{together:,} times a response has tokens in another shard, too: it counts as one response"]


def _lost(facts: dict[str, Any]) -> list[str]:
    """A note on what n-grams gave and their sums do not hold."""
    if "grams" not in facts["class"]:
        return []
    return [
        "the shards' n-grams are not in their sums: grams, entropy_semantic and entropy_conditional, and all "
        "columns without 1-2-word grams (_long) are left out; summarise all tokens at once for them"
    ]


def _all_read(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    files = sorted((each for part in parts for each in part["files"]), key=lambda each: str(each["name"]))
    return {"files": files, "bytes": sum(part["bytes"] for part in parts)}
