"""A log's own keys that show a controlled entropy, and the offer of a reward with more evaluations."""

from __future__ import annotations

import json

import numpy as np
import pytest

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
    law = json.loads(fitted.stdout)["runs"][0]["law"]
    assert set(found) <= set(said(law["validity"], "caution"))
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


@pytest.mark.parametrize(
    "coefficient", [np.full(N, 0.01), np.linspace(0.0, 0.02, N), 0.01 + 0.005 * np.sin(2.9 * np.arange(N))]
)
def test_a_constant_a_schedule_and_one_that_answers_nothing_are_none(tmp_path, coefficient):
    write(tmp_path / "log.jsonl", entropy_coef=coefficient)
    assert not controlled(tmp_path)
    assert any("entropy term" in text for text in cautions(tmp_path))


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


def test_the_fit_is_the_same_with_a_control(tmp_path):
    write(tmp_path / "plain.jsonl")
    write(tmp_path / "held.jsonl", target_entropy=np.full(N, 0.2))
    laws = []
    for name in ("plain", "held"):
        done = typed("fit", f"{name}.jsonl", "--format", "json", "-o", "-", cwd=tmp_path)
        laws.append(json.loads(done.stdout)["runs"][0]["law"])
    assert laws[0]["ceiling"] == laws[1]["ceiling"]
    assert laws[0]["validity"]["ok"] == laws[1]["validity"]["ok"]


def with_validation(path, every):
    entropy, reward = series()
    rows = []
    for step in range(N):
        row = {"step": step, "actor/entropy": float(entropy[step]), "critic/score/mean": float(reward[step])}
        if step % every == 0 and step:
            row["val-core/gsm8k/acc/mean@1"] = float(reward[step])
        rows.append(json.dumps(row))
    path.write_text("\n".join(rows) + "\n")


def test_few_validations_offer_the_training_reward_and_do_not_take_it(tmp_path):
    with_validation(tmp_path / "log.jsonl", 10)
    done = typed("fit", "log.jsonl", "--format", "json", "-o", "-", cwd=tmp_path)
    (run,) = json.loads(done.stdout)["runs"]
    assert run["reward_column"]["column"].startswith("val-core/")
    assert run["law"]["n"] == 5
    reasons = said(run["law"]["validity"], "reason")
    assert any("--reward critic/score/mean" in text and "60 evaluations" in text for text in reasons)
    shown = typed("columns", "log.jsonl", cwd=tmp_path).stdout
    assert "--reward critic/score/mean" in " ".join(shown.split())
    text = typed("fit", "log.jsonl", "-o", "-", cwd=tmp_path).stdout
    assert "--reward critic/score/mean" in " ".join(text.split())
    typed("report", "log.jsonl", "-o", "out", "--figures", "none", cwd=tmp_path)
    for page in ("report.md", "runs/log.html"):
        assert "--reward critic/score/mean" in (tmp_path / "out" / page).read_text()


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
        assert done.returncode in (4, 5)
        assert "too-few-evaluations" in said
        assert "--reward critic/score/mean" in said
