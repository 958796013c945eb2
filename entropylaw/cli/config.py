"""Settings from a file as values of options, and ``entropylaw config``, which prints them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.cli.command import VARIABLE, all_settings, takes
from entropylaw.errors import UsageError
from entropylaw.options import PATH, Command, Option, formats

if TYPE_CHECKING:
    from entropylaw.settingsfile import InForce, Search, SettingsFile

SCHEMA = "entropylaw/config/1"

WITHOUT = ("tokens", "schema")
"""Commands that no setting is for: a column of tokens is none of evaluations."""

OUTPUTS = ("output", "folder")
"""Settings that name what is written."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfigCommand(Command):
    """``entropylaw config``."""

    format: str = formats("text", "json")


def in_force(root: Mapping[str, Any], command: str) -> InForce | None:
    """The settings file for a command, as the options before it (``root``) say; None where it takes none.

    Raises
    ------
    InputError, UsageError
        As :func:`entropylaw.settingsfile.read_settings`; ``config-and-no-config``, ``no-working-folder``.
    """
    from entropylaw.settingsfile import InForce, look_for, read_settings

    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "no-working-folder", "the current folder has been deleted", "cd to a folder that exists"
        ) from None
    if command in WITHOUT:
        return None
    named, allow_urls = root["config_file"], root["allow_urls"]
    if root["no_config"]:
        if named:
            raise UsageError(
                "config-and-no-config", "both --config and --no-config were given", "give one of the two"
            )
        return InForce(named_by="--no-config")
    named_by = "--config" if named else VARIABLE
    named = named or os.environ.get(VARIABLE)
    if named:
        file = read_settings(Path(named), _plain(named), all_settings())
        return InForce(file=file, named_by=named_by, allow_urls=allow_urls)
    search = look_for(here)
    if search.found is None:
        return InForce(search=search)
    file = read_settings(Path(search.found), search.found, all_settings())
    return InForce(file=file, search=search, allow_urls=allow_urls)


def from_file(
    file: SettingsFile, command: str, options: Mapping[str, Option], *, allow_urls: bool
) -> dict[str, Any]:
    """Name of a field → its value, of all that a file sets for those options of a command."""
    own = file.commands.get(command, {})
    filled: dict[str, Any] = {}
    for name, known in options.items():
        key = known.key
        value = own.get(key, file.general.get(key))
        if value is None or value == []:
            continue
        value = located(known, value, file.folder)
        if key == "inputs":
            value = list(dict.fromkeys(path for pattern in value for path in _expanded(pattern)))
        if known.kind is PATH or key == "gates":
            # Only where no flag has the say: a value that may not be used is then an error.
            place = file.place(key, command if key in own else None)
            _check(key, value, place, None if key not in OUTPUTS else file.folder, allow_urls=allow_urls)
        filled[name] = known.written(value)
    return filled


def _check(key: str, value: Any, place: str, within: Path | None, *, allow_urls: bool) -> None:
    """A value of a file that may be somebody else's: it opens no URL and writes nothing outside a folder.

    Raises
    ------
    UsageError
        ``url-in-settings``, ``output-outside``.
    """
    from entropylaw.gates.expression import parse
    from entropylaw.paths import hostless

    values = value if isinstance(value, list) else [value]
    paths = [parse(gate).baseline or "" for gate in values] if key == "gates" else values
    for path in paths:
        if "://" in path and not allow_urls:
            raise UsageError(
                "url-in-settings",
                f"{place} names {hostless(path)}, and a URL in a file of settings is opened only if the "
                "command line allows it",
                "entropylaw --allow-urls COMMAND …, or entropylaw --no-config COMMAND …",
            )
        # Links and ".." are followed first.
        if within is not None and path != "-" and not Path(path).resolve().is_relative_to(within.resolve()):
            raise UsageError(
                "output-outside",
                f"{place} names {_plain(path)}, which is outside the folder of that file",
                "name a file below it, or say -o on the command line",
            )


def located(known: Option, value: Any, folder: Path) -> Any:
    """A value with its paths, which start at the file's folder, as they are from here."""
    return _with_paths(known, value, lambda path: rebased(path, folder))


def rebased(path: str, folder: Path) -> str:
    """A path that starts at ``folder`` as seen from here; standard input and remote places as they are."""
    if path == "-" or path.startswith("-:") or "://" in path:
        return path
    given = Path(path).expanduser() if path.startswith("~/") else Path(path)
    return str(given) if given.is_absolute() else os.path.relpath(folder / given)


@takes(ConfigCommand, example="entropylaw config")
def config(options: ConfigCommand) -> None:
    """Print the settings in force, and where each comes from: a file and its key, or the default.

    A file is looked for here and in the folders above, up to the one with .git; entropylaw.toml wins over
    [tool.entropylaw] in pyproject.toml, and a flag over both. `entropylaw --config FILE config` shows
    another file, and so does ENTROPYLAW_CONFIG.
    """
    from entropylaw._version import __version__
    from entropylaw.cli.output import print_result
    from entropylaw.documents.store import dumps
    from entropylaw.settingsfile import general_settings

    found = options.found
    assert found is not None
    known = general_settings(all_settings())
    rows = list(rows_of(found.file, known))
    if options.format == "text":
        print_result(config_text(found, rows, known))
        return
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "file": found.file.shown if found.file else None,
        "named_by": found.named_by,
        "looked_for": _looked_for(found.search) if found.search else None,
        "not_read": found.search.beside if found.search else None,
        "settings": rows,
    }
    print_result(dumps(document))


def rows_of(file: SettingsFile | None, known: Mapping[str, Option]) -> Iterator[dict[str, Any]]:
    """Every setting that some command takes, and those that one command has for itself.

    Plain JSON values; ``where`` is None for a default, ``value`` None for what the command finds out.
    """
    for key, option in known.items():
        tables = [(None, file.general), *file.commands.items()] if file else []
        there = [(command, values[key]) for command, values in tables if key in values]
        if option.general and (not there or there[0][0] is not None):
            default = None if option.default == () else option.default
            yield {"key": key, "command": None, "value": default, "source": "default", "where": None}
        for command, value in there:
            assert file is not None
            shown = _with_paths(option, located(option, value, file.folder), _plain)
            where = file.place(key, command)
            yield {"key": key, "command": command, "value": shown, "source": "file", "where": where}


def config_text(found: InForce, rows: Sequence[dict[str, Any]], known: Mapping[str, Option]) -> str:
    """The settings for a terminal: one a line, one line a value."""
    from entropylaw.report.printable import one_line

    cells = []
    for row in rows:
        key, value = row["key"], row["value"]
        if value is None or isinstance(value, bool):
            value = known[key].unset if value is None else str(value).lower()
        shown = [one_line(str(each)) for each in (value if isinstance(value, list) else [value])]
        name = key if row["command"] is None else f"{key} ({row['command']})"
        cells.append((name, shown[0] if shown else "none", one_line(row["where"] or "default")))
        cells += [("", value, "") for value in shown[1:]]
    left, middle = (min(max(len(cell[i]) for cell in cells), 40) for i in (0, 1))
    lines = [f"  {name:<{left}}  {value:<{middle}}  {where}".rstrip() for name, value, where in cells]
    return "\n".join([*map(one_line, _heading(found)), "", *lines]) + "\n"


def _heading(found: InForce) -> Iterator[str]:
    """Which file was read, and why that one; or what was looked for."""
    if found.named_by == "--no-config":
        yield "no settings are read: --no-config"
    elif found.file is None and found.search is not None:
        yield f"no settings found: looked for {_looked_for(found.search)}"
    elif found.file is not None:
        named = "" if found.named_by == "search" else f", named by {found.named_by}"
        yield f"settings from {found.file.shown}{named}"
        if found.search is not None and found.search.beside is not None:
            yield f"not read: [tool.entropylaw] in {found.search.beside}, which stands beside it"


def _looked_for(search: Search) -> str:
    from entropylaw.settingsfile import BOUNDARY, OWN_FILE, PROJECT_FILE, TABLE

    files = f"{OWN_FILE}, and [{TABLE}] in {PROJECT_FILE},"
    above = search.folders - 1
    folders = f"here and in {above} folder{'s' if above > 1 else ''} above" if above else "here"
    end = f", up to the one with {BOUNDARY}" if above else f", where {BOUNDARY} is"
    return f"{files} {folders}{end if search.bounded else ''}"


def _with_paths(known: Option, value: Any, change: Callable[[str], str]) -> Any:
    """A value with every path in it changed."""
    if known.kind is PATH:
        return [change(item) for item in value] if isinstance(value, list) else change(value)
    if known.key == "gates":
        return [_with_baseline(gate, change) for gate in value]
    return value


def _with_baseline(gate: str, change: Callable[[str], str]) -> str:
    """A gate with the path of its baseline changed, where it has one."""
    from entropylaw.gates.expression import parse

    baseline = parse(gate).baseline
    if baseline is None:
        return gate
    start = gate.rindex(baseline, 0, gate.rindex(")"))
    return gate[:start] + change(baseline) + gate[start + len(baseline) :]


def _expanded(pattern: str) -> list[str]:
    """The paths that a pattern matches, in order; a name, or a pattern that matches nothing, as it is."""
    import glob

    if not glob.has_magic(pattern) or Path(pattern).exists():
        return [pattern]
    # pathlib would take a "./" off the names, and has no word for a pattern from the root.
    return sorted(glob.glob(pattern, recursive=True)) or [pattern]  # noqa: PTH207


def _plain(path: str) -> str:
    """A path without anything of the machine, an address without its secrets."""
    from entropylaw.paths import hostless, shown_path

    return shown_path(path) if Path(path).is_absolute() else hostless(path)
