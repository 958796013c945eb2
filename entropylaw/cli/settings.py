"""The settings file in force, and its values as those of options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from entropylaw.errors import UsageError
from entropylaw.options import PATH, Option
from entropylaw.paths import hostless, shown_path
from entropylaw.settingsfile import InForce, Settings, SettingsFile, look_for, read_settings

VARIABLE = "ENTROPYLAW_CONFIG"
"""The environment variable that names a file of settings."""

OUTPUTS = ("output", "folder")
"""Settings that name what is written."""


def in_force(
    root: Mapping[str, Any], commands: Callable[[], Mapping[str, Settings]] | None
) -> InForce | None:
    """The settings file, as the options before a command (``root``) say; ``commands`` have their settings.

    None where ``commands`` is None, as for a command that takes no settings.

    Raises InputError and UsageError: as :func:`entropylaw.settingsfile.read_settings`;
    ``config-and-no-config``, ``no-working-folder``.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        hint = "cd to a folder that exists"
        raise UsageError("no-working-folder", "the current folder has been deleted", hint) from None
    if commands is None:
        return None
    named, named_by, search = root["config_file"], "--config", None
    if root["no_config"] and named:
        message = "both --config and --no-config were given"
        raise UsageError("config-and-no-config", message, "give one of the two")
    if root["no_config"]:
        return InForce(named_by="--no-config")
    if not named:
        named, named_by = os.environ.get(VARIABLE), VARIABLE
    if not named:
        search = look_for(here)
        named, named_by = search.found, "search"
    file = read_settings(Path(named), shown_path(named), commands()) if named else None
    return InForce(file=file, named_by=named_by, search=search, allow_urls=root["allow_urls"])


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

    Where it would that is a UsageError ``url-in-settings`` or ``output-outside``.
    """
    from entropylaw.gates.expression import parse

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
            message = f"{place} names {shown_path(path)}, which is outside the folder of that file"
            raise UsageError("output-outside", message, "name a file below it, or say -o on the command line")


def located(known: Option, value: Any, folder: Path) -> Any:
    """A value with its paths, which start at the file's folder, as they are from here.

    Standard input and remote places stay as they are.
    """

    def from_here(path: str) -> str:
        if path == "-" or path.startswith("-:") or "://" in path:
            return path
        given = Path(path).expanduser() if path.startswith("~/") else Path(path)
        return str(given) if given.is_absolute() else os.path.relpath(folder / given)

    return with_paths(known, value, from_here)


def with_paths(known: Option, value: Any, change: Callable[[str], str]) -> Any:
    """A value with every path in it changed, those of gates' baselines too."""
    if known.kind is PATH:
        return [change(item) for item in value] if isinstance(value, list) else change(value)
    if known.key != "gates":
        return value
    from entropylaw.gates.expression import parse

    def changed(gate: str) -> str:
        baseline = parse(gate).baseline
        if baseline is None:
            return gate
        start = gate.rindex(baseline, 0, gate.rindex(")"))
        return gate[:start] + change(baseline) + gate[start + len(baseline) :]

    return [changed(gate) for gate in value]


def _expanded(pattern: str) -> list[str]:
    """The paths that a pattern matches, in order; a name, or a pattern that matches nothing, as it is."""
    import glob

    magic = glob.has_magic(pattern) and not Path(pattern).exists()
    # pathlib would take a "./" off the names, and has no word for a pattern from the root.
    return (sorted(glob.glob(pattern, recursive=True)) if magic else []) or [pattern]  # noqa: PTH207
