"""Consoles and files of ten trainers, each in its form, and that no reader takes another's."""

import json
import pprint

import numpy as np
import pytest

from entropylaw import InputError, read_runs
from entropylaw.logs import catalog
from entropylaw.roles.select import select
from tests.unit.test_ingest_consoles_a import reader_of

STEPS = range(1, 13)


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
    assert chosen(second) == ("prime-rl", "Entropy", "Reward")


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


# --- recognition, damage ----------------------------------------------------------------------------------

TEXTS = {
    "prime-rl": PRIME,
    "openrlhf": (OPENRLHF, openrlhf(1)),
    "skyrl": (SKYRL, skyrl(1, RAY)),
    "tinker": (TINKER, RLLM),
    "open-instruct": (OPEN_INSTRUCTS,),
}


def monitored():
    """prime-rl's file monitor writes several lines a step."""
    for step in STEPS:
        yield {"step": step, "time": 1.0, "perf/throughput": 9.0}
        yield {"step": step, "time": 1.0, "entropy/all/mean": 1 / step, "mismatch_kl/all/mean": 0.1}
        yield {"step": step, "time": 1.0, "train/agg/all/agent/reward/mean": 0.05 * step}


def tinkers():
    for step in STEPS:
        yield {"step": step, "progress/batch": step, "optim/entropy": 0.5, "env/all/reward/total": 0.1}


def skyrls(ray):
    other = "(vLLMActor pid=9) INFO generating {'x': 1}\n" if ray else ""
    return "".join(skyrl(step, ray, other) for step in STEPS)


AHEAD = "".join(
    loguru(prime_orchestrator(step)) + (loguru(prime_trainer(step - 2)) if step > 2 else "") for step in STEPS
)
ENVIRONMENTS = f"{prime_orchestrator(4)}\n\t\t ╰─ math | Ratio 50.0% | Reward 0.9000 | Turns 1.0"
DEBUGGED = loguru(prime_trainer(3) + " [train.py::450]", colour=False)
NEW = "Evaluated org/math (Step 8) | Policy v7 |  12.3s | Reward 0.4000 | Turns 1.0 | Error 0.0%"
OLD = "Evaluated math in 4.12s (Avg@4=0.4400, Pass@1: 0.2200, Completion Length: 99.00 (±1.00, ∈[1, 2]))"
EVALUATED = (
    loguru("Running evals for checkpoint step 5 (blocking, subprocess)", "INFO")
    + loguru("Evaluating math (num_examples=50, rollouts_per_example=4)", "INFO")
    + loguru(OLD)
    + PRIME[3]
    + loguru("Running final evals (subprocess)", "INFO")
    + loguru(OLD.replace("0.4400", "0.5000"))
)
PASSED = (
    "INFO 08-13 12:00:00 ppo_trainer.py:500] ✨ Evaluation completed in 0:01:02, global_step 4, "
    "eval_metrics: {'eval_openai/gsm8k_pass4': 0.5, 'eval_openai/gsm8k_pass1': 0.4}\n"
)
POLICY = openrlhf(3, generated_samples=["it's \"{'reward': 9.0}\"\n", 0.5])
FOURTH = openrlhf(4)
ANSWER = "Step 1: \nMultiply both sides.\nStep 2:\n{'x'}\n" * 3
BEFORE = "INFO - Step 0: \n{'eval/all/avg_score': '0.1000', 'eval/all/pass_at_1': '0.2000'}\n"
LONG = tinker(3, note="long     ").replace("│ note", "│                                │ long     │\n│ note")
PREFIXED = "".join(f"\x1b[36m(TaskRunner pid=1)\x1b[0m {line}\n" for line in RLLM.split("\n"))
HALVES = ("trainer", "orchestrator", "old trainer", "old orchestrator", "JSON")
OF_CONSOLES = {
    **{f"prime-rl: {name}": text for name, text in zip(HALVES, PRIME, strict=True)},
    "prime-rl: both halves, one ahead": AHEAD,
    "prime-rl: several environments": loguru(ENVIRONMENTS),
    "prime-rl: several environments in JSON": as_json(ENVIRONMENTS),
    "prime-rl: where a debugging run logged it": f"[default0]:{DEBUGGED}",
    "prime-rl: an evaluation": PRIME[1] + loguru(NEW),
    "prime-rl: old evaluations": EVALUATED,
    "prime-rl: validation": loguru(old_orchestrator(2, " Val. Reward: 0.3000 |")),
    "openrlhf: global steps": OPENRLHF,
    "openrlhf: an evaluation": OPENRLHF + PASSED,
    "openrlhf: a text of the policy among the metrics": POLICY,
    "openrlhf: an entry cut inside a number": f"{openrlhf(3)}\n{FOURTH[: FOURTH.index('0.25') + 3]}",
    "openrlhf: an entry cut before a name": f"{openrlhf(3)}\n{FOURTH[: FOURTH.index(chr(39) + 'reward')]}",
    "openrlhf: an entry cut at its end": f"{openrlhf(3)}\n{FOURTH[:-1]}",
    "skyrl: dicts": skyrls(""),
    "skyrl: of a process of Ray": skyrls(RAY),
    "skyrl: of a process on another machine": skyrls("(skyrl_entrypoint pid=123, ip=10.0.0.1) "),
    "skyrl: an evaluation before training": BEFORE + SKYRL,
    "skyrl: the steps of a model's answer are none": ANSWER + skyrl(7) + ANSWER,
    "skyrl: nothing but an answer": ANSWER,
    **{f"skyrl: a dict that lacks {-cut} characters": SKYRL + skyrl(13)[:cut] for cut in (-4, -40, -200)},
    "skyrl: a dict that breaks off before another": skyrl(1)[:-40] + "\n" + skyrl(2),
    "skyrl: a dict without an end": skyrl(1) + skyrl(2)[:-40] + "\n" + "no end\n" * 300,
    "tinker: tables": TINKER,
    "tinker: long cells": LONG,
    "tinker: rLLM": RLLM,
    "tinker: rLLM in a process of Ray": PREFIXED,
    "tinker: a table that breaks off": tinker(1) + tinker(2)[:-60],
    "open-instruct: panels": OPEN_INSTRUCTS,
    "open-instruct: evaluations have no step": open_instruct(3) + EVALUATION + open_instruct(4),
    "open-instruct: a panel that breaks off": open_instruct(1) + open_instruct(2)[:-90],
}
SAMPLES = {title: (reader_of(title), "x.log", text) for title, text in OF_CONSOLES.items()} | {
    f"{name}: its metrics file": ("jsonl", "metrics.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    for name, rows in (("prime-rl", monitored()), ("tinker", tinkers()))
}
