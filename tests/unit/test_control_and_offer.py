"""A log's own keys that show a controlled entropy, and the offer of a reward with more evaluations."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from entropylaw.logs.load import read_runs
from entropylaw.results.result import replace
from entropylaw.roles.select import select
from tests.findings import said
from tests.typed import typed

N = 60


def series(n=N):
    entropy = 0.2 + 0.6 * np.exp(-np.arange(n) / 8) + 0.02 * np.sin(np.arange(n))
    return entropy, 0.6 - 0.2 * np.expm1(entropy) + 0.001 * np.cos(3.0 * np.arange(n))


def adapted(entropy, target=0.3, delta=0.005):
    """The coefficient of TRL's and Skywork-OR1's controllers: up below the target, and down above it."""
    values = [0.05]
    for h in entropy[:-1]:
        values.append(max(values[-1] + (delta if h <= target else -delta), 0.0))
    return np.array(values)


def write(path, entropy_name="entropy", reward_name="reward", **columns):
    entropy, reward = series()
    names = ["step", entropy_name, reward_name, *columns]
    rows = np.column_stack([np.arange(N), entropy, reward, *columns.values()]).tolist()
    path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows) + "\n")


def cautions(folder, log="log.jsonl"):
    """The cautions of the columns, which those of the fit hold, too."""
    shown = typed("columns", log, "--format", "json", cwd=folder)
    found = json.loads(shown.stdout)["runs"][0]["cautions"]
    fitted = typed("fit", log, "--format", "json", "-o", "-", cwd=folder)
    run = json.loads(fitted.stdout)["runs"][0]
    answer = run["answer"]
    # A control voids the test of the law, and is the reason why it is undecided.
    held = {text for text in found if text.startswith("the entropy is controlled: ")}
    assert held <= set(said(answer, "reason"))
    # An offer is taken up: the training reward is fitted, too.
    offers = {text for text in found if text.startswith("the training reward has ")}
    assert bool(offers) == (run["training"] is not None)
    assert set(found) - held - offers <= set(said(answer, "caution"))
    return found


def controlled(folder):
    return [text for text in cautions(folder) if text.startswith("the entropy is controlled: ")]


@pytest.mark.parametrize("lag", [0, 1])
def test_a_coefficient_that_answers_the_entropy_is_a_control(tmp_path, lag):
    entropy, _ = series()
    # Falling below 0.3 only late: more waves, so that the coefficient goes up and down.
    target = float(np.median(entropy[20:]))
    write(tmp_path / "log.jsonl", entropy_coef=np.roll(adapted(entropy, target), -lag))
    (caution,) = controlled(tmp_path)
    assert "entropy_coef" in caution
    assert "not an outcome of the training" in caution


@pytest.mark.parametrize("coefficient", [0.01, np.float32(0.01) * (1 + 1e-7 * (np.arange(N) % 2))])
def test_a_constant_coefficient_is_no_control(tmp_path, coefficient):
    write(tmp_path / "log.jsonl", **{"actor/entropy_coeff": np.full(N, coefficient)})
    assert not controlled(tmp_path)
    assert any("entropy term" in text for text in cautions(tmp_path))


@pytest.mark.parametrize(
    "name", ["actor/entropy_coeff", "actor/adaptive_entropy_coeff", "train/entropy_coef", "ent_coef"]
)
def test_a_coefficient_that_varies_is_a_control_by_the_range_that_was_seen(tmp_path, name):
    # A controller that only ever raises it, for the entropy never gets back to its target.
    write(tmp_path / "log.jsonl", **{name: np.linspace(0.001, 0.02, N)})
    (caution,) = controlled(tmp_path)
    assert f"{name!r} of its term in the loss varies over the run, from 0.001 to 0.02" in caution
    assert not any("entropy term" in text for text in cautions(tmp_path))


def test_a_coefficient_that_never_leaves_zero_is_no_control(tmp_path):
    write(
        tmp_path / "log.jsonl", **{"actor/entropy_coeff": np.zeros(N), "actor/adaptive_entropy": np.ones(N)}
    )
    assert not controlled(tmp_path)


@pytest.mark.parametrize(("value", "expected"), [(1.0, True), (0.0, False)])
def test_a_logged_switch_is_a_control_where_it_is_on(tmp_path, value, expected):
    write(tmp_path / "log.jsonl", **{"actor/adaptive_entropy": np.full(N, value)})
    assert bool(controlled(tmp_path)) is expected


def test_the_finding_has_what_was_seen(tmp_path):
    write(tmp_path / "log.jsonl", entropy_coef=np.linspace(0.001, 0.02, N))
    (run,) = read_runs(tmp_path / "log.jsonl")
    (found,) = select(run).findings
    assert (found.code, found.severity) == ("entropy-controlled", "caution")
    assert found.values == {"by": "varying-coefficient", "name": "entropy_coef", "low": 0.001, "high": 0.02}


@pytest.mark.parametrize(
    "name", ["target_entropy", "actor/target_entropy", "train/ent_coef_loss", "entropy_target"]
)
def test_a_logged_target_or_a_learned_coefficient_is_a_control(tmp_path, name):
    write(tmp_path / "log.jsonl", **{name: np.full(N, 0.2)})
    (caution,) = controlled(tmp_path)
    assert name in caution


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("use_adaptive_entropy: true\nentropy_target: 0.2", True),
        ("use_adaptive_entropy: false\nentropy_target: 0.2", False),
        ("algorithm:\n  use_adapt_ent: true\n  target_ent: 0.2", True),
        ("actor_rollout_ref:\n  adaptive_entropy:\n    enabled: true", True),
        ("actor_rollout_ref:\n  adaptive_entropy:\n    enabled: false\n    target_ent: 0.2", False),
        ("actor:\n  use_adaptive_entropy_adjustment: true\n  target_entropy: 0.2", True),
        ("use_adaptive_ent: true\ntgt_entropy: 0.2", True),
        ("tgt_entropy: 0.2", True),
        ("actor:\n  aent:\n    adaptive_coeff: true", True),
        ("actor:\n  aent:\n    adaptive_coeff: false", False),
        ("target_entropy: auto", True),
        ("target_entropy: null", False),
    ],
)
def test_settings_that_turn_a_control_on(tmp_path, settings, expected):
    write(tmp_path / "log.jsonl")
    (tmp_path / "config.yaml").write_text(settings + "\n")
    assert bool(controlled(tmp_path)) is expected


def test_a_control_that_never_did_anything_is_none(tmp_path):
    write(tmp_path / "log.jsonl", entropy_coef=np.zeros(N))
    (tmp_path / "config.yaml").write_text("use_adaptive_entropy: true\n")
    assert not controlled(tmp_path)


def test_the_numbers_are_the_same_with_a_control_and_the_test_is_void(tmp_path):
    write(tmp_path / "plain.jsonl")
    write(tmp_path / "held.jsonl", target_entropy=np.full(N, 0.2))
    answers = []
    for name in ("plain", "held"):
        done = typed("fit", f"{name}.jsonl", "--format", "json", "-o", "-", cwd=tmp_path)
        answers.append(json.loads(done.stdout)["runs"][0]["answer"])
    plain, held = answers
    assert plain["ceiling"] == held["ceiling"]
    assert plain["law"]["ceiling"] == held["law"]["ceiling"]
    assert plain["tests"] == held["tests"]
    assert plain["verdict"] != held["verdict"] == "undecided"
    assert held["why"] is None


def with_validation(path, every):
    entropy, reward = series()
    rows = []
    for step in range(N):
        row = {"step": step, "actor/entropy": float(entropy[step]), "critic/score/mean": float(reward[step])}
        if step % every == 0 and step:
            row["val-core/gsm8k/acc/mean@1"] = float(reward[step])
        rows.append(json.dumps(row))
    path.write_text("\n".join(rows) + "\n")


def test_few_validations_are_fitted_and_the_training_reward_beside_them(tmp_path):
    with_validation(tmp_path / "log.jsonl", 10)
    done = typed("fit", "log.jsonl", "--format", "json", "-o", "-", cwd=tmp_path)
    (run,) = json.loads(done.stdout)["runs"]
    assert run["reward_column"]["column"].startswith("val-core/")
    assert run["answer"]["law"]["n"] == 5
    assert run["training"]["reward_column"]["column"] == "critic/score/mean"
    assert run["training"]["answer"]["law"]["n"] == 60
    alone = typed(
        "fit", "log.jsonl", "--reward", "critic/score/mean", "--format", "json", "-o", "-", cwd=tmp_path
    )
    named = json.loads(alone.stdout)["runs"][0]["answer"]
    assert run["training"]["answer"]["ceiling"] == named["ceiling"]
    shown = typed("columns", "log.jsonl", cwd=tmp_path).stdout
    assert "--reward critic/score/mean" in " ".join(shown.split())
    text = typed("fit", "log.jsonl", "-o", "-", cwd=tmp_path).stdout
    assert "training reward 'critic/score/mean', 60 evaluations: " in " ".join(text.split())
    typed("report", "log.jsonl", "-o", "out", "--figures", "none", cwd=tmp_path)
    for page in ("report.md", "runs/log.html"):
        text = (tmp_path / "out" / page).read_text()
        assert re.search(r"critic/score/mean\S+, 60 evaluations", text), page


def test_nine_validations_caution_and_twelve_do_not(tmp_path):
    for every, offered in ((6, True), (4, False)):
        with_validation(tmp_path / "log.jsonl", every)
        assert any("--reward critic/score/mean" in text for text in cautions(tmp_path)) is offered


def test_a_refusal_for_too_few_names_the_flag_in_every_command(tmp_path):
    with_validation(tmp_path / "log.jsonl", 15)
    reward = ("--reward", "val-core/gsm8k/acc/mean@1")
    commands = (("fit",), ("check", "--fail-if", "refused"), ("report", "-o", "out", "--figures", "none"))
    for command in commands:
        done = typed(command[0], "log.jsonl", *command[1:], *reward, cwd=tmp_path)
        said = " ".join((done.stdout + done.stderr).split())
        # `fit` shows the answer of the training reward; a gate and a report are of the reward named.
        assert done.returncode == {"fit": 0, "check": 5, "report": 4}[command[0]]
        assert "too-few-evaluations" in said
        assert "--reward critic/score/mean" in said


def few_validations(tmp_path, every=10):
    with_validation(tmp_path / "log.jsonl", every)
    (run,) = read_runs(tmp_path / "log.jsonl")
    return run


def test_few_validations_come_with_the_series_of_the_training_reward(tmp_path):
    run = few_validations(tmp_path)
    series = select(run)
    assert series.reward_choice.column.startswith("val-core/")
    longer = series.training
    assert series.rewards == (series, longer)
    named = select(run, reward="critic/score/mean")
    for field in ("step", "entropy", "reward"):
        np.testing.assert_array_equal(getattr(longer, field), getattr(named, field))
    assert (longer.pair, longer.notes, longer.dropped) == (named.pair, named.notes, named.dropped)
    assert longer.reward_choice.column == "critic/score/mean"
    assert longer.reward_choice.meaning.kind == "training"
    assert "60 pairs" in longer.reward_choice.why
    assert longer.training is None
    assert longer.offer is None


def test_enough_validations_and_a_named_training_reward_come_alone(tmp_path):
    run = few_validations(tmp_path, 4)
    assert len(select(run).rewards) == 1
    assert select(few_validations(tmp_path), reward="critic/score/mean").training is None


def test_the_training_series_has_the_noise_of_its_own_entropies(tmp_path):
    run = few_validations(tmp_path)
    assert select(run, entropy_sd="0.02").training.entropy_sd.tolist() == [0.02] * N
    # Known at the validations' steps only: the training reward cannot be fitted with it.
    noise = np.where(np.isfinite(run.columns["val-core/gsm8k/acc/mean@1"]), 0.02, np.nan)
    noise[1:] = np.where(np.isfinite(noise[:-1]), 0.02, noise[1:])
    known = replace(run, columns={**run.columns, "se": noise})
    series = select(known, entropy_sd="se")
    assert series.training is None
    assert series.offer is not None
