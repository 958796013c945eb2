"""One unit for the rewards of all runs of a comparison: what is converted, what is refused, what is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

FIRST = 3
"""Evaluations whose mean says at what reward a run begins."""

LIKE = 3.0
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
        return float(self.values[:FIRST].mean())

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
    with_units = {label: [*_with_units(numbers, option)] for label, numbers in columns.items()}
    units = [
        number.choice.unit for numbers in with_units.values() for number in numbers if number.values.any()
    ]
    unit = "percent" if units.count("percent") > units.count("rate") else "rate"
    return {label: _converted(numbers, unit, option) for label, numbers in with_units.items()}


def _with_units(numbers: Sequence[Numbers], option: str) -> Iterator[Numbers]:
    """The numbers with their units, by those of other runs of the column where their own are not clear."""
    moved = [number for number in numbers if number.values.any()]
    has_rates = any(number.choice.column and number.choice.unit == "rate" for number in moved)
    for number in numbers:
        unit = number.choice.unit
        is_within = number.values.min() >= 0 and number.most <= LARGEST["rate"]
        percent = [
            other
            for other in moved
            if other.choice.unit == "percent" and other.choice.column == number.choice.column
        ]
        if not number.values.any():
            unit = moved[0].choice.unit if moved else unit  # 0 is 0 in any unit
        elif has_rates and is_within and not number.choice.column:
            unit = "rate"  # of a fit that a program gave
        elif percent and is_within and unit != "percent":
            unit = _unit_beside(number, percent, option)
        yield number._replace(choice=replace(number.choice, unit=unit))


def _unit_beside(number: Numbers, percent: Sequence[Numbers], option: str) -> RewardUnit:
    """The unit of numbers of at most 1, where those of other runs of the column are percentages.

    They are a rate if the run begins like the others then. A percentage of at most 1 is of a run that learned
    nothing; it is one only by the name of its column, and if the run begins like the others.
    """
    others = float(np.median([other.begins for other in percent]))
    if _alike(LARGEST["percent"] * number.begins, others):
        return "rate"
    if number.choice.unit == "raw" and _alike(number.begins, others):
        return "percent"
    column = number.choice.column
    message = f"{shown(column)} may be a rate or a percentage: {number.said}, {percent[0].said}"
    raise InputError("unit-unclear", message, _how_to_name(column, "percent", option))


def _how_to_name(column: str, unit: str, option: str) -> str:
    """What to type where all runs log one unit; a column of ``--at-equal`` cannot be given one."""
    if option != "--reward":
        return f"write {shown(column)} of all logs in one unit"
    named = in_shell(f"{column}:{unit}")
    numbers = {"rate": "rates", "percent": "percentages"}[unit]
    return f"if all runs log {numbers}: --reward {named}; if not, write all logs in one unit"


def _alike(one: float, other: float) -> bool:
    """Whether two runs begin alike; of 0 that is not known."""
    return one > 0 and other > 0 and other / LIKE <= one <= LIKE * other


def _converted(numbers: Sequence[Numbers], unit: str, option: str) -> InOneUnit:
    """The factors of the numbers of one column, all rates and percentages of which are to be in a unit."""
    known = [number for number in numbers if number.choice.column] or numbers
    if not known:
        return InOneUnit("raw", (), ())
    first = known[0]
    _check_alike(first, numbers, option)
    if first.choice.unit not in LARGEST:
        return InOneUnit("raw", [1.0] * len(numbers), ())
    factors = [LARGEST[unit] / LARGEST[number.choice.unit] for number in numbers]
    known_units = {number.choice.unit for number in numbers if number.values.any()}
    converted: dict[tuple[str, float], list[Numbers]] = {}
    for number, factor in zip(numbers, factors, strict=True):
        if factor != 1.0 and number.values.any():
            converted.setdefault((number.choice.unit, factor), []).append(number)
    findings = [
        caution(
            "rewards-converted",
            column=first.choice.column or "the reward",
            runs=tuple(number.run for number in those),
            unit=of,
            most=max(number.most for number in those),
            factor=factor,
            mixed=bool(first.choice.column) and len(known_units) > 1,
        )
        for (of, factor), those in converted.items()
    ]
    return InOneUnit(unit, factors, findings)


def _check_alike(first: Numbers, numbers: Sequence[Numbers], option: str) -> None:
    """Raise InputError ``unlike-rewards`` where two runs do not compare; it names both, and their values."""
    for number in numbers:
        choice = number.choice
        if not choice.column:
            choice = replace(first.choice, unit=choice.unit)
        try:
            factor_to(first.choice, choice)
        except InputError as error:
            hint = error.hint
            if not number.choice.column:
                hint = "give fit_law(..., max_reward=1) for a rate, and 100 for a percentage"
            elif first.choice.column == choice.column and first.choice.unit != choice.unit:
                hint = _how_to_name(choice.column, "rate", option)
            message = f"{error.message}; {first.said}, {number.said}"
            raise InputError(error.slug, message, hint) from None


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
    others = float(np.median([number.begins for number in large]))
    for number in small:
        if _alike(LARGEST["percent"] * number.begins, others):
            finding = caution(
                "scales-unlike",
                run=number.run,
                most=number.most,
                other=large[0].run,
                other_most=large[0].most,
                named=named,
            )
            return [finding]
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
        usable=fit.n,
        unit=unit,
        sort=of_sort[0] if of_sort else "",
    )
