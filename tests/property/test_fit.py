"""Whatever the arrays: a fit with finite numbers, or one of our errors; never a warning, never a nan."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from entropylaw import EntropyLawError
from entropylaw.documents.codec import dumps, encode
from tests.laws import fit_arrays, own_law

SIZES = st.shared(st.integers(5, 25), key="n")
ENTROPIES = arrays(float, SIZES, elements=st.floats(0, 11.5, width=32))
REWARDS = arrays(float, SIZES, elements=st.floats(-1e6, 1e6, width=32))
GAPS = arrays(float, SIZES, elements=st.floats(2**-6, 1e6, width=32))


@given(entropy=ENTROPIES, reward=REWARDS, gaps=GAPS)
# One evaluation alone is in the last half of the steps.
@example(entropy=np.arange(14.0, 0.0, -1.0) / 14.0, reward=np.arange(14.0), gaps=np.append(np.ones(13), 40.0))
def test_a_finite_fit_or_an_error_of_ours(entropy, reward, gaps):
    try:
        fit = fit_arrays(entropy, reward, np.cumsum(gaps))
    except EntropyLawError:
        return
    assert "NaN" not in dumps(encode(fit))
    law = fit.law
    if law is None:
        return
    for estimate in (law.a, law.b, law.ceiling):
        if law.a.value is None:
            assert estimate.note
        else:
            assert estimate.low <= estimate.value <= estimate.high
    assert abs(sum(form.probability for form in law.forms) - 1) < 1e-9


@given(target=st.floats(-0.5, 1.5), seed=st.integers(0, 50))
def test_the_inverse_agrees_with_the_band(target, seed):
    """An entropy inside the set has the target inside its interval, one outside has not."""
    rng = np.random.default_rng(seed)
    entropy = 0.1 + 0.9 * np.exp(-np.arange(25) / 8)
    fit = own_law(entropy, 0.5 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(25))
    found = fit.entropy_for(target).intervals
    for h in np.linspace(0, 3, 13):
        band = fit.predict(float(h)).mean
        edge = min(abs(band.low - target), abs(band.high - target)) < 1e-6
        inside = any(low <= h and (high is None or h <= high) for low, high in found)
        assert edge or inside == (band.low <= target <= band.high)


@given(seed=st.integers(0, 50), missing=st.lists(st.integers(0, 24), max_size=4, unique=True))
def test_evaluations_with_a_missing_value_change_nothing_but_the_count(seed, missing):
    """Rows without an entropy, put anywhere between the others."""
    rng = np.random.default_rng(seed)
    entropy = 0.1 + 0.9 * np.exp(-np.arange(25) / 8)
    reward = 0.5 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(25)
    step = np.cumsum(rng.integers(2, 9, 25)).astype(float)
    plain = own_law(entropy, reward, step)
    holes = [np.insert(column, missing, value) for column, value in ((entropy, np.nan), (reward, 0.3))]
    steps = np.insert(step, missing, step[missing] - 1.0) if missing else step
    order = np.argsort(steps)
    found = own_law(*(column[order] for column in (*holes, steps)))
    assert sum(found.dropped.values()) == len(missing)
    assert (found.n, found.a, found.ceiling) == (plain.n, plain.a, plain.ceiling)
