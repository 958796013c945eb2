"""Numbers of arms against size: sizes read from texts, lines, predictions, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import linregress, t

from benchmarks.paper import MODELS
from entropylaw.analysis.scaling import PUBLISHED, SCALED, scale_numbers, size_of
from entropylaw.errors import UsageError
from entropylaw.results import Estimate
from entropylaw.results.arms import Scaling
from entropylaw.results.result import Finding


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0.5B", 5e8),
        ("7b", 7e9),
        ("350M", 3.5e8),
        ("Qwen2.5-Math-1.5B-Instruct", 1.5e9),
        ("7B_s0", 7e9),
        ("width_32", 32.0),
        ("width=32", 32.0),
        ("64", 64.0),
        ("1.5e9", 1.5e9),
        (7e9, 7e9),
        (64, 64.0),
        ("", None),
        ("grpo", None),
        ("8x7B", None),
        ("7B or 32B", None),
        ("w2_s0", None),
        ("0", None),
        (-1.0, None),
        (float("nan"), None),
    ],
)
def test_size_of(text: Any, size: float | None) -> None:
    assert size_of(text) == size


def estimate(value: float | None, error: float | None = 0.01) -> Estimate:
    return Estimate(value=value, low=None, high=None, level=0.95, method="", std_error=error)


@dataclass
class Made:
    """What is read of a fit."""

    ceiling: Estimate
    law: Any
    findings: tuple[Finding, ...] = ()


def fit(number: float | None, *, first: float = 1.0, last: float = 400.0) -> Any:
    step, reward = np.linspace(0.0, last, 40), np.linspace(0.2, 0.8, 40)
    law = SimpleNamespace(
        a=estimate(number),
        b=estimate(number),
        step=step,
        reward=reward,
        smoothed_entropy=np.array([first, 0.1]),
    )
    return Made(ceiling=estimate(number), law=law)


def scaled(values: dict[float, list[float]], key: str = "width", **options: Any) -> dict[str, Scaling]:
    arms = {f"{key}_{size:g}": [fit(value) for value in each] for size, each in values.items()}
    sizes = {f"{key}_{size:g}": size for size in values}
    return {one.quantity: one for one in scale_numbers(arms, sizes, key=key, **options)}


FOUR = {32.0: [0.5], 64.0: [0.53], 128.0: [0.54], 256.0: [0.6]}


def test_one_seed_per_size_is_least_squares() -> None:
    found = scaled(FOUR)["ceiling"]
    line = linregress(np.log10(list(FOUR)), [each[0] for each in FOUR.values()])
    assert found.slope.value == pytest.approx(line.slope)
    assert found.slope.std_error == pytest.approx(line.stderr)
    assert found.slope.width == pytest.approx(2 * t.ppf(0.975, 2) * line.stderr)
    assert found.p_value == pytest.approx(line.pvalue)
    assert found.between is None
    assert [(point.size, point.value.low) for point in found.points] == [(size, None) for size in FOUR]
    assert "one seed per size" in (found.points[0].value.note or "")


def test_seeds_are_pooled_over_sizes() -> None:
    values = {32.0: [0.50, 0.52], 64.0: [0.53], 128.0: [0.60, 0.58, 0.62]}
    found = scaled(values)["b"]
    squared = (2 * 0.01**2 + 2 * 0.02**2) / 3
    errors = [np.sqrt(squared / len(each)) for each in values.values()]
    np.testing.assert_allclose([point.value.std_error for point in found.points], errors)
    reach = t.ppf(0.975, 3) * errors[1]
    assert found.points[1].value.low == pytest.approx(0.53 - reach)
    assert [point.seeds for point in found.points] == [2, 1, 3]


def test_points_that_scatter_by_more_than_seeds_have_a_spread_between_sizes() -> None:
    values = {
        size: [0.5 + bump - 1e-4, 0.5 + bump + 1e-4]
        for size, bump in zip(FOUR, (0, 0.1, 0, 0.1), strict=True)
    }
    found = scaled(values)["a"]
    assert found.between == pytest.approx(np.sqrt(linregress_scale(values)), rel=1e-3)
    assert scaled({size: [0.5, 0.6] for size in FOUR})["a"].between == 0.0


def linregress_scale(values: dict[float, list[float]]) -> float:
    x, y = np.log10(list(values)), np.array([np.mean(each) for each in values.values()])
    line = linregress(x, y)
    return float(((y - line.intercept - line.slope * x) ** 2).sum() / (len(x) - 2))


def test_two_sizes_have_a_slope_without_an_interval() -> None:
    found = scaled({32.0: [0.5, 0.51], 320.0: [0.6, 0.61]}, at=[3200.0])["ceiling"]
    assert found.slope.value == pytest.approx(0.1)
    assert found.slope.low is None
    assert "at least 3" in (found.slope.note or "")
    assert found.predicted[0].value.value == pytest.approx(0.705)
    assert found.predicted[0].value.low is None
    assert found.points[0].value.low is not None


def test_one_size_has_no_slope() -> None:
    arms, sizes = {"one": [fit(0.5)], "other": [fit(0.6)]}, {"one": 32.0, "other": 32.0}
    for found in scale_numbers(arms, sizes, key="width", at=[64.0]):
        assert found.slope.value is None
        assert found.predicted[0].value.value is None
        assert "1 size" in (found.predicted[0].value.note or "")


def test_a_prediction_widens_away_from_the_sizes() -> None:
    inside, outside, far = scaled(FOUR, at=[90.0, 1024.0, 1e6])["ceiling"].predicted
    assert inside.value.width < outside.value.width < far.value.width  # type: ignore[operator]
    assert "beyond the sizes" in outside.value.method
    assert "beyond the sizes" not in inside.value.method
    line = linregress(np.log10(list(FOUR)), [each[0] for each in FOUR.values()])
    assert outside.value.value == pytest.approx(line.intercept + line.slope * np.log10(1024.0))


def test_without_seeds_a_prediction_is_that_of_least_squares() -> None:
    """Where nothing is known of seeds, all scatter about the line is between sizes: Student's interval."""
    x = np.log10(list(FOUR))
    y = np.array([each[0] for each in FOUR.values()])
    at = np.log10(1024.0)
    leverage = 1 + 1 / 4 + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    reach = t.ppf(0.975, 2) * np.sqrt(linregress_scale(FOUR) * leverage)
    known = scaled(FOUR, at=[1024.0])["ceiling"].predicted[0].value
    line = linregress(x, y)
    centre = line.intercept + line.slope * at
    # The distribution has 99 equally probable parts.
    assert known.low == pytest.approx(centre - reach, abs=0.05 * reach)
    assert known.high == pytest.approx(centre + reach, abs=0.05 * reach)


def test_failed_runs_count_for_the_first_entropy_only() -> None:
    arms = {f"width_{size:g}": [fit(each[0]), fit(each[0] + 0.01)] for size, each in FOUR.items()}
    arms["width_64"][1] = fit(0.9, first=1.3, last=40.0)
    found = {
        one.quantity: one for one in scale_numbers(arms, {name: size_of(name) for name in arms}, key="w")
    }  # type: ignore[misc]
    assert found["ceiling"].points[1].seeds == 1
    assert found["ceiling"].points[1].value.value == pytest.approx(0.53)
    assert "1 of 2 runs failed" in (found["ceiling"].points[1].value.note or "")
    assert found["entropy_first"].points[1].seeds == 2
    assert found["entropy_first"].points[1].value.value == pytest.approx(1.15)


def test_a_size_of_failed_runs_alone_has_no_value() -> None:
    arms = {f"width_{size:g}": [fit(each[0])] * 2 for size, each in FOUR.items()}
    arms["width_64"] = [fit(0.9, last=40.0)]
    ceiling = scale_numbers(arms, {name: float(size_of(name) or 0) for name in arms}, key="width")[0]
    assert [point.seeds for point in ceiling.points] == [2, 0, 2, 2]
    assert ceiling.points[1].value.value is None
    assert "df 1" in ceiling.slope.method


def test_the_published_sizes_are_in_the_unit_of_the_key() -> None:
    assert {name: (a, b) for name, (a, b, _) in PUBLISHED.items()} == {
        one.name: (one.a, one.b) for one in MODELS
    }
    assert [first for *_, first in PUBLISHED.values()] == [one.first for one in MODELS]
    assert not scaled(FOUR)["a"].reference
    for key, unit in (("B", 1e9), ("m", 1e6), ("parameters", 1.0)):
        found = scaled({size / unit: [0.5] for size in (5e8, 1.5e9, 7e9)}, key=key)
        assert [point.size for point in found["a"].reference] == pytest.approx(
            np.array([5e8, 1.5e9, 3e9, 7e9, 3.2e10]) / unit
        )
        for name, truth in (("a", 0.236), ("b", 0.690), ("ceiling", 0.454), ("entropy_first", 0.62)):
            last = found[name].reference[-1].value
            assert (last.value, last.low) == (truth, None)
            assert "2505.22617" in last.method
            assert "digitised" in (last.note or "")


def test_order_and_units() -> None:
    found = scale_numbers(
        {"big": [fit(0.6)], "small": [fit(0.5)]}, {"big": 64.0, "small": 32.0}, key="width", level=0.9
    )
    assert {one.quantity: one.unit for one in found} == SCALED
    assert [point.arm for point in found[0].points] == ["small", "big"]
    assert all(point.value.level == 0.9 for one in found for point in one.points)


@pytest.mark.parametrize(
    ("sizes", "at", "slug"),
    [
        ({"a": 32.0}, (), "no-size"),
        ({"a": 32.0, "b": 0.0}, (), "bad-size"),
        ({"a": 32.0, "b": float("inf")}, (), "bad-size"),
        ({"a": 32.0, "b": 64.0}, (-1.0,), "bad-size"),
    ],
)
def test_bad_sizes(sizes: dict[str, float], at: tuple[float, ...], slug: str) -> None:
    with pytest.raises(UsageError) as error:
        scale_numbers({"a": [fit(0.5)], "b": [fit(0.6)]}, sizes, key="width", at=at)
    assert error.value.slug == slug
    assert error.value.hint


def test_bad_level() -> None:
    with pytest.raises(UsageError):
        scaled(FOUR, level=95.0)
