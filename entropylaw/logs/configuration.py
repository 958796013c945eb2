"""A run's configuration: read from the log or from a ``config.yaml`` next to it, and what it means.

W&B writes ``config.yaml`` as ``key: {value: …}``. YAML is read by PyYAML's base loader, which builds no
objects by tag and copies no merged mappings, after its events were counted; by libyaml where that is
installed: both parsers give the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path

from entropylaw.escaping import shown
from entropylaw.logs.catalog import names
from entropylaw.logs.runs import Run
from entropylaw.logs.runs.step_column import folded
from entropylaw.paths import is_file, note_input

# No configuration is longer, deeper or wider; YAML's references could make a small file endless.
_LONGEST_FILE = 1 << 20
_LONGEST_NAME = 500
_MOST_NODES = 100_000
_DEEPEST = 64
_FLAGS: dict[str, object] = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULLS = ("", "~", "null", "Null", "NULL")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?", re.IGNORECASE | re.ASCII)

# Between the coefficient of a KL term and the switch without which it has no effect.
SWITCH = " if "

WANDB_GROUP = "wandb_group"
"""The name of a run's group at W&B in its configuration."""


def settings_beside(path: str) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return the settings in the ``config.yaml`` next to a log or in ``files/`` next to it, and notes.

    Where the file exists and no setting can be read from it, the note gives the reason.
    """
    folder = Path(path).parent
    for file in (folder / "config.yaml", folder / "files" / "config.yaml"):
        name = shown(file.name)
        try:
            if not is_file(file):
                continue
            note_input(file)
            with file.open("rb") as stream:
                data = stream.read(_LONGEST_FILE + 1)
            if len(data) > _LONGEST_FILE:
                raise ValueError(f"it is longer than {_LONGEST_FILE >> 20} MiB")
            texts = flat_settings(read_yaml(data)).items()
            values = {name: _value_of(text) for name, text in texts}
            settings = {name: value for name, value in values.items() if value is not None}
        except (OSError, ValueError) as problem:
            reason = problem.strerror or type(problem).__name__ if isinstance(problem, OSError) else problem
            return {}, (f"{name} next to the log was not read: {reason}",)
        return settings, (f"settings are read from {name} next to the log",) if settings else ()
    return {}, ()


def configuration(run: Run) -> Mapping[str, object]:
    """The whole configuration of a run: from its log, or from a ``config.json`` beside that; may be empty."""
    if run.config:
        return run.config
    file = Path((run.source.parts or (run.source,))[0].path).parent / "config.json"
    with suppress(OSError, ValueError, RecursionError):
        if is_file(file) and file.stat().st_size <= _LONGEST_FILE:
            note_input(file, found=True)
            return flat_settings(json.loads(file.read_bytes()))
    return {}


def flat_settings(whole: object) -> dict[str, object]:
    """Return numbers, flags and text by their path, W&B's wrapper ``{value: …}`` removed; lists by place.

    W&B's own entry (``_wandb``), which describes the machine, is left out.
    """
    if not isinstance(whole, Mapping):
        return {}
    top = {
        name: node.get("value", node) if isinstance(node, Mapping) else node
        for name, node in whole.items()
        if name not in ("_wandb", "wandb_version")
    }
    flat: dict[str, object] = {}
    stack: list[tuple[str, object]] = [("", top)]
    budget = _MOST_NODES
    while stack:
        prefix, node = stack.pop()
        if isinstance(node, Mapping | list):
            # Counted as they are stacked: a mapping that contains itself many times is no larger than a log.
            items = node.items() if isinstance(node, Mapping) else enumerate(node)
            inner = [(f"{prefix}{name}/", value) for name, value in islice(items, budget)]
            budget -= len(inner)
            stack += (item for item in inner if len(item[0]) <= _LONGEST_NAME + 1)
        elif isinstance(node, (bool, int, float, str)):
            flat[prefix[:-1]] = node
    return dict(sorted(flat.items()))


@lru_cache(maxsize=4)  # the logs of one folder share a file
def read_yaml(data: bytes) -> object:
    """Return the first document of some YAML, each scalar as its text, without tags and merges (``<<``).

    An alias is the very object that its anchor names: code that traverses the result needs a bound.

    Raises a :class:`ValueError` where the bytes are no YAML, contain themselves, or hold more than 100,000
    values or 64 levels.
    """
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    depth = values = 0
    try:
        for event in yaml.parse(data, Loader=loader):
            ends = isinstance(event, yaml.CollectionEndEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - ends
            values += not ends
            if depth >= _DEEPEST or values > _MOST_NODES:
                raise ValueError(f"more than {_MOST_NODES} values or {_DEEPEST} levels")
        document: object = loader(data).get_data()
    except (yaml.YAMLError, UnicodeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        raise ValueError(f"not YAML at line {mark.line + 1}" if mark else "not YAML") from None
    return document


def _value_of(text: object) -> object:
    """What a scalar of YAML 1.1, which PyYAML, W&B and Hydra write, means; None where it is null."""
    plain = str(text).replace("_", "")
    if plain in _NULLS:
        return None
    if re.fullmatch(r"[-+]?[0-9]{1,300}", plain):
        return int(plain)
    number = float(plain) if _FLOAT.fullmatch(plain) else text
    return _FLAGS.get(plain.casefold(), number)


def relevant(settings: Mapping[str, object]) -> dict[str, object]:
    """Return those settings that are used here."""
    kinds = ("temperature", "loss_aggregation", "entropy_weight", "kl_weight", "dynamic_batches")
    read = {folded(setting) for kind in kinds for name in names(kind) for setting in name.split(SWITCH)}
    suffixes = ("entropy_control", "entropy_target")
    return {name: x for name, x in settings.items() if folded(name) in read or is_a(name, *suffixes)}


def is_a(name: str, *kinds: str) -> bool:
    """Whether a name is one of some kinds of names, or ends in one after a separator."""
    flat = f"_{folded(name)}"
    return any(flat.endswith(f"_{folded(ending)}") for kind in kinds for ending in names(kind))
