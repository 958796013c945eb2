"""The answer for a run, averaged over the functional forms: against each form, sampling, and their errors."""

import numpy as np
import pytest
from scipy.special import stdtr

import entropylaw
from entropylaw import Fit, FitError, UsageError
from entropylaw.documents.codec import decode, encode
from entropylaw.engine.constants import AVERAGED
from entropylaw.results import Verdict, Why
from entropylaw.results.columns import Refusal
from entropylaw.results.result import replace
from tests.findings import stated
from tests.hostile import refused
from tests.laws import fit_arrays, fit_with

N = 80
TIME = np.linspace(0.0, 1.0, N)
ENTROPY = 0.05 + 0.9 * np.exp(-4 * TIME)


def noisy(reward: np.ndarray, sd: float = 0.01, seed: int = 3) -> np.ndarray:
    return reward + sd * np.random.default_rng(seed).standard_normal(N)


LAW = (ENTROPY, noisy(0.6 - 0.2 * np.expm1(ENTROPY)))


@pytest.fixture(scope="module")
def fit():
    return fit_arrays(*LAW)


def ends(one):
    return [one.low, one.value, one.high]


def test_probabilities_add_up_and_the_forms_are_in_their_order(fit):
    probabilities = [one.probability for one in fit.law.forms]
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-12)
    assert probabilities == sorted(probabilities, reverse=True)
    assert {one.form for one in fit.law.forms} | set(fit.law.skipped) == set(AVERAGED)
    assert fit.law.best is fit.law.forms[0]


def test_r_squared_is_that_of_least_squares_on_the_entropy_as_logged(fit):
    entropy, reward = LAW
    residual = reward - np.polyval(np.polyfit(np.exp(entropy), reward, 1), np.exp(entropy))
    assert fit.law.r_squared == pytest.approx(1 - np.var(residual) / np.var(reward), rel=1e-9)


def test_quantiles_are_those_of_draws_from_the_rows(fit):
    """Draw a row and a t: the quantiles of a million draws."""
    rng = np.random.default_rng(0)
    reads = fit.law.reads
    for weight, found in ((reads.law, fit.law.ceiling), (reads.averaged, fit.predict(0.0).mean)):
        rows = rng.choice(weight.size, size=1_000_000, p=weight)
        sample = reads.location[rows] + reads.scale[rows] * rng.standard_t(reads.table.df[rows])
        below = np.mean(sample[:, None] <= ends(found), axis=0)
        assert below == pytest.approx([0.025, 0.5, 0.975], abs=0.003)


def test_the_truth_of_any_form_is_covered_where_the_data_are_plain():
    truths = {
        "line": 0.6 - 0.3 * ENTROPY,
        "power": 0.6 - 0.3 * ENTROPY**2,
        "rate": 0.6 + 0.3 * np.expm1(-3.0 * ENTROPY),
    }
    for form, reward in truths.items():
        answer = fit_arrays(ENTROPY, noisy(reward, 0.004))
        at_zero = answer.predict(0.0).mean
        assert at_zero.low < 0.6 < at_zero.high
        assert answer.law.best.form in (form, "rate", "power", "square")


def test_predictions(fit):
    zero, inside = fit.predict([0.0, 0.3])
    assert zero.extrapolated
    assert not inside.extrapolated
    for one in (zero, inside):
        assert one.observation.low < one.mean.low < one.mean.high < one.observation.high
    assert ends(fit.predict(0.3).mean) == pytest.approx(ends(inside.mean), rel=1e-9)
    narrow = fit.predict(0.3, level=0.5)
    assert narrow.mean.width < inside.mean.width
    refused("bad-entropy", fit.predict, -0.1, kind=UsageError)


def test_predictions_are_averaged_and_not_the_laws(fit):
    entropy, reward = ENTROPY, noisy(0.6 - 0.3 * ENTROPY)
    line = fit_arrays(entropy, reward)
    assert line.law.best.form == "line"
    mine, its = line.predict(0.0).mean, line.law.predict(0.0).mean
    assert mine.low < 0.6 < mine.high
    assert its.high < mine.value


def test_the_entropy_for_a_reward_inverts_the_averaged_band(fit):
    target = fit.entropy_for(0.5)
    ((low, high),) = target.intervals
    assert low < target.value < high
    assert fit.predict(low).mean.low == pytest.approx(0.5, abs=1e-4)
    assert fit.predict(high).mean.high == pytest.approx(0.5, abs=1e-4)
    assert fit.predict(target.value).mean.value == pytest.approx(0.5, abs=1e-6)
    above = fit.entropy_for(0.9)
    assert (above.intervals, above.value) == ((), None)
    assert "no entropy" in above.note
    for wrong in (float("nan"), "x"):
        with pytest.raises(UsageError):
            fit.entropy_for(wrong)


def test_the_curve_is_that_of_the_predictions(fit):
    curve = fit.curve
    assert curve.flaw() == ""
    for i in (0, 12, 24):
        there = fit.predict(curve.entropy[i])
        found = (curve.low[i], curve.mean[i], curve.high[i])
        assert found == pytest.approx(ends(there.mean), abs=2e-4)
    assert set(curve.forms) >= {"law", "line"}
    assert curve.forms["law"][18] == pytest.approx(fit.law.predict(curve.entropy[18]).mean.value, abs=0.02)


def test_a_stored_fit_predicts_as_the_fresh_one(fit):
    for fresh in (fit, fit_arrays(*LAW, max_reward=0.601)):
        stored = decode(Fit, encode(fresh))
        assert ends(stored.predict(0.1).mean) == pytest.approx(ends(fresh.predict(0.1).mean), abs=1e-7)


def test_no_ceiling_is_above_the_largest_possible_reward(fit):
    most = float(fit.law.reward.max()) + 1e-4
    assert fit.law.ceiling.value < most < fit.law.ceiling.high
    bounded = fit_arrays(*LAW, max_reward=most)
    assert bounded.max_reward == most
    # Rows are weighed by the share of their ceiling that is possible.
    reads = fit.law.reads
    weight = reads.averaged * stdtr(reads.table.df, (most - reads.location) / reads.scale)
    for one in bounded.law.forms:
        share = weight[reads.table.is_form(one.form)].sum() / weight.sum()
        assert one.probability == pytest.approx(share, abs=1e-6)
    # Nothing that is said of a mean reward is above.
    assert bounded.law.ceiling.high <= most
    assert max(bounded.curve.high) <= most
    assert bounded.predict(0.0).mean.high <= most
    assert bounded.entropy_for(most + 0.001).intervals == ()
    assert bounded.state.now.high <= most
    # A bound far above says nothing.
    far = fit_arrays(*LAW, max_reward=3.0)
    assert ends(far.law.ceiling) == pytest.approx(ends(fit.law.ceiling), abs=1e-6)


@pytest.mark.parametrize("most", [0.5, "one", float("nan")])
def test_a_largest_reward_below_what_was_reached_is_refused(most):
    error = refused(
        "reward-above-max" if most == 0.5 else "bad-argument",
        fit_arrays,
        *LAW,
        max_reward=most,
        kind=FitError if most == 0.5 else UsageError,
    )
    assert error.hint


def test_the_law_takes_the_share_of_the_step_beside_it():
    """Reward that rises with the step beside its law in the entropy: the averaged curve has the term."""
    entropy = ENTROPY + 0.1 * np.sin(20 * TIME)
    staged = fit_arrays(entropy, noisy(0.5 - 0.2 * np.expm1(entropy) + 0.3 * TIME, 0.004))
    assert staged.law.p_term > 0.95
    # What more entropy would buy from the last step on, at which the term has 0.3.
    at_zero = staged.predict(0.0).mean
    assert at_zero.low < 0.8 < at_zero.high
    assert staged.law.ceiling.value < 0.7 < at_zero.low


def test_it_is_printed_briefly_and_has_tables(fit):
    text = " ".join(str(fit).split())
    assert fit.summary() == str(fit)
    for label in (fit.state.word, "next", "keep", "R = b − a·exp(H)", "law"):
        assert label in text
    assert f"{fit.verdict}; at H = 0: " in text
    frame = fit.to_frame()
    assert len(frame)
    assert fit.to_dict()["law"]["ceiling"]["value"] == pytest.approx(fit.law.ceiling.value, rel=1e-11)
    assert f"{fit.law.ceiling:.3f}" == f"{fit.law.ceiling.value:.3f}"
    assert float(fit.law.ceiling) == fit.law.ceiling.value


def test_a_table_is_taken_by_the_names_of_its_columns(fit):
    entropy, reward = LAW
    table = {"step": np.arange(len(entropy)), "H": entropy, "R": reward}
    named = entropylaw.fit(table, entropy="H", reward="R", max_reward="none")
    assert ends(named.law.ceiling) == ends(fit.law.ceiling)
    error = refused("column-not-found", entropylaw.fit, table, entropy="H", reward="reward")
    assert "no column 'reward'" in error.message


def test_an_entropy_that_is_controlled_voids_the_test(fit):
    known = stated("caution", "entropy is set")
    controlled = (replace(known[0], code="entropy-controlled", values={"by": "switch", "name": "x"}), *known)
    void = fit_with(controlled, *LAW)
    assert (fit.law.verdict, fit.law.why) == (Verdict.holds, None)
    assert (void.law.verdict, void.law.why) == (Verdict.undecided, Why.controlled)
    assert [finding.code for finding in void.findings if finding.severity == "reason"] == [
        "entropy-controlled"
    ]
    assert known[0] in void.findings
    assert (void.law.a, void.law.ceiling) == (fit.law.a, fit.law.ceiling)


def test_a_reason_belongs_to_a_law_that_does_not_hold(fit):
    law = fit.law
    assert law.flaw() == ""
    assert replace(law, why=Why.neither).flaw()
    assert replace(law, verdict=Verdict.fails).flaw()
    assert replace(law, reward=law.reward[1:]).flaw()
    assert fit.flaw() == ""
    assert replace(fit, law=None).flaw()
    assert replace(fit, law=None, state=None).flaw()
    assert replace(fit, no_law=Refusal(slug="no-entropy", message="none", hint="none")).flaw()
