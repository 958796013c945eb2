"""Value and error are rounded together, and nothing is shown that is not known."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from entropylaw import Estimate
from entropylaw.report.numbers import cell_text, format_r_squared


def estimate(value: float | None, low: float | None, high: float | None, note: str | None = None) -> Estimate:
    return Estimate(value=value, low=low, high=high, level=0.95, method="m", note=note)


def parts(text: str) -> tuple[str, str, str]:
    """The value, and the ends of the interval."""
    value, _, interval = text.partition(" [")
    low, _, high = interval.removesuffix("]").partition(", ")
    return value, low, high


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        # half-widths 0.0538, 0.055, 0.01867: two significant digits are three decimals each
        ((0.53840, 0.47356, 0.58121), ("0.538", "0.474", "0.581")),
        ((0.01065, -0.05442, 0.05567), ("0.011", "-0.054", "0.056")),
        ((0.52757, 0.50700, 0.54433), ("0.528", "0.507", "0.544")),
        # half-width 0.118: two decimals
        ((0.87489, 0.7272, 0.9639), ("0.87", "0.73", "0.96")),
        # half-width 0.0996 is 0.10 to two digits: two decimals; 0.0994 is 0.099: three
        ((0.5, 0.4004, 0.5996), ("0.50", "0.40", "0.60")),
        ((0.5, 0.4006, 0.5994), ("0.500", "0.401", "0.599")),
        # rounding left of the point
        ((12345.0, 10000.0, 14000.0), ("12300", "10000", "14000")),
        # no zero with a sign
        ((-0.0001, -0.02, 0.02), ("0.000", "-0.020", "0.020")),
        # zero width: three significant digits; rounding noise is no width
        ((0.5, 0.5, 0.5), ("0.500", "0.500", "0.500")),
        ((0.8, 0.8 - 1e-16, 0.8 + 1e-16), ("0.800", "0.800", "0.800")),
        ((0.0, 0.0, 0.0), ("0.000", "0.000", "0.000")),
        # common exponents
        ((1.234e-5, 1.0e-5, 1.5e-5), ("1.23e-5", "1.00e-5", "1.50e-5")),
        ((2.5e8, 9.0e7, 4.1e8), ("2.5e8", "0.9e8", "4.1e8")),
        # what is missing
        ((0.5, 0.46, None), ("0.500", "0.460", "—")),
    ],
)
def test_estimate(numbers: tuple[float, float, float], expected: tuple[str, str, str]) -> None:
    assert parts(cell_text(estimate(*numbers))) == expected


ordinary = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False).map(
    lambda x: 0.0 if abs(x) < 1e-12 else x
)


@given(st.lists(ordinary, min_size=3, max_size=3).map(sorted))
@example([1001.0, 1001.0, 1001.0])
def test_shown_within_half_a_unit_of_the_last_digit(numbers: list[float]) -> None:
    low, value, high = numbers
    text = parts(cell_text(estimate(value, low, high)))
    for number, shown in zip((value, low, high), text, strict=True):
        mantissa, _, exponent = shown.partition("e")
        decimals = len(mantissa.partition(".")[2])
        unit = 10.0 ** (int(exponent or 0) - decimals)
        if decimals == 0 and not exponent:
            unit = max(unit, high / 2 - low / 2)  # rounded left of the point: to a digit of the half-width
        assert abs(float(shown) - number) <= 0.5000001 * unit + 1e-9 * abs(number)


@given(st.lists(ordinary, min_size=3, max_size=3).map(sorted))
def test_low_and_high_differ_where_they_do(numbers: list[float]) -> None:
    low, value, high = numbers
    text = parts(cell_text(estimate(value, low, high)))
    if high - low > 1e-9 * max(abs(low), abs(high)):
        assert text[1] != text[2]
    assert len({len(part.partition("e")[0].partition(".")[2]) for part in text}) == 1


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.538, 0.474, 0.581), "0.538 [0.474, 0.581]"),
        ((None, None, None), "—"),
        ((0.12345, None, None), "0.123, without interval"),
        ((0.5, None, None, "the fit is exact"), "0.500, without interval (the fit is exact)"),
        ((1.5, 1.2, None, "k was searched in [-2, 2]"), "1.50 [1.20, —] (k was searched in [-2, 2])"),
        ((None, None, None, "the law is flat"), "— (the law is flat)"),
    ],
)
def test_interval_in_words(numbers: tuple[float, float, float], text: str) -> None:
    assert cell_text(estimate(*numbers)) == text


NUMBERS = {
    "": {
        0.0955112: "0.0955",
        1234.5: "1230",
        0.09996: "0.100",
        3.2e-7: "3.20e-7",
        4e9: "4.00e9",
        0.0: "0.000",
    },
    "%": {0.95: "95 %", 0.995: "99.5 %", 1.0: "100 %", 0.99999: ">99.9 %", 0.0: "0 %", 1e-5: "<0.1 %"},
    "probability": {
        0.0678: "0.07",
        5.6e-7: "<0.01",
        0.9999: ">0.99",
        0.0: "<0.01",
        1.0: ">0.99",
        0.99: "0.99",
    },
    "step": {1200.0: "1200", 12.5: "12.5", 2e9: "2000000000"},
}
"""By the unit of their column."""


@pytest.mark.parametrize("unit", NUMBERS)
def test_one_number(unit: str) -> None:
    assert {x: cell_text(x, unit) for x in NUMBERS[unit]} == NUMBERS[unit]
    assert cell_text(None, unit) == "—"


def test_a_number_without_an_end_is_missing() -> None:
    assert cell_text(float("inf")) == "—"


@given(st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True))
def test_no_probability_is_shown_as_certain(x: float) -> None:
    assert cell_text(x, "probability") not in ("0", "1", "0.00", "1.00")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (-0.204, "-0.20"),
        (0.9949, "0.99"),
        (0.9955, "0.996"),
        (0.999, "0.999"),
        (0.9991, "> 0.999"),
        (1.0, "> 0.999"),
    ],
)
def test_r_squared_is_never_rounded_to_one(value: float, expected: str) -> None:
    assert format_r_squared(value) == expected
