"""Trainers that print or log as others do: forks of verl, ms-swift."""

import json

from tests.unit.test_ingest_consoles_b import STEPS


def verl(step, pairs):
    return f"(TaskRunner pid=1) step:{step}{''.join(f' - {key}:{value}' for key, value in pairs.items())}\n"


def ms_swift(step):
    values = {"loss": 0.1, "reward": 0.05 * step, "rewards/MathAccuracy/mean": 0.3, "entropy/mean": 1 / step}
    values |= {"entropy/max": 2.0, "entropy/min": 0.0, "epoch": round(step / 100, 2)}
    values |= {"global_step/max_steps": f"{step}/438", "percentage": f"{step / 4.38:.2f}%"}
    return values | {"elapsed_time": "1m 2s", "memory(GiB)": 45.6, "train_speed(iter/s)": 0.1}


SOLVED = {"batch/solve_none": 3, "batch/solve_partial": 5}
FORKS = {
    "rllm": SOLVED | {"actor/entropy": 0.3, "reward/solver/mean": 0.5},
    "prime": {"train_verify_score/all": 0.5, "actor/entropy_loss": "0.310", "critic/score/mean": "0.400"},
    "dapo": {"train/num_gen_batches": 2, "actor/entropy": "np.float64(0.3)", "critic/score/mean": -0.5},
}
BARS = {step: f"\rTrain: {step:3d}%|█  | {step}/438 [00:19<11:24,  3.51s/it]" for step in STEPS}
FILE = "".join(json.dumps(ms_swift(step)) + "\n" for step in STEPS)
CONSOLE = "".join(f"{ms_swift(step)}\n{bar}\n" for step, bar in BARS.items())
SAMPLES = {
    **{name: ("verl", "x.log", "".join(verl(s, pairs) for s in STEPS)) for name, pairs in FORKS.items()},
    "ms-swift's file": ("jsonl", "logging.jsonl", FILE),
    "ms-swift's console": ("trl", "x.log", CONSOLE),
}
