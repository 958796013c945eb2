"""Settings in a file: ``entropylaw.toml``, or ``[tool.entropylaw]`` in ``pyproject.toml``.

Which file is in force, whether it is well written, and its values as those of options. Which command has
which setting is a parameter: command, key, option.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError, UsageError
from entropylaw.kinds import ARM_PATH, PATH
from entropylaw.options import Option, refuse_removed
from entropylaw.paths import expanded, hostless, is_file, note_input, shown_path

OWN_FILE = "entropylaw.toml"
PROJECT_FILE = "pyproject.toml"
TABLE = "tool.entropylaw"
VARIABLE = "ENTROPYLAW_CONFIG"
"""The environment variable that names a file of settings."""

BOUNDARY = ".git"
"""A project ends at the folder that has this."""

GROUP = "columns"
"""The table whose keys are settings, and which is not a command's table."""

OUTPUTS = ("output", "folder")
"""Settings that name what is written."""

Settings = Mapping[str, Option]
"""Key → option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """The settings of a file: those of every command, and those of one alone.

    ``shown`` is its path without parts that identify the machine, ``prefix`` what precedes each key in it,
    and ``folder`` where its paths start. Values are as written.
    """

    shown: str
    folder: Path
    prefix: str
    general: Mapping[str, Any]
    commands: Mapping[str, Mapping[str, Any]]

    def place(self, key: str, command: str | None = None) -> str:
        """Where a value is set: file and key."""
        return f"{self.shown}: {self.prefix}{f'{command}.' if command else ''}{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The result of looking for a file: its path relative to the start, or None.

    ``folders`` were looked into; the last has ``.git`` if ``bounded``. ``beside`` has settings, too.
    """

    found: str | None
    folders: int
    bounded: bool
    beside: str | None = None

    @property
    def looked_for(self) -> str:
        """The files and folders of the search, in words."""
        above = self.folders - 1
        folders = f"here and in {above} folder{'s' if above > 1 else ''} above" if above else "here"
        end = f", up to the one with {BOUNDARY}" if above else f", where {BOUNDARY} is"
        end = end if self.bounded else ""
        return f"{OWN_FILE}, and [{TABLE}] in {PROJECT_FILE}, {folders}{end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The file of settings, what named it, the search for it, and whether URLs in it may be opened."""

    file: SettingsFile | None = None
    named_by: str = "search"
    search: Search | None = None
    allow_urls: bool = False

    @property
    def heading(self) -> list[str]:
        """Which file is read, in lines."""
        if self.named_by == "--no-config":
            return ["no settings are read: --no-config"]
        if self.file is None:
            return [f"no settings found: looked for {self.search.looked_for}"] if self.search else []
        named = "" if self.named_by == "search" else f", named by {self.named_by}"
        lines = [f"settings from {self.file.shown}{named}"]
        if self.search is not None and self.search.beside is not None:
            lines.append(f"not read: [{TABLE}] in {self.search.beside}, in the same folder")
        return lines


def in_force(root: Mapping[str, Any], commands: Callable[[], Mapping[str, Settings]] | None) -> InForce:
    """The settings file that the options before a command (``root``) select.

    ``commands`` gives the settings of all commands; it is None for a command that takes none.

    Raises InputError and UsageError: as :func:`read_settings`; ``config-and-no-config``,
    ``no-working-folder``.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        hint = "cd to a folder that exists"
        raise UsageError("no-working-folder", "the current folder has been deleted", hint) from None
    if commands is None:
        return InForce()
    named, named_by, search = root["config_file"], "--config", None
    if root["no_config"] and named:
        message = "both --config and --no-config were given"
        raise UsageError("config-and-no-config", message, "give one of the two")
    if root["no_config"]:
        return InForce(named_by="--no-config")
    if not named:
        named, named_by = os.environ.get(VARIABLE), VARIABLE
    if not named:
        search = look_for(here)
        named, named_by = search.found, "search"
    file = read_settings(Path(named), shown_path(named), commands()) if named else None
    return InForce(file=file, named_by=named_by, search=search, allow_urls=root["allow_urls"])


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


def _has_table(path: Path, shown: str) -> bool:
    """Whether a ``pyproject.toml`` has our table; one without our name in it is not even parsed."""
    data = _read(path, shown) if is_file(path) else b""
    return b"entropylaw" in data and _ours(_parsed(data, shown)) is not None


def general_settings(commands: Mapping[str, Settings]) -> dict[str, Option]:
    """The settings of all commands, each once: inputs, columns, others, and those of one command alone."""
    known: dict[str, Option] = {}
    for settings in commands.values():
        known |= {key: option for key, option in settings.items() if key not in known}
    order = sorted(known, key=lambda key: (key != "inputs", "." not in key, not known[key].general))
    return {key: known[key] for key in order}


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
    tables = [name for name in commands if name != GROUP]
    inside = {name: table[name] for name in tables if name in table}
    for_one = {
        name: _settings(own, shown, f"{prefix}{name}.", commands[name]) for name, own in inside.items()
    }
    general = {key: known for key, known in general_settings(commands).items() if known.general}
    rest = {key: value for key, value in table.items() if key not in inside}
    for_all = _settings(rest, shown, prefix, general, tables)
    return SettingsFile(shown=shown, folder=path.parent, prefix=prefix, general=for_all, commands=for_one)


def _settings(
    table: Any, shown: str, prefix: str, known: Settings, tables: Sequence[str] = ()
) -> dict[str, Any]:
    """A table's settings by key, each of them checked; ``known`` keys and ``tables`` may be in it."""
    values: dict[str, Any] = {}
    for name, value in _table(table, shown, prefix.rstrip(".")).items():
        group = name == GROUP
        inside = _table(value, shown, prefix + name) if group else {name: value}
        values |= {f"{GROUP}.{key}" if group else key: item for key, item in inside.items()}
    for key, value in values.items():
        if key not in known:
            refuse_removed(f"--{key}", shown)
            meant = _meant(key, known, tables)
            near = f"did you mean {meant!r}?" if meant else f"expected one of {', '.join(known)}"
            message = f"{shown} sets {(prefix + key)[:80]!r}, which is no setting there; {near}"
            hint = "`entropylaw --no-config config` lists the settings"
            raise UsageError("unknown-setting", message, hint)
        try:
            known[key].from_toml(value)
        except ValueError:
            raise _bad(f"{prefix}{key}", value, shown, known[key].expected) from None
    return values


def _meant(key: str, known: Settings, tables: Sequence[str]) -> str | None:
    """The key that a wrong one resembles: by its last part, by its flag, or by its letters."""
    import difflib

    names = {name: name for name in tables}
    for own, option in known.items():
        names |= dict.fromkeys([own, option.flag.lower().lstrip("-"), own.rpartition(".")[2]], own)
    full = key.lower().replace("_", "-").lstrip("-")[:80]
    last = full.rpartition(".")[2]
    close = [name for name in (full, last) if name in names]
    close += difflib.get_close_matches(full, names, 1) or difflib.get_close_matches(last, names, 1)
    return names[close[0]] if close else None


def _table(value: Any, shown: str, key: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise _bad(key, value, shown, "a table")


def _bad(key: str, value: Any, shown: str, expected: str) -> UsageError:
    # Of longer text only its length, for it may be a secret in the wrong line.
    try:
        text = repr(value) if len(repr(value)) <= 20 else f"{len(repr(value))} characters"
    except ValueError:
        text = "an integer of thousands of digits"
    hint = "`entropylaw --no-config config` lists the settings with their defaults"
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
    except ValueError:
        why = "an integer of more digits than Python reads"
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
    """Our table of a project's file; None where there is none."""
    tool = data.get("tool")
    return tool.get("entropylaw") if isinstance(tool, dict) else None


def from_file(
    file: SettingsFile, command: str, options: Mapping[str, Option], *, allow_urls: bool
) -> dict[str, Any]:
    """Name of a field → its value, of all that a file sets for those options of a command.

    A file may come from a stranger: it opens no URL unless ``allow_urls``, and writes nothing outside its
    folder. Raises UsageError (``url-in-settings``, ``output-outside``).
    """
    own = file.commands.get(command, {})
    filled: dict[str, Any] = {}
    for name, known in options.items():
        key = known.key
        value = own.get(key, file.general.get(key))
        if value is None or value == []:
            continue
        value = located(known, value, file.folder)
        if key == "inputs":
            value = list(dict.fromkeys(path for pattern in value for path in expanded(pattern)))
        # A flag of the command line replaces the value before it is checked.
        place = file.place(key, command if key in own else None)
        within = file.folder if key in OUTPUTS else None
        with_paths(known, value, partial(_allowed, place=place, within=within, allow_urls=allow_urls))
        filled[name] = known.from_toml(value)
    return filled


def _allowed(path: str, *, place: str, within: Path | None, allow_urls: bool) -> str:
    """A path of a file, if it is no URL and lies ``within`` a folder."""
    if "://" in path and not allow_urls:
        raise UsageError(
            "url-in-settings",
            f"{place} names {hostless(path)}, and a URL in a file of settings is opened only if the "
            "command line allows it",
            "entropylaw --allow-urls COMMAND …, or entropylaw --no-config COMMAND …",
        )
    # Links and ".." are followed first.
    if within is not None and path != "-" and not Path(path).resolve().is_relative_to(within.resolve()):
        message = f"{place} names {shown_path(path)}, which is outside the folder of that file"
        raise UsageError("output-outside", message, "name a file below it, or use -o on the command line")
    return path


def located(known: Option, value: Any, folder: Path) -> Any:
    """A value with its paths, which are relative to the file's folder, relative to the current one.

    Standard input and remote places do not change.
    """

    def from_here(path: str) -> str:
        if path == "-" or path.startswith("-:") or "://" in path:
            return path
        given = Path(path).expanduser() if path.startswith("~/") else Path(path)
        return str(given) if given.is_absolute() else os.path.relpath(folder / given)

    return with_paths(known, value, from_here)


def with_paths(known: Option, value: Any, change: Callable[[str], str]) -> Any:
    """A value with every path in it changed, those of gates' baselines too."""
    if known.kind is ARM_PATH:
        from entropylaw.run_names import split_arm

        return ["=".join([*arm, change(path)]) for *arm, path in map(split_arm, value)]
    if known.kind is PATH:
        return [change(item) for item in value] if isinstance(value, list) else change(value)
    if known.key != "gates":
        return value
    from entropylaw.gates.expression import parse

    def changed(gate: str) -> str:
        baseline = parse(gate).baseline
        if baseline is None:
            return gate
        start = gate.rindex(baseline, 0, gate.rindex(")"))
        return gate[:start] + change(baseline) + gate[start + len(baseline) :]

    return [changed(gate) for gate in value]
