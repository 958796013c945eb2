"""NIST StRD *Norris* certifies a, b and their standard errors.

Source: NIST Statistical Reference Datasets, linear regression, "Norris" (observed data, lower level of
difficulty), https://www.itl.nist.gov/div898/strd/lls/data/Norris.shtml. Its y on x is our reward on
exp(H) with H = ln x, so that slope = −a and intercept = b.
"""

import math

import numpy as np
import pytest

from entropylaw.analysis.forms import r_squared
from tests.laws import WHITE, reads_under

CERTIFIED = {
    "intercept": (-0.262323073774029, 0.232818234301152),
    "slope": (1.00211681802045, 0.429796848199937e-03),
}
RESIDUAL_SD = 0.884796396144373
R_SQUARED = 0.999993745883712

Y_X = """
0.1 0.2 338.8 337.4 118.1 118.2 888.0 884.6 9.2 10.1 228.1 226.5 668.5 666.3 998.5 996.3 449.1 448.6
778.9 777.0 559.2 558.2 0.3 0.4 0.1 0.6 778.1 775.5 668.8 666.9 339.3 338.0 448.9 447.5 10.8 11.6
557.7 556.0 228.3 228.1 998.0 995.8 888.8 887.6 119.6 120.2 0.3 0.3 0.6 0.3 557.6 556.8 339.3 339.1
888.0 887.2 998.5 999.0 778.9 779.0 10.2 11.1 117.6 118.3 228.9 229.2 668.4 669.1 449.2 448.9 0.2 0.5
"""


@pytest.fixture(scope="module")
def norris():
    y, x = np.array(Y_X.split(), dtype=float).reshape(-1, 2).T
    assert y.size == 36
    order = np.argsort(x, kind="stable")
    return reads_under(WHITE, np.log(x[order]), y[order])


def digits(found: float, certified: float) -> float:
    """Matching significant digits (log relative error), at most 15."""
    return 15.0 if found == certified else min(15.0, -math.log10(abs(found / certified - 1.0)))


@pytest.mark.parametrize(
    ("name", "sign", "key"), [("a", -1.0, "slope"), ("b", 1.0, "intercept")], ids=["a", "b"]
)
def test_coefficients_and_standard_errors(norris, name, sign, key):
    cells = dict(zip("ab", norris.coefficients, strict=True))[name]
    value, std_error = CERTIFIED[key]
    assert digits(sign * cells.location[0], value) >= 11
    assert digits(cells.scale[0], std_error) >= 10


def test_residual_sd_and_r_squared(norris):
    table = norris.table
    variance = table.variance[norris.law > 0] * table.candidates.unit**2
    assert digits(float(np.sqrt(variance[0])), RESIDUAL_SD) >= 10
    assert digits(r_squared(table.entropy, table.reward), R_SQUARED) >= 12


def test_interval_is_the_textbook_one(norris):
    # t quantile for 34 degrees of freedom at 0.975, from R: qt(0.975, 34)
    half = 2.032244509317719 * CERTIFIED["slope"][1]
    low, value, high = norris.coefficients[0].quantiles((0.025, 0.5, 0.975))
    assert high - value == pytest.approx(half, rel=1e-6)
    assert value - low == pytest.approx(half, rel=1e-6)
