"""Settings in a file: ``--config FILE``, else ``entropylaw.toml`` or ``pyproject.toml`` of this folder.

They are defaults of flags, and gates; a command takes those that it has.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError, UsageError
from entropylaw.option import Option
from entropylaw.options import ConfigFile
from entropylaw.paths import note_input, read_regular, shown_path

OWN_FILE = "entropylaw.toml"
PROJECT = "pyproject.toml"
"""A file with settings of many tools: ours are in the table ``tool.entropylaw``."""

GROUP = "columns"
"""The table of the names of columns."""

HINT = "settings have the names of flags: `entropylaw fit --help`"

LARGEST = 1 << 15
"""Bytes of a settings file: keys of many parts take a time that grows with the square."""

LARGEST_PROJECT = 1 << 20
"""Bytes of a project's file in which a table of ours is looked for."""

Settings = Mapping[str, Option]
"""Key → option."""


def in_force(
    named: str | None, settings: Callable[[], Settings], *, no_config: bool
) -> tuple[ConfigFile | None, Mapping[str, object]]:
    """The settings file that is ``named`` or in the current folder, and its values by key.

    ``settings`` gives those of all commands.

    Raises InputError and UsageError: as :func:`read_settings`; ``config-and-no-config``.
    """
    if no_config:
        if named:
            raise UsageError(
                "config-and-no-config",
                "both --config and --no-config were given",
                "give one of the two",
            )
        return None, {}
    path = named or _own_file()
    return (None, {}) if path is None else read_settings(path, settings())


def _own_file() -> str | None:
    """The settings file of the current folder; one of its project only if it may have a table of ours."""
    # A link to nothing is an error, not a folder without settings.
    if os.path.lexists(OWN_FILE):
        return OWN_FILE
    with suppress(OSError):
        if b"tool.entropylaw" in read_regular(PROJECT, LARGEST_PROJECT):
            return PROJECT
    return None


def read_settings(path: str, settings: Settings) -> tuple[ConfigFile, Mapping[str, object]]:
    """Read and check a file of settings: its values by key.

    Raises InputError (``file-not-found``, ``file-unreadable``, ``not-toml``); UsageError
    (``unknown-setting``, ``bad-setting``).
    """
    shown = shown_path(path)
    note_input(path)
    try:
        content = read_regular(path, LARGEST)
    except FileNotFoundError:
        raise InputError(
            "file-not-found",
            f"{shown} does not exist, a file of settings was expected",
            "check the path",
        ) from None
    except OSError as error:
        raise InputError(
            "file-unreadable",
            f"{shown} could not be read ({error.strerror}), a file of settings was expected",
            "name another file, or leave it out with --no-config",
        ) from error
    values = toml_of(content, shown)
    if Path(path).name == PROJECT:
        values = _table(_table(values, "tool", shown), "entropylaw", shown)
    columns = _table(values, GROUP, shown)
    values.pop(GROUP, None)
    values |= {f"{GROUP}.{key}": value for key, value in columns.items()}
    for key, value in values.items():
        if key not in settings:
            meant = nearest_key(key, settings)
            near = f"did you mean {meant!r}?" if meant else f"expected one of {', '.join(settings)}"
            raise UsageError(
                "unknown-setting",
                f"{shown} sets {key[:80]!r}, which is not a setting; {near}",
                HINT,
            )
        try:
            settings[key].from_toml(value)
        except ValueError:
            raise _bad(key, value, shown, settings[key].expected) from None
    return ConfigFile(path=shown, sha256=sha256(content).hexdigest()), values


def _table(values: Mapping[str, object], name: str, shown: str) -> dict[str, object]:
    """A table in a file, empty where there is none; UsageError ``bad-setting`` for another value."""
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise _bad(name, table, shown, "a table")
    return table


def nearest_key(key: str, settings: Settings) -> str | None:
    """The key that a wrong one resembles: by its last part, by its flag, or by its letters."""
    names: dict[str, str] = {}
    for name, option in settings.items():
        names |= dict.fromkeys([name, option.flag.lower().lstrip("-"), name.rpartition(".")[2]], name)
    full = key.lower().replace("_", "-").lstrip("-")[:80]
    last = full.rpartition(".")[2]
    close = [name for name in (full, last) if name in names]
    close += difflib.get_close_matches(full, names, 1) or difflib.get_close_matches(last, names, 1)
    return names[close[0]] if close else None


def _bad(key: str, value: Any, shown: str, expected: str) -> UsageError:
    try:
        # Of longer text only its length, for it may be a secret in the wrong line.
        text = repr(value) if len(repr(value)) <= 20 else f"{len(repr(value))} characters"
    except (ValueError, RecursionError):
        text = "a value that is too long to print"
    return UsageError("bad-setting", f"{shown} sets {key} = {text}, expected {expected}", HINT)


def toml_of(content: bytes, shown: str) -> dict[str, object]:
    """A file as TOML; an error names the line."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        reason = f"a byte that is not UTF-8 (at line {line})"
    except tomllib.TOMLDecodeError as error:
        line = content.rstrip().count(b"\n") + 1
        reason = str(error).replace("at end of document", f"at line {line}, the last")
    except ValueError:
        reason = "an integer of thousands of digits"
    except RecursionError:
        reason = "nested too deeply"
    raise InputError(
        "not-toml",
        f"{shown} is not TOML: {reason}",
        "correct the line, or leave the file out with --no-config",
    )
