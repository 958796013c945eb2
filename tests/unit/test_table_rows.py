"""Rows of the table against dense matrices, and the reads of which no other test depends."""

import numpy as np
import pytest
from scipy.special import gammaln, ndtr, ndtri

from entropylaw.engine.constants import FORMS, PRIOR
from entropylaw.engine.reads import NORMAL, Cells, Reads
from entropylaw.engine.residuals import covariances, spacings
from entropylaw.engine.table import table_of
from entropylaw.results.result import replace
from tests.laws import WHITE, fit_arrays, reads_under

N = 30
ENTROPY = 0.05 + 0.9 * np.exp(-4 * np.arange(N) / (N - 1))
SHARE = np.arange(N) / (N - 1)


def standard(column, at):
    """A column at the evaluations and elsewhere, less its mean and in units of its sd."""
    return (column - column.mean()) / column.std(), (at - column.mean()) / column.std()


def exponential_mean(lag):
    means = [ENTROPY[0]]
    for value in ENTROPY[1:]:
        means.append(means[-1] + (value - means[-1]) / max(lag * N, 1.0))
    return np.array(means)


CURVES = {
    "law": lambda shape: (np.expm1(ENTROPY), 0.0),
    "line": lambda shape: (ENTROPY, 0.0),
    "square": lambda shape: (ENTROPY**2, 0.0),
    "rate": lambda k: (np.expm1(k * ENTROPY), 0.0),
    "power": lambda p: (ENTROPY**p, 0.0),
    "lagged": lambda lag: (np.expm1(exponential_mean(lag)), 0.0),
}
SHAPES = {"rate": len(PRIOR.rates), "power": len(PRIOR.powers), "lagged": len(PRIOR.lags)}
TERMS = {"none": None, "step": SHARE, "log_step": np.log1p(SHARE * (N - 1))}


class Dense:
    """One row: a regression with normal priors as further observations, under a covariance written out."""

    def __init__(self, table, row, reward):
        number, prior, white = table.covariance[row], table.prior, table.whitened
        length, noise = white.length[number], white.white[number]
        height = np.expm1(ENTROPY) - np.expm1(ENTROPY).min()
        profiles = [np.exp(ratio * (height / height.max() - 1.0)) for ratio, _ in prior.scales]
        scale = int(np.argmin([abs(np.mean(p**2) - white.mean_square[number]) for p in profiles]))
        profile = profiles[scale]
        apart = np.abs(np.arange(N)[:, None] - np.arange(N)[None, :])
        drift = (1.0 - noise) * np.exp(-apart / length) * np.outer(profile, profile)
        inverse = np.linalg.inv(drift + np.diag((noise + 1e-10) * profile**2))
        y = (reward - reward.mean()) / reward.std()
        form, term = FORMS[table.form[row]], prior.terms[table.term[row]][0]
        first, probability = prior.firsts[table.first[row]]
        curve, curve_at_0 = standard(*CURVES[form](table.shape[row]))
        law, step = standard(np.expm1(ENTROPY), 0.0)[0], standard(SHARE, 0.0)[0]
        plain = np.column_stack([np.ones(N), step, law])
        residual = y - plain @ np.linalg.solve(plain.T @ inverse @ plain, plain.T @ inverse @ y)
        precision = residual @ inverse @ residual / (N - 3) / prior.slope_spread**2
        normal = -np.log(np.sqrt(2.0 * np.pi) * prior.slope_spread)
        direction = np.sign(np.corrcoef(curve, ENTROPY)[0, 1])
        columns, at_0, priors = [np.ones(N), curve], [1.0, curve_at_0], [0.0, precision]
        means, density = [0.0, -prior.slope * direction], normal - np.log(SHAPES.get(form, 1))
        if TERMS[term] is not None:
            column = standard(TERMS[term], 0.0)[0]
            columns, at_0 = [*columns, column], [*at_0, column[-1]]
            priors, means, density = [*priors, precision], [*means, 0.0], density + normal
        if first:
            columns, at_0 = [*columns, np.arange(N) < max(round(first * N), 1)], [*at_0, 0.0]
            priors, means, density = [*priors, 0.0], [*means, 0.0], density - np.log(2.0)
        x, at_0, priors, means = np.column_stack(columns), np.array(at_0), np.diag(priors), np.array(means)
        normal_matrix = x.T @ inverse @ x + priors
        right = x.T @ inverse @ y + priors @ means
        beta = np.linalg.solve(normal_matrix, right)
        squares = y @ inverse @ y + means @ priors @ means - right @ beta
        self.df = N - x.shape[1]
        logs, nodes = np.log(prior.lengths), [share for share, _ in prior.shares]
        by_length = np.exp(-0.5 * ((logs - np.log(prior.length_middle)) / prior.length_spread) ** 2)
        by_length[[0, -1]] /= 2.0
        of_length = by_length[np.argmin(np.abs(np.array(prior.lengths) - length))] / by_length.sum()
        of_share = prior.shares[int(np.argmin(np.abs(np.array(nodes) - noise)))][1]
        of_share /= sum(weight for _, weight in prior.shares)
        chance = (1.0 - prior.long) * (1.0 - prior.white) * of_length * of_share * prior.scales[scale][1]
        log_det = np.linalg.slogdet(normal_matrix)[1] - np.linalg.slogdet(inverse)[1]
        self.log_weight = np.log(chance * probability) + density - 0.5 * log_det
        self.log_weight += gammaln(self.df / 2.0) - self.df / 2.0 * np.log(np.pi * squares)
        unit, variance = reward.std(), squares / self.df
        self.ceiling = reward.mean() + unit * (at_0 @ beta)
        self.scale = unit * np.sqrt(at_0 @ np.linalg.solve(normal_matrix, at_0) * variance)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    slow = np.exp(-np.abs(np.arange(N)[:, None] - np.arange(N)[None, :]) / 8.0)
    reward = 0.55 - 0.2 * np.expm1(ENTROPY) + 0.01 * rng.standard_normal(N)
    reward += 0.01 * np.linalg.cholesky(slow) @ rng.standard_normal(N)
    return table_of(np.arange(N, dtype=float), ENTROPY, reward), reward


def some_rows(table):
    """Of every curve, term and level of the first evaluations the heaviest row, and one of another scale."""
    white = table.whitened
    single = (~white.long & (white.length > 0))[table.covariance]
    rows = []
    for form in CURVES:
        for term in range(3):
            for first in range(3):
                for changes in (False, True):
                    of_scale = (white.mean_square < 1.0)[table.covariance] == changes
                    chosen = single & of_scale & table.is_form(form) & (table.term == term)
                    numbers = np.flatnonzero(chosen & (table.first == first))
                    rows.append(int(numbers[np.argmax(table.log_weight[numbers])]))
    return rows


def test_rows_are_regressions_with_dense_matrices(table):
    table, reward = table
    reads, rows = Reads(table), some_rows(table)
    dense = [Dense(table, row, reward) for row in rows]
    ours = table.log_weight[rows]
    theirs = np.array([row.log_weight for row in dense])
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-6)
    np.testing.assert_allclose(table.df[rows], [row.df for row in dense])
    np.testing.assert_allclose(reads.location[rows], [row.ceiling for row in dense], rtol=1e-5)
    np.testing.assert_allclose(reads.scale[rows], [row.scale for row in dense], rtol=1e-5)


def test_averages_weigh_terms(table):
    table, _ = table
    reads = Reads(table)
    weight = np.exp(table.log_weight - table.log_weight.max())
    terms = np.array([0.5, 0.25, 0.25])[table.term] * ~table.is_form("saturation", "flat")
    np.testing.assert_allclose(reads.averaged, weight * terms / (weight @ terms), atol=1e-15)


def test_the_prior_of_residuals_is_that_of_the_page(table):
    """docs/method/model.md: long memory .15, else no drift .1; ℓ has median 8; the scale falls with .35."""
    white = table[0].whitened
    kept = np.exp(white.log_prior)
    falls = white.mean_square < 1.0
    full = [np.exp(group.log_prior) for group in covariances(np.ones(N - 1).tobytes(), PRIOR)]
    assert full[1].sum() == pytest.approx(0.15)
    assert full[0][0] == pytest.approx(0.85 * 0.1)
    lengths = covariances(np.ones(N - 1).tobytes(), PRIOR)[0].length[1:, 0]
    drifts = full[0][1:] / full[0][1:].sum()
    # The median is between two nodes.
    assert drifts[lengths < 6.0].sum() < 0.5 < drifts[lengths < 7.0].sum()
    no_drift = white.length == 0
    assert kept[no_drift & falls].sum() == pytest.approx(0.35 * 0.085)
    assert kept[no_drift & ~falls].sum() == pytest.approx(0.65 * 0.085)


def test_a_reload_is_a_gap_over_which_nothing_remains():
    entropy = np.exp(-4 * np.arange(60) / 60)
    entropy[35:] += 0.6 * np.exp(-np.arange(25) / 8)
    gap = spacings(np.arange(60.0), entropy)
    assert gap[34] > 1e5
    assert np.delete(gap, 34).tolist() == [1.0] * 58
    assert spacings(np.arange(60.0), entropy[::-1]).tolist() == [1.0] * 59


@pytest.mark.parametrize("seed", [0, 1])
def test_long_runs_agree_with_a_fine_grid(seed):
    n = 200
    rng = np.random.default_rng(seed)
    entropy = 0.05 + 0.9 * np.exp(-4 * np.arange(n) / (n - 1))
    slow = np.exp(-np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]) / 8.0)
    reward = 0.55 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n)
    reward += 0.01 * np.linalg.cholesky(slow) @ rng.standard_normal(n)
    lengths = tuple(np.geomspace(PRIOR.lengths[0], PRIOR.lengths[-1], 16).tolist())
    shares = tuple(((i + 0.5) / 30, 1.0 / 30) for i in range(30))
    fine = reads_under(replace(PRIOR, lengths=lengths, shares=shares), entropy, reward)
    ours = reads_under(PRIOR, entropy, reward)
    for weights in ("averaged", "law"):
        ends = [
            reads.ceiling(getattr(reads, weights)).quantiles((0.025, 0.5, 0.975)) for reads in (ours, fine)
        ]
        # The nodes are few: what they leave is small to the interval, and covers as much.
        np.testing.assert_allclose(ends[0], ends[1], atol=0.03 * np.ptp(ends[1]))


def white_run(n=60, sd=0.01, seed=0):
    entropy = 0.05 + 0.9 * np.exp(-4 * np.arange(n) / (n - 1))
    return entropy, 0.55 - 0.2 * np.expm1(entropy) + sd * np.random.default_rng(seed).standard_normal(n)


def test_a_further_evaluation_scatters_by_the_residual():
    entropy, reward = white_run()
    (mean,), (fresh,) = (
        reads_under(WHITE, entropy, reward).predicted(np.array([0.3]), weight, fresh=fresh)
        for weight, fresh in (
            (reads_under(WHITE, entropy, reward).averaged, value) for value in (False, True)
        )
    )
    residual = np.sqrt(fresh.sd() ** 2 - mean.sd() ** 2)
    assert residual == pytest.approx(0.01, rel=0.2)


def test_memory_is_that_of_the_drift():
    entropy, reward = white_run()
    share, effective = reads_under(PRIOR, entropy, reward).memory()
    slow = np.exp(-np.abs(np.arange(60)[:, None] - np.arange(60)[None, :]) / 20.0) + 1e-9 * np.eye(60)
    drifting = reward + 0.03 * np.linalg.cholesky(slow) @ np.random.default_rng(1).standard_normal(60)
    more, fewer = reads_under(PRIOR, entropy, drifting).memory()
    assert share < 0.6 < 0.8 < more
    assert fewer < effective


def test_quantiles_are_those_of_the_cut_distribution():
    one = np.ones(1)
    cells = Cells(weight=one, location=0.0 * one, scale=one, df=NORMAL * one, top=0.5)
    chances = np.array([0.025, 0.5, 0.975])
    np.testing.assert_allclose(cells.quantiles(chances), ndtri(chances * ndtr(0.5)), atol=1e-5)


def test_a_free_curve_is_found_by_short_memory_where_a_long_drift_would_follow_the_misfit():
    n = 120
    entropy = 0.05 + 0.9 * np.exp(-4 * np.arange(n) / (n - 1))
    curve = 0.1 / (1.0 + np.exp((entropy / entropy.max() - 0.45) * 12.0))
    slow = np.exp(-np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]) / 3.0) + 1e-9 * np.eye(n)
    drift = 0.012 * np.linalg.cholesky(slow) @ np.random.default_rng(0).standard_normal(n)
    whole, short = reads_under(PRIOR, entropy, 0.4 + curve + drift).p_no_curve()
    assert short > 1.2 * whole


def test_a_tiny_change_of_the_input_changes_no_entropy_much():
    rng = np.random.default_rng(11)
    entropy = 0.3 + 0.2 * rng.random(25)
    reward = 0.5 + 0.05 * rng.standard_normal(25)
    for target in (0.45, 0.5, 0.55):
        one, other = (fit_arrays(entropy, reward * (1.0 + tiny)).entropy_for(target) for tiny in (0.0, 1e-12))
        assert len(one.intervals) == len(other.intervals)
        for mine, its in zip(one.intervals, other.intervals, strict=True):
            assert [end is None for end in mine] == [end is None for end in its]
            known = [(a, b) for a, b in zip(mine, its, strict=True) if a is not None]
            assert all(a == pytest.approx(b, rel=1e-3, abs=1e-3) for a, b in known)
