"""Limits of gates: those that no value, or every value, of a quantity is beyond are refused."""

import operator
from itertools import product

import pytest

from entropylaw import UsageError
from entropylaw.gates.differences import differences
from entropylaw.gates.expression import parse
from entropylaw.gates.quantities import QUANTITIES
from tests.gate_documents import case, document, fitted, of_reward
from tests.unit.test_gates_arms import compared, estimate

SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

FAR = 1e6
"""A value that stands for all beyond it, where a quantity has no bound."""

SHARES = ("long_memory", "p_gain", "p_ever", "p_better", "r_squared", "none_right", "pass@16")
WHOLE = {
    "n": 2,
    "cautions": 0,
    "eruptions": 0,
    "lost_problems": 0,
    "gained_problems": 0,
    "kept_problems": 0,
}
"""Quantities that are whole numbers → the least of them."""
NOT_NEGATIVE = (
    *("noise", "flat_steps", "entropy_noise", "effective_n"),
    *("odds_entropy", "odds_law", "odds_line"),
)
MEANS = ("distinct", "distinct_right", "answer_entropy")
ANY = (
    *("now", "gained", "change", "keep_level", "ceiling", "a", "b", "forecast_reward"),
    *("drop_per_100_steps", "keep_step", "saturation_step", "onset_planning", "settled_execution"),
    *("rise_planning", "rise_execution", "delta"),
)
APART = tuple(
    f"difference(x, y).{name}" for name in differences() if name not in ("failure_rate", "last_entropy")
)
RANGES = {
    **dict.fromkeys(SHARES, (0.0, 1.0)),
    **dict.fromkeys((*NOT_NEGATIVE, *MEANS), (0.0, FAR)),
    **dict.fromkeys((*ANY, *APART), (-FAR, FAR)),
    **{name: (float(least), FAR) for name, least in WHOLE.items()},
    "lag1": (-1.0, 1.0),
    "pass@16.difference": (-1.0, 1.0),
    "difference(x, y).failure_rate": (-1.0, 1.0),
    "difference(x, y).last_entropy": (-12.0, 12.0),
    "entropy_now": (0.0, 12.0),
}
"""Quantity → its least and its largest value."""


def values(low: float, high: float, limit: float, *, whole: bool) -> list[float]:
    """Values of a range: its ends, some between, and those on either side of a limit, each if it is in it."""
    if whole:
        near = [float(round(limit)) + step for step in (-2, -1, 0, 1, 2)]
        some = [low, low + 1, low + 2, high, *near]
    else:
        some = [low, (low + high) / 2, high, limit, limit - 1e-9, limit + 1e-9, limit - 0.4, limit + 0.4]
    return [value for value in some if low <= value <= high]


def limits(low: float, high: float) -> list[float]:
    """Limits at the ends, beyond them, and between them, whole and not."""
    some = {-7.5, -1.0000001, -1.0, -0.5, 0.0, 0.5, 1.0, 1.0000001, 2.0, 2.5, 3.0, 11.0, 25.0000001}
    for end in (low, high):
        if abs(end) < FAR:
            some |= {end - 1.0, end - 1e-9, end, end + 1e-9, end + 1.0}
    return sorted(some)


def trips(sign: str, limit: float, some: list[float]) -> bool:
    """Whether some of the values trip the gate, and not all."""
    return len({SIGNS[sign](value, limit) for value in some}) == 2


def refused(text: str) -> str:
    """The message of a gate that is refused; empty where it is taken."""
    try:
        parse(text)
    except UsageError as error:
        return error.message
    return ""


def test_every_quantity_with_a_number_is_listed_here() -> None:
    numbers = {name for name, quantity in QUANTITIES.items() if quantity.kind not in ("word", "flag")}
    numbers |= {f"difference(x, y).{name}" for name in differences()}
    assert {*RANGES} == numbers | {"pass@16", "pass@16.difference"}


@pytest.mark.parametrize("name", RANGES)
def test_a_gate_that_never_or_always_trips_is_refused_and_no_other(name: str) -> None:
    low, high = RANGES[name]
    for sign, limit in product(SIGNS, limits(low, high)):
        some = values(low, high, limit, whole=name in WHOLE)
        message = refused(f"{name}{sign}{limit!r}")
        assert (message == "") is trips(sign, limit, some), (name, sign, limit)
        held = {SIGNS[sign](value, limit) for value in some}
        if message:
            assert ("always trips" if held == {True} else "never trips") in message
            assert f"{name} is " in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("entropy_now<-1", "never trips: entropy_now is from 0 to 12"),
        ("n==25.0000001", "never trips: n is a whole number, 2 or more"),
        ("n>=0", "always trips: n is a whole number, 2 or more"),
        ("cautions!=0.5", "always trips: cautions is a whole number, 0 or more"),
        ("noise<0", "never trips: noise is 0 or more"),
        ("flat_steps>=0", "always trips: flat_steps is 0 or more"),
        ("n<800%", "a number without % was expected, as n is in evaluations"),
        ("saturation_step>90%", "a number without % was expected, as saturation_step is in steps"),
        ("lag1>50%", "a number without % was expected, as lag1 is no share"),
    ],
)
def test_the_range_is_said(text: str, said: str) -> None:
    assert said in refused(text)


def test_a_limit_that_is_no_whole_number_has_the_nearest_as_a_hint() -> None:
    with pytest.raises(UsageError) as error:
        parse("cautions==2.5")
    assert error.value.hint == "give a whole number, as 2 or 3"


LEVELS = ("now", "keep_level", "ceiling", "forecast_reward")
APART_IN_TIME = ("gained", "change")
LARGEST = {"rate": 1.0, "percent": 100.0, "raw": FAR}


@pytest.mark.parametrize("unit", LARGEST)
@pytest.mark.parametrize("name", [*LEVELS, *APART_IN_TIME, "noise"])
def test_of_a_column_a_limit_that_it_cannot_reach_is_unknown_and_no_other(name: str, unit: str) -> None:
    most = LARGEST[unit]
    low = 0.0
    if name in APART_IN_TIME:
        low = -most
    elif unit == "raw" and name in LEVELS:
        low = -FAR
    run = of_reward(fitted(max_reward=None if unit == "raw" else most), unit=unit)
    some = {-0.5, 0.0, 0.25, 0.999, 1.0, 1.001, 60.0, 99.9, 100.0, 100.1, 150.0}
    for sign, limit in product(SIGNS, sorted(some)):
        if refused(f"{name}{sign}{limit}"):
            continue
        found = case(document(run), f"{name}{sign}{limit}")
        reachable = trips(sign, limit, values(low, most, limit, whole=False))
        assert (found.outcome != "unknown") is reachable, (sign, limit, found.sentence)
        if not reachable:
            assert " trips: 'val/acc' is " in found.sentence


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (
            "ceiling<60",
            "the gate always trips: 'val/acc' is a rate, and ceiling is from 0 to 1; type 60%, or 0.6",
        ),
        (
            "now>60",
            "the gate never trips: 'val/acc' is a rate, and now is from 0 to 1; type 60%, or",
        ),
        (
            "gained>2",
            "the gate never trips: 'val/acc' is a rate, and gained is from -1 to 1; type 2%, or 0.02",
        ),
        (
            "ceiling<160%",
            "the gate always trips: 'val/acc' is a rate, and ceiling is from 0 to 1; type a limit",
        ),
    ],
)
def test_of_a_rate_what_was_meant_is_said(gate: str, said: str) -> None:
    found = case(document(fitted(max_reward=1.0)), gate)
    assert (found.outcome, found.failed) == ("unknown", True)
    assert said in found.sentence


def test_with_the_largest_reward_lifted_every_limit_is_taken() -> None:
    run = fitted(max_reward=None)
    assert case(document(run), "ceiling<60").outcome == "tripped"
    assert case(document(run), "ceiling>60").outcome == "passed"


@pytest.mark.parametrize(
    ("unit", "gate", "outcome"),
    [
        ("rate", "last_reward<-60%", "passed"),
        ("rate", "last_reward<-60", "unknown"),
        ("percent", "last_reward<-60%", "passed"),
        ("percent", "last_reward<-160", "unknown"),
        ("raw", "last_reward<-160", "passed"),
        ("raw", "last_reward<-60%", "unknown"),
        ("rate", "shift>60", "passed"),
        ("rate", "a>60", "passed"),
        ("rate", "failure_rate>60%", "passed"),
    ],
)
def test_the_limit_of_a_difference_is_in_the_unit_of_the_rewards(unit: str, gate: str, outcome: str) -> None:
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    data["comparison"]["reward_unit"] = unit
    found = case(data, f"difference(clip, grpo).{gate}")
    assert found.outcome == outcome
    assert found.unit == {"unknown": ""}.get(outcome, "share" if "failure" in gate else unit)


@pytest.mark.parametrize(
    ("largest", "outcome"), [(None, "unknown"), (0.5, "unknown"), (3, "passed"), ("none", "passed")]
)
def test_the_largest_reward_of_a_comparison_bounds_its_differences(largest, outcome) -> None:
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    data["comparison"]["reward_unit"] = "rate"
    data["settings"]["max_reward"] = largest
    found = case(data, "difference(clip, grpo).last_reward>2")
    assert found.outcome == outcome
    assert outcome == "passed" or "the gate never trips: the reward is a rate" in found.sentence


def test_a_difference_in_a_unit_of_its_own_is_compared_with_plain_numbers_alone() -> None:
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    assert case(data, "difference(clip, grpo).ceiling<0.01").outcome == "passed"
    found = case(data, "difference(clip, grpo).ceiling<1%")
    assert (found.outcome, "the reward is neither a rate nor in percent" in found.sentence) == (
        "unknown",
        True,
    )
