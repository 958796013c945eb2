"""A run's configuration: read from the log or from a ``config.yaml`` next to it, and what it means.

W&B writes ``config.yaml`` as ``key: {value: …}``. YAML is read without what makes it dangerous: PyYAML's
loaders build objects by tag, copy merged mappings without end and recurse as deep as a file says. Here its
events are read, with a bound on their number, by libyaml where that is installed: both parsers give the same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice, product, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from entropylaw.escaping import shown
from entropylaw.ingest import catalog
from entropylaw.ingest.catalog import names
from entropylaw.ingest.runs import Run
from entropylaw.ingest.runs.number_parsing import parse_number
from entropylaw.ingest.runs.step_column import folded
from entropylaw.paths import is_file, note_input
from entropylaw.results.arrays import FloatArray
from entropylaw.results.result import Finding, caution

# No configuration is longer, deeper or wider; YAML's references could make a small file endless.
_LONGEST_FILE, _LONGEST_NAME = 1 << 20, 500
_MOST_NODES, _DEEPEST = 100_000, 64
# YAML 1.1, which PyYAML, W&B and Hydra write, has all of these.
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}
_NULLS = ("", "~", "null", "Null", "NULL")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?", re.IGNORECASE | re.ASCII)

#: verl's names of aggregations with which what is logged as entropy is a sum over the tokens of a response or
#: a batch, and the others with the mean that is logged, in the catalog's terms.
SUMS = frozenset(("token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm"))
MEANS: Mapping[float | str, str] = {
    "token-mean": "token mean",
    "seq-mean-token-mean": "mean of per-response means",
}
# Between the coefficient of a KL term and the switch without which it has no effect.
_SWITCH = " if "
# Kinds of names in the catalog → by what a column of such a name shows that the entropy is controlled.
_CONTROL_COLUMNS = {
    "entropy_control": "switch",
    "entropy_target": "target",
    "learned_coefficient": "learned-coefficient",
}
# Coefficients that differ by less, relative to the largest, are one number in single precision.
_ROUNDING = 1e-6

WANDB_GROUP = "wandb_group"
"""The name of a run's group at W&B in its configuration."""

Node = dict[str, Any] | list[Any] | str | float | int | bool | None


def settings_beside(path: str) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return the settings in the ``config.yaml`` next to a log or in ``files/`` next to it, and notes.

    Where the file exists and no setting can be read from it, the note gives the reason.
    """
    folder = Path(path).parent
    for place in (folder / "config.yaml", folder / "files" / "config.yaml"):
        name = shown(place.name)
        try:
            if not is_file(place):
                continue
            note_input(place)
            with place.open("rb") as stream:
                data = stream.read(_LONGEST_FILE + 1)
            if len(data) > _LONGEST_FILE:
                raise ValueError(f"it is longer than {_LONGEST_FILE >> 20} MiB")
            found = flat_settings(read_yaml(data))
        except (OSError, ValueError) as problem:
            why = problem.strerror or type(problem).__name__ if isinstance(problem, OSError) else problem
            return {}, (f"{name} beside the log was not read: {why}",)
        return found, (f"settings are read from {name} beside the log",) if found else ()
    return {}, ()


def configuration(run: Run) -> Mapping[str, object]:
    """The whole configuration of a run: from its log, or from a ``config.json`` beside that; may be empty."""
    if run.config:
        return run.config
    place = Path((run.source.parts or (run.source,))[0].path).parent / "config.json"
    with suppress(OSError, ValueError, RecursionError):
        if is_file(place) and place.stat().st_size <= _LONGEST_FILE:
            note_input(place, found=True)
            return flat_settings(json.loads(place.read_bytes()))
    return {}


def flat_settings(whole: object) -> dict[str, object]:
    """Return numbers, flags and text by their path, W&B's wrapper ``{value: …}`` removed; lists by place.

    W&B's own entry (``_wandb``), which describes the machine, is left out.
    """
    if not isinstance(whole, Mapping):
        return {}
    unwrapped = {
        name: node.get("value", node) if isinstance(node, Mapping) else node
        for name, node in whole.items()
        if name not in ("_wandb", "wandb_version")
    }
    flat: dict[str, object] = {}
    stack: list[tuple[str, object]] = [("", unwrapped)]
    budget = _MOST_NODES
    while stack:
        path, node = stack.pop()
        if isinstance(node, Mapping):
            # Counted as they are stacked: a mapping that contains itself many times is no larger than a log.
            before = f"{path}/" if path else ""
            inner = [(f"{before}{name}", value) for name, value in islice(node.items(), budget)]
            budget -= len(inner)
            stack += (item for item in inner if len(item[0]) <= _LONGEST_NAME)
        elif isinstance(node, list):
            items = [(f"{path}/{place}", value) for place, value in enumerate(islice(node, budget))]
            budget -= len(items)
            stack += items if len(path) <= _LONGEST_NAME else ()
        elif isinstance(node, (bool, int, float, str)):
            flat[path] = node
    return dict(sorted(flat.items()))


@lru_cache(maxsize=4)  # the logs of one folder share a file
def read_yaml(data: bytes) -> Node:
    """Return the first document of some YAML.

    A tag is left out, its value is kept. An alias is the very object that its anchor names, so that the
    result may contain itself: code that traverses it needs a bound.

    Raises a :class:`ValueError` where the bytes are no YAML, or hold more than 100,000 values or 64 levels.
    """
    import yaml

    try:
        events = yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        found = map(_Builder(events).node, (event for event in events if isinstance(event, yaml.NodeEvent)))
        root = next(found, None)
        next(events, None)  # the document's end, before which invalid YAML may follow
        return root
    except (yaml.YAMLError, UnicodeError) as problem:
        mark = getattr(problem, "problem_mark", None)
        raise ValueError(f"no YAML at line {mark.line + 1}" if mark else "no YAML") from None


class _Builder:
    """Builds a document from its events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str | None, Node] = {}
        self._nodes = 0

    def node(self, event: Any, depth: int = 1) -> Node:
        """Return the value that begins with an event."""
        import yaml

        self._count(1)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise ValueError("no YAML: an alias without its anchor")
            return self._anchors[event.anchor]
        if isinstance(event, yaml.ScalarEvent):
            self._anchors[event.anchor] = scalar = yaml_scalar(event)
            return scalar
        if depth == _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels")
        open_events = takewhile(lambda one: not isinstance(one, yaml.CollectionEndEvent), self._events)
        inner = (self.node(one, depth + 1) for one in open_events)
        if isinstance(event, yaml.SequenceStartEvent):
            sequence: list[Any] = []
            self._anchors[event.anchor] = sequence
            sequence.extend(inner)
            return sequence
        mapping: dict[str, Any] = {}
        self._anchors[event.anchor] = mapping
        for name in inner:
            value = next(inner)
            if not isinstance(name, dict | list):
                mapping[str(name)] = value
        self._merge(mapping)
        return mapping

    def _merge(self, mapping: dict[str, Any]) -> None:
        """Copy what ``<<`` names and the mapping itself does not have, the first one named first."""
        merged = mapping.pop("<<", None)
        for other in merged if isinstance(merged, list) else [merged]:
            if isinstance(other, dict):
                self._count(len(other))
                for name, value in tuple(other.items()):
                    mapping.setdefault(name, value)

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise ValueError(f"more than {_MOST_NODES} values")


def yaml_scalar(event: Any) -> Node:
    """Return what a scalar means: text if it is quoted or has a tag."""
    text: str = event.value
    text.encode()  # half a surrogate pair, which libyaml refuses by itself
    if event.tag or not event.implicit[0]:
        return text
    if text in _NULLS:
        return None
    if text.casefold() in _CONSTANTS:
        return _CONSTANTS[text.casefold()]
    number = text.replace("_", "")
    if re.fullmatch(r"[-+]?[0-9]{1,300}", number):
        return int(number)
    return float(number) if _FLOAT.fullmatch(number) else text


class Setting(NamedTuple):
    """One setting: its name in the configuration or the log, and its value."""

    name: str
    value: float | str


class EntropySettings(NamedTuple):
    """The settings that determine what a logged entropy means; None where no configuration has them.

    ``aggregation`` is verl's name of how the entropies of tokens were combined; weights are never 0.
    """

    temperature: Setting | None
    aggregation: Setting | None
    entropy_weight: Setting | None
    kl_weight: Setting | None


def relevant(settings: Mapping[str, object]) -> dict[str, object]:
    """Return those settings that are used here."""
    kinds = ("temperature", "loss_aggregation", "entropy_weight", "kl_weight")
    read = {folded(part) for kind in kinds for name in names(kind) for part in name.split(_SWITCH)}
    suffixes = ("entropy_control", "entropy_target")
    return {name: x for name, x in settings.items() if folded(name) in read or _ends_with(name, *suffixes)}


def entropy_settings(run: Run) -> EntropySettings:
    """Read the settings of a run; a coefficient that is logged as a column counts as one."""
    by_fold = {folded(name): value for name, value in run.settings.items()}
    switched = [name.partition(_SWITCH) for name in names("kl_weight")]
    off = (False, "False", "false")
    on = [weight for weight, _, switch in switched if not switch or by_fold.get(folded(switch)) not in off]
    weights = [_setting(run, *names("entropy_weight")), _logged(run, "ent")]
    kl_weights = [*(_setting(run, weight) for weight in on), _logged(run, "kl")]
    return EntropySettings(
        temperature=_setting(run, *names("temperature")),
        aggregation=_setting(run, *names("loss_aggregation"), text=True),
        entropy_weight=next((one for one in weights if one and one.value), None),
        kl_weight=next((one for one in kl_weights if one and one.value), None),
    )


def findings(settings: EntropySettings, run: Run, entropy: FloatArray | None) -> tuple[Finding, ...]:
    """Report what the settings mean for the law; ``entropy`` has the values that are used."""
    control = _control(run, entropy)
    found = [caution("entropy-controlled", **control)] if control else []
    if not control and (term := settings.entropy_weight):
        found.append(caution("entropy-term", weight=term.value, name=term.name))
    if term := settings.kl_weight:
        found.append(caution("kl-term", weight=term.value, name=term.name))
    return tuple(found)


def _control(run: Run, entropy: FloatArray | None) -> dict[str, float | str]:
    """Find by what the entropy is controlled, and the values seen; empty where nothing shows that it is."""
    coefficients = [
        (name, values)
        for name in catalog.coefficients(run.columns)
        if "ent" in folded(name) and (values := run.finite(name)).size
    ]
    if coefficients and not any(values.any() for _, values in coefficients):
        return {}  # turned on or not, it never had an effect
    if by := control_by_setting(run) or control_by_column(run, {name for name, _ in coefficients}):
        return by
    for name, _ in coefficients:
        target = None if entropy is None else adaptive_target(run.columns[name], entropy)
        if target is not None:
            return {"by": "coefficient", "name": name, "value": target}
    for name, values in coefficients:
        low, high = float(values.min()), float(values.max())
        if high - low > _ROUNDING * max(abs(low), abs(high)):
            return {"by": "varying-coefficient", "name": name, "low": low, "high": high}
    return {}


def control_by_setting(run: Run) -> dict[str, float | str]:
    """Find the setting that turns a control of the entropy on; empty where there is none."""
    switches, targets = (
        {name: str(value).casefold() for name, value in run.settings.items() if _ends_with(name, kind)}
        for kind in ("entropy_control", "entropy_target")
    )
    active = [name for name, value in switches.items() if value in ("true", "1", "1.0")]
    if not switches:
        active = [name for name, value in targets.items() if value not in ("none", "null", "")]
    return {"by": "setting", "name": active[0], "value": str(run.settings[active[0]])} if active else {}


def control_by_column(run: Run, coefficients: Collection[str]) -> dict[str, float | str]:
    """Find a logged switch or target of the entropy's control, which is none of the coefficients."""
    for name, kind in product(run.columns, _CONTROL_COLUMNS):
        if name not in coefficients and _ends_with(name, kind):
            # A switch that is logged as 0 is off; a target may be 0.
            there = run.finite(name)
            if there.any() if kind == "entropy_control" else there.size:
                return {"by": _CONTROL_COLUMNS[kind], "name": name}
    return {}


def notes(settings: EntropySettings) -> tuple[str, ...]:
    """Note what the settings mean for the numbers."""
    if settings.temperature is None or settings.temperature.value == 1:
        return ()
    name, value = settings.temperature
    note = f"sampled at temperature {value:g} ({shown(name)}): a and b do not compare with those of runs at "
    return (f"{note}another temperature",)


def adaptive_target(coefficient: FloatArray, entropy: FloatArray) -> float | None:
    """Estimate the entropy below which a coefficient rises and above which it falls; None without any."""
    rows = np.flatnonzero(np.isfinite(coefficient) & np.isfinite(entropy))
    change = np.diff(coefficient[rows])
    # A change of the coefficient depends on the entropy of the same row, or of the one before it: adaptive
    # where the entropy orders nine tenths of the pairs of a rise and a fall, with three of each at least.
    for seen in (entropy[rows][1:], entropy[rows][:-1]):
        rising, falling = seen[change > 0], seen[change < 0]
        if min(rising.size, falling.size) < 3:
            return None
        below = np.searchsorted(np.sort(rising), falling).sum() / (rising.size * falling.size)
        if below >= 0.9:
            return (float(np.median(rising)) + float(np.median(falling))) / 2
    return None


def _ends_with(name: str, *kinds: str) -> bool:
    """Whether a name is one of some kinds of names, or ends in one after a separator."""
    flat = f"_{folded(name)}"
    return any(flat.endswith(f"_{folded(ending)}") for kind in kinds for ending in names(kind))


def _setting(run: Run, *candidates: str, text: bool = False) -> Setting | None:
    """Return the first of some settings that a run has, if it is a number (or a text, with ``text``)."""
    by_fold = {folded(name): name for name in run.settings}
    name = next((by_fold[folded(one)] for one in candidates if folded(one) in by_fold), None)
    if name is None:
        return None
    value = run.settings[name]
    if text:
        return Setting(name, value) if isinstance(value, str) else None
    number = parse_number(value)
    return Setting(name, number) if math.isfinite(number) else None


def _logged(run: Run, kind: str) -> Setting | None:
    """Return a coefficient that the run logs: its largest value, for a schedule may end at 0."""
    for name in catalog.coefficients(run.columns):
        there = run.columns[name][~np.isnan(run.columns[name])]
        if (kind == "ent") == ("ent" in folded(name)) and there.size:
            return Setting(name, float(max(there, key=abs)))
    return None
