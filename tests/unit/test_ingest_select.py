"""Choosing columns, pairing them, and explaining both."""

import numpy as np
import pytest

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest import explain, read_runs, select
from entropylaw.results.columns import Refusal
from tests.hostile import refused

NAN = float("nan")


def run_of(**columns):
    names = {name.replace("__", "/"): cells for name, cells in columns.items()}
    length = len(next(iter(names.values())))
    (run,) = read_runs({"step": list(range(1, length + 1)), **names})
    return run


def verl(steps=12, every=2):
    """A verl log: validation on every second row, of the policy after that row's update."""
    return run_of(
        actor__entropy=[1 - step / 100 for step in range(1, steps + 1)],
        critic__score__mean=[step / 50 for step in range(1, steps + 1)],
        **{
            "val-core/gsm8k/acc/mean@1": [
                step / 20 if step % every == 0 else NAN for step in range(1, steps + 1)
            ]
        },
    )


def test_verls_validation_belongs_with_the_next_entropy():
    series = select(verl())
    assert series.pair == "next"
    assert series.reward_choice.column == "val-core/gsm8k/acc/mean@1"
    assert series.reward_choice.meaning.kind == "validation"
    assert series.step.tolist() == [2, 4, 6, 8, 10]
    # H as logged on the rows 3, 5, 7, 9, 11
    np.testing.assert_allclose(series.entropy, [0.97, 0.95, 0.93, 0.91, 0.89], rtol=1e-12)
    np.testing.assert_allclose(series.reward, [0.1, 0.2, 0.3, 0.4, 0.5], rtol=1e-12)
    assert series.dropped == {"no entropy at the step after": 1}
    assert "after it" in explain(verl()).pair_why


def test_the_pairing_can_be_named():
    series = select(verl(), pair="same")
    assert series.step.tolist() == [2, 4, 6, 8, 10, 12]
    np.testing.assert_allclose(series.entropy, [0.98, 0.96, 0.94, 0.92, 0.90, 0.88], rtol=1e-12)
    assert series.dropped == {}


def test_four_validations_are_too_few_and_the_training_reward_says_so():
    series = select(verl(steps=9))
    assert series.reward_choice.column == "critic/score/mean"
    assert series.reward_choice.meaning.kind == "training"
    assert "only 4 pairs" in series.reward_choice.why
    assert any("training reward" in note for note in series.notes)
    assert (series.pair, len(series.step)) == ("same", 9)


def test_an_evaluation_from_before_training_belongs_with_its_own_step():
    run = run_of(
        actor__entropy_loss=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3],
        **{
            "test_score/a": [0.1] + [NAN] * 6,
            "val/test_score/a": [NAN, 0.2, 0.3, 0.4, 0.5, 0.6, NAN],
        },
    )
    series = select(run)
    assert series.step.tolist() == [1, 2, 3, 4, 5, 6]
    assert series.entropy.tolist() == [0.9, 0.7, 0.6, 0.5, 0.4, 0.3]
    assert any("before training" in note for note in series.notes)


def test_next_reaches_one_spacing_and_no_further():
    steps = [1, 10, 11, 20, 30, 31, 55, 56]
    entropy = [NAN, 0.9, NAN, 0.8, 0.7, NAN, NAN, 0.5]
    reward = [0.1, NAN, 0.2, NAN, NAN, 0.3, 0.4, NAN]
    (run,) = read_runs({"step": steps, "entropy": entropy, "val_acc": reward})
    series = select(run, pair="next")
    # entropies at 10, 20, 30, 56: the median spacing is 10, so that 31 reaches to 41 only
    assert series.step.tolist() == [1, 11, 55]
    assert series.entropy.tolist() == [0.9, 0.8, 0.5]
    assert series.dropped == {"no entropy at the step after": 1}


def test_pairs_are_dropped_one_by_one_with_a_reason():
    run = run_of(
        entropy=[0.9, NAN, np.inf, 0.6, 0.5, 13.0],
        reward=[0.1, 0.2, 0.3, -np.inf, NAN, 0.6],
    )
    series = select(run)
    assert series.step.tolist() == [1]
    assert series.dropped == {
        "no entropy at that step": 1,
        "entropy is infinite": 1,
        "entropy above 12 nats": 1,
        "reward is infinite": 1,
    }


def test_a_negated_entropy_is_turned_and_says_so():
    run = run_of(train__entropy_loss=[-1.9, -1.0, -0.2], rollout__ep_rew_mean=[50, 100, 216])
    series = select(run)
    assert series.entropy.tolist() == [1.9, 1.0, 0.2]
    assert series.entropy_choice.meaning.sign == -1
    assert series.entropy_choice.meaning.trainer == "stable-baselines3"
    assert any("minus the entropy" in note for note in series.notes)


def test_rounding_below_zero_is_no_sign():
    series = select(run_of(entropy=[0.5, 0.1, -1e-9], reward=[0, 1, 2]))
    assert series.entropy_choice.meaning.sign == 1
    assert series.entropy.tolist() == [0.5, 0.1, -1e-9]


@pytest.mark.parametrize("entropy", [0.0, 1e-25])
def test_an_entropy_of_a_collapsed_policy_is_read(entropy):
    assert select(run_of(entropy=[entropy] * 6, reward=[1.0] * 6)).entropy.tolist() == [entropy] * 6


def test_of_several_data_sets_the_one_with_most_values_then_the_first_name():
    head = {"actor/entropy": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]}
    b = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, NAN]
    names = {"val-core/b/acc/mean@1": b, "val-core/a/acc/mean@1": [NAN, *b[1:]], "val-core/c/acc/mean@1": b}
    choice = select(run_of(**head, **names)).reward_choice
    assert choice.column == "val-core/b/acc/mean@1"
    assert "'val-core/a/acc/mean@1'" in choice.why
    assert "'val-core/c/acc/mean@1'" in choice.why


def test_the_mean_comes_before_the_best_and_accuracy_before_reward():
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    names = ["d/acc/best@4/mean", "d/acc/maj@4/mean", "d/reward/mean@4", "d/acc/mean@4"]
    run = run_of(actor__entropy=values, **{f"val-core/{name}": values for name in names})
    assert select(run).reward_choice.column == "val-core/d/acc/mean@4"


def test_columns_that_the_user_names():
    run = run_of(actor__entropy=[0.9, 0.8], critic__score__mean=[0.1, 0.2], H=[0.7, 0.6], R=[3, 4])
    series = select(run, entropy="H", reward="R")
    assert (series.entropy.tolist(), series.reward.tolist()) == ([0.7, 0.6], [3, 4])
    assert series.entropy_choice.meaning.trainer == "user"
    assert series.entropy_choice.meaning.unit is None
    assert series.reward_choice.meaning.kind is None
    known = select(run, entropy="actor_entropy", reward="critic.score.mean")
    assert known.entropy_choice.column == "actor/entropy"
    assert known.reward_choice.meaning.kind == "training"


GOOD = {"entropy": [0.9, 0.8, 0.7], "reward": [0.1, 0.2, 0.3]}


@pytest.mark.parametrize(
    ("columns", "options", "slug", "found"),
    [
        (
            {**GOOD, "entropy": [-1, 1, 2]},
            {},
            "entropy-both-signs",
            "from -1 to 2 (1 values below 0, 2 above)",
        ),
        ({**GOOD, "entropy": [200, 190, 180]}, {}, "entropy-not-a-mean", "a median of 190"),
        ({**GOOD, "entropy": ["NaN"] * 3}, {}, "column-empty", "'entropy'"),
        ({**GOOD, "reward": [None] * 3}, {}, "column-empty", "'reward'"),
        ({**GOOD, "entropy": ["1%", "2%", "3%"]}, {}, "column-not-numeric", "'1%'"),
        ({**GOOD, "H": ["a", "b", "c"]}, {"entropy": "H"}, "column-not-numeric", "text of 1 character"),
        ({**GOOD, "H": [NAN] * 3}, {"entropy": "H"}, "column-empty", "'H'"),
        ({**GOOD, "R": [NAN] * 3}, {"reward": "R"}, "column-empty", "'R'"),
        (GOOD, {"entropy": "entrpy"}, "column-not-found", "'entrpy'"),
        (GOOD, {"reward": "x\ny"}, "column-not-found", r"'x\ny'"),
        (
            {"reward": [1, 2], "entrpy": [1, 2], "entropy_coef": [0, 0]},
            {},
            "no-entropy-column",
            "'entrpy' looks like one",
        ),
        ({"entropy": [1, 2], "rewrad": [1, 2]}, {}, "no-reward-column", "'rewrad'"),
        (
            {"entropy": [1, NAN, 2], "reward": [NAN, 1, NAN]},
            {},
            "no-pairs",
            "at steps 1, 3, 'reward' at steps 2",
        ),
    ],
)
def test_errors(columns, options, slug, found):
    run = run_of(**columns)
    error = refused(slug, select, run, **options)
    assert found in error.message
    assert "\n" not in str(error)
    assert "response length" in error.hint or slug != "entropy-not-a-mean"
    assert explain(run, **options).problem == Refusal(slug=slug, message=error.message, hint=error.hint)


def test_usage_errors():
    run = run_of(**GOOD)
    with pytest.raises(UsageError, match="same or next") as caught:
        select(run, pair="previous")
    assert caught.value.slug == "pair-unknown"
    with pytest.raises(UsageError, match="two columns") as caught:
        select(run, entropy="entropy", reward="entropy")
    assert caught.value.slug == "same-column"


def test_the_error_for_a_missing_entropy_says_when_its_trainer_logs_one():
    run = run_of(reward=[1, 2], completions__mean_length=[10, 11])
    with pytest.raises(InputError) as caught:
        select(run)
    assert "TRL logs it from 0.20" in caught.value.hint


def test_explain_names_what_is_used_what_is_not_and_why():
    run = run_of(
        actor__entropy=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
        actor__entropy_loss=[0.91, 0.81, 0.71, 0.61, 0.51, 0.41],
        critic__score__mean=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        timing_s__old_log_prob_entropy=[1.0] * 6,
        actor__entropy_coeff=[0.0] * 6,
        odd_entropy_thing=[1.0] * 6,
        perf__mfu=[0.3] * 6,
    )
    report = explain(run)
    assert report.trainer == "verl"
    assert (report.step_column, report.steps, report.first_step, report.last_step) == ("step", 6, 1, 6)
    assert [(c.column, c.used) for c in report.entropy] == [
        ("actor/entropy", True),
        ("actor/entropy_loss", False),
    ]
    (reward,) = report.reward
    assert (reward.column, reward.used, reward.usable, reward.low, reward.high) == (
        *("critic/score/mean", True, 6),
        *(0.1, 0.6),
    )
    reasons = {decoy.column: decoy.why for decoy in report.decoys}
    assert reasons == {
        "timing_s/old_log_prob_entropy": "a duration",
        "actor/entropy_coeff": "a coefficient, no entropy",
        "odd_entropy_thing": "a name that is not in the catalog",
    }
    assert report.coefficients == {"actor/entropy_coeff": (0.0, 0.0)}
    assert (report.pair, report.pairs, report.unpaired_entropy, report.problem) == ("same", 6, 0, None)
    assert report.other_columns == 1


def test_explain_counts_entropies_without_a_reward_as_no_loss():
    report = explain(run_of(entropy=[0.9, 0.8, 0.7, 0.6], reward=[0.1, NAN, 0.3, NAN]))
    assert (report.pairs, report.unpaired_entropy, dict(report.dropped)) == (2, 2, {})
