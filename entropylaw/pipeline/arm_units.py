"""One unit for the rewards of all runs of a comparison: what is converted, what is refused, what is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import InputError
from entropylaw.escaping import in_shell, shown
from entropylaw.logs.source import Meaning
from entropylaw.results.columns import Choice, factor_to
from entropylaw.results.fit import Fit
from entropylaw.results.result import NO_SCORE, Finding, caution, replace
from entropylaw.units import CLEARLY_PERCENT, LARGEST, RewardUnit

_FIRST = 3
"""Evaluations whose mean says at what reward a run begins."""

_LIKE = 3.0
"""Runs whose rewards begin within this many times of one another are taken to begin alike."""


class Numbers(NamedTuple):
    """The numbers of a run in one column (n,), n > 0, by rising step."""

    run: str
    arm: str
    values: FloatArray
    choice: Choice

    @property
    def most(self) -> float:
        """The largest of them."""
        return float(self.values.max())

    @property
    def begins(self) -> float:
        """The level at which they begin."""
        return float(self.values[:_FIRST].mean())

    @property
    def said(self) -> str:
        """``'clip_s0' (clip) goes from 0.21 to 0.84``."""
        return f"{shown(self.run)} ({self.arm}) has {self.values.min():.3g} to {self.most:.3g}"


class InOneUnit(NamedTuple):
    """The unit of the numbers of one column, the factor of each run, and what was converted."""

    unit: str
    factors: Sequence[float]
    findings: Sequence[Finding]


def in_one_unit(columns: Mapping[str, Sequence[Numbers]], option: str = "--reward") -> dict[str, InOneUnit]:
    """The factors by which the numbers of all runs are in one unit, of some columns by their labels.

    ``option`` is the flag that names the column.

    Rates and percentages of all columns are in that unit which more runs have, and are rates where as many
    have either.

    Raises
    ------
    InputError
        ``unlike-rewards``: two runs differ in more than that. ``unit-unclear``: numbers of at most 1, beside
        percentages, may be either.
    """
    with_units: dict[str, list[Numbers]] = {}
    for label, numbers in columns.items():
        moving = [number for number in numbers if number.values.any()]
        choices = [replace(number.choice, unit=_unit_of(number, moving, option)) for number in numbers]
        with_units[label] = [
            number._replace(choice=choice) for number, choice in zip(numbers, choices, strict=True)
        ]
    moved = [number for number in chain.from_iterable(with_units.values()) if number.values.any()]
    units = [number.choice.unit for number in moved]
    unit = "percent" if units.count("percent") > units.count("rate") else "rate"
    return {label: _converted(numbers, unit, option) for label, numbers in with_units.items()}


def _unit_of(number: Numbers, moved: Sequence[Numbers], option: str) -> RewardUnit:
    """The unit of the numbers of a run, by those of the runs that ``moved`` where their own is not clear."""
    unit = number.choice.unit
    if not number.values.any():
        # 0 is 0 in any unit.
        return moved[0].choice.unit if moved else unit
    if number.values.min() < 0 or number.most > LARGEST["rate"]:
        return unit
    column = number.choice.column
    if not column and any(other.choice.column and other.choice.unit == "rate" for other in moved):
        # Of a fit that a program gave.
        return "rate"
    percent = [other for other in moved if other.choice.column == column and other.choice.unit == "percent"]
    if percent and unit != "percent":
        return _unit_beside(number, percent, option)
    return unit


def _unit_beside(number: Numbers, percent: Sequence[Numbers], option: str) -> RewardUnit:
    """The unit of numbers of at most 1, where those of other runs of the column are percentages.

    They are a rate if the run begins like the others then. A percentage of at most 1 is of a run that learned
    nothing; it is one only by the name of its column, and if the run begins like the others.
    """
    usual_begin = float(np.median([numbers.begins for numbers in percent]))
    if _is_alike(LARGEST["percent"] * number.begins, usual_begin):
        return "rate"
    if number.choice.unit == "raw" and _is_alike(number.begins, usual_begin):
        return "percent"
    column = number.choice.column
    raise InputError(
        "unit-unclear",
        f"{shown(column)} may be a rate or a percentage: {number.said}, {percent[0].said}",
        _how_to_name(column, "percent", option),
    )


def _how_to_name(column: str, unit: str, option: str) -> str:
    """What to type where all runs log one unit; a column of ``--at-equal`` cannot be given one."""
    if option != "--reward":
        return f"write {shown(column)} of all logs in one unit"
    named = in_shell(f"{column}:{unit}")
    numbers = {"rate": "rates", "percent": "percentages"}[unit]
    return f"if all runs log {numbers}: --reward {named}; if not, write all logs in one unit"


def _is_alike(level: float, other: float) -> bool:
    """Whether two runs that begin at these levels begin alike; of 0 that is not known."""
    return level > 0 and other > 0 and other / _LIKE <= level <= _LIKE * other


def _converted(numbers: Sequence[Numbers], unit: str, option: str) -> InOneUnit:
    """The factors of the numbers of one column, all rates and percentages of which are to be in a unit."""
    with_column = [number for number in numbers if number.choice.column] or numbers
    if not with_column:
        return InOneUnit("raw", (), ())
    model = with_column[0]
    _check_alike(model, numbers, option)
    if model.choice.unit not in LARGEST:
        return InOneUnit("raw", [1.0] * len(numbers), ())
    factors = [LARGEST[unit] / LARGEST[number.choice.unit] for number in numbers]
    known_units = {number.choice.unit for number in numbers if number.values.any()}
    converted: dict[tuple[str, float], list[Numbers]] = {}
    for number, factor in zip(numbers, factors, strict=True):
        if factor != 1.0 and number.values.any():
            converted.setdefault((number.choice.unit, factor), []).append(number)
    findings = []
    for (unit_of_log, factor), of_unit in converted.items():
        findings.append(
            caution(
                "rewards-converted",
                column=model.choice.column or "the reward",
                runs=tuple(number.run for number in of_unit),
                unit=unit_of_log,
                most=max(number.most for number in of_unit),
                factor=factor,
                mixed=bool(model.choice.column) and len(known_units) > 1,
            )
        )
    return InOneUnit(unit, factors, findings)


def _check_alike(model: Numbers, numbers: Sequence[Numbers], option: str) -> None:
    """Raise InputError ``unlike-rewards`` where two runs do not compare; it names both, and their values."""
    for number in numbers:
        choice = number.choice
        if not choice.column:
            choice = replace(model.choice, unit=choice.unit)
        try:
            factor_to(model.choice, choice)
        except InputError as error:
            hint = error.hint
            if not number.choice.column:
                hint = "give fit(..., max_reward=1) for a rate, and 100 for a percentage"
            elif model.choice.column == choice.column and model.choice.unit != choice.unit:
                hint = _how_to_name(choice.column, "rate", option)
            raise InputError(
                error.slug,
                f"{error.message}; {model.said}, {number.said}",
                hint,
            ) from None


def scales_unlike(numbers: Sequence[Numbers], *, named: bool) -> list[Finding]:
    """A caution where the numbers of some runs look like rates and those of others like percentages.

    It is for numbers in their column's own unit, and for those that the user ``named`` percentages, which
    were divided by 100.
    """
    rate = LARGEST["rate"] / LARGEST["percent"] if named else LARGEST["rate"]
    moved = [number for number in numbers if number.values.any() and number.values.min() >= 0]
    small = [number for number in moved if number.most <= rate]
    large = [number for number in moved if number.most > CLEARLY_PERCENT * rate]
    if not small or not large:
        return []
    usual_begin = float(np.median([number.begins for number in large]))
    for number in small:
        if _is_alike(LARGEST["percent"] * number.begins, usual_begin):
            return [
                caution(
                    "scales-unlike",
                    run=number.run,
                    most=number.most,
                    other=large[0].run,
                    other_most=large[0].most,
                    named=named,
                )
            ]
    return []


def column_of_fit(fit: Fit) -> Choice:
    """What is known of the reward of a fit that a program gave: its sort, its unit by its largest reward.

    Its column has no name.
    """
    units: dict[float, RewardUnit] = {LARGEST["rate"]: "rate", LARGEST["percent"]: "percent"}
    unit = "raw" if fit.max_reward is None else units.get(fit.max_reward, "raw")
    of_sort = [str(finding.values["sort"]) for finding in fit.findings if finding.code == NO_SCORE]
    return Choice(
        column="",
        meaning=Meaning(role="reward", trainer="user"),
        why="given as a fit",
        usable=fit.n_rewards,
        unit=unit,
        sort=of_sort[0] if of_sort else "",
    )
