"""One small valid log of every format that is read, made on the spot: what the fuzzing damages."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import math
import pprint
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz import binary
from tests.fuzz.law import STEPS, entropy, reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A log: the files of it by their paths, and what ought to come of it.

    ``format`` is the reader's name; ``whole`` tells whether entropy and reward are both there. Of several
    files, ``target`` is the one that is damaged.
    """

    format: str
    files: Mapping[str, bytes]
    whole: bool = True
    target: str = ""

    @property
    def data(self) -> bytes:
        """The bytes that are damaged."""
        return self.files[self.damaged]

    @property
    def damaged(self) -> str:
        """The path of the file that is damaged."""
        return self.target or next(iter(self.files))


def _lines(line: Callable[[int], str]) -> bytes:
    return "".join(line(step) for step in STEPS).encode()


def _csv(delimiter: str = ",") -> bytes:
    names = ["step", "actor/entropy", "critic/score/mean", "val-core/gsm8k/acc/mean@1", 'note, "quoted"']
    rows = [["step" if name == "step" else f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]]
    for step in STEPS:
        validation = f"{reward(step):.4f}" if step % 2 == 0 else ""
        rows.append([str(step), f"{entropy(step):.6f}", f"{reward(step):.6f}", validation, '"a\nb"'])
    return "".join(delimiter.join(row) + "\r\n" for row in rows).encode()


def _long_csv() -> bytes:
    rows = [f"{run},{step},{entropy(step)!r},{reward(step)!r}" for run in ("a", "b") for step in STEPS]
    return ("run,step,entropy,val_acc\n" + "\n".join(rows) + "\n").encode()


def _jsonl() -> bytes:
    def line(step: int) -> str:
        values = {"step": step, "entropy": entropy(step), "reward": reward(step), "kl": math.nan}
        return json.dumps(values | {"text": 'a "b" \\ {}\n', "flag": True, "none": None}) + "\n"

    return _lines(line)


def _nested_jsonl() -> bytes:
    def line(step: int) -> str:
        data = {"actor": {"entropy": entropy(step)}, "critic": {"score": {"mean": reward(step)}}}
        media = {"histogram": {"_type": "histogram", "bins": [0, 1], "values": [3]}, "list": [1, [2]]}
        return json.dumps({"step": step, "data": data | media}) + "\n"

    return _lines(line)


def _json_array() -> bytes:
    rows = [{"step": step, "entropy": entropy(step), "reward": reward(step)} for step in STEPS]
    return json.dumps(rows, indent=1).encode()


def _json_columns() -> bytes:
    columns = {"step": list(STEPS), "entropy": [*map(entropy, STEPS)], "reward": [*map(reward, STEPS)]}
    return json.dumps(columns).encode()


def _parquet(first: int = 1) -> bytes:
    steps = range(first, first + len(STEPS))
    table = pa.table(
        {
            "step": list(steps),
            "actor/entropy": [*map(entropy, steps)],
            "critic/score/mean": [*map(reward, steps)],
            "note": ["text"] * len(steps),
            "nested": [{"a": 1.5, "b": [1, 2]}] * len(steps),
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=5)
    return file.getvalue()


def _trainer_state() -> bytes:
    entries: list[dict[str, object]] = []
    for step in STEPS:
        entries.append({"epoch": step / 10, "step": step, "entropy": entropy(step), "reward": reward(step)})
        entries.append({"epoch": step / 10, "step": step, "eval_reward": reward(step), "eval_runtime": 3.0})
    whole = {"best_metric": None, "epoch": 1.2, "global_step": 12, "log_history": entries, "max_steps": 12}
    return json.dumps(whole, indent=2, sort_keys=True).encode()


def _verl() -> bytes:
    def line(step: int) -> str:
        front = f"\x1b[36m(TaskRunner pid=123)\x1b[0m \rTraining:  1%|█▌ | {step}/12 [00:01<00:09]\r"
        pairs = f"actor/entropy:{entropy(step):.4f} - critic/score/mean:np.float64({reward(step):.4f})"
        return f"{front}step:{step} - {pairs} - training/global_step:{step} - a:nan - b:tensor(0.5)\nother\n"

    return _lines(line)


def _bar(step: int) -> str:
    return f"\r{8 * step:3d}%|██▌       | {step}/12 [00:19<11:24,  3.51s/it]"


def _trl() -> bytes:
    def line(step: int) -> str:
        entry = {"loss": 0.0, "reward": reward(step), "entropy": entropy(step), "kl": "nan"}
        more = {"rewards/f/mean": 0.5, "completions/mean_length": 99.0, "epoch": step / 10}
        evaluation = {"eval_loss": 0.1, "eval_reward": reward(step), "epoch": step / 10}
        wiped = "\r" + " " * 40 + "\r"
        below = f"\n\r  0%|  | 0/8 [00:00<?]\x1b[A{wiped}{evaluation}\n" if step % 4 == 0 else ""
        return f"{_bar(step)}{wiped}{entry | more}\n{_bar(step)}{below}"

    return _lines(line)


def _slime() -> bytes:
    actor = "\x1b[36m(MegatronTrainRayActor pid=10122)\x1b[0m [2026-07-20 17:53:24] "

    def line(step: int) -> str:
        rollout = {"rollout/raw_reward": reward(step), "rollout/response_lengths": 99.5}
        training = {"train/entropy_loss": entropy(step), "train/ppo_kl": 0.0, "train/step": step}
        return (
            f"{actor}data.py:193 - rollout {step}: {rollout}\n{actor}model.py:702 - step {step}: {training}\n"
            f"{actor}rollout.py:1207 - eval {step}: {{'eval/aime': np.float64({reward(step)})}}\n"
        )

    return _lines(line)


def _roll() -> bytes:
    front = "[2026-01-02 10:00:00] [rlvr_pipeline.py (165)] [INFO] [PIPELINE 0 / 1][PID 4711] "

    def line(step: int) -> str:
        values = {"critic/entropy/mean": entropy(step), "critic/correct/mean": reward(step)}
        metrics = json.dumps(values | {"actor/kl_loss": math.nan})
        tagged = json.dumps({"step": step, "metrics": values})
        return (
            f"{front}pipeline step {step} start...\n{front}metrics_tag: {tagged}\n{front}{metrics}\n"
            f"{front}pipeline step {step} finished\n"
        )

    return _lines(line)


def _areal() -> bytes:
    header = "\x1b[1;38;2;180;140;80m[AReaL]\x1b[0m \x1b[92m20260820-01:02:03.123 StatsLogger INFO: "

    def line(step: int) -> str:
        cells = {"ppo_actor/update/entropy/avg": entropy(step), "ppo_actor/task_reward/avg": reward(step)}
        rows = [f"│ {name:30} │ {value:.4e} │" for name, value in cells.items()]
        width = "─" * (len(rows[0]) - 2)
        table = f"╒{width}╕\n{rows[0]}\n├{width}┤\n{rows[1]}\n╘{width}╛"
        done = f"{header}Epoch 1/1 Step {step}/12 Train step {step}/12 done.\x1b[0m\n"
        return f"{done}{header}Stats (1/1):\x1b[0m\n{header}\n{table}\x1b[0m\n"

    return _lines(line)


def _easyr1() -> bytes:
    runner = "\x1b[36m(Runner pid=16098)\x1b[0m "

    def line(step: int) -> str:
        block = (
            f"Step {step}\nactor:\n  entropy_loss: {entropy(step):.3f}\n  pg_clipfrac_higher: 0.0\ncritic:\n"
            f"  score:\n    mean: {reward(step):.3f}\n  values:\n    mean: !!float 'nan'\nreward:\n"
            f"  accuracy: {reward(step):.3f}\n  overall: {reward(step):.3f}\nval:\n"
            f"  accuracy_reward: {reward(step):.3f}\n"
        )
        return "".join(f"{runner}{part}\n" for part in block.splitlines()) + f"{runner}\n"

    return f"{runner}Config\n".encode() + _lines(line)


def _prime_line(message: str) -> str:
    dim, bold, off = "\x1b[2m", "\x1b[32m\x1b[1m", "\x1b[0m"
    return f"{dim}12:00:00{off} {bold}SUCCESS{off} {bold}\x1b[22m{message}{off}\n"


def _prime_trainer() -> bytes:
    return _lines(
        lambda step: _prime_line(
            f"Step {step} |   5.12s | Loss 0.0012 | Entropy {entropy(step):.4f} | Mismatch KL 0.0003"
            " | Grad. Norm 0.1234 | LR 1.00e-06 | Throughput 1234 tokens/s | MFU 45.1%"
            " | Peak Mem. 45.6 GiB | Max Vio 0.0100"
        )
    )


def _prime_orchestrator() -> bytes:
    return _lines(
        lambda step: (
            _prime_line(
                f"Step {step} |  1m 5s | Reward {reward(step):.4f} | Trainable 12/16 (75.0%) | Turns 1.0"
                " | Branches 1.0 | Max Off-Policy 2 | Error 0.0% | Truncation 1.0%"
            )
            + _prime_line(f"Evaluated math (Step {step}) | Policy v7 |  12.3s | Reward 0.4000 | Turns 1.0")
        )
    )


def _openrlhf() -> bytes:
    def line(step: int) -> str:
        status = {"policy_loss": -0.01, "entropy_loss": entropy(step), "reward": reward(step)}
        status |= {"return": 0.1, "kl": math.nan, "ppo_clip_ratio": 0.001}
        front = "\x1b[36m(PPOTrainer pid=12)\x1b[0m \rTrain epoch [1/1]: 100%|██| 16/16 [00:09<00:00]\r"
        evaluation = (
            f"INFO 08-13 12:00:00 ppo_trainer.py:500] ✨ Evaluation completed in 0:01:02, global_step {step},"
            f" eval_metrics: {{'eval_math_pass1': {reward(step)}}}\n"
        )
        return f"{front}INFO 08-13 12:00:00 ppo_trainer.py:468] ✨ Global step {step}: {status}\n{evaluation}"

    return _lines(line)


def _skyrl() -> bytes:
    def line(step: int) -> str:
        values = {
            "generate/avg_num_tokens": "312.5000",
            "policy/policy_entropy": f"{entropy(step):.4f}",
            "reward/avg_raw_reward": f"{reward(step):.4f}",
            "eval/all/avg_score": "nan",
            "trainer/global_step": step,
        }
        heading = f"2025-08-21 12:00:00.000 | INFO     | skyrl.train.utils.tracking:log:190 - Step {step}: "
        ray = "\x1b[36m(skyrl_entrypoint pid=123)\x1b[0m "
        return "".join(f"{ray}{part}\n" for part in (heading, *pprint.pformat(values).split("\n")))

    return _lines(line)


def _tinker() -> bytes:
    def line(step: int) -> str:
        rows = {
            "env/all/by_group/frac_all_goo…": "0.250000",
            "env/all/reward/total": f"{reward(step):.6f}",
            "optim/entropy": f"{entropy(step):.6f}",
            "progress/batch": str(step),
        }
        body = "".join(f"│ {name:<30} │ {value:<8} │\n" for name, value in rows.items())
        return (
            f"tinker_cookbook.utils.ml_log:512 [INFO] \n{'':>17}Step {step}{'':>18}\n"
            f"┏━{'━' * 30}━┳━{'━' * 8}━┓\n┃ Metric{'':24} ┃ Value    ┃\n┡━{'━' * 30}━╇━{'━' * 8}━┩\n"
            f"{body}└─{'─' * 30}─┴─{'─' * 8}─┘\n"
        )

    return _lines(line)


def _open_instruct() -> bytes:
    def line(step: int) -> str:
        rows = (
            f"loss       policy_avg: -0.01 | total_avg: 1.20e-0{step % 10}",
            f"objective  kl0_avg: 0.01 | verifiable_correct_rate: {reward(step):.2f} |",
            "           verifiable_reward: 5.31",
            f"other      episode: 512 | training_step: {step} | epoch: 0.10 | lr:",
            "           1.00e-06",
            f"policy     clipfrac_avg: 0.02 | entropy_avg: {entropy(step):.2f}",
            "val        sequence_lengths: 512.50 |",
            "           a_name_that_goes_on_beyond_the_width_o… 1.00",
        )
        body = "".join(f"│  {row:<76}│\n" for row in rows)
        return f"╭{' Metrics ':─^78}╮\n{body}╰{'─' * 78}╯\n"

    return _lines(line)


def _notebook() -> bytes:
    verl = "\x1b[36m(TaskRunner pid=7)\x1b[0m step:{0} - actor/entropy:{1:.4f} - critic/score/mean:{2:.4f}\n"
    text = [verl.format(step, entropy(step), reward(step)) for step in STEPS]
    table = (
        "<table><thead><tr><th>Step</th><th>reward</th></tr></thead><tbody><tr><td>1</td><td>0.5</td></tr>"
    )
    shown = {"output_type": "display_data", "metadata": {}, "data": {"text/html": [table], "text/plain": "x"}}
    stream = {"output_type": "stream", "name": "stdout", "text": text}
    code = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": ["x\n"]}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["a\n"]},
        {**code, "outputs": [stream, shown]},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def _chart(metric: str, value: Callable[[int], float]) -> bytes:
    names = [f"grpo - {metric}{bound}" for bound in ("", "__MIN", "__MAX")]
    rows = [["Step", *names], *([str(step), *[repr(value(step))] * 3] for step in STEPS)]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows).encode()


def _curve(value: Callable[[int], float]) -> bytes:
    rows = [f"{1.7e9 + step},{step},{value(step)!r}\r\n" for step in STEPS]
    return ("Wall time,Step,Value\r\n" + "".join(rows)).encode()


def _swanlab() -> bytes:
    names = [f"grpo-1-{metric}{end}" for metric in ("reward", "entropy") for end in ("_step", "_timestamp")]
    rows = [f"{step},{reward(step)!r},17607{step:08d},{entropy(step)!r},17607{step:08d}" for step in STEPS]
    return "\n".join([",".join(["step", *names]), *rows, ""]).encode()


def _history() -> bytes:
    rows = [f"{step},{1.5 * step},{1.7e9 + step},{entropy(step)!r},{reward(step)!r}" for step in STEPS]
    return "\n".join(["_step,_runtime,_timestamp,train/entropy,train/reward", *rows, ""]).encode()


def _run_history() -> bytes:
    rows = [f"{i},{step},{entropy(step)!r},{reward(step)!r}" for i, step in enumerate(STEPS)]
    return "\n".join([",train/global_step,train/entropy,train/reward", *rows, ""]).encode()


_MLFLOW_META = (
    b"artifact_uri: s3://x\nexperiment_id: '1'\nlifecycle_stage: active\nrun_id: r1\nrun_name: grpo\n"
)
_CONFIG = (
    b"wandb_version: 1\nactor:\n  desc: null\n  value: {entropy_coeff: 0.001, loss_agg_mode: token-mean}\n"
)


def _mlflow_folder(target: str) -> Sample:
    def curve(value: Callable[[int], float]) -> bytes:
        return _lines(lambda step: f"{1_700_000_000_000 + step} {value(step)!r} {step}\n")

    files = {
        "1/r1/meta.yaml": _MLFLOW_META,
        "1/r1/metrics/actor/entropy": curve(entropy),
        "1/r1/metrics/critic/score/mean": curve(reward),
        "1/r1/params/temperature": b"0.7",
    }
    return Sample(format="mlflow", files=files, target=target)


def _wandb_folder(target: str, *, log: bytes = b"") -> Sample:
    folder = "run-20260101_000000-ab12"
    files = {
        f"{folder}/run-ab12.wandb": log or binary.wandb(),
        f"{folder}/files/output.log": _verl(),
        f"{folder}/files/config.yaml": _CONFIG * 6,
    }
    return Sample(format="wandb", files=files, target=f"{folder}/{target}")


def _single(format: str, name: str, data: bytes, *, whole: bool = True) -> Sample:
    return Sample(format=format, files={name: data}, whole=whole)


def _plain() -> dict[str, Sample]:
    """Formats of one file, by a name for the case."""
    return {
        "csv": _single("csv", "x.csv", _csv()),
        "tsv": _single("csv", "x.tsv", _csv("\t")),
        "long-csv": _single("csv", "x.csv", _long_csv()),
        "history-csv": _single("csv", "x.csv", _history()),
        "run-history-csv": _single("csv", "x.csv", _run_history()),
        "parquet": _single("parquet", "x.parquet", _parquet()),
        "jsonl": _single("jsonl", "x.jsonl", _jsonl()),
        "nested-jsonl": _single("jsonl", "x.jsonl", _nested_jsonl()),
        "json-array": _single("jsonl", "x.json", _json_array()),
        "json-columns": _single("jsonl", "x.json", _json_columns()),
        "trainer-state": _single("trainer-state", "trainer_state.json", _trainer_state()),
        "verl": _single("verl", "x.log", _verl()),
        "trl": _single("trl", "x.log", _trl()),
        "slime": _single("slime", "x.log", _slime()),
        "roll": _single("roll", "x.log", _roll()),
        "areal": _single("areal", "x.log", _areal()),
        "easyr1": _single("easyr1", "x.log", _easyr1()),
        "prime-trainer": _single("prime-rl", "trainer.log", _prime_trainer(), whole=False),
        "prime-orchestrator": _single("prime-rl", "orchestrator.log", _prime_orchestrator(), whole=False),
        "openrlhf": _single("openrlhf", "x.log", _openrlhf()),
        "skyrl": _single("skyrl", "x.log", _skyrl()),
        "tinker": _single("tinker", "logs.log", _tinker()),
        "open-instruct": _single("open-instruct", "x.log", _open_instruct()),
        "notebook": _single("ipynb", "x.ipynb", _notebook()),
        "wandb": _single("wandb", "run-ab12.wandb", binary.wandb()),
        "wandb-chart": _single("wandb-chart", "x.csv", _chart("train/reward", reward), whole=False),
        "tfevents": _single("tfevents", "events.out.tfevents.1700000000.host", binary.tfevents()),
        "tensorboard-csv": _single("tensorboard-csv", "run-a-tag-reward.csv", _curve(reward), whole=False),
        "swanlab-csv": _single("swanlab-csv", "x.csv", _swanlab()),
        "trackio": _single("trackio", "x.db", binary.trackio()),
        "mlflow-db": _single("mlflow-db", "mlflow.db", binary.mlflow_database()),
    }


def _folders() -> dict[str, Sample]:
    """Logs of several files, of which one is damaged."""
    events = {f"run/events.out.tfevents.{i}.host": binary.tfevents(12 * i + 1) for i in range(2)}
    parts = {f"run/part-{i}.parquet": _parquet(12 * i + 1) for i in range(2)}
    charts = {"e.csv": _chart("train/entropy", entropy), "r.csv": _chart("train/reward", reward)}
    curves = {"run-a-tag-entropy.csv": _curve(entropy), "run-a-tag-reward.csv": _curve(reward)}
    halves = {"trainer.log": _prime_trainer(), "orchestrator.log": _prime_orchestrator()}
    return {
        "wandb-folder": _wandb_folder("run-ab12.wandb"),
        "wandb-folder-config": _wandb_folder("files/config.yaml"),
        "wandb-folder-console": _wandb_folder("files/output.log", log=b":W&B\xe1\xbe\x00" + bytes(100)),
        "mlflow-folder": _mlflow_folder("1/r1/metrics/actor/entropy"),
        "mlflow-folder-meta": _mlflow_folder("1/r1/meta.yaml"),
        "tfevents-folder": Sample(format="tfevents", files=events),
        "parquet-parts": Sample(format="parquet", files=parts),
        "wandb-charts": Sample(format="wandb-chart", files=charts),
        "tensorboard-csvs": Sample(format="tensorboard-csv", files=curves),
        "prime-halves": Sample(format="prime-rl", files=halves),
    }


#: Ways to pack a file, by the suffix that the case's name and the file's name get.
PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    ".bz2": bz2.compress,
}


@cache
def samples() -> dict[str, Sample]:
    """Every sample: the plain files, each packed and, where it is text, as UTF-16; and the folders."""
    found: dict[str, Sample] = {}
    for name, sample in _plain().items():
        found[name] = sample
        for suffix, pack in PACKED.items():
            files = {sample.damaged + suffix: pack(sample.data)}
            found[name + suffix] = Sample(format=sample.format, files=files, whole=sample.whole)
        if _is_text(sample.data) and sample.format != "ipynb":  # nobody saves notebooks as UTF-16
            files = {sample.damaged: sample.data.decode().encode("utf-16")}
            found[f"{name}-utf16"] = Sample(format=sample.format, files=files, whole=sample.whole)
    return found | _folders()


def _is_text(data: bytes) -> bool:
    return b"\0" not in data and not data.startswith((b"PAR1", b":W&B"))
