"""Consoles and files of ten trainers, each in its form, and that no reader takes another's."""

import json
import pprint

import numpy as np
import pytest

from entropylaw.errors import InputError
from entropylaw.ingest import catalog, read_runs, select
from entropylaw.ingest.readers.console import CUT_ENTRY, dict_pairs
from entropylaw.ingest.readers.console.multi_line import CUT_NAME
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.registry import reader_of

STEPS = range(1, 13)


def read(reader, text):
    return reader.read(Content("x.log", text if isinstance(text, bytes) else text.encode()))


def filled(table, name):
    """The values of a column, with their steps, where it has any."""
    step = next(
        table.columns[key] for key in ("step", "train/global_step", "training_step") if key in table.columns
    )
    pairs = zip(step, table.columns[name], strict=True)
    return {a: b for a, b in pairs if b == b}


def a_run(tmp_path, text, name="x.log"):
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    (run,) = read_runs(tmp_path / name)
    return run


def chosen(run):
    """The trainer that the catalog names, and the columns that it chooses."""
    series = select(run)
    trainer = catalog.detect((*run.columns, run.step_column)).trainer.name
    return trainer, series.entropy_choice.column, series.reward_choice.column


# --- prime-rl ---------------------------------------------------------------------------------------------


def loguru(message, level="SUCCESS", colour=True):
    if not colour:
        return f"12:00:00 {level:>7} {message}\n"
    dim, bold, off = "\x1b[2m", "\x1b[32m\x1b[1m", "\x1b[0m"
    return f"{dim}12:00:00{off} {bold}{level:>7}{off} {bold}\x1b[22m{message}{off}\n"


def as_json(message):
    entry = {
        "timestamp": "2026-01-01T00:00:00",
        "level": "SUCCESS",
        "message": message,
        "module": "train",
        "line": 9,
    }
    return json.dumps(entry) + "\n"


def prime_trainer(step):
    return (
        f"Step {step} |   5.12s | Loss 0.0012 | Entropy {1 / step:.4f} | Mismatch KL 0.0003"
        " | Grad. Norm 0.1234 | LR 1.00e-06 | Throughput 1234 tokens/s | MFU 45.1%"
        " | Peak Mem. 45.6 GiB | Max Vio 0.0100"
    )


def prime_orchestrator(step):
    return (
        f"Step {step} |  1m 5s | Reward {0.05 * step:.4f} | Trainable 12/16 (75.0%) | Turns 1.0"
        " | Branches 1.0 | Max Off-Policy 2 | Error 0.0% | Truncation 1.0%"
    )


def old_trainer(step):
    return (
        f"Step {step} | Time: 5.12s | Loss: -0.0012 | Entropy: {1 / step:.4f} | Mismatch KL: 0.0003 | "
        "Grad. Norm: 0.1234 | LR: 1.00e-06 | Throughput: 1234 tokens/s | Peak Mem.: 45.6/80.0 GiB"
    )


def old_orchestrator(step, validation=""):
    return (
        f"Step {step} | Time: 5.12s | Reward: {0.05 * step:.4f} |{validation} Throughput: 987.6 tokens/s | "
        "Seq. Length: 512.3 tokens/sample | Async Level: 1 | Max. Off-Policy Level: 2"
    )


PRIME = (
    "".join(loguru(prime_trainer(step)) for step in STEPS),
    "".join(loguru(prime_orchestrator(step)) for step in STEPS),
    "".join(loguru(old_trainer(step), colour=False) for step in STEPS),
    "".join(loguru(old_orchestrator(step), colour=False) for step in STEPS),
    "".join(as_json(prime_trainer(step)) for step in STEPS),
)


@pytest.mark.parametrize("text", [PRIME[0], PRIME[2], PRIME[4]], ids=["new", "old", "json"])
def test_the_log_of_prime_rls_trainer_is_one_half(text):
    table = read(reader_of("prime-rl"), text)
    assert table.notes == (
        "this is the log of prime-rl's trainer: the rewards are in the log of its orchestrator",
    )
    assert filled(table, "entropy/all/mean") == {step: round(1 / step, 4) for step in STEPS}
    assert set(table.columns["optim/lr"]) == {1e-6}
    assert set(table.columns["trainer/Throughput"]) == {1234}
    assert "trainer/MFU" not in table.columns


@pytest.mark.parametrize("text", [PRIME[1], PRIME[3]], ids=["new", "old"])
def test_the_log_of_prime_rls_orchestrator_is_the_other(text):
    table = read(reader_of("prime-rl"), text)
    assert "of its trainer" in table.notes[0]
    assert filled(table, "reward/all/mean") == {step: round(0.05 * step, 4) for step in STEPS}
    assert not any("entropy" in name for name in table.columns)


def test_both_halves_in_one_file_are_a_whole_log(tmp_path):
    """The orchestrator is some steps ahead of the trainer."""
    text = "".join(
        loguru(prime_orchestrator(step)) + (loguru(prime_trainer(step - 2)) if step > 2 else "")
        for step in STEPS
    )
    run = a_run(tmp_path, text)
    assert chosen(run) == ("prime-rl", "entropy/all/mean", "reward/all/mean")
    assert run.step.tolist() == list(STEPS)
    assert run.dropped == {}


def test_two_files_of_one_training_are_joined(tmp_path):
    for name in "AB":
        logs = tmp_path / name / "logs"
        logs.mkdir(parents=True)
        steps = [step for step in STEPS if step > 1 or name == "A"]
        (logs / "trainer.log").write_text("".join(loguru(prime_trainer(step)) for step in steps))
        (logs / "orchestrator.log").write_text("".join(loguru(prime_orchestrator(step)) for step in STEPS))
        copies = logs / "trainer" / "torchrun"
        copies.mkdir(parents=True)
        (copies / "stdout.log").write_text("".join(loguru(prime_trainer(step)) for step in STEPS))
    first, second = read_runs(tmp_path)
    assert (first.name, second.name) == ("A", "B")
    assert len(first.source.parts) == 2
    assert (len(select(first).step), len(select(second).step)) == (len(STEPS), len(STEPS) - 1)
    assert chosen(second) == ("prime-rl", "entropy/all/mean", "reward/all/mean")


def test_the_two_files_of_the_metrics_monitor_are_joined(tmp_path):
    (tmp_path / "run_default").mkdir()
    trainer = [json.dumps({"step": s, "entropy/all/mean": 1 / s, "mismatch_kl/all/mean": 0.1}) for s in STEPS]
    other = [json.dumps({"step": s, "reward/all/mean": s / 20, "time": s}) for s in STEPS]
    (tmp_path / "metrics.jsonl").write_text("\n".join(trainer))
    (tmp_path / "run_default" / "metrics.jsonl").write_text("\n".join(other))
    (run,) = read_runs(tmp_path)
    assert chosen(run) == ("prime-rl", "entropy/all/mean", "reward/all/mean")
    with pytest.raises(InputError, match="no reward column") as caught:
        select(read_runs(tmp_path / "metrics.jsonl")[0])
    assert "two processes" in caught.value.hint


def test_several_environments_repeat_the_reward_below():
    lines = f"{prime_orchestrator(4)}\n\t\t ╰─ math | Ratio 50.0% | Reward 0.9000 | Turns 1.0"
    for text in (loguru(lines), as_json(lines)):
        assert filled(read(reader_of("prime-rl"), text), "reward/all/mean") == {4: 0.2}


def test_where_a_debugging_run_logged_it_is_no_part_of_the_message():
    text = loguru(prime_trainer(3) + " [train.py::450]", colour=False)
    assert filled(read(reader_of("prime-rl"), f"[default0]:{text}"), "max_vio/mean") == {3: 0.01}


def test_evaluations_of_prime_rl():
    new = "Evaluated org/math (Step 8) | Policy v7 |  12.3s | Reward 0.4000 | Turns 1.0 | Error 0.0%"
    table = read(reader_of("prime-rl"), PRIME[1] + loguru(new))
    assert filled(table, "eval/org/math/reward/mean") == {8: 0.4}
    assert filled(table, "eval/org/math/policy_version") == {8: 7}

    old = "Evaluated math in 4.12s (Avg@4=0.4400, Pass@1: 0.2200, Completion Length: 99.00 (±1.00, ∈[1, 2]))"
    text = (
        loguru("Running evals for checkpoint step 5 (blocking, subprocess)", "INFO")
        + loguru("Evaluating math (num_examples=50, rollouts_per_example=4)", "INFO")
        + loguru(old)
        + PRIME[3]
        + loguru("Running final evals (subprocess)", "INFO")
        + loguru(old.replace("0.4400", "0.5000"))
    )
    table = read(reader_of("prime-rl"), text)
    assert filled(table, "eval/math/avg@4")[5] == 0.44
    assert table.columns["eval/math/avg@4"].tolist().count(0.5) == 1
    assert np.isnan(table.columns["step"]).sum() == 1


def test_validation_of_prime_rl():
    table = read(reader_of("prime-rl"), loguru(old_orchestrator(2, " Val. Reward: 0.3000 |")))
    assert filled(table, "val_reward/mean") == {2: 0.3}


def test_prime_rls_metrics_files(tmp_path):
    """Its file monitor writes several lines a step."""
    rows = [
        line
        for step in STEPS
        for line in (
            {"step": step, "time": 1.0, "perf/throughput": 9.0},
            {"step": step, "time": 1.0, "entropy/all/mean": 1 / step, "mismatch_kl/all/mean": 0.1},
            {"step": step, "time": 1.0, "train/agg/all/agent/reward/mean": 0.05 * step},
        )
    ]
    run = a_run(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "metrics.jsonl")
    assert run.source.format == "jsonl"
    assert chosen(run) == ("prime-rl", "entropy/all/mean", "train/agg/all/agent/reward/mean")
    assert len(run.step) == len(STEPS)


@pytest.mark.parametrize(
    "text",
    [
        "12:00:00 SUCCESS Step 3 | Time: 5.12s | Loss: 0.5 | Accuracy: 0.4 | Grad. Norm: 0.1\n",
        "12:00:00 SUCCESS Step 3 |   5.12s | Loss 0.5000 | Grad. Norm 0.1 | LR 1e-6\n",
        "DEBUG Micro Step 0/4 | Loss 0.1 | Entropy 0.2 | Mismatch KL 0.0\n",
        "Episode 3 | Reward 0.5 | Entropy 0.1\n",
    ],
)
def test_what_is_no_reinforcement_learning_of_prime_rl(text):
    assert not reader_of("prime-rl").recognises(Content("x.log", text.encode()))


# --- OpenRLHF ---------------------------------------------------------------------------------------------


def openrlhf(step, **more):
    status = {
        "policy_loss": -0.01,
        "actor_lr": 5e-07,
        "entropy_loss": 1 / step,
        "reward": 0.05 * step,
        "return": 0.05 * step,
        "response_length": 312.5,
        "kl": float("nan"),
        "ppo_clip_ratio": 0.001,
        "timing/ppo_train": 29.9,
        **more,
    }
    return f"INFO 08-13 12:00:00 ppo_trainer.py:468] ✨ Global step {step}: {status}"


BAR = "\rTrain epoch [1/1]: 100%|██| 16/16 [00:09<00:00, act_loss=0.1, reward=0.9, kl=0, ent_loss=0.9]\r"
OPENRLHF = "".join(f"\x1b[36m(PPOTrainer pid=12)\x1b[0m {BAR}{openrlhf(step)}\n" for step in STEPS)


def test_openrlhfs_global_steps(tmp_path):
    run = a_run(tmp_path, OPENRLHF)
    assert run.source.format == "openrlhf"
    assert chosen(run) == ("openrlhf", "train/entropy_loss", "train/reward")
    assert run.step_column == "train/global_step"
    assert run.columns["train/entropy_loss"].tolist() == [1 / step for step in STEPS]
    assert run.columns["train/timing/ppo_train"].tolist() == [29.9] * 12
    assert np.isnan(run.columns["train/kl"]).all()


def test_openrlhfs_evaluations():
    line = (
        "INFO 08-13 12:00:00 ppo_trainer.py:500] ✨ Evaluation completed in 0:01:02, global_step 4, "
        "eval_metrics: {'eval_openai/gsm8k_pass4': 0.5, 'eval_openai/gsm8k_pass1': 0.4}\n"
    )
    table = read(reader_of("openrlhf"), OPENRLHF + line)
    assert filled(table, "eval/eval_openai/gsm8k_pass1") == {4: 0.4}
    assert filled(table, "eval/eval_openai/gsm8k_pass4") == {4: 0.5}


def test_a_text_of_the_policy_among_openrlhfs_metrics():
    text = openrlhf(3, generated_samples=["it's \"{'reward': 9.0}\"\n", 0.5])
    table = read(reader_of("openrlhf"), text)
    assert filled(table, "train/reward") == {3: pytest.approx(0.15)}
    assert table.dropped == {}


def test_an_entry_of_openrlhf_that_breaks_off_is_counted():
    line = openrlhf(4)
    for end in (line.index("0.25") + 3, line.index("'reward'"), len(line) - 1):
        table = read(reader_of("openrlhf"), f"{openrlhf(3)}\n{line[:end]}")
        assert table.columns["train/global_step"].tolist() == [3]
        assert table.dropped == {CUT_ENTRY: 1}


# --- SkyRL ------------------------------------------------------------------------------------------------


def skyrl(step, ray="", between="", **more):
    values = {
        "generate/avg_num_tokens": "312.5000",
        "policy/policy_entropy": f"{1 / step if step else 0:.4f}",
        "policy/policy_lr": "0.0000",
        "reward/avg_pass_at_4": "0.8000",
        "reward/avg_raw_reward": f"{0.05 * step:.4f}",
        "timing/step": np.float32(3.5),
        "trainer/epoch": 0,
        "trainer/global_step": step,
        **more,
    }
    heading = f"2025-08-21 12:00:00.000 | INFO     | skyrl.train.utils.tracking:log:190 - Step {step}: "
    lines = [heading, *pprint.pformat(values).split("\n")]
    return f"{between}".join(f"{ray}{line}\n" for line in lines)


RAY = "\x1b[36m(skyrl_entrypoint pid=123)\x1b[0m "
SKYRL = "loading\n" + "".join(skyrl(step) for step in STEPS)


@pytest.mark.parametrize("ray", ["", RAY, "(skyrl_entrypoint pid=123, ip=10.0.0.1) "])
def test_skyrls_dicts(tmp_path, ray):
    other = "(vLLMActor pid=9) INFO generating {'x': 1}\n" if ray else ""
    run = a_run(tmp_path, "".join(skyrl(step, ray, other) for step in STEPS))
    assert run.source.format == "skyrl"
    assert chosen(run) == ("skyrl", "policy/policy_entropy", "reward/avg_raw_reward")
    assert run.columns["reward/avg_raw_reward"].tolist() == pytest.approx([0.05 * step for step in STEPS])
    assert run.columns["timing/step"].tolist() == [3.5] * 12
    assert run.dropped == {}


def test_skyrls_evaluation_before_training():
    text = "INFO - Step 0: \n{'eval/all/avg_score': '0.1000', 'eval/all/pass_at_1': '0.2000'}\n"
    table = read(reader_of("skyrl"), text + SKYRL)
    assert filled(table, "eval/all/avg_score") == {0: 0.1}
    assert table.columns["step"].tolist() == [0, *STEPS]


def test_a_models_steps_are_no_steps_of_skyrl():
    answer = "Step 1: \nMultiply both sides.\nStep 2:\n{'x'}\n" * 3
    table = read(reader_of("skyrl"), answer + skyrl(7) + answer)
    assert table.columns["step"].tolist() == [7]
    assert table.dropped == {}
    assert not reader_of("skyrl").recognises(Content("x.log", answer.encode()))


def test_a_dict_of_skyrl_that_breaks_off_is_counted():
    for cut in (-4, -40, -200):
        table = read(reader_of("skyrl"), SKYRL + skyrl(13)[:cut])
        assert table.columns["step"].tolist() == list(STEPS)
        assert table.dropped == {CUT_ENTRY: 1}
    table = read(reader_of("skyrl"), skyrl(1)[:-40] + "\n" + skyrl(2))
    assert table.columns["step"].tolist() == [2]
    assert table.dropped == {CUT_ENTRY: 1}
    table = read(reader_of("skyrl"), skyrl(1) + skyrl(2)[:-40] + "\n" + "no end\n" * 300)
    assert table.dropped == {CUT_ENTRY: 1}


# --- tables: tinker-cookbook, rLLM, open-instruct ---------------------------------------------------------


def tinker(step, **more):
    rows = {
        "env/all/by_group/frac_all_goo…": "0.250000",
        "env/all/reward/total": f"{0.05 * step:.6f}",
        "optim/entropy": f"{1 / (step + 1):.6f}",
        "progress/batch": step,
        **more,
    }
    body = "".join(f"│ {name:<30} │ {value:<8} │\n" for name, value in rows.items())
    return (
        f"tinker_cookbook.utils.ml_log:512 [INFO] \n{'':>17}Step {step}{'':>18}\n"
        f"┏━{'━' * 30}━┳━{'━' * 8}━┓\n┃ Metric{'':24} ┃ Value    ┃\n┡━{'━' * 30}━╇━{'━' * 8}━┩\n"
        f"{body}└─{'─' * 30}─┴─{'─' * 8}─┘\n"
    )


RLLM = """             Step 12              
┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┓
┃ Metric              ┃    Value ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━┩
│ batch/solve_partial │        4 │
│ optim/entropy       │ 0.123456 │
│ reward/solver/mean  │ 0.500000 │
└─────────────────────┴──────────┘
"""  # noqa: W291
TINKER = "".join(tinker(step) for step in range(12))
OPEN_INSTRUCT = """╭────────────────────────────────── Metrics ───────────────────────────────────╮
│  loss       policy_avg: -0.01 | total_avg: 1.20e-06                          │
│  objective  kl0_avg: 0.01 | verifiable_reward: 5.31 |                        │
│             verifiable_correct_rate: 0.53                                    │
│  other      episode: 512 | training_step: 3 | epoch: 0.10 |                  │
│             num_total_tokens: 12345 | learner_tokens_per_second_overall:     │
│             123.40 | scores: 0.53 | real_batch_size_ratio: 1.00 | lr:        │
│             1.00e-06                                                         │
│  policy     clipfrac_avg: 0.02 | entropy_avg: 0.35                           │
│  val        sequence_lengths: 512.50 |                                       │
│             a_very_long_name_that_goes_on_and_on_and_on_beyond_the_width_o…  │
│             1.00                                                             │
╰──────────────────────────────────────────────────────────────────────────────╯
"""
EVALUATION = """╭────────────────────────────────── Metrics ───────────────────────────────────╮
│  eval  scores: 0.41 | objective/verifiable_correct_rate: 0.41 | stop_rate:   │
│        1.00                                                                  │
╰──────────────────────────────────────────────────────────────────────────────╯
"""


def open_instruct(step):
    panel = OPEN_INSTRUCT.replace("training_step: 3 ", f"training_step: {step} ").replace(
        "0.53", f"0.{step:02d}"
    )
    return panel.replace("entropy_avg: 0.35", f"entropy_avg: 0.{90 - step}")


OPEN_INSTRUCTS = "".join(open_instruct(step) for step in STEPS)


def test_tinkers_tables(tmp_path):
    run = a_run(tmp_path, TINKER, "logs.log")
    assert run.source.format == "tinker"
    assert chosen(run) == ("tinker", "optim/entropy", "env/all/reward/total")
    assert run.step.tolist() == list(range(12))
    assert run.columns["optim/entropy"][3] == 0.25
    assert run.dropped == {CUT_NAME: 12}


def test_tinkers_metrics_file(tmp_path):
    values = {"optim/entropy": 0.5, "env/all/reward/total": 0.1}
    rows = [json.dumps({"step": step, "progress/batch": step} | values) for step in STEPS]
    run = a_run(tmp_path, "\n".join(rows), "metrics.jsonl")
    assert chosen(run) == ("tinker", "optim/entropy", "env/all/reward/total")


def test_long_cells_in_tinkers_tables():
    table = tinker(3, note="long     ")
    more = table.replace("│ note", "│                                │ long     │\n│ note")
    assert filled(read(reader_of("tinker"), more), "optim/entropy") == {3: 0.25}


def test_rllms_tables():
    for text in (RLLM, "".join(f"\x1b[36m(TaskRunner pid=1)\x1b[0m {line}\n" for line in RLLM.split("\n"))):
        table = read(reader_of("tinker"), text)
        assert filled(table, "optim/entropy") == {12: 0.123456}
        assert filled(table, "reward/solver/mean") == {12: 0.5}
        assert catalog.detect(table.columns).trainer.name == "rllm"


def test_open_instructs_panels(tmp_path):
    run = a_run(tmp_path, OPEN_INSTRUCTS)
    assert run.source.format == "open-instruct"
    assert chosen(run) == ("open-instruct", "policy/entropy_avg", "objective/verifiable_correct_rate")
    assert run.step_column == "training_step"
    assert run.columns["policy/entropy_avg"][0] == 0.89
    assert run.columns["learner_tokens_per_second_overall"].tolist() == [123.4] * 12
    assert run.columns["loss/total_avg"].tolist() == [1.2e-6] * 12
    assert run.dropped == {CUT_NAME: 12}
    assert run.notes == ("open-instruct prints two decimals",)


def test_open_instructs_evaluations_have_no_step_of_their_own():
    table = read(reader_of("open-instruct"), open_instruct(3) + EVALUATION + open_instruct(4))
    assert filled(table, "eval/objective/verifiable_correct_rate") == {3: 0.41}
    assert filled(table, "eval/stop_rate") == {3: 1.0}
    assert "without a step" in table.notes[1]


def test_tables_that_break_off_are_counted():
    table = read(reader_of("tinker"), tinker(1) + tinker(2)[:-60])
    assert table.columns["step"].tolist() == [1]
    assert table.dropped == {CUT_ENTRY: 1, CUT_NAME: 2}
    table = read(reader_of("open-instruct"), open_instruct(1) + open_instruct(2)[:-90])
    assert table.columns["training_step"].tolist() == [1]
    assert table.dropped == {CUT_ENTRY: 1, CUT_NAME: 1}


# --- recognition, damage ----------------------------------------------------------------------------------

TEXTS = {
    "prime-rl": PRIME,
    "openrlhf": (OPENRLHF, openrlhf(1)),
    "skyrl": (SKYRL, skyrl(1, RAY)),
    "tinker": (TINKER, RLLM),
    "open-instruct": (OPEN_INSTRUCTS,),
}


def test_a_dict_without_end_costs_little():
    values, ended, _ = dict_pairs("{" + "".join(f"'k{n}': 1, " for n in range(9_000)), 1)
    assert len(values) == 1 << 13
    assert not ended
    assert dict_pairs("{'a': " + "[" * 10_000 + "1", 1) == ({}, False, 1)
    assert dict_pairs("{'a': '" + "\\'" * 10_000, 1) == ({}, False, 1)
