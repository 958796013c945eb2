"""Settings in a file: ``entropylaw.toml``, or ``[tool.entropylaw]`` in ``pyproject.toml``.

Only what is in the file, where it is, and whether it is well written. Which command has which setting is
the command line's to know, and is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from entropylaw.errors import InputError, UsageError
from entropylaw.inputs import note_input

OWN_FILE = "entropylaw.toml"
PROJECT_FILE = "pyproject.toml"
TABLE = "tool.entropylaw"
BOUNDARY = ".git"
"""A project ends at the folder that has this."""

GROUP = "columns"
"""The table whose keys are settings, and which is no command's."""

Fits = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(_text(item) for item in value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _level(value: Any) -> bool:
    return _number(value) and 0 < value < 1


def _count(value: Any) -> bool:
    return type(value) is int and value > 0


def _samples(value: Any) -> bool:
    return _count(value) or (
        isinstance(value, str) and re.fullmatch(r"\d{1,9}([x×]\d{1,9})?", value) is not None
    )


def _noise(value: Any) -> bool:
    return _text(value) or (_number(value) and 0 < value < float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A key of the file.

    ``expected`` says in words what ``fits`` takes. ``unset`` is what holds without it, where the command has
    no value of its own. ``many`` is a list. A ``path`` is relative to the file. What is ``as_text`` may be
    a number here, and is a text for the flag. ``general`` is False for what
    makes sense for one command only.
    """

    key: str
    flag: str
    expected: str
    fits: Fits
    meaning: str
    unset: str
    many: bool = False
    path: bool = False
    as_text: bool = False
    general: bool = True

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition(".")[2]


def _one_of(*choices: str) -> tuple[str, Fits]:
    return " or ".join(
        [", ".join(map(repr, choices[:-1])), repr(choices[-1])]
    ), lambda value: value in choices


def _column(name: str, meaning: str, unset: str = "by catalog") -> Setting:
    return Setting(
        key=f"{GROUP}.{name}",
        flag=f"--{name} COLUMN",
        expected="a column's name",
        fits=_text,
        meaning=meaning,
        unset=unset,
    )


_PAIRS, _is_pair = _one_of("same", "next")
_INTERVALS, _is_interval = _one_of("drift", "walk", "odr", "ols")

SETTINGS = (
    Setting(
        key="inputs",
        flag="LOGS",
        expected="a list of paths",
        fits=_texts,
        many=True,
        meaning="The logs of a command that is given none; `*`, `?` and `**` are expanded.",
        unset="none",
        path=True,
    ),
    _column("entropy", "Entropy column."),
    _column("reward", "Reward column."),
    _column("step", "Step column."),
    _column("run", "Column that names the run in a log of several."),
    _column("planning", "Column with the entropy of planning tokens.", "by name"),
    _column("execution", "Column with the entropy of execution tokens.", "by name"),
    Setting(
        key=f"{GROUP}.pair",
        flag="--pair",
        expected=_PAIRS,
        fits=_is_pair,
        meaning="Which entropy belongs to the reward at step s.",
        unset="by catalog",
    ),
    Setting(
        key="level",
        flag="--level",
        expected="a number between 0 and 1",
        fits=_level,
        meaning="Coverage of the intervals.",
        unset="the fit's",
    ),
    Setting(
        key="interval",
        flag="--interval",
        expected=_INTERVALS,
        fits=_is_interval,
        meaning="What makes the intervals.",
        unset="drift",
    ),
    Setting(
        key="eval-size",
        flag="--eval-size",
        expected="a number of samples, or a text such as '30x32'",
        fits=_samples,
        meaning="Independent samples behind each reward.",
        unset="not known",
        as_text=True,
    ),
    Setting(
        key="entropy-sd",
        flag="--entropy-sd",
        expected="a number of nats above 0, or a column's name",
        fits=_noise,
        meaning="Noise of each logged entropy.",
        unset="estimated",
        as_text=True,
    ),
    Setting(
        key="gates",
        flag="--fail-if",
        expected="a list of texts such as 'ceiling<0.62'",
        fits=_texts,
        many=True,
        meaning="What `check` fails on.",
        unset="none",
    ),
    Setting(
        key="style",
        flag="--style",
        expected="a path",
        fits=_text,
        meaning="A matplotlib style file, on top of our own style.",
        unset="none",
        path=True,
    ),
    Setting(
        key="folder",
        flag="-o FOLDER",
        expected="a path",
        fits=_text,
        meaning="Folder that `report` writes into.",
        unset="reports",
        path=True,
    ),
    Setting(
        key="jobs",
        flag="--jobs",
        expected="a whole number above 0",
        fits=_count,
        meaning="Runs that are worked on at once.",
        unset="as many as there are cores",
    ),
    Setting(
        key="output",
        flag="-o FILE",
        expected="a list of paths",
        fits=_texts,
        many=True,
        meaning="Files to write, in one command's table only; the suffix decides the format.",
        unset="none",
        path=True,
        general=False,
    ),
)

BY_KEY = {setting.key: setting for setting in SETTINGS}


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

    ``folders`` were looked into; ``bounded`` says that the last of them has ``.git``. ``beside`` is the other
    file of the same folder, where that has settings too.
    """

    found: str | None
    folders: int
    bounded: bool
    beside: str | None = None


def look_for(start: Path) -> Search:
    """Look for settings in a folder and those above it, up to the one with ``.git``; the nearest wins.

    In one folder ``entropylaw.toml`` wins over ``pyproject.toml``.
    """
    folders = [start, *start.parents]
    for depth, folder in enumerate(folders):
        up = "../" * depth
        here = Search(found=None, folders=depth + 1, bounded=_exists(folder / BOUNDARY))
        if _is_file(folder / OWN_FILE):
            beside = up + PROJECT_FILE if _shadowed(folder / PROJECT_FILE) else None
            return replace(here, found=up + OWN_FILE, beside=beside)
        if _has_table(folder / PROJECT_FILE, up + PROJECT_FILE):
            return replace(here, found=up + PROJECT_FILE)
        if here.bounded:
            return here
    return Search(found=None, folders=len(folders), bounded=False)


def read_settings(path: Path, shown: str, commands: Mapping[str, Iterable[str]]) -> SettingsFile:
    """Read and check a file of settings; ``commands`` are those that may have a table, with their keys.

    Raises
    ------
    InputError
        ``file-not-found``, ``file-unreadable``, ``not-toml``.
    UsageError
        ``no-settings``, ``unknown-setting``, ``bad-setting``.
    """
    table, prefix = _own_table(_parsed(path, shown), path, shown)
    for_one = {
        name: _Table(shown=shown, prefix=f"{prefix}{name}.", keys=tuple(keys)).settings(table[name])
        for name, keys in commands.items()
        if name in table
    }
    keys = tuple(setting.key for setting in SETTINGS if setting.general)
    rest = {key: value for key, value in table.items() if key not in for_one}
    general = _Table(shown=shown, prefix=prefix, keys=keys, tables=tuple(commands)).settings(rest)
    return SettingsFile(shown=shown, folder=path.parent, prefix=prefix, general=general, commands=for_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table of a file: the ``keys`` that it may have, and beside them the ``tables``."""

    shown: str
    prefix: str
    keys: tuple[str, ...]
    tables: tuple[str, ...] = ()

    def settings(self, table: Any) -> dict[str, Any]:
        """The table's settings by key, each of them checked."""
        found: dict[str, Any] = {}
        for name, value in _table(table, self.shown, self.prefix.rstrip(".")).items():
            if name == GROUP:
                inside = _table(value, self.shown, self.prefix + name)
                found |= {f"{GROUP}.{key}": item for key, item in inside.items()}
            else:
                found[name] = value
        for key, value in found.items():
            self._check(key, value)
        return found

    def _check(self, key: str, value: Any) -> None:
        if key not in self.keys:
            raise self._unknown(key)
        setting = BY_KEY[key]
        if not setting.fits(value):
            raise _bad(f"{self.prefix}{key}", value, self.shown, setting.expected)

    def _unknown(self, key: str) -> UsageError:
        meant = _meant(key, [*self.keys, *self.tables])
        told = f"did you mean {meant!r}?" if meant else f"expected one of {', '.join(self.keys)}"
        return UsageError(
            "unknown-setting",
            f"{self.shown} sets {(self.prefix + key)[:80]!r}, which is no setting there; {told}",
            "docs/config.md lists the settings, and which command has which",
        )


def _meant(key: str, keys: Sequence[str]) -> str | None:
    """The key that a wrong one resembles: by its last part, by its flag, or by its letters."""
    import difflib

    names: dict[str, str] = {}
    for known in keys:
        setting = BY_KEY.get(known)
        flag = [setting.flag.lower().lstrip("-"), setting.name] if setting else []
        names |= dict.fromkeys([known, *flag], known)
    wanted = key.lower().replace("_", "-").lstrip("-")[:80]
    last = wanted.rpartition(".")[2]
    close = [name for name in (wanted, last) if name in names]
    close += difflib.get_close_matches(wanted, names, 1) or difflib.get_close_matches(last, names, 1)
    return names[close[0]] if close else None


def _table(value: Any, shown: str, key: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _bad(key, value, shown, "a table")
    return value


def _bad(key: str, value: Any, shown: str, expected: str) -> UsageError:
    return UsageError(
        "bad-setting",
        f"{shown} sets {key} = {_described(value)}, expected {expected}",
        "docs/config.md says what each setting takes; a flag of the command wins over the file",
    )


def _described(value: Any) -> str:
    """What is short as it is; of longer text only its length, for it may be a key in the wrong line."""
    text = repr(value)
    return text if len(text) <= 20 else f"{len(text)} characters"


def _parsed(path: Path, shown: str) -> dict[str, Any]:
    """The file as TOML; an error names the line."""
    import tomllib

    data = _read(path, shown)
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        why = f"a byte that is not UTF-8 (at line {_lines(data[: error.start])})"
    except tomllib.TOMLDecodeError as error:
        why = str(error).replace("at end of document", f"at line {_lines(data.rstrip())}, the last")
    except RecursionError:
        why = "nested too deeply"
    raise InputError(
        "not-toml", f"{shown} is not TOML: {why}", "correct the line, or leave the file out with --no-config"
    )


def _lines(data: bytes) -> int:
    return data.count(b"\n") + 1


def _read(path: Path, shown: str) -> bytes:
    note_input(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            "file-not-found", f"{shown} does not exist, a file of settings was expected", "check the path"
        ) from None
    except OSError as error:
        raise InputError(
            "file-unreadable", f"{shown} could not be read ({error.strerror})", "check its permissions"
        ) from error


def _own_table(data: Mapping[str, Any], path: Path, shown: str) -> tuple[Mapping[str, Any], str]:
    """Our part of a file: the table of a project's file, and all of ``entropylaw.toml``."""
    tool = data.get("tool")
    if path.name != OWN_FILE and isinstance(tool, dict) and "entropylaw" in tool:
        return _table(tool["entropylaw"], shown, TABLE), f"{TABLE}."
    if path.name == PROJECT_FILE:
        raise UsageError(
            "no-settings", f"{shown} has no [{TABLE}], settings were expected there", f"add [{TABLE}] to it"
        )
    return data, ""


def _has_table(path: Path, shown: str) -> bool:
    """Whether a ``pyproject.toml`` has our table; one that never names us is not even parsed."""
    if not _is_file(path):
        return False
    if b"entropylaw" not in _read(path, shown):
        return False
    tool = _parsed(path, shown).get("tool")
    return isinstance(tool, dict) and "entropylaw" in tool


def _shadowed(path: Path) -> bool:
    """Whether a ``pyproject.toml`` that is not read has settings; broken, it has none."""
    try:
        return _has_table(path, PROJECT_FILE)
    except InputError:
        return False


def _is_file(path: Path) -> bool:
    """Whether there is a file; a folder that may not be looked into has none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
