"""What real logs do, a small file each: the quirks that decided how logs are read."""

import numpy as np
import pytest

from entropylaw import fit_logs, fit_run, read_runs, select
from entropylaw.results import Why

STEPS = np.arange(1, 41)
ENTROPY = np.exp(-STEPS / 15)


def table(folder, columns, name="x.csv"):
    """Write columns as CSV, nan and None as empty cells."""
    rows = zip(*columns.values(), strict=True)
    cells = [["" if cell is None or cell != cell else str(cell) for cell in row] for row in rows]
    path = folder / name
    path.write_text("\n".join(",".join(row) for row in [list(columns), *cells]) + "\n", encoding="utf-8")
    return path


def lawful(entropy=ENTROPY, a=0.3, b=1.0, wobble=0.004):
    """Rewards by the law, with a little that it does not explain."""
    return b - a * np.exp(entropy) + wobble * np.sin(np.arange(len(entropy)) * 2.4)


def the(path):
    (run,) = read_runs(path)
    return run


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("actor/entropy", "actor/entropy_loss"),
        ("actor_entropy", "entropy_loss"),
        ("train/entropy", "train/entropy_loss"),
        ("policy.policy_entropy", "entropy_coef"),
        ("optim/entropy", "timing_s/old_log_prob_entropy"),
    ],
)
def test_whole_names_by_priority_never_a_part_of_one(tmp_path, better, worse):
    path = table(tmp_path, {"step": STEPS, worse: ENTROPY + 1, better: ENTROPY, "reward": lawful()})
    assert select(the(path)).entropy_choice.column == better


def test_every_fit_says_which_entropy_it_is(tmp_path):
    sampled = table(tmp_path, {"step": STEPS, "optim/entropy": ENTROPY, "env/all/reward/total": lawful()})
    exact = table(tmp_path, {"step": STEPS, "actor/entropy": ENTROPY, "critic/score/mean": lawful()}, "y.csv")
    first, second = select(the(sampled)), select(the(exact))
    assert (first.entropy_choice.meaning.estimator, second.entropy_choice.meaning.estimator) == (
        "sampled",
        "exact",
    )
    assert first.entropy_choice.meaning.timing == "before the update"
    assert second.entropy_choice.meaning.temperature == "scaled by the sampling temperature"
    assert any("sampled estimate" in caution for caution in fit_run(the(sampled)).cautions)


def test_the_ends_of_verls_console(tmp_path):
    lines = ["step:0 - val-core/x/acc/mean@1:0.2"]
    lines += [
        f"step:{s} - actor/entropy:{h:.3f} - critic/score/mean:{s / 99:.3f}"
        for s, h in zip(STEPS, ENTROPY, strict=True)
    ]
    lines += ["step:40 - val-core/x/acc/mean@1:0.9"]
    path = tmp_path / "verl.log"
    path.write_text("\n".join(lines))
    run = the(path)
    assert run.step.tolist() == list(range(41))
    assert run.columns["val-core/x/acc/mean@1"][[0, 40]].tolist() == [0.2, 0.9]
    assert run.columns["actor/entropy"][40] == round(ENTROPY[39], 3)
    assert run.dropped == {}


def test_a_first_evaluation_that_carries_the_fit_is_named(tmp_path):
    entropy = 0.34 - 0.002 * STEPS
    reward = np.where(STEPS == 1, 0.2, 0.8 + 0.0005 * STEPS)
    entropy[0] = 0.6
    fit = fit_run(the(table(tmp_path, {"step": STEPS, "entropy": entropy, "reward": reward})))
    assert fit.verdict != "holds"
    assert any("depends on one evaluation: without step 1 " in caution for caution in fit.cautions)


def test_a_prediction_beyond_the_entropies_seen_says_so(tmp_path):
    fit = fit_run(the(table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": lawful()})))
    assert fit.predict(ENTROPY[-1] / 2).extrapolated
    assert not fit.predict(0.5).extrapolated


def test_rewards_of_any_range_are_not_clipped(tmp_path):
    reward = 400 * lawful() - 100
    path = table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": reward})
    fit = fit_run(the(path))
    assert select(the(path)).reward.tolist() == reward.tolist()
    assert fit.verdict == "holds"
    assert not any("above 1" in text for text in (*fit.reasons, *fit.cautions))
    high = lawful(b=1.33)
    bounded = fit_run(
        the(table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": np.minimum(high, 1.0)}))
    )
    assert any("above 1" in text for text in bounded.cautions)


def test_a_log_whose_entropy_hardly_moves_cannot_tell_a_from_b(tmp_path):
    entropy = 0.05 + 0.01 * np.cos(STEPS)
    fit = fit_run(
        the(table(tmp_path, {"step": STEPS, "entropy": entropy, "reward": 0.9 + 0.01 * np.sin(STEPS)}))
    )
    assert fit.verdict == "undecided"
    assert any("0.15" in reason for reason in fit.reasons)
    assert fit.a.high - fit.a.low > 0.2


def test_that_the_law_fails_is_an_answer(tmp_path):
    against = table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": lawful(a=-0.3)})
    document = fit_logs([str(against)])
    (run,) = document.runs
    assert run.refusal is None
    assert (run.verdict, run.answer.why) == ("fails", Why.no_relation)
    assert any("the law needs a > 0" in reason for reason in run.answer.reasons)
