"""Settings in a file: ``entropylaw.toml``, or ``[tool.entropylaw]`` in ``pyproject.toml``.

Only what is in the file, where it is, and whether it is well written. Which command has which setting is
the command line's to know, and is given: command, key, option.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError, UsageError
from entropylaw.inputs import note_input
from entropylaw.options import Option
from entropylaw.paths import is_file

OWN_FILE = "entropylaw.toml"
PROJECT_FILE = "pyproject.toml"
TABLE = "tool.entropylaw"
BOUNDARY = ".git"
"""A project ends at the folder that has this."""

GROUP = "columns"
"""The table whose keys are settings, and which is no command's."""

Settings = Mapping[str, Option]
"""Key → option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """What a file sets: for every command, and for one alone.

    ``shown`` is its path without anything of the machine, ``prefix`` what stands before each key in it, and
    ``folder`` where its paths start. Values are as written.
    """

    shown: str
    folder: Path
    prefix: str
    general: Mapping[str, Any]
    commands: Mapping[str, Mapping[str, Any]]

    def place(self, key: str, command: str | None = None) -> str:
        """Where a value stands: file and key."""
        return f"{self.shown}: {self.prefix}{f'{command}.' if command else ''}{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What looking for a file found: its path relative to the start, or None.

    ``folders`` were looked into; the last has ``.git`` if ``bounded``. ``beside`` has settings, too.
    """

    found: str | None
    folders: int
    bounded: bool
    beside: str | None = None


def look_for(start: Path) -> Search:
    """Look for settings in a folder and those above it, up to the one with ``.git``; the nearest wins.

    In one folder ``entropylaw.toml`` wins over ``pyproject.toml``.
    """
    for depth, folder in enumerate([start, *start.parents]):
        up = "../" * depth
        bounded = os.path.exists(folder / BOUNDARY)  # noqa: PTH110  pathlib raises
        here = Search(found=None, folders=depth + 1, bounded=bounded)
        if is_file(folder / OWN_FILE):
            beside = None
            with suppress(InputError):  # broken, it has no settings
                beside = up + PROJECT_FILE if _has_table(folder / PROJECT_FILE, PROJECT_FILE) else None
            return replace(here, found=up + OWN_FILE, beside=beside)
        if _has_table(folder / PROJECT_FILE, up + PROJECT_FILE):
            return replace(here, found=up + PROJECT_FILE)
        if bounded:
            break
    return here


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The file of settings, who named it, what was looked for, and whether URLs in it may be opened."""

    file: SettingsFile | None = None
    named_by: str = "search"
    search: Search | None = None
    allow_urls: bool = False


def general_settings(commands: Mapping[str, Settings]) -> dict[str, Option]:
    """The settings of all commands, each once: inputs, columns, others, and what one command alone has."""
    found: dict[str, Option] = {}
    for settings in commands.values():
        found |= {key: known for key, known in settings.items() if key not in found}
    order = sorted(found, key=lambda key: (key != "inputs", "." not in key, not found[key].general))
    return {key: found[key] for key in order}


def read_settings(path: Path, shown: str, commands: Mapping[str, Settings]) -> SettingsFile:
    """Read and check a file of settings; ``commands`` have their settings by key.

    Raises InputError (``file-not-found``, ``file-unreadable``, ``not-toml``); UsageError (``no-settings``,
    ``unknown-setting``, ``bad-setting``).
    """
    table: Mapping[str, Any] = _parsed(_read(path, shown), shown)
    prefix, ours = "", None if path.name == OWN_FILE else _ours(table)
    if ours is not None:
        table, prefix = _table(ours, shown, TABLE), f"{TABLE}."
    elif path.name == PROJECT_FILE:
        message = f"{shown} has no [{TABLE}], settings were expected there"
        raise UsageError("no-settings", message, f"add [{TABLE}] to it")
    # A table of that name has columns, for all commands.
    tables = tuple(name for name in commands if name != GROUP)
    inside = [name for name in tables if name in table]
    for_one = {name: _settings(table[name], shown, f"{prefix}{name}.", commands[name]) for name in inside}
    general = {key: known for key, known in general_settings(commands).items() if known.general}
    rest = {key: value for key, value in table.items() if key not in inside}
    found = _settings(rest, shown, prefix, general, tables)
    return SettingsFile(shown=shown, folder=path.parent, prefix=prefix, general=found, commands=for_one)


def _settings(
    table: Any, shown: str, prefix: str, known: Settings, tables: Sequence[str] = ()
) -> dict[str, Any]:
    """A table's settings by key, each of them checked; it may have those that are known, and tables."""
    found: dict[str, Any] = {}
    for name, value in _table(table, shown, prefix.rstrip(".")).items():
        if name == GROUP:
            inside = _table(value, shown, prefix + name)
            found |= {f"{GROUP}.{key}": item for key, item in inside.items()}
        else:
            found[name] = value
    for key, value in found.items():
        if key not in known:
            meant = _meant(key, known, tables)
            near = f"did you mean {meant!r}?" if meant else f"expected one of {', '.join(known)}"
            message = f"{shown} sets {(prefix + key)[:80]!r}, which is no setting there; {near}"
            hint = "docs/config.md lists the settings, and which command has which"
            raise UsageError("unknown-setting", message, hint)
        try:
            known[key].written(value)
        except ValueError:
            raise _bad(f"{prefix}{key}", value, shown, known[key].expected) from None
    return found


def _meant(key: str, known: Settings, tables: Sequence[str]) -> str | None:
    """The key that a wrong one resembles: by its last part, by its flag, or by its letters."""
    import difflib

    names = {name: name for name in tables}
    for own, option in known.items():
        names |= dict.fromkeys([own, option.flag.lower().lstrip("-"), own.rpartition(".")[2]], own)
    wanted = key.lower().replace("_", "-").lstrip("-")[:80]
    last = wanted.rpartition(".")[2]
    close = [name for name in (wanted, last) if name in names]
    close += difflib.get_close_matches(wanted, names, 1) or difflib.get_close_matches(last, names, 1)
    return names[close[0]] if close else None


def _table(value: Any, shown: str, key: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise _bad(key, value, shown, "a table")


def _bad(key: str, value: Any, shown: str, expected: str) -> UsageError:
    # Of longer text only its length, for it may be a secret in the wrong line.
    text = repr(value) if len(repr(value)) <= 20 else f"{len(repr(value))} characters"
    hint = "docs/config.md says what each setting takes; a flag of the command wins over the file"
    return UsageError("bad-setting", f"{shown} sets {key} = {text}, expected {expected}", hint)


def _parsed(data: bytes, shown: str) -> dict[str, Any]:
    """A file as TOML; an error names the line."""
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        why = f"a byte that is not UTF-8 (at line {line})"
    except tomllib.TOMLDecodeError as error:
        line = data.rstrip().count(b"\n") + 1
        why = str(error).replace("at end of document", f"at line {line}, the last")
    except RecursionError:
        why = "nested too deeply"
    message = f"{shown} is not TOML: {why}"
    raise InputError("not-toml", message, "correct the line, or leave the file out with --no-config")


def _read(path: Path, shown: str) -> bytes:
    note_input(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        message = f"{shown} does not exist, a file of settings was expected"
        raise InputError("file-not-found", message, "check the path") from None
    except OSError as error:
        message = f"{shown} could not be read ({error.strerror})"
        raise InputError("file-unreadable", message, "check its permissions") from error


def _ours(data: Mapping[str, Any]) -> Any:
    """What a project's file has under our name; None where it has nothing."""
    tool = data.get("tool")
    return tool.get("entropylaw") if isinstance(tool, dict) else None


def _has_table(path: Path, shown: str) -> bool:
    """Whether a ``pyproject.toml`` has our table; one that never names us is not even parsed."""
    data = _read(path, shown) if is_file(path) else b""
    return b"entropylaw" in data and _ours(_parsed(data, shown)) is not None
