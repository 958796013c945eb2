"""From options to commands: typer gets its flags from them, and a command gets one object with all values.

typer reads the arguments, and the settings of a file are its defaults (``default_map``). The option itself
converts each value: its errors have slugs, and typer's converter takes longer to import than a gate on stored
fits takes to decide.
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
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from entropylaw.cli.streams import say
from entropylaw.errors import EntropyLawError, UsageError
from entropylaw.escaping import one_line
from entropylaw.kinds import SWITCH
from entropylaw.option import GENERAL, GROUPS, Option, options_of
from entropylaw.paths import is_folder

if TYPE_CHECKING:
    # The list of commands needs no families of options, which take as long to import as half of typer.
    from entropylaw.options import Command as Options
    from entropylaw.options import ConfigFile

NAMES = {
    "fit": "Fit the entropy law to every run.",
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

WITHOUT = ("tokens", "samples", "demo")
"""Commands without settings: a column of tokens or samples is not a column of evaluations."""


@dataclass(frozen=True)
class Settings:
    """The settings file in force, or the error of reading it."""

    config: ConfigFile | None = None
    error: EntropyLawError | None = None


@cache
def command_of(name: str) -> type[Options]:
    """The options of a command, whose description is its help."""
    module = import_module(f"entropylaw.cli.{'plot_command' if name == 'plot' else 'commands'}")
    options = getattr(module, f"{name.title()}Command")
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(options)


def with_flags(name: str, family: type[Options]) -> Callable[..., None]:
    """The function of a command with a parameter per option, of which typer makes flags."""

    def call(context: typer.Context, **values: Any) -> None:
        settings: Settings = context.obj
        if settings.error is not None:
            raise settings.error
        # typer has a copy of click of its own, whose kinds of sources are compared by their names.
        sources = {field: getattr(context.get_parameter_source(field), "name", "") for field in values}
        typed = tuple(field for field, source in sources.items() if source == "COMMANDLINE")
        from_file = tuple(field for field, source in sources.items() if source == "DEFAULT_MAP")
        chosen = {field: _as_held(values[field]) for field in (*typed, *from_file)}
        options = family(**chosen, given=typed, from_file=from_file, config=settings.config)
        if settings.config is not None:
            say(f"settings from {one_line(settings.config.path)}", quiet=getattr(options, "quiet", False))
        # Only a command that is run is imported: help and completion do without.
        module = import_module(f"entropylaw.cli.{name}")
        getattr(module, name)(options)

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [parameter_of(field, option) for field, option in options_of(family).items()]
    function: Any = call
    function.options = family
    function.__doc__ = family.__doc__
    function.__signature__ = inspect.Signature([context, *parameters])
    function.__annotations__ = {}
    return call


def _as_held(value: object) -> object:
    """A value as options hold it: several are a tuple, of which typer makes a list."""
    return tuple(value) if isinstance(value, list) else value


def all_settings() -> dict[str, Option]:
    """The options of all commands by their key in a settings file, columns first."""
    settings: dict[str, Option] = {}
    for name in NAMES:
        for option in options_of(command_of(name)).values():
            settings.setdefault(option.key, option)
    return {key: settings[key] for key in sorted(filter(None, settings), key=lambda key: "." not in key)}


def parameter_of(name: str, option: Option) -> inspect.Parameter:
    """An option as a parameter of typer: a flag without a value, or a text that the option reads."""
    value_type: Any = list[str] if option.many else str
    default: Any = inspect.Parameter.empty
    if option.kind is SWITCH:
        value_type = bool
        default = option.default
    elif not option.required:
        value_type = value_type | None
        default = None
    declare: Any = typer.Option if option.flags else typer.Argument
    info = declare(
        *option.flags,
        help=option.help_with_default,
        metavar=option.metavar or None,
        autocompletion=option.kind.choices_from if option.kind.choices else None,
    )
    annotation = Annotated[value_type, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def refuse_deleted_folder() -> None:
    """Raise UsageError ``no-working-folder`` where the current folder has been deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "no-working-folder",
            "the current folder has been deleted",
            "cd to a folder that exists",
        ) from None


def read_defaults(context: typer.Context, config_file: str | None, *, no_config: bool) -> None:
    """Make the settings file in force the defaults of the command that is called.

    An error in the file stops the command, and not its help.
    """
    from entropylaw.cli.settings import defaults_of, in_force

    name = str(context.invoked_subcommand)
    context.obj = Settings()
    try:
        refuse_deleted_folder()
        if name in WITHOUT:
            return
        config, values = in_force(config_file, all_settings, no_config=no_config)
    except EntropyLawError as error:
        context.obj = Settings(error=error)
        return
    context.obj = Settings(config=config)
    context.default_map = {name: defaults_of(values, options_of(command_of(name)))}


def value_of(parameter: Any, option: Option | None, context: Any, value: Any) -> Any:
    """The value of a parameter, in place of ``process_value`` of typer: a text is read by its option."""
    if parameter.required and parameter.value_is_missing(value):
        name = parameter.human_readable_name if option is None else option.label
        context.fail(f"Missing {parameter.param_type_name} '{name}'.")
    if option is not None and not parameter.value_is_missing(value):
        value = option.parsed(value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


class _Reader:
    """How the commands and the program itself read arguments."""

    known: Mapping[str, Option] = {}

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each of which reads its value by its option."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            parameter.process_value = partial(value_of, parameter, self.known.get(parameter.name))
        return parameters

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The flags of the help, in one order for all hash seeds."""
        return list(ctx.help_option_names)


class Command(_Reader, TyperCommand):
    """A command of one options object."""

    @property
    def known(self) -> dict[str, Option]:  # type: ignore[override]
        """Its options by the names of their fields."""
        return options_of(self.callback.options)  # type: ignore[union-attr]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line: options, and then the arguments."""
        return ["[OPTIONS]", *(option.usage for option in self.known.values() if not option.flags)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, and the options under the headings of their groups."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in ("Arguments", *GROUPS)}
        for parameter in self.known.values():
            heading = parameter.group if parameter.flags else "Arguments"
            required = " [required]" * (parameter.required and bool(parameter.flags))
            sections[heading].append((parameter.usage, parameter.help_with_default + required))
        sections[GENERAL].append(("-h, --help", "Show this message and exit."))
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class Commands(_Reader, TyperGroup):
    """The program: it makes the one command that is called."""

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
            single.command(cmd_name, cls=Command, epilog=f"Example:  {options.example}")(
                with_flags(cmd_name, options)
            )
            self.commands[cmd_name] = typer.main.get_command(single)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the first argument; an error of its own where that is a log."""
        word = args[0]
        if word not in NAMES and os.path.exists(word):  # noqa: PTH110  pathlib raises
            from entropylaw.pipeline.inputs import document_at

            message = f"{word} is not a command but a {'folder' if is_folder(word) else 'file'}"
            command = "report" if document_at(word) else "fit"
            raise UsageError("no-command", message, f"type: entropylaw {command} {shlex.join(args)}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands, without making them, and the options before a command."""
        records = {parameter.name: parameter.get_help_record(ctx) for parameter in self.get_params(ctx)}
        usual = {name: records.pop(name) for name in ("version", "help")}
        sections = {"Commands": list(NAMES.items()), "Options": usual.values(), "Advanced": records.values()}
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(list(filter(None, rows)))
