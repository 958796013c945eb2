"""What an option is: its flags, help, values and key in a settings file, as a field of a dataclass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from entropylaw.errors import UsageError
from entropylaw.kinds import SWITCH, TEXT, Kind

T = TypeVar("T")

COLUMNS, INTERVALS, OUTPUT, GENERAL, ADVANCED = "Columns", "Intervals", "Output", "General", "Advanced"
ARMS = "Arms"
GROUPS = ("Targets", "Gates", ARMS, COLUMNS, INTERVALS, OUTPUT, GENERAL, ADVANCED)
"""The headings of a command's help, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """The description of an option, in the metadata of a field as ``option``.

    ``flags`` is empty for an argument, and ``key`` for an option that no settings file has. ``unset`` is the
    behaviour without a value, in words. ``many`` values are a tuple. ``alone`` is the value of a flag without
    one: the word after such a flag is its value only if it is a choice of the kind.
    """

    flags: tuple[str, ...]
    help: str
    kind: Kind
    group: str
    metavar: str
    key: str = ""
    unset: str = "none"
    default: Any = None
    many: bool = False
    required: bool = False
    alone: str = ""

    @property
    def label(self) -> str:
        """Its name in messages: the longest flag, or the argument's name."""
        return max(self.flags, key=len).partition("/")[0] if self.flags else self.metavar

    @property
    def flag(self) -> str:
        """The flag for tables: with a metavar that distinguishes it from another of the same name."""
        name = self.flags[0].partition("/")[0] if self.flags else self.metavar
        return f"{name} {self.metavar}" if self.metavar in ("COLUMN", "FILE", "FOLDER") else name

    @property
    def help_with_default(self) -> str:
        """The help, and the default."""
        if self.kind is SWITCH:
            default = self.label.lstrip("-") if self.default else ""
        elif self.default in (None, ()):
            default = self.unset
        elif self.many:
            default = ", ".join(self.default)
        else:
            default = str(self.default)
        return f"{self.help} [default: {default}]" if default not in ("", "none") else self.help

    @property
    def expected(self) -> str:
        """The values in a settings file, in words."""
        return f"{self.kind.expected}, or a list of them" if self.many else self.kind.expected

    @property
    def usage(self) -> str:
        """Its name in the help: its flags, or the argument and whether it may be left out or repeated."""
        if self.flags:
            return f"{', '.join(self.flags).replace('/', ' / ')} {self.metavar}".rstrip()
        name = self.metavar if self.required else f"[{self.metavar}]"
        return f"{name}..." if self.many else name

    def completed(self, words: Sequence[str]) -> list[str]:
        """The words of a command line, with the value of a flag that is there without one."""
        complete: list[str] = []
        for i, word in enumerate(words):
            if word == "--":
                return [*complete, *words[i:]]
            complete.append(word)
            following = words[i + 1] if i + 1 < len(words) else ""
            if word in self.flags and following not in self.kind.choices:
                complete.append(self.alone)
        return complete

    def parsed(self, text: Any) -> Any:
        """The value from the command line: of a text, several, or whether a flag is there.

        Any other text is a UsageError ``bad-option``, or an error of the option's kind.
        """
        if isinstance(text, list | tuple):
            return tuple(map(self.parsed, text))
        if self.kind is SWITCH:
            return text
        try:
            return self.kind.read(text)
        except ValueError:
            typed = f"{self.label} {self.kind.example}" if self.flags else self.kind.example
            raise UsageError(
                "bad-option",
                f"{self.label} {text[:40]!r}, expected {self.kind.expected}",
                f"give {typed}; --help says what it means",
            ) from None

    def from_toml(self, value: Any) -> Any:
        """The value from a settings file; ValueError where it is of another kind."""
        if self.many:
            # A value alone needs no brackets.
            values = value if isinstance(value, list) else [value]
            return tuple(map(replace(self, many=False).from_toml, values))
        # A bool is an int in Python, but not here.
        of_kind = isinstance(value, self.kind.types) and isinstance(value, bool) is (self.kind is SWITCH)
        if not of_kind or not (str(value).strip() or self.kind.may_be_empty):
            raise ValueError(value)
        try:
            return value if self.kind is SWITCH else self.kind.read(str(value))
        except UsageError as error:
            raise ValueError(value) from error


def option(flags: str, help: str, kind: Kind = TEXT, group: str = OUTPUT, **more: Any) -> Any:
    """A field that is an option; ``more`` are fields of :class:`Option`.

    ``flags`` are separated by spaces, with a metavar after them where it is not that of the kind: ``"-o
    --output FOLDER"``. A metavar alone makes an argument.
    """
    if more.get("many"):
        more.setdefault("default", ())
    words = flags.split()
    names = tuple(word for word in words if word.startswith("-"))
    metavar = kind.metavar if words[-1] in names else words[-1]
    description = Option(flags=names, help=help, kind=kind, group=group, metavar=metavar, **more)
    if description.required:
        return field(metadata={"option": description})
    return field(metadata={"option": description}, default=description.default)


def setting(flags: str, help: str, kind: Kind, group: str, **more: Any) -> Any:
    """An option of a family: a settings file may have it, by the name of its flag."""
    name = flags.split()[0].partition("/")[0].removeprefix("--")
    return option(flags, help, kind, group, key=f"columns.{name}" if group == COLUMNS else name, **more)


def switch(flags: str, help: str, group: str = OUTPUT, *, default: bool = False) -> Any:
    """An option that is there or not."""
    return option(flags, help, SWITCH, group, default=default)


def options_of(family: type) -> dict[str, Option]:
    """Name of a field → the option, of all options of a family or a command."""
    return {item.name: item.metadata["option"] for item in fields(family) if "option" in item.metadata}


def part(options: Any, family: type[T], **changes: Any) -> T:
    """The options of one family of a command that has more; ``changes`` win, missing ones are unset."""
    names = options_of(family)
    return family(**{name: getattr(options, name) for name in names if hasattr(options, name)} | changes)
