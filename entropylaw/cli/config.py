"""Settings from a file as values of options, and ``entropylaw config``, which prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entropylaw.cli.command import all_settings, takes
from entropylaw.cli.settings import located, with_paths
from entropylaw.options import Command, Option, formats
from entropylaw.paths import shown_path

if TYPE_CHECKING:
    from entropylaw.settingsfile import InForce, Search, SettingsFile

SCHEMA = "entropylaw/config/1"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfigCommand(Command):
    """``entropylaw config``."""

    format: str = formats("text", "json")


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
            shown = with_paths(option, located(option, value, file.folder), shown_path)
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
        first, *more = [one_line(str(each)) for each in (value if isinstance(value, list) else [value])] or [
            "none"
        ]
        name = key if row["command"] is None else f"{key} ({row['command']})"
        cells.append((name, first, one_line(row["where"] or "default")))
        cells += [("", value, "") for value in more]
    left, middle = (min(max(len(cell[i]) for cell in cells), 40) for i in (0, 1))
    lines = [f"  {name:<{left}}  {value:<{middle}}  {where}".rstrip() for name, value, where in cells]
    heading = []
    if found.named_by == "--no-config":
        heading.append("no settings are read: --no-config")
    elif found.file is not None:
        named = "" if found.named_by == "search" else f", named by {found.named_by}"
        heading.append(f"settings from {found.file.shown}{named}")
        if found.search is not None and found.search.beside is not None:
            beside = found.search.beside
            heading.append(f"not read: [tool.entropylaw] in {beside}, which stands beside it")
    elif found.search is not None:
        heading.append(f"no settings found: looked for {_looked_for(found.search)}")
    return "\n".join([*map(one_line, heading), "", *lines]) + "\n"


def _looked_for(search: Search) -> str:
    from entropylaw.settingsfile import BOUNDARY, OWN_FILE, PROJECT_FILE, TABLE

    files = f"{OWN_FILE}, and [{TABLE}] in {PROJECT_FILE},"
    above = search.folders - 1
    folders = f"here and in {above} folder{'s' if above > 1 else ''} above" if above else "here"
    end = f", up to the one with {BOUNDARY}" if above else f", where {BOUNDARY} is"
    return f"{files} {folders}{end if search.bounded else ''}"
