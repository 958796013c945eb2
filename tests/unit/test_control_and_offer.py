"""What keys and settings of a log say: a controlled entropy, cautions, a reward with more evaluations."""

import json

import numpy as np
import pytest

from entropylaw import read_runs
from entropylaw.roles.rewards import select_all
from entropylaw.roles.select import select
from tests.findings import said
from tests.typed import assert_says, typed

pytestmark = pytest.mark.usefixtures("one_cache")

N = 60
STEP = np.arange(N)
ENTROPY = 0.2 + 0.6 * np.exp(-STEP / 8) + 0.02 * np.sin(STEP)
REWARD = 0.6 - 0.2 * np.expm1(ENTROPY) + 0.001 * np.cos(3.0 * STEP)
TRAINING, VALIDATION = "critic/score/mean", "val-core/gsm8k/acc/mean@1"


def adapted(target, delta=0.005):
    """The coefficient of TRL's and Skywork-OR1's controllers: up below the target, and down above it."""
    values = [0.05]
    for entropy in ENTROPY[:-1]:
        values.append(max(values[-1] + (delta if entropy <= target else -delta), 0.0))
    return np.array(values)


def write(path, **columns):
    return written(path, {"step": STEP, "entropy": ENTROPY, "reward": REWARD} | columns)


def written(path, columns):
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    return path


def controlled(path):
    (run,) = read_runs(path)
    return [text for text in select(run).cautions if text.startswith("the entropy is controlled: ")]


TARGET = float(np.median(ENTROPY[20:]))
ANSWERS = "rises where the entropy is below about 0.2"
RISING = np.linspace(0.001, 0.02, N)
KEYS = {
    # Falling below 0.3 only late: more waves, so that the coefficient goes up and down.
    **{
        f"a coefficient that answers {lag} later": (
            {"entropy_coef": np.roll(adapted(TARGET), lag - 1)},
            ANSWERS,
        )
        for lag in (0, 1)
    },
    # A controller that only ever raises it, for the entropy never gets back to its target.
    **{
        name: ({name: RISING}, f"{name!r} of its term in the loss varies over the run, from 0.001 to 0.02")
        for name in ("actor/entropy_coeff", "actor/adaptive_entropy_coeff", "train/entropy_coef", "ent_coef")
    },
    "a switch that is on": ({"actor/adaptive_entropy": np.ones(N)}, "actor/adaptive_entropy"),
    **{
        name: ({name: np.full(N, 0.2)}, name)
        for name in ("target_entropy", "actor/target_entropy", "train/ent_coef_loss", "entropy_target")
    },
    "a switch that is off": ({"actor/adaptive_entropy": np.zeros(N)}, None),
    "a coefficient that never leaves zero": (
        {"actor/entropy_coeff": np.zeros(N), "actor/adaptive_entropy": np.ones(N)},
        None,
    ),
    "a constant coefficient": ({"actor/entropy_coeff": np.full(N, 0.01)}, None),
    "a constant in float32": ({"actor/entropy_coeff": np.float32(0.01) * (1 + 1e-7 * (STEP % 2))}, None),
}


@pytest.mark.parametrize("name", KEYS)
def test_logged_keys_that_show_a_control(tmp_path, name):
    columns, words = KEYS[name]
    found = controlled(write(tmp_path / "log.jsonl", **columns))
    assert len(found) == (words is not None)
    assert words is None or words in found[0]
    (run,) = read_runs(tmp_path / "log.jsonl")
    assert ("entropy term" in "".join(select(run).cautions)) == name.startswith("a constant")


def test_the_finding_has_what_was_seen(tmp_path):
    (run,) = read_runs(write(tmp_path / "log.jsonl", entropy_coef=RISING))
    (found,) = select(run).findings
    assert (found.code, found.severity) == ("entropy-controlled", "caution")
    assert found.values == {"by": "varying-coefficient", "name": "entropy_coef", "low": 0.001, "high": 0.02}


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
    (tmp_path / "config.yaml").write_text(settings + "\n")
    assert bool(controlled(write(tmp_path / "log.jsonl"))) is expected
    # A control that never did anything is none.
    assert not controlled(write(tmp_path / "log.jsonl", entropy_coef=np.zeros(N)))


def test_the_numbers_are_the_same_with_a_control_and_the_test_is_void(tmp_path):
    write(tmp_path / "plain.jsonl")
    write(tmp_path / "held.jsonl", target_entropy=np.full(N, 0.2))
    commands = (("fit", f"{name}.jsonl", "--format", "json", "-o", "-") for name in ("plain", "held"))
    documents = [json.loads(typed(*command, cwd=tmp_path).stdout) for command in commands]
    plain, held = (document["runs"][0]["result"] for document in documents)
    assert plain["law"]["ceiling"] == held["law"]["ceiling"]
    assert plain["law"]["verdict"] != held["law"]["verdict"] == "undecided"
    assert held["law"]["why"] == "the entropy is controlled"
    # The control is the reason why the law is undecided.
    assert {*controlled(tmp_path / "held.jsonl")} <= {*said(held, "reason")}


def with_validation(path, every):
    validation = [float(r) if s % every == 0 and s else None for s, r in zip(STEP, REWARD, strict=True)]
    columns = {"step": STEP, "actor/entropy": ENTROPY, TRAINING: REWARD, VALIDATION: validation}
    return written(path, columns)


def test_few_validations_are_fitted_and_the_training_reward_beside_them(tmp_path):
    with_validation(tmp_path / "log.jsonl", 10)
    done = typed("fit", "log.jsonl", "--format", "json", "-o", "-", cwd=tmp_path)
    validation, training = json.loads(done.stdout)["runs"]
    assert (validation["columns"]["reward"]["column"], validation["result"]["law"]["n"]) == (VALIDATION, 5)
    assert (training["columns"]["reward"]["column"], training["result"]["law"]["n"]) == (TRAINING, 60)
    assert [entry["reward"] for entry in (validation, training)] == ["gsm8k mean@1", TRAINING]
    alone = typed("fit", "log.jsonl", "--reward", TRAINING, "--format", "json", "-o", "-", cwd=tmp_path)
    (entry,) = json.loads(alone.stdout)["runs"]
    assert (entry["reward"], entry["result"]["law"]["ceiling"]) == ("", training["result"]["law"]["ceiling"])
    shown = typed("columns", "log.jsonl", cwd=tmp_path).stdout
    assert f"--reward {TRAINING}" in " ".join(shown.split())
    text = typed("fit", "log.jsonl", "-o", "-", cwd=tmp_path).stdout
    assert text.startswith("log · 2 rewards · 60 evaluations")
    assert f"  {TRAINING} " in text
    typed("report", "log.jsonl", "-o", "out", "--figures", "none", cwd=tmp_path)
    assert f"log · {TRAINING}" in (tmp_path / "out" / "report.md").read_text()
    assert f'<th scope="row">{TRAINING}</th>' in (tmp_path / "out" / "runs" / "log.html").read_text()


def test_a_refusal_for_too_few_names_the_flag_in_every_command(tmp_path):
    with_validation(tmp_path / "log.jsonl", 15)
    commands = (("fit",), ("check", "--fail-if", "refused"), ("report", "-o", "out", "--figures", "none"))
    for command in commands:
        done = typed(command[0], "log.jsonl", *command[1:], "--reward", VALIDATION, cwd=tmp_path)
        text = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == {"fit": 4, "check": 5, "report": 4}[command[0]]
        assert_says(text, "too-few-evaluations", f"--reward {TRAINING}")


@pytest.mark.parametrize(("every", "rewards"), [(10, 2), (6, 2), (4, 1)])
def test_few_validations_come_with_the_series_of_the_training_reward(tmp_path, every, rewards):
    (run,) = read_runs(with_validation(tmp_path / "log.jsonl", every))
    validation, *others = select_all(run)
    assert validation.reward_choice.column == VALIDATION
    assert 1 + len(others) == rewards
    (named,) = select_all(run, reward=TRAINING)
    assert named.label == ""
    if rewards == 1:
        return
    (training,) = others
    for field in ("step", "entropy", "reward"):
        np.testing.assert_array_equal(getattr(training, field), getattr(named, field))
    assert (training.pair, training.notes, training.dropped) == (named.pair, named.notes, named.dropped)
    assert (training.reward_choice.column, training.reward_choice.meaning.kind) == (TRAINING, "training")
    assert "60 pairs" in training.reward_choice.why
    assert (validation.label, training.label) == ("gsm8k mean@1", TRAINING)


def test_a_validation_of_a_part_of_the_entropies_has_the_training_reward_beside(tmp_path):
    late = [float(r) if s > 40 else None for s, r in zip(STEP, REWARD, strict=True)]
    columns = {"step": STEP, "actor/entropy": ENTROPY, TRAINING: REWARD, VALIDATION: late}
    (run,) = read_runs(written(tmp_path / "log.jsonl", columns))
    assert [series.reward_choice.column for series in select_all(run)] == [VALIDATION, TRAINING]


def with_configuration(folder, seed=0, config="", **columns):
    """A log of a run with a configuration."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    entropy = 0.05 + 0.5 * np.exp(-np.arange(40) / 10)
    values = {"entropy": entropy, "val_acc": 0.9 - 0.6 * entropy + 0.005 * rng.standard_normal(40)}
    values |= {name.replace("__", "/"): np.broadcast_to(cells, 40) for name, cells in columns.items()}
    lines = [
        json.dumps({"step": 5 * row, **{name: float(v[row]) for name, v in values.items()}})
        for row in range(40)
    ]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
    if config:
        (folder / "config.yaml").write_text(config)


def findings(folder, log):
    done = typed("fit", log, "--format", "json", "--no-save", cwd=folder, code=0)
    found = json.loads(done.stdout)["runs"][0]["result"]["findings"]
    return {finding["code"]: finding["values"] for finding in found}


def test_groups_without_gradient_and_batches_of_a_changing_size(tmp_path):
    dead = np.where(np.arange(40) < 20, 0.3, 1.0)
    config = "actor_rollout_ref:\n  actor:\n    use_dynamic_bsz: true\n"
    with_configuration(tmp_path / "a", frac_reward_zero_std=dead, config=config)
    found = findings(tmp_path, "a/log.jsonl")
    assert found["dead-groups"] == {"name": "frac_reward_zero_std", "share": 1.0}
    assert found["dynamic-batches"] == {"name": "actor_rollout_ref/actor/use_dynamic_bsz"}
    with_configuration(tmp_path / "b", frac_reward_zero_std=0.6, config=config.replace("true", "false"))
    assert not {"dead-groups", "dynamic-batches"} & findings(tmp_path, "b/log.jsonl").keys()


def test_the_divergence_is_that_from_the_reference_only(tmp_path):
    kl = np.linspace(0.0, 0.4, 40)
    with_configuration(tmp_path / "a", actor__kl_loss=kl)
    found = findings(tmp_path, "a/log.jsonl")["divergence"]
    rewards = [json.loads(line)["val_acc"] for line in (tmp_path / "a/log.jsonl").read_text().splitlines()]
    root, plain = (float(np.corrcoef(column, rewards)[0, 1]) ** 2 for column in (np.sqrt(kl), kl))
    assert (found["name"], found["best"], found["other"]) == ("actor/kl_loss", "√KL", "KL")
    assert (found["r_squared"], found["other_r_squared"]) == pytest.approx((root, plain))
    assert found["explains_more"] is False
    with_configuration(tmp_path / "b", actor__ppo_kl=kl)
    assert "divergence" not in findings(tmp_path, "b/log.jsonl")


def test_the_laws_line_says_where_the_divergence_explains_more(tmp_path):
    """A reward that is a curve in √KL, beside an entropy that moves otherwise."""
    kl = np.linspace(0.0, 0.4, N)
    entropy = 0.4 + 0.1 * np.cos(np.linspace(0.0, 20.0, N))
    columns = {"step": STEP, "actor/entropy": entropy, TRAINING: 0.2 + 0.5 * np.sqrt(kl), "actor/kl_loss": kl}
    written(tmp_path / "log.jsonl", columns)
    done = typed("fit", "log.jsonl", cwd=tmp_path, code=0)
    assert "√KL fits better" in " ".join(done.stdout.split())
    written(tmp_path / "log.jsonl", {**columns, TRAINING: 0.8 - 0.5 * np.expm1(entropy)})
    assert "√KL fits better" not in typed("fit", "log.jsonl", cwd=tmp_path).stdout


def test_entropies_at_other_temperatures_are_not_the_same_quantity(tmp_path):
    for arm, temperature, first in (("warm", 1.0, 0), ("cold", 0.6, 10)):
        for seed in range(2):
            with_configuration(
                tmp_path / f"{arm}_s{seed}", first + seed, config=f"temperature: {temperature}\n"
            )
    done = typed("compare", "warm=warm_*", "cold=cold_*", cwd=tmp_path, code=0)
    text = " ".join(done.stdout.split())
    assert_says(
        text,
        "the entropies are not the same quantity",
        "sampled at temperature 1, that of 'cold_s0' sampled at temperature 0.6",
    )
    same = typed("compare", "a=warm_s0", "b=warm_s1", cwd=tmp_path).stdout
    assert "not the same quantity" not in same
