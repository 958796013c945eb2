"""Commands that fit nothing: ``entropylaw columns``, ``entropylaw config`` and ``entropylaw schema``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entropylaw.cli.command import all_settings, takes
from entropylaw.cli.output import gather, print_result, show_error, shown
from entropylaw.cli.settings import OWN_FILE, general_settings
from entropylaw.documents.kinds import KINDS
from entropylaw.errors import EntropyLawError
from entropylaw.kinds import PATH, one_of
from entropylaw.options import ColumnOptions, Command, ConfigFile, Logs, Option, formats, option
from entropylaw.paths import shown_path
from entropylaw.results.result import replace
from entropylaw.version import __version__


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ColumnsCommand(ColumnOptions, Logs, Command):
    """``entropylaw columns``."""

    format: str = formats()


@takes(ColumnsCommand, example="entropylaw columns data/lab/grpo_s0/metrics.parquet")
def columns(options: ColumnsCommand) -> None:
    """Show which columns of a log would be used.

    Each choice is given with its reason, and every column is listed, also those that nothing is known of.
    Where a file has no step column, its rows are counted. Nothing is fitted.
    """
    from entropylaw.documents.document import columns_document
    from entropylaw.logs.runs.step_column import ROW
    from entropylaw.roles.explain import explain

    inputs = gather(options.logs, options, options)
    # Standard input cannot be read again; of a folder, files that lack a step are hardly logs.
    named = [entry for entry in inputs.entries if entry.path in options.logs and entry.path != "-"]
    problems = {entry.path: entry.error for entry in named if is_without_step(entry.error)}
    runs = inputs.runs
    if problems:
        runs += gather(list(problems), options, replace(options, step=ROW)).runs
    if not runs:
        raise inputs.errors[0]
    for error in inputs.errors:
        if error not in problems.values():
            show_error(error)
    chosen = {name: getattr(options, name) for name in ("entropy", "reward", "pair")}
    reports = [explain(run, **chosen, problem=problems.get(run.source.path)) for run in runs]
    document = replace(columns_document(reports), config=options.config)
    print_result(shown(document, options.format))


def is_without_step(error: EntropyLawError | None) -> bool:
    """Whether a log has no step column."""
    return error is not None and error.slug == "no-step-column"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfigCommand(Command):
    """``entropylaw config``."""

    format: str = formats("text", "json")


@takes(ConfigCommand, example="entropylaw config")
def config(options: ConfigCommand) -> None:
    """Print the settings in force and their sources.

    A source is a file and its key, or the default. The file is entropylaw.toml of the current folder; a
    flag wins over it. `entropylaw --config FILE config` shows another file.
    """
    from entropylaw.documents.codec import dumps, encode

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
    from entropylaw.gates.expression import parse

    for key, setting in known.items():
        tables = {command: values for command, values in options.settings.items() if key in values}
        if "" not in tables:
            default = None if setting.default == () else setting.default
            yield {"key": key, "command": None, "value": default, "source": "default", "where": None}
        for command, values in tables.items():
            assert options.config is not None
            value = values[key]
            if key == "gates":
                value = [parse(gate).shown for gate in value]
            elif setting.kind is PATH:
                value = shown_path(value)
            where = f"{options.config.path}: {f'{command}.{key}' if command else key}"
            yield {"key": key, "command": command or None, "value": value, "source": "file", "where": where}


def config_text(
    config: ConfigFile | None, rows: Sequence[dict[str, Any]], known: Mapping[str, Option]
) -> str:
    """The settings for a terminal: one line per value."""
    from entropylaw.escaping import one_line

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
    from entropylaw.escaping import one_line

    if value is None:
        return [one_line(unset)]
    if isinstance(value, list):
        return [one_line(str(item)) for item in value] or ["none"]
    return [one_line(str(value).lower() if isinstance(value, bool) else str(value))]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SchemaCommand(Command):
    """``entropylaw schema``."""

    kind: str = option("KIND", f"{', '.join(KINDS)}.", one_of(*KINDS), required=True)


@takes(SchemaCommand, example="entropylaw schema fit > fit.schema.json")
def schema(options: SchemaCommand) -> None:
    """Print the JSON Schema of a document.

    Documents are what `--format json` and `-o FILE.json` write. `report` is the document of one run, in
    runs/, `index` that of all runs, report.json. A document names its schema and the version of
    entropylaw that wrote it. Fields may be added to a schema; a change that breaks readers makes a new
    one.
    """
    from entropylaw.documents.codec import dumps
    from entropylaw.documents.schema import json_schema

    print_result(dumps(json_schema(KINDS[options.kind])))
