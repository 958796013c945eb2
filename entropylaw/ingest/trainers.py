"""What each trainer's keys mean, and the other names that are looked for: the loader of ``trainers.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from entropylaw.results.columns import Meaning

Entry = Mapping[str, Any]

# What a value may be, in the words of the error.
_KINDS: Mapping[str, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str) and value != "",
    "true or false": lambda value: isinstance(value, bool),
    "1 or -1": lambda value: type(value) is int and abs(value) == 1,
    "a list of names": lambda value: isinstance(value, list) and all(map(_KINDS["text"], value)),
    "tables": lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    "a table": lambda value: isinstance(value, dict),
}
_OF_ENTROPY = ("aggregation", "estimator", "temperature", "timing")
_ENTRY = {"keys": "a list of names", "like": "text", "note": "text"}
_ENTRIES = {
    "entropy": {**_ENTRY, **dict.fromkeys(_OF_ENTROPY, "text"), "sign": "1 or -1"},
    "training": _ENTRY,
    "validation": _ENTRY | {"after_update": "true or false", "initial": "text", "but_not": "a list of names"},
}
_TRAINER = {
    **dict.fromkeys(("name", "title", "absent"), "text"),
    **dict.fromkeys(_ENTRIES, "tables"),
    "telltales": "a list of names",
    "halves": "true or false",
}
_NAMES = (
    *("class_entropy", "planning_share", "length", "prompt_filter", "coefficient", "learned_coefficient"),
    *("sample", "temperature", "loss_aggregation", "entropy_weight", "kl_weight"),
    *("entropy_control", "entropy_target"),
)


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a trainer logs.

    ``template`` has placeholders where data sets and the like stand, ``but_not`` are names that it would
    match and that are something else. ``pair`` says which entropy a reward belongs with: that of the
    ``"same"`` step, or the ``"next"`` one, where the row holds the entropy from before the update and the
    evaluation from after it. ``initial`` is a prefix that is missing where the policy was evaluated before
    training: such values belong with the entropy of their own step.
    """

    template: str
    meaning: Meaning
    pair: str = "same"
    but_not: tuple[str, ...] = ()
    initial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """A trainer: one of its ``telltales`` among the columns identifies it.

    ``title`` is its name for people; ``absent`` says why its logs may lack the entropy; ``halves`` whether
    entropy and reward are logged by two processes, into two files.
    """

    name: str
    title: str
    telltales: tuple[str, ...]
    entropy: tuple[Key, ...]
    training: tuple[Key, ...]
    validation: tuple[Key, ...]
    absent: str | None = None
    halves: bool = False


#: The whole file: every trainer, hand-written loops last, and the other names by what they are.
Contents = tuple[tuple[Trainer, ...], Mapping[str, tuple[str, ...]]]


def trainers() -> tuple[Trainer, ...]:
    """Every trainer in the order in which they are looked for; names in hand-written loops come last."""
    return _contents()[0]


def names(what: str) -> tuple[str, ...]:
    """Names of one kind, such as ``length``; of several that a run has, the first counts."""
    return _contents()[1][what]


@cache
def _contents() -> Contents:
    return parse(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Contents:
    """Read the text of ``trainers.toml``, every entry checked.

    Raises a :class:`ValueError` for a key that no entry has, a value of another type, and an entry without
    what it needs; the message names the trainer and the key.
    """
    whole = tomllib.loads(text)
    _check(whole, {"trainer": "tables", "names": "a table"}, "the file", ("trainer", "names"))
    _check(whole["names"], dict.fromkeys(_NAMES, "a list of names"), "names", _NAMES)
    by_name: dict[str, Entry] = {}
    for trainer in whole["trainer"]:
        where = f"trainer {trainer.get('name', '?')!r}"
        _check(trainer, _TRAINER, where, ("name", "title"))
        if by_name.setdefault(trainer["name"], trainer) is not trainer:
            raise ValueError(f"trainers.toml: {where} is there twice")
    found = []
    for name, entry in by_name.items():
        known = {**entry, "telltales": tuple(entry.get("telltales", ()))}
        for role in _ENTRIES:
            known[role] = tuple(key for one in entry.get(role, ()) for key in _keys(one, role, name, by_name))
        found.append(Trainer(**known))
    return tuple(found), {what: tuple(listed) for what, listed in whole["names"].items()}


def _keys(entry: Entry, role: str, trainer: str, by_name: Mapping[str, Entry]) -> Iterator[Key]:
    """Yield the keys of one entry, or those of the trainer that it is ``like``."""
    where = f"trainer {trainer!r}, {role}"
    if "like" in entry:
        _check(entry, {"like": "text"}, where)
        if role not in by_name.get(entry["like"], {}):
            raise ValueError(f"trainers.toml: {where}: like is {entry['like']!r}, which has no {role}")
        for one in by_name[entry["like"]][role]:
            yield from _keys(one, role, trainer, by_name)
        return
    _check(entry, _ENTRIES[role], where, ("keys",))
    after = entry.get("after_update", False)
    if role == "entropy":
        known = {field: entry.get(field) for field in (*_OF_ENTROPY, "note")}
        meaning = Meaning(role=role, trainer=trainer, unit="nats", sign=entry.get("sign", 1), **known)
    else:
        timing = "before the update, on that step's rollouts" if role == "training" else None
        timing = "after the update" if after else timing
        meaning = Meaning(role="reward", trainer=trainer, kind=role, timing=timing, note=entry.get("note"))
    but_not, pair = tuple(entry.get("but_not", ())), "next" if after else "same"
    for template in entry["keys"]:
        yield Key(template, meaning, pair, but_not, entry.get("initial"))


def _check(entry: Entry, kinds: Mapping[str, str], where: str, needed: Sequence[str] = ()) -> None:
    """Refuse an unknown key, a value of another type, and an entry without a key that it needs."""
    for key, value in entry.items():
        if key not in kinds:
            raise ValueError(f"trainers.toml: {where} has {key!r}; known are {', '.join(kinds)}")
        if not _KINDS[kinds[key]](value):
            raise ValueError(f"trainers.toml: {where}: {key} is {value!r}, expected {kinds[key]}")
    for key in needed:
        if not entry.get(key):
            raise ValueError(f"trainers.toml: {where} has no {key}")
