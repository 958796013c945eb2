"""From options to commands: typer gets its flags from them, and a command gets one object with all values.

typer reads the arguments. The option itself converts each value, of the command line and of a settings
file: its errors have slugs, and typer's converter takes longer to import than a gate on stored fits takes.
"""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from entropylaw.cli.streams import say
from entropylaw.errors import UsageError
from entropylaw.escaping import one_line
from entropylaw.kinds import SWITCH
from entropylaw.option import COLUMNS, GENERAL, GROUPS, Option, options_of
from entropylaw.paths import is_folder

if TYPE_CHECKING:
    # The list of commands needs no families of options, which take as long to import as half of typer.
    from entropylaw.options import Command as Options
    from entropylaw.options import ConfigFile

NAMES = {
    "fit": "Say what each run did and what comes next.",
    "predict": "Predict reward at an entropy or a later step.",
    "columns": "Show which columns of a log would be used.",
    "tokens": "Summarise token-level logs by step.",
    "samples": "Summarise samples per problem by step.",
    "phases": "Say whether entropies rise, and in which order.",
    "compare": "Compare arms of an experiment over their seeds.",
    "plot": "Draw one figure of a run, of arms or of samples.",
    "report": "Write a report: pages, tables and figures.",
    "check": "Exit with code 5 if a gate trips or is unknown.",
    "demo": "Write example logs, and print commands for them.",
}
"""The commands in the order of the help, and the first sentence of each one's help, at most 50 characters:
the list is printed without importing a command."""

WITHOUT_SETTINGS = ("tokens", "samples", "demo")
"""Commands without settings: a column of tokens or samples is not a column of evaluations."""


@cache
def command_of(name: str) -> type[Options]:
    """The class that has the options of a command as fields; its docstring is the help."""
    module = import_module(f"entropylaw.cli.{'plot_command' if name == 'plot' else 'commands'}")
    options = getattr(module, f"{name.title()}Command")
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(options)


def _function_with_flags(name: str, command: type[Options]) -> Callable[..., None]:
    """The function of a command with a parameter per option, of which typer makes flags."""

    def call(context: typer.Context, **values: Any) -> None:
        # typer has a copy of click of its own, whose kinds of sources are compared by their names.
        sources = {field: getattr(context.get_parameter_source(field), "name", "") for field in values}
        typed = tuple(field for field, source in sources.items() if source == "COMMANDLINE")
        # Options are frozen, and hold several values as a tuple; typer makes a list of them.
        chosen = {
            field: tuple(values[field]) if isinstance(values[field], list) else values[field]
            for field in typed
        }
        config, set_by_file = _settings_of(name, command, context.obj)
        set_by_file = {field: value for field, value in set_by_file.items() if field not in typed}
        options = command(**set_by_file | chosen, given=typed, from_file=tuple(set_by_file), config=config)
        if config is not None:
            say(f"settings from {one_line(config.path)}", quiet=getattr(options, "quiet", False))
        # Only a command that is run is imported: help and completion do without.
        module = import_module(f"entropylaw.cli.{name}")
        getattr(module, name)(options)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for field, option in options_of(command).items():
        if field not in command.by_file:
            parameters.append(_parameter_of(field, option))
    # typer reads the flags from the signature; the code takes any.
    function: Any = call
    function.options = command
    function.__doc__ = command.__doc__
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {}
    return call


def all_settings() -> dict[str, Option]:
    """The options of all commands by their key in a settings file, columns first."""
    settings: dict[str, Option] = {}
    for name in NAMES:
        for option in options_of(command_of(name)).values():
            # An option without a key is in no settings file.
            if option.key:
                settings.setdefault(option.key, option)
    columns = {key: option for key, option in settings.items() if option.group == COLUMNS}
    return columns | settings


def _parameter_of(name: str, option: Option) -> inspect.Parameter:
    """An option as a parameter of typer: a flag without a value, or a text that the option reads."""
    value_type: Any = list[str] if option.many else str
    default: Any = inspect.Parameter.empty
    if option.kind is SWITCH:
        value_type = bool
        default = option.default
    elif not option.required:
        value_type = value_type | None
        default = None
    option_or_argument: Any = typer.Option if option.flags else typer.Argument
    info = option_or_argument(
        *option.flags,
        help=option.help_with_default,
        metavar=option.metavar or None,
        autocompletion=option.kind.choices_from if option.kind.choices else None,
    )
    annotation = Annotated[value_type, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class SettingsFile(NamedTuple):
    """The settings file that the command line names, and whether none is to be read."""

    named: str | None
    no_config: bool


def _settings_of(
    name: str, command: type[Options], file: SettingsFile
) -> tuple[ConfigFile | None, dict[str, Any]]:
    """The settings file in force for a command, and the values that it sets by the names of their fields.

    Raises UsageError ``no-working-folder``, and as :func:`entropylaw.cli.settings.in_force`.
    """
    from entropylaw.cli.settings import in_force

    try:
        Path.cwd()
    except FileNotFoundError:
        message = "the current folder has been deleted"
        raise UsageError("no-working-folder", message, "cd to a folder that exists") from None
    if name in WITHOUT_SETTINGS:
        return None, {}
    config, table = in_force(file.named, all_settings, no_config=file.no_config)
    values: dict[str, Any] = {}
    for field, option in options_of(command).items():
        value = table.get(option.key, [])
        # An empty list sets nothing.
        if value != []:
            values[field] = option.from_toml(value)
    return config, values


def _process_value(parameter: Any, option: Option | None, context: Any, value: Any) -> Any:
    """The value of a parameter, in place of typer's method of this name: its option reads the text."""
    if parameter.required and parameter.value_is_missing(value):
        name = parameter.human_readable_name if option is None else option.label
        context.fail(f"Missing {parameter.param_type_name} '{name}'.")
    if option is not None and not parameter.value_is_missing(value):
        value = option.parsed(value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


class _ReadByOptions:
    """What a command and the program have in common: an argument is read by its option, if it has one."""

    options_by_field: Mapping[str, Option] = {}

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each of which reads its value by its option."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            option = self.options_by_field.get(parameter.name)
            parameter.process_value = partial(_process_value, parameter, option)
        return parameters

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The flags of the help, in their order: typer makes a set of them, whose order is that of hashes."""
        return list(ctx.help_option_names)


class Command(_ReadByOptions, TyperCommand):
    """A command whose function takes one object with all options."""

    @property
    def options_by_field(self) -> dict[str, Option]:  # type: ignore[override]
        """Its options by the names of their fields, but for those that only a settings file sets."""
        command = self.callback.options  # type: ignore[union-attr]
        return {name: option for name, option in options_of(command).items() if name not in command.by_file}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Its arguments beside the options, of which a flag that needs no value may stand alone.

        Raises UsageError ``option-of-fit`` for a flag that `entropylaw fit` has, and not this command.
        """
        command = self.callback.options  # type: ignore[union-attr]
        words = [word.partition("=")[0] for word in args]
        for name in command.by_file:
            option = options_of(command)[name]
            if option.label in words:
                raise UsageError(
                    "option-of-fit",
                    f"{option.label} is an option of `entropylaw fit`, and not of `{ctx.command_path}`",
                    f"set {option.key} in entropylaw.toml, or use `entropylaw fit`",
                )
        for option in self.options_by_field.values():
            if option.alone:
                args = option.completed(args)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line: options, and then the arguments."""
        arguments = [option.usage for option in self.options_by_field.values() if not option.flags]
        return ["[OPTIONS]", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, and the options under the headings of their groups."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ("Arguments", *GROUPS)}
        for option in self.options_by_field.values():
            heading = option.group if option.flags else "Arguments"
            help_text = option.help_with_default
            # The usage of an argument itself shows whether it may be left out.
            if option.required and option.flags:
                help_text += " [required]"
            sections[heading].append((option.usage, help_text))
        sections[GENERAL].append(("-h, --help", "Show this message and exit."))
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class Commands(_ReadByOptions, TyperGroup):
    """The program. Of the commands it makes only the one that is called: all take longer than the help."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = dict.fromkeys(NAMES)

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, without making them."""
        return list(NAMES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, made when it is looked up."""
        if cmd_name in NAMES and self.commands[cmd_name] is None:
            options = command_of(cmd_name)
            single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            register = single.command(cmd_name, cls=Command, epilog=f"Example:  {options.example}")
            register(_function_with_flags(cmd_name, options))
            self.commands[cmd_name] = typer.main.get_command(single)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the first argument.

        Raises UsageError ``no-command`` where that is a file or a folder, such as a log.
        """
        word = args[0]
        if word not in NAMES and os.path.exists(word):  # noqa: PTH110  pathlib raises
            # Imported for this error alone.
            from entropylaw.pipeline.inputs import document_at

            message = f"{word} is not a command but a {'folder' if is_folder(word) else 'file'}"
            command = "report" if document_at(word) else "fit"
            raise UsageError("no-command", message, f"type: entropylaw {command} {shlex.join(args)}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands, without making them, and the options before a command."""
        rows = {parameter.name: parameter.get_help_record(ctx) for parameter in self.get_params(ctx)}
        usual = [rows.pop(name) for name in ("version", "help")]
        # A hidden option has no row.
        advanced = [row for row in rows.values() if row is not None]
        sections = {"Commands": list(NAMES.items()), "Options": usual, "Advanced": advanced}
        for heading, section in sections.items():
            with formatter.section(heading):
                formatter.write_dl(section)
