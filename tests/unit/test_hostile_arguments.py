"""Curves of phases that are beyond the scale of entropies: an error with a slug, and never a warning."""

import warnings

import numpy as np
import pytest

import entropylaw
from entropylaw.analysis.phases import phase_cautions
from entropylaw.errors import EntropyLawError


@pytest.mark.parametrize(
    "argument", ["step", "planning", "execution", "aggregate", "planning_share", "length"]
)
@pytest.mark.parametrize("value", [1e300, 1e-300, 1e-320])
def test_curves_of_phases_out_of_scale(argument, value):
    step = np.arange(1.0, 33.0)
    given = {"step": step, "planning": np.exp(-step / 9), argument: step * value}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(EntropyLawError) as caught:
            entropylaw.fit_phases(**given)
    assert caught.value.slug == "out-of-scale"


def test_lengths_that_are_all_missing_say_nothing():
    step = np.arange(12.0)
    assert list(phase_cautions(step, {"length": np.full(12, np.nan)}, {})) == []
