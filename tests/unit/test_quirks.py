"""What real logs do, a small file each: the quirks that decided how logs are read."""

import json
import math

import numpy as np
import pytest

from entropylaw import fit_logs, fit_run, read_runs, select
from entropylaw.errors import FitError, InputError
from entropylaw.ingest import explain
from entropylaw.ingest.pairing import ENTROPY_TOO_HIGH, NO_NEXT
from entropylaw.ingest.segments import OVERWRITTEN, SUPERSEDED

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
def test_01_whole_names_by_priority_never_a_part_of_one(tmp_path, better, worse):
    path = table(tmp_path, {"step": STEPS, worse: ENTROPY + 1, better: ENTROPY, "reward": lawful()})
    assert select(the(path)).entropy_choice.column == better


def test_02_a_negative_column_is_minus_the_entropy(tmp_path):
    path = table(tmp_path, {"step": STEPS, "train/entropy_loss": -ENTROPY, "rollout/ep_rew_mean": lawful()})
    series = select(the(path))
    assert series.entropy.tolist() == ENTROPY.tolist()
    assert any("its sign was turned" in note for note in series.notes)
    path = table(tmp_path, {"step": STEPS, "actor/entropy_loss": ENTROPY, "critic/score/mean": lawful()})
    assert select(the(path)).entropy.tolist() == ENTROPY.tolist()
    path = table(tmp_path, {"step": STEPS, "entropy": ENTROPY - 0.5, "reward": lawful()})
    with pytest.raises(InputError) as caught:
        select(the(path))
    assert caught.value.slug == "entropy-both-signs"


def test_03_a_sum_over_tokens_is_refused(tmp_path):
    path = table(tmp_path, {"step": STEPS, "actor/entropy": 300 * ENTROPY, "critic/score/mean": lawful()})
    with pytest.raises(InputError, match="sum over tokens") as caught:
        select(the(path))
    assert caught.value.slug == "entropy-not-a-mean"
    assert "response length" in caught.value.hint


def test_04_every_fit_says_which_entropy_it_is(tmp_path):
    sampled = table(tmp_path, {"step": STEPS, "optim/entropy": ENTROPY, "env/all/reward/total": lawful()})
    exact = table(tmp_path, {"step": STEPS, "actor/entropy": ENTROPY, "critic/score/mean": lawful()}, "y.csv")
    first, second = select(the(sampled)), select(the(exact))
    assert (first.entropy_choice.meaning.estimator, second.entropy_choice.meaning.estimator) == (
        "sampled",
        "exact",
    )
    assert first.entropy_choice.meaning.timing == "before the update"
    assert second.entropy_choice.meaning.temperature == "scaled by the sampling temperature"
    assert any("sampled estimate" in caution for caution in fit_run(the(sampled)).validity.cautions)


def test_05_verls_validation_belongs_with_the_next_entropy(tmp_path):
    validation = np.where(STEPS % 5 == 0, lawful(np.append(ENTROPY[1:], np.nan)), np.nan)
    path = table(tmp_path, {"step": STEPS, "actor/entropy": ENTROPY, "val-core/x/acc/mean@1": validation})
    series = select(the(path))
    assert series.pair == "next"
    assert series.step.tolist() == list(range(5, 40, 5))
    assert series.entropy.tolist() == ENTROPY[5:40:5].tolist()
    assert "after it" in explain(the(path)).pair_why
    assert select(the(path), pair="same").entropy.tolist() == ENTROPY[4:35:5].tolist()


def test_06_rows_are_dropped_pair_by_pair(tmp_path):
    validation = np.where(STEPS % 8 == 0, lawful(), np.nan)
    entropy = np.where(STEPS == 9, np.nan, ENTROPY)
    columns = {"step": STEPS, "actor/entropy": entropy, "critic/score/mean": lawful()}
    path = table(tmp_path, {**columns, "val-core/x/acc/mean@1": validation, "other": np.full(40, np.nan)})
    run = the(path)
    assert len(run.step) == 40
    assert len(select(run, reward="critic/score/mean").step) == 39
    series = select(run, reward="val-core/x/acc/mean@1")
    assert series.step.tolist() == [16, 24, 32]
    assert series.dropped == {NO_NEXT: 2}  # at 8, where it is missing, and at 40, the last


def test_07_steps_that_repeat_or_fall(tmp_path):
    def lines(steps, shift=0.0):
        return "".join(f'{{"step": {s}, "entropy": {1 / s + shift}, "reward": {s / 90}}}\n' for s in steps)

    path = tmp_path / "resumed.jsonl"
    path.write_text(lines(range(1, 31)) + lines(range(21, 41), shift=1))
    run = the(path)
    assert run.step.tolist() == list(range(1, 41))
    assert run.columns["entropy"][20] == 1 / 21 + 1
    assert sum(run.dropped.get(reason, 0) for reason in (SUPERSEDED, OVERWRITTEN)) == 10
    path.write_text(lines(range(1, 24)) + lines(range(1, 29)))
    first, second = read_runs(path)
    assert (len(first.step), len(second.step)) == (23, 28)
    assert second.name == "resumed#2"
    evaluated = "".join(f'{{"step": {s}, "eval_reward": {s / 90}}}\n' for s in range(4, 41, 4))
    merged = "".join(
        sorted((lines(range(1, 41)) + evaluated).splitlines(True), key=lambda x: json.loads(x)["step"])
    )
    path.write_text(merged)
    run = the(path)
    assert (len(run.step), run.dropped) == (40, {})


def test_08_the_ends_of_verls_console(tmp_path):
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


@pytest.mark.parametrize(
    ("entropy", "reward", "slug"),
    [(0 * ENTROPY, lawful(), "entropy-constant"), (ENTROPY, 0 * ENTROPY, "reward-constant")],
)
def test_09_constants_are_refused(tmp_path, entropy, reward, slug):
    path = table(tmp_path, {"step": STEPS, "entropy": entropy, "reward": reward})
    with pytest.raises(FitError) as caught:
        fit_run(the(path))
    assert caught.value.slug == slug


def test_10_a_first_evaluation_that_carries_the_fit_is_named(tmp_path):
    entropy = 0.34 - 0.002 * STEPS
    reward = np.where(STEPS == 1, 0.2, 0.8 + 0.0005 * STEPS)
    entropy[0] = 0.6
    fit = fit_run(the(table(tmp_path, {"step": STEPS, "entropy": entropy, "reward": reward})))
    said = " ".join((*fit.validity.reasons, *fit.validity.cautions))
    assert not fit.validity.ok
    assert "step 1" in said


def test_11_a_prediction_beyond_the_entropies_seen_says_so(tmp_path):
    fit = fit_run(the(table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": lawful()})))
    assert fit.predict(ENTROPY[-1] / 2).extrapolated
    assert not fit.predict(0.5).extrapolated


def test_12_an_explosion_beyond_any_vocabulary_is_left_out_and_counted(tmp_path):
    entropy = np.where(STEPS == 20, 40.0, ENTROPY)
    series = select(the(table(tmp_path, {"step": STEPS, "entropy": entropy, "reward": lawful()})))
    assert series.dropped == {ENTROPY_TOO_HIGH: 1}
    assert 20 not in series.step
    tiny = np.where(STEPS > 30, 1e-25, ENTROPY)
    assert (
        select(the(table(tmp_path, {"step": STEPS, "entropy": tiny, "reward": lawful()}))).entropy[-1]
        == 1e-25
    )


def test_13_rewards_of_any_range_are_not_clipped(tmp_path):
    reward = 400 * lawful() - 100
    path = table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": reward})
    fit = fit_run(the(path))
    assert select(the(path)).reward.tolist() == reward.tolist()
    assert fit.validity.ok
    assert not any("above 1" in text for text in (*fit.validity.reasons, *fit.validity.cautions))
    high = lawful(a=0.5, b=2.0)
    bounded = fit_run(
        the(table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": np.minimum(high, 1.0)}))
    )
    assert any("1" in text for text in (*bounded.validity.reasons, *bounded.validity.cautions))


def test_14_a_log_whose_entropy_hardly_moves_cannot_tell_a_from_b(tmp_path):
    entropy = 0.05 + 0.01 * np.cos(STEPS)
    fit = fit_run(
        the(table(tmp_path, {"step": STEPS, "entropy": entropy, "reward": 0.9 + 0.01 * np.sin(STEPS)}))
    )
    assert not fit.validity.ok
    assert any("0.15" in reason for reason in fit.validity.reasons)
    assert fit.a.high - fit.a.low > 0.2


def test_15_the_law_does_not_describe_this_run_is_an_answer(tmp_path):
    against = table(tmp_path, {"step": STEPS, "entropy": ENTROPY, "reward": lawful(a=-0.3)})
    document = fit_logs([str(against)])
    (run,) = document.runs
    assert run.refusal is None
    assert not run.law.validity.ok
    assert any("a is not above 0" in reason or "a " in reason for reason in run.law.validity.reasons)


def test_16_numbers_as_people_s_files_spell_them(tmp_path):
    cells = ["'0.5'", "np.float64(0.4)", "tensor(0.3)", "NaN", "null", "", "None", "Infinity", "0.2", "2.28%"]
    lines = [f'"{s}/438","{cell}",0.1' for s, cell in enumerate(cells, start=1)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["global_step/max_steps,entropy/mean,reward", *lines]) + "\n")
    run = the(path)
    assert run.step.tolist() == list(range(1, 11))
    found = run.columns["entropy/mean"].tolist()
    assert found[:3] == [0.5, 0.4, 0.3]
    assert all(map(math.isnan, [*found[3:7], found[9]]))
    assert found[7:9] == [math.inf, 0.2]
    assert any("'2.28%'" in note for note in run.notes)


def test_17_media_are_passed_over_and_nesting_is_flattened(tmp_path):
    rows = [
        {
            "step": int(s),
            "actor": {"entropy": float(h)},
            "critic": {"score": {"mean": float(r)}},
            "gradients": {"_type": "histogram", "values": [1, 2], "bins": [0, 1, 2]},
            "val/generations": {"_type": "table-file", "path": "x"},
        }
        for s, h, r in zip(STEPS, ENTROPY, lawful(), strict=True)
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    run = the(path)
    assert set(run.columns) == {"actor/entropy", "critic/score/mean"}
    dotted = table(tmp_path, {"step": STEPS, "actor.entropy": ENTROPY, "critic.score.mean": lawful()})
    assert select(the(dotted)).reward_choice.column == "critic.score.mean"
