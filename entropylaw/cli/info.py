"""Commands that read no log: ``entropylaw config`` and ``entropylaw schema``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from entropylaw.cli.command import all_settings
from entropylaw.cli.commands import ConfigCommand, SchemaCommand
from entropylaw.cli.settings import OWN_FILE, general_settings
from entropylaw.cli.streams import print_result
from entropylaw.documents.codec import dumps, encode
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.schema import json_schema
from entropylaw.escaping import one_line
from entropylaw.gates.expression import parse
from entropylaw.kinds import PATH
from entropylaw.option import Option
from entropylaw.options import Command, ConfigFile
from entropylaw.paths import shown_path
from entropylaw.version import __version__


def config(options: ConfigCommand) -> None:
    """Run ``entropylaw config``."""
    settings = general_settings(all_settings())
    rows = list(rows_of(options, settings))
    if options.format == "text":
        print_result(config_text(options.config, rows, settings))
        return
    document = {"schema": "entropylaw/config/2", "version": __version__, "settings": rows}
    print_result(dumps(document | {"config": encode(options.config)}))


def rows_of(options: Command, known: Mapping[str, Option]) -> Iterator[dict[str, Any]]:
    """Every setting of all commands, and those that one command has for itself.

    Plain JSON values; ``where`` is None for a default, ``value`` None for what the command chooses.
    """
    for key, setting in known.items():
        tables = {command: values for command, values in options.settings.items() if key in values}
        if "" not in tables:
            default = None if setting.default == () else setting.default
            yield {"key": key, "command": None, "value": default, "source": "default", "where": None}
        for command, values in tables.items():
            assert options.config is not None
            where = f"{options.config.path}: {f'{command}.{key}' if command else key}"
            value = shown_value(key, setting, values[key])
            yield {"key": key, "command": command or None, "value": value, "source": "file", "where": where}


def shown_value(key: str, setting: Option, value: Any) -> Any:
    """A value of a settings file as it is shown: gates as expressions, and no absolute path."""
    if key == "gates":
        return [parse(gate).shown for gate in value]
    return shown_path(value) if setting.kind is PATH else value


def config_text(
    config: ConfigFile | None, rows: Sequence[dict[str, Any]], known: Mapping[str, Option]
) -> str:
    """The settings for a terminal: one line per value."""
    cells = []
    for row in rows:
        first, *others = texts_of(row["value"], known[row["key"]].unset)
        name = row["key"] if row["command"] is None else f"{row['key']} ({row['command']})"
        cells.append((name, first, one_line(row["where"] or "default")))
        cells += [("", text, "") for text in others]
    left, middle = (min(max(len(cell[i]) for cell in cells), 40) for i in (0, 1))
    lines = [f"  {name:<{left}}  {value:<{middle}}  {where}".rstrip() for name, value, where in cells]
    none = f"no settings are read: there is no {OWN_FILE} here, or --no-config was given"
    heading = f"settings from {one_line(config.path)}" if config is not None else none
    return "\n".join([heading, "", *lines]) + "\n"


def texts_of(value: Any, unset: str) -> list[str]:
    """A setting as texts, of a list one for each item; ``unset`` is the behaviour without a value."""
    if value is None:
        return [one_line(unset)]
    if isinstance(value, list):
        return [one_line(str(item)) for item in value] or ["none"]
    return [one_line(str(value).lower() if isinstance(value, bool) else str(value))]


def schema(options: SchemaCommand) -> None:
    """Run ``entropylaw schema``."""
    print_result(dumps(json_schema(KINDS[options.kind])))
