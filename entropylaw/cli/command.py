"""From options to commands: typer gets its flags from them, and a command gets one object with all values.

Arguments are converted here and not by typer, whose converter takes longer to import than a gate on stored
fits takes to decide, and whose errors have no slugs.
"""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from entropylaw.cli.streams import say
from entropylaw.errors import UsageError
from entropylaw.escaping import one_line
from entropylaw.kinds import SWITCH
from entropylaw.option import GENERAL, GROUPS, Option, options_of
from entropylaw.paths import is_folder

if TYPE_CHECKING:
    # The list of commands needs no families of options, which take as long to import as half of typer.
    from entropylaw.options import Command as Options

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

MODULES = dict.fromkeys(("fit", "phases"), "runs")
"""The module of commands that share one; the others are in the module of their name."""

WITHOUT = ("tokens", "samples", "demo")
"""Commands without settings: a column of tokens or samples is not a column of evaluations."""

_OPTIONS = "entropylaw.options"


@cache
def command_of(name: str) -> type[Options]:
    """The options of a command, whose description is its help."""
    module = import_module(f"entropylaw.cli.{'plot_command' if name == 'plot' else 'commands'}")
    options = getattr(module, f"{name.title()}Command")
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(options)


def with_flags(name: str, options: type[Options]) -> Callable[..., None]:
    """The function of a command with a parameter per option, of which typer makes flags."""

    def call(context: typer.Context, **_: Any) -> None:
        # Only a command that is run is imported: help and completion do without.
        module = import_module(f"entropylaw.cli.{MODULES.get(name, name)}")
        getattr(module, name)(context.meta[_OPTIONS])

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [parameter_of(field, option) for field, option in options_of(options).items()]
    made: Any = call
    made.options, made.__doc__ = options, options.__doc__
    made.__signature__ = inspect.Signature([context, *parameters])
    made.__annotations__ = {}
    return call


def all_settings() -> dict[str, Option]:
    """The options of all commands by their key in a settings file, columns first."""
    settings: dict[str, Option] = {}
    for name in NAMES:
        for option in options_of(command_of(name)).values():
            settings.setdefault(option.key, option)
    return {key: settings[key] for key in sorted(filter(None, settings), key=lambda key: "." not in key)}


def parameter_of(name: str, known: Option) -> inspect.Parameter:
    """An option as a parameter of typer: a flag without a value, or a text."""
    kind: Any = bool if known.kind is SWITCH else list[str] if known.many else str
    default = inspect.Parameter.empty if known.required else known.default if kind is bool else None
    declare: Any = typer.Option if known.flags else typer.Argument
    completer = known.kind.choices_from if known.kind.choices else None
    info = declare(
        *known.flags, help=known.help_with_default, metavar=known.metavar or None, autocompletion=completer
    )
    annotation = kind if known.required or kind is bool else kind | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, info]
    )


def refuse_deleted_folder() -> None:
    """Raise UsageError ``no-working-folder`` where the current folder has been deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        hint = "cd to a folder that exists"
        raise UsageError("no-working-folder", "the current folder has been deleted", hint) from None


class _Reader:
    """How the commands and the program itself read arguments."""

    _read = False

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; typer gets the rest: a command, or excess arguments."""
        if ctx.resilient_parsing or self.shows_help(args):
            return super().parse_args(ctx, args)  # type: ignore[misc,no-any-return]
        values, rest, _ = self.make_parser(ctx).parse_args(args=list(args))
        values = {name: value for name, value in values.items() if value not in (None, ())}
        for parameter in self.get_params(ctx):
            # An option without a value for the command acts at once, such as --version and completion.
            if parameter.name in values and (parameter.is_eager or not parameter.expose_value):
                parameter.handle_parse_result(ctx, values, rest)
        if self.shows_help(rest):
            return super().parse_args(ctx, rest)  # type: ignore[misc,no-any-return]
        self.accept(ctx, values)
        self._read = True
        try:
            return super().parse_args(ctx, rest)  # type: ignore[misc,no-any-return]
        finally:
            self._read = False

    def shows_help(self: Any, args: list[str]) -> bool:
        """Whether the help is shown, since there are no arguments."""
        return not args and self.no_args_is_help

    def get_params(self: Any, ctx: Any) -> list[Any]:
        """The parameters; those that were read are not read again."""
        return [] if self._read else super().get_params(ctx)  # type: ignore[misc]

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """The flags of the help, in one order for all hash seeds."""
        return list(ctx.help_option_names)


class Command(_Reader, TyperCommand):
    """A command of one options object."""

    @property
    def known(self) -> dict[str, Option]:
        """Its options by the names of their fields."""
        return options_of(self.callback.options)  # type: ignore[union-attr]

    def accept(self, ctx: Any, given: dict[str, Any]) -> None:
        """Make the options from the arguments, a settings file, and the defaults.

        Raises UsageError and InputError: a wrong value of an option; ``no-working-folder``; as
        :func:`entropylaw.cli.settings.in_force`.
        """
        from entropylaw.cli.settings import in_force, values_of

        flags = self.known
        values = {name: flag.parsed(given[name]) for name, flag in flags.items() if name in given}
        typed = tuple(values)
        refuse_deleted_folder()
        config, settings = (None, {}) if self.name in WITHOUT else in_force(ctx.parent.params, all_settings)
        lacking = {name: flag for name, flag in flags.items() if name not in values}
        filled = values_of(settings, lacking)
        for name, flag in lacking.items():
            if flag.required and name not in filled:
                kind = "option" if flag.flags else "argument"
                ctx.fail(f"Missing {kind} '{' / '.join(flag.flags) or flag.metavar}'.")
        sources = {"given": typed, "from_file": tuple(filled), "config": config}
        options = self.callback.options(**values, **filled, **sources)  # type: ignore[union-attr]
        if config is not None:
            say(f"settings from {one_line(config.path)}", quiet=getattr(options, "quiet", False))
        ctx.meta[_OPTIONS] = options

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

    def accept(self, ctx: Any, given: dict[str, Any]) -> None:
        """Take the options before a command."""
        ctx.params |= {each.name: each.default for each in self.params if each.expose_value} | given

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
