"""Which runs are an arm: by arguments, names, columns, groups at W&B, or a key of their configurations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from entropylaw.documents.comparison import ArmRuns, LeftOut
from entropylaw.documents.document import Entry, refusal_of
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import counted, listing, nearest, shown
from entropylaw.logs.configuration import WANDB_GROUP, configuration
from entropylaw.logs.runs.step_column import folded
from entropylaw.pipeline.inputs import Input
from entropylaw.run_names import arm_by_pattern, arm_by_seed

HOW = "name them (entropylaw compare A=LOGS B=LOGS), or --arms REGEX, COLUMN or config:KEY"
CONFIG = "config:"


class Grouping(NamedTuple):
    """Name of an arm → its runs and how they were found; and the runs that belong to none."""

    arms: dict[str, list[Input]]
    by: dict[str, str]
    left_out: list[LeftOut]

    @property
    def grouped(self) -> tuple[ArmRuns, ...]:
        """The arms as documents have them."""
        assigned = ((arm, tuple(run.name for run in runs)) for arm, runs in self.arms.items())
        return tuple(ArmRuns(arm=arm, by=self.by[arm], runs=runs) for arm, runs in assigned)


def grouped(members: Sequence[Input], how: str | None = None, fewest: int = 2) -> Grouping:
    """Group runs into ``fewest`` arms or more; ``how`` is a regular expression, a column, or ``config:KEY``.

    Raises UsageError (``no-arm-recognised``, ``too-few-arms``, ``no-such-arm``, ``no-such-key``,
    ``bad-option``); InputError (``arm-varies``).
    """
    assigned, reason = _arm_of_each(members, how)
    grouping = Grouping({}, {}, [])
    for member, (arm, by) in zip(members, assigned, strict=True):
        if arm:
            grouping.arms.setdefault(arm, []).append(member)
            grouping.by.setdefault(arm, by)
        else:
            unread = _why_unread(member)
            grouping.left_out.append(LeftOut(run=member.name, why=unread or reason, read=not unread))
    if not grouping.arms:
        names = listing([run.name for run in members], 8)
        raise UsageError(
            "no-arm-recognised",
            f"no arm is recognised in the names of {counted(len(members), 'run')}: {names}",
            HOW,
        )
    if len(grouping.arms) < fewest:
        sentences = [run.sentence for run in grouping.grouped]
        if grouping.left_out:
            sentences.append(f"in no arm: {listing([run.run for run in grouping.left_out], 8)}")
        raise UsageError("too-few-arms", f"1 arm, expected at least 2: {'; '.join(sentences)}", HOW)
    return grouping


def _why_unread(member: Input) -> str:
    """Why its log, or its columns, could not be read; empty where they were."""
    if member.error is not None:
        return refusal_of(member.error, member.path).message
    entry = next(iter(member.entries), None)
    if isinstance(entry, Entry) and entry.refusal and not entry.read:
        return entry.refusal.message
    return ""


def config_of(member: Input) -> Mapping[str, object]:
    """The configuration of a run, which a stored fit has not."""
    return {} if member.run is None else configuration(member.run)


_Arms = list[tuple[str | None, str]]
"""The arm of each run, None for none, and how it was found."""


def _arm_of_each(members: Sequence[Input], how: str | None) -> tuple[_Arms, str]:
    """The arm of each run, and why a run may have none."""
    if any(member.arm for member in members):
        return [(member.arm, "as given") for member in members], ""
    if how is None:
        return [_recognised(member) for member in members], "no seed in its name, and no group"
    if how.startswith(CONFIG):
        return _arms_by_key(members, how.removeprefix(CONFIG)), f"no {shown(how)}"
    if any(member.run and (how in member.run.words or how in member.run.columns) for member in members):
        by_column = [(_arm_in_column(member, how), f"column {how}") for member in members]
        return by_column, f"no value in column {shown(how)}"
    return _arms_by_names(members, how), f"--arms {how} does not match its name"


def _recognised(member: Input) -> tuple[str | None, str]:
    """The arm of a run by its name without the seed, or else by its group at W&B."""
    arm = arm_by_seed(member.name, member.path)
    if arm is None and (group := config_of(member).get(WANDB_GROUP)):
        return str(group), "groups at W&B"
    return arm, "names without their seed"


def _arms_by_key(members: Sequence[Input], key: str) -> _Arms:
    """Arms by a key of the configuration."""
    name = key.rpartition("/")[2]
    arms: list[str | None] = []
    for member in members:
        value = _value_of_key(config_of(member), key)
        arms.append(None if value is None else _text(name, value))
    if all(arm is None for arm in arms):
        keys = sorted(set(chain.from_iterable(map(config_of, members))))
        hint = f"no run has a configuration; {HOW}"
        if keys:
            hint = f"the keys are {listing(nearest([key], keys) or keys, 8)}"
        raise UsageError(
            "no-such-key", f"--arms {CONFIG}{key}: no run has this key in its configuration", hint
        )
    return [(arm, f"{CONFIG}{key}") for arm in arms]


def _value_of_key(config: Mapping[str, object], key: str) -> object | None:
    """The value of a key, or of the only key that ends in it; None where there is none."""
    if key in config:
        return config[key]
    ending = [name for name in config if folded(name.rpartition("/")[2]) == folded(key)]
    return config[ending[0]] if len(ending) == 1 else None


def _arm_in_column(member: Input, column: str) -> str | None:
    """The arm of a run by a column, which has one value in it."""
    run = member.run
    if run is None:
        return None
    texts = list(run.words.get(column, ()))
    if column in run.columns:
        texts += [_text(column, number) for number in run.finite(column).tolist()]
    values = dict.fromkeys(filter(None, texts))
    if len(values) > 1:
        raise InputError(
            "arm-varies",
            f"column {shown(column)} has {len(values)} values in run {shown(member.name)}: "
            f"{listing(list(values), 4)}",
            f"name its runs apart with --run {column}, or give a column with one value per run",
        )
    return next(iter(values), None)


def _arms_by_names(members: Sequence[Input], pattern: str) -> _Arms:
    """Arms by a regular expression."""
    try:
        arms = [arm_by_pattern(member.name, pattern) for member in members]
    except re.error as error:
        raise UsageError(
            "bad-option",
            f"--arms {pattern[:40]!r} is not a column, and not a regular expression: {error}",
            HOW,
        ) from None
    if not any(arms):
        names = listing([member.name for member in members], 8)
        raise UsageError(
            "no-such-arm",
            f"--arms {pattern!r} matches the name of no run, and is not a column of any: {names}",
            "give what names share, such as '[^-_]+' for their first part, or leave --arms out",
        )
    return [(arm, f"--arms {pattern}") for arm in arms]


def _text(name: str, value: object) -> str:
    """A text as it is, and a number with its name: ``grpo``, ``lr=1e-06``."""
    if isinstance(value, str):
        return value
    return f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
