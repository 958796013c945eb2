"""Settings from a file as defaults of the commands, and ``entropylaw config``, which prints them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from entropylaw.errors import UsageError

if TYPE_CHECKING:
    from entropylaw.settingsfile import Search, Setting, SettingsFile

EXAMPLE = "Example:  entropylaw config"

VARIABLE = "ENTROPYLAW_CONFIG"
"""The environment variable that names a file of settings."""

WITHOUT = ("tokens", "config", "schema")
"""Commands that no setting is for: a column of tokens is none of evaluations."""

SCHEMA = "entropylaw/config/1"

OUTPUTS = ("output", "folder")
"""Settings that name what is written."""

_ARGUMENTS = "entropylaw.arguments"
_IN_FORCE = "entropylaw.settings"

ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar=VARIABLE,
        help="Settings, as flags of the commands. [default: entropylaw.toml, or [tool.entropylaw] in "
        "pyproject.toml, here or in a folder above]",
    ),
]
NoConfig = Annotated[bool, typer.Option("--no-config", help="Read no settings from any file.")]
AllowUrls = Annotated[
    bool, typer.Option("--allow-urls", help="Open the URLs that a file of settings names, such as s3://…")
]


class ConfigFormat(StrEnum):
    """How the settings are printed."""

    text = "text"
    json = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The file of settings that was read, who named it, and what was looked for."""

    file: SettingsFile | None = None
    named_by: str = "search"
    search: Search | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A setting with its value, for every command or for one, and where that comes from."""

    key: str
    command: str | None
    value: Any
    where: str | None


class Commands(TyperGroup):
    """The commands; remembers what the chosen one is called with, for the settings."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the first argument names."""
        ctx.meta[_ARGUMENTS] = args[1:]
        return super().resolve_command(ctx, args)


def fill(ctx: typer.Context, config_file: str | None, *, no_config: bool, allow_urls: bool) -> None:
    """Read the settings and make them defaults of the command that was chosen.

    ``--help`` tells the defaults that are built in, and works whatever stands in a file.

    Raises
    ------
    InputError, UsageError
        As :func:`entropylaw.settingsfile.read_settings`; ``config-and-no-config``, ``url-in-settings``,
        ``output-outside``, ``no-working-folder``.
    """
    command = str(ctx.invoked_subcommand)
    takers = taken(ctx.command)
    if _asks_for_help(ctx.meta.get(_ARGUMENTS, [])):
        return
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "no-working-folder", "the current folder has been deleted", "cd to a folder that exists"
        ) from None
    if command not in takers and command != "config":
        return
    source = ctx.get_parameter_source("config_file")
    flag = source is not None and source.name == "COMMANDLINE"
    if no_config and flag:
        raise UsageError(
            "config-and-no-config", "both --config and --no-config were given", "give one of the two"
        )
    tables = {name: list(parameters) for name, parameters in takers.items() if name != "columns"}
    found = InForce(named_by="--no-config") if no_config else _found(config_file, tables, flag=flag)
    ctx.meta[_IN_FORCE] = found
    if found.file is not None and command in takers:
        filled = defaults(found.file, command, takers[command], allow_urls=allow_urls)
        ctx.default_map = {command: filled}


def taken(root: Any) -> dict[str, dict[str, Any]]:
    """Command → key → the parameter that takes it, of every command that takes any setting."""
    from entropylaw.settingsfile import SETTINGS

    takers = {
        name: {
            setting.key: parameter
            for setting in SETTINGS
            for parameter in command.params
            if _takes(parameter, setting)
        }
        for name, command in root.commands.items()
        if name not in WITHOUT
    }
    return {name: parameters for name, parameters in takers.items() if parameters}


def defaults(
    file: SettingsFile, command: str, parameters: Mapping[str, Any], *, allow_urls: bool
) -> dict[str, Any]:
    """Name of a parameter → its default, or what gives it, of all that the file sets for a command."""
    from entropylaw.settingsfile import BY_KEY

    settings = {**file.general, **file.commands.get(command, {})}
    filled: dict[str, Any] = {}
    for key, parameter in parameters.items():
        value = settings.get(key)
        if value is None or value == []:
            continue
        value = located(BY_KEY[key], value, file.folder)
        if key == "inputs":
            value = list(dict.fromkeys(path for pattern in value for path in _expanded(pattern)))
        place = file.place(key, command if key in file.commands.get(command, {}) else None)
        if BY_KEY[key].path or key == "gates":
            # Only where no flag has the say: a value that may not be used is then an error.
            value = partial(
                _checked, key, value, place, None if key not in OUTPUTS else file.folder, allow_urls
            )
        filled[parameter.name] = str(value) if BY_KEY[key].as_text else value
    return filled


def _checked(key: str, value: Any, place: str, within: Path | None, allow_urls: bool) -> Any:
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
    return value


def flags_given(ctx: typer.Context, names: Sequence[str]) -> list[str]:
    """Those of some parameters that the command line itself gave, as against a file of settings."""
    sources = ((name, ctx.get_parameter_source(name)) for name in names)
    return [name for name, source in sources if source is not None and source.name == "COMMANDLINE"]


def located(setting: Setting, value: Any, folder: Path) -> Any:
    """A value with its paths, which start at the file's folder, as they are from here."""

    def from_here(path: str) -> str:
        return rebased(path, folder)

    return _with_paths(setting, value, from_here)


def rebased(path: str, folder: Path) -> str:
    """A path that starts at ``folder`` as seen from here; standard input and remote places as they are."""
    if path == "-" or path.startswith("-:") or "://" in path:
        return path
    given = Path(path).expanduser() if path.startswith("~/") else Path(path)
    return str(given) if given.is_absolute() else os.path.relpath(folder / given)


def config(
    ctx: typer.Context,
    format: Annotated[
        ConfigFormat, typer.Option("--format", help="Format on standard output.")
    ] = ConfigFormat.text,
) -> None:
    """Print the settings in force, and where each comes from: a file and its key, or the default.

    A file is looked for here and in the folders above, up to the one with .git; entropylaw.toml wins over
    [tool.entropylaw] in pyproject.toml, and a flag over both. `entropylaw --config FILE config` shows
    another file, and so does ENTROPYLAW_CONFIG.
    """
    from entropylaw.cli.output import print_result

    found: InForce = ctx.meta[_IN_FORCE]
    assert ctx.parent is not None
    rows = list(in_force(found.file, taken(ctx.parent.command)))
    if format is ConfigFormat.json:
        from entropylaw.documents.store import dumps

        print_result(dumps(config_document(found, rows)))
    else:
        print_result(config_text(found, rows))


def in_force(file: SettingsFile | None, takers: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Every setting that some command takes, and those that one command has for itself."""
    from entropylaw.settingsfile import SETTINGS

    for setting in SETTINGS:
        key = setting.key
        parameters = [keys[key] for keys in takers.values() if key in keys]
        if parameters and setting.general:
            value = file.general.get(key) if file else None
            where = file.place(key) if file and value is not None else None
            value = built_in(parameters[0]) if file is None or value is None else _shown(setting, value, file)
            yield Row(key=key, command=None, value=value, where=where)
        for command, values in file.commands.items() if file else ():
            if file and key in values:
                value = _shown(setting, values[key], file)
                yield Row(key=key, command=command, value=value, where=file.place(key, command))


def config_document(found: InForce, rows: Sequence[Row]) -> dict[str, Any]:
    """Plain JSON values; ``where`` is None for a default, ``value`` None for what the command finds out."""
    from entropylaw._version import __version__

    return {
        "schema": SCHEMA,
        "version": __version__,
        "file": found.file.shown if found.file else None,
        "named_by": found.named_by,
        "looked_for": _looked_for(found.search) if found.search else None,
        "not_read": found.search.beside if found.search else None,
        "settings": [
            {
                "key": row.key,
                "command": row.command,
                "value": row.value,
                "source": "default" if row.where is None else "file",
                "where": row.where,
            }
            for row in rows
        ],
    }


def config_text(found: InForce, rows: Sequence[Row]) -> str:
    """The settings for a terminal: one a line, one line a value."""
    from entropylaw.report.printable import one_line
    from entropylaw.settingsfile import BY_KEY

    cells = []
    for row in rows:
        name = row.key if row.command is None else f"{row.key} ({row.command})"
        values = row.value if isinstance(row.value, list) else [row.value]
        shown = [one_line(BY_KEY[row.key].unset if value is None else str(value)) for value in values]
        cells.append((name, shown[0] if shown else "none", one_line(row.where or "default")))
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


def _found(named: str | None, tables: Mapping[str, Sequence[str]], *, flag: bool) -> InForce:
    """Read the file that is named, or the nearest."""
    from entropylaw.settingsfile import look_for, read_settings

    if named:
        file = read_settings(Path(named), _plain(named), tables)
        return InForce(file=file, named_by="--config" if flag else VARIABLE)
    search = look_for(Path.cwd())
    if search.found is None:
        return InForce(search=search)
    return InForce(file=read_settings(Path(search.found), search.found, tables), search=search)


def _takes(parameter: Any, setting: Setting) -> bool:
    """Whether a parameter of a command is the one that a setting stands for."""
    variadic = parameter.nargs == -1
    if setting.flag == "LOGS":
        return bool(parameter.param_type_name == "argument" and variadic)
    flag, _, metavar = setting.flag.partition(" ")
    return bool(
        flag in parameter.opts
        and (not metavar or parameter.metavar == metavar)
        and (parameter.multiple or variadic or not setting.many)
    )


def _asks_for_help(arguments: Sequence[str]) -> bool:
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--help" in before


def _with_paths(setting: Setting, value: Any, change: Callable[[str], str]) -> Any:
    """A value with every path in it changed."""
    if setting.path:
        return [change(item) for item in value] if isinstance(value, list) else change(value)
    if setting.key == "gates":
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


def built_in(parameter: Any) -> Any:
    """The default of a parameter itself; None where it has none."""
    default = None if parameter.required else parameter.default
    return default.value if isinstance(default, Enum) else default


def _shown(setting: Setting, value: Any, file: SettingsFile) -> Any:
    return _with_paths(setting, located(setting, value, file.folder), _plain)


def _plain(path: str) -> str:
    """A path without anything of the machine, an address without its secrets."""
    from entropylaw.paths import hostless, shown_path

    return shown_path(path) if Path(path).is_absolute() else hostless(path)
