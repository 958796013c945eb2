"""Gates against a baseline: a share of what was, and regressions of one run or of many by name."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw.gates.decide import regression, relative_decrease
from entropylaw.gates.quantities import Unknown
from entropylaw.results import Estimate
from tests.gate_documents import cases, document, fitted, refused, subjects


def estimate(value, low, high, level=0.95):
    return Estimate(value=value, low=low, high=high, level=level, method="m")


def mover(now, before):
    """MOVER limits of now/before from their definition, by bisection."""

    def limit(r, side):
        there = before.high - before.value if (r >= 0) == (side > 0) else before.value - before.low
        here = now.value - now.low if side > 0 else now.high - now.value
        return now.value - r * before.value - side * math.hypot(here, r * there)

    ends = []
    for side in (1, -1):
        low, high = -1e6, 1e6
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if limit(middle, side) > 0 else (low, middle)
        ends.append(low)
    return ends


widths = st.floats(0.01, 2)


@given(st.floats(-3, 3), widths, widths, st.floats(0.2, 3), st.floats(0.01, 0.95), st.floats(0.01, 4))
def test_the_relative_decrease_is_movers(now, below, above, before, share, up):
    new, old = estimate(now, now - below, now + above), estimate(before, before * (1 - share), before + up)
    found = relative_decrease(new, old, "ceiling")
    low, high = mover(new, old)
    assert found.value == pytest.approx(1 - now / before)
    assert (found.low, found.high) == pytest.approx((1 - high, 1 - low), rel=1e-6, abs=1e-6)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        (estimate(0.5, 0.4, None), estimate(0.6, 0.5, 0.7), "open end"),
        (estimate(0.5, 0.4, 0.6), estimate(0.6, 0.0, 0.7), "may be 0 or less"),
        (estimate(0.5, 0.4, 0.6), estimate(0.6, 0.5, 0.7, level=0.9), "levels differ"),
    ],
)
def test_a_share_that_means_nothing_is_unknown(now, before, said):
    found = relative_decrease(now, before, "ceiling")
    assert isinstance(found, Unknown)
    assert said in found.reason


def test_regressions_are_of_one_run_against_one_and_else_by_name():
    gate = "regression(b.json)>1%"
    tight = (0.6, 0.599, 0.601)

    def against(*runs, now=(0.5, 0.499, 0.501), beside=(), **rules):
        baselines = {"b.json": subjects(document(*runs), "b.json")}
        first, *_ = cases([document(fitted(ceiling=now), *beside)], gate, baselines=baselines, **rules)
        return first

    flat, other = fitted(fails="no relation", ceiling=tight), fitted("other", ceiling=tight)
    curved = fitted(fails="another curve", ceiling=tight)
    several = "where there are several runs, here or there, their names have to match"
    for runs, more, outcome, said in (
        ([fitted(ceiling=tight)], {}, "tripped", "fall of ceiling 16.67% ["),
        ([fitted(ceiling=tight)], {"now": tight}, "passed", ""),
        # One run and one run.
        ([other], {}, "tripped", "fall of ceiling 16.67% ["),
        ([other], {"beside": [fitted("second")]}, "unknown", f"no run of the name 'r'; {several}"),
        ([other, fitted("third")], {}, "unknown", f"no run of the name 'r'; {several}"),
        ([other, fitted(ceiling=tight)], {"beside": [fitted("second")]}, "tripped", "16.67%"),
        ([fitted(), fitted()], {}, "unknown", "2 runs"),
        ([flat], {}, "unknown", "it bends"),
        ([flat], {"even_if_fails": True}, "tripped", ""),
        # The average rests on the curve that fits.
        ([curved], {}, "tripped", "16.67%"),
        ([refused()], {}, "unknown", "3 evaluations"),
    ):
        decided = against(*runs, **more)
        assert decided.outcome == outcome
        assert said in decided.sentence


def test_a_regression_without_a_number_names_the_run_that_lacks_it():
    baseline = subjects(document(fitted(), fitted("old", drop_per_100_steps=None)))
    none, some = Unknown(reason="none"), estimate(0.5, 0.4, 0.6)
    measured = "drop_per_100_steps"
    for now, run, said in ((none, "r", "this run has no "), (some, "old", "the baseline has no ")):
        (subject,) = subjects(document(fitted(run)))
        found = regression(now, baseline, measured, subject, alone=True, any_law=False)
        assert found == Unknown(reason=f"{said}{measured}")
