"""One small valid log of every format that is read, made on the spot: what the fuzzing damages."""

import bz2
import gzip
import io
import json
import math
import struct
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.law import STEPS, entropy, reward
from tests.unit import test_ingest_consoles_a as consoles_a
from tests.unit import test_ingest_consoles_b as consoles_b
from tests.unit import test_ingest_mlflow as mlflow
from tests.unit import test_ingest_notebook as notebooks
from tests.unit import test_ingest_tensorboard as tensorboard
from tests.unit import test_ingest_trackio as trackio
from tests.unit import test_ingest_trainer_state as trainer_state
from tests.unit import test_ingest_trl_console as trl
from tests.unit import test_ingest_wandb as wandb
from tests.unit import test_ingest_wandb_exports as wandb_exports


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A log: the files of it by their paths, and what ought to come of it.

    ``format`` is the reader's name; ``whole`` says whether it has both entropy and reward. Of several
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
    entries = []
    for step in STEPS:
        entries.append(trainer_state.training(step, entropy=entropy(step), reward=reward(step)))
        entries.append(trainer_state.evaluation(step))
    return trainer_state.text(entries).encode()


def _verl() -> bytes:
    def line(step: int) -> str:
        front = f"\x1b[36m(TaskRunner pid=123)\x1b[0m \rTraining:  1%|█▌ | {step}/12 [00:01<00:09]\r"
        pairs = f"actor/entropy:{entropy(step):.4f} - critic/score/mean:np.float64({reward(step):.4f})"
        return f"{front}step:{step} - {pairs} - training/global_step:{step} - a:nan - b:tensor(0.5)\nother\n"

    return _lines(line)


def _chart(metric: str, value: Callable[[int], float]) -> bytes:
    return wandb_exports.chart({"grpo": {step: value(step) for step in STEPS}}, metric).encode()


def _curve(value: Callable[[int], float]) -> bytes:
    rows = [f"{1.7e9 + step},{step},{value(step)!r}\r\n" for step in STEPS]
    return ("Wall time,Step,Value\r\n" + "".join(rows)).encode()


def _history() -> bytes:
    rows = [f"{step},{1.5 * step},{1.7e9 + step},{entropy(step)!r},{reward(step)!r}" for step in STEPS]
    return "\n".join(["_step,_runtime,_timestamp,train/entropy,train/reward", *rows, ""]).encode()


def _run_history() -> bytes:
    rows = [f"{i},{step},{entropy(step)!r},{reward(step)!r}" for i, step in enumerate(STEPS)]
    return "\n".join([",train/global_step,train/entropy,train/reward", *rows, ""]).encode()


_CONFIG = (
    b"wandb_version: 1\nactor:\n  desc: null\n  value: {entropy_coeff: 0.001, loss_agg_mode: token-mean}\n"
)


def _wandb() -> bytes:
    rows = []
    for step in STEPS:
        values = {"actor/entropy": entropy(step), "critic/score/mean": reward(step)}
        rows.append(wandb.row(step, **values, deep={"a": {"b": 2}}, n=None))
    return wandb.log([wandb.about(settings="x"), *rows])[0]


def _events(first: int = 1) -> bytes:
    events = []
    for step in range(first, first + 12):
        curves = {"train/entropy": entropy(step), "train/reward": reward(step)}
        values = [tensorboard.scalar(name, value) for name, value in curves.items()]
        values.append(tensorboard.tensor("kl", tensorboard.DOUBLE, b"\x31" + struct.pack("<d", 0.25)))
        events.append(tensorboard.event(step, *values))
    return tensorboard.log(events)[0]


def _trackio() -> bytes:
    curves = {"train/entropy": entropy, "train/reward": reward}
    return trackio.filled(
        *((step, {name: value(step) for name, value in curves.items()} | {"kl": "NaN"}) for step in STEPS)
    )


def _mlflow(target: str = "") -> Sample:
    """A folder, or the database."""
    curves = {"actor/entropy": entropy, "critic/score/mean": reward}
    logged = [(1000 * step, key, value(step), step) for step in STEPS for key, value in curves.items()]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        if not target:
            runs = {(mlflow.ID, "grpo", "active"): logged}
            path = mlflow.write_database(root / "a.db", runs, [("temperature", "0.7", mlflow.ID)])
            return Sample(format="mlflow-db", files={"mlflow.db": Path(path).read_bytes()})
        folder = Path(mlflow.write_folder(root, logged, {"temperature": "0.7"}))
        files = {
            str(path.relative_to(root)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        return Sample(format="mlflow", files=files, target=f"1/{mlflow.ID}/{target}")


def _wandb_folder(target: str, *, log: bytes = b"") -> Sample:
    folder = "run-20260101_000000-ab12"
    files = {
        f"{folder}/run-ab12.wandb": log or _wandb(),
        f"{folder}/files/output.log": _verl(),
        f"{folder}/files/config.yaml": _CONFIG * 6,
    }
    return Sample(format="wandb", files=files, target=f"{folder}/{target}")


def _single(format: str, name: str, data: bytes, *, whole: bool = True) -> Sample:
    return Sample(format=format, files={name: data}, whole=whole)


PRIME_TRAINER, PRIME_ORCHESTRATOR = (text.encode() for text in consoles_b.PRIME[:2])


def _text() -> str:
    """What people print by hand."""
    return "".join(f"Step {s} | Entropy {entropy(s):.6f} | Reward {reward(s):.6f}\n" for s in STEPS)


def _consoles() -> dict[str, str]:
    """What trainers print in lines that the reader of text takes, by trainer."""
    return {
        "roll": consoles_a.roll(steps=range(12)),
        "areal": consoles_a.areal(steps=range(12)),
        "easyr1": consoles_a.easyr1(steps=range(12)),
        **{name: texts[0] for name, texts in consoles_b.TEXTS.items() if name != "prime-rl"},
    }


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
        "trl": _single("trl", "x.log", trl.terminal(every=1, total=12, evaluations=(4, 8, 12)).encode()),
        "slime": _single("slime", "x.log", consoles_a.slime(stop=12).encode()),
        **{name: _single("text", "x.log", text.encode()) for name, text in _consoles().items()},
        "text": _single("text", "x.log", _text().encode()),
        "prime-trainer": _single("text", "trainer.log", PRIME_TRAINER, whole=False),
        "prime-orchestrator": _single("text", "orchestrator.log", PRIME_ORCHESTRATOR, whole=False),
        "notebook": _single("ipynb", "x.ipynb", notebooks.small(STEPS)),
        "wandb": _single("wandb", "run-ab12.wandb", _wandb()),
        "wandb-chart": _single("wandb-chart", "x.csv", _chart("train/reward", reward), whole=False),
        "tfevents": _single("tfevents", "events.out.tfevents.1700000000.host", _events()),
        "tensorboard-csv": _single("tensorboard-csv", "run-a-tag-reward.csv", _curve(reward), whole=False),
        "trackio": _single("trackio", "x.db", _trackio()),
        "mlflow-db": _mlflow(),
    }


def _folders() -> dict[str, Sample]:
    """Logs of several files, of which one is damaged."""
    events = {f"run/events.out.tfevents.{i}.host": _events(12 * i + 1) for i in range(2)}
    parts = {f"run/part-{i}.parquet": _parquet(12 * i + 1) for i in range(2)}
    charts = {"e.csv": _chart("train/entropy", entropy), "r.csv": _chart("train/reward", reward)}
    curves = {"run-a-tag-entropy.csv": _curve(entropy), "run-a-tag-reward.csv": _curve(reward)}
    halves = {"trainer.log": PRIME_TRAINER, "orchestrator.log": PRIME_ORCHESTRATOR}
    return {
        "wandb-folder": _wandb_folder("run-ab12.wandb"),
        "wandb-folder-config": _wandb_folder("files/config.yaml"),
        "wandb-folder-console": _wandb_folder("files/output.log", log=b":W&B\xe1\xbe\x00" + bytes(100)),
        "mlflow-folder": _mlflow("metrics/actor/entropy"),
        "mlflow-folder-meta": _mlflow("meta.yaml"),
        "tfevents-folder": Sample(format="tfevents", files=events),
        "parquet-parts": Sample(format="parquet", files=parts),
        "wandb-charts": Sample(format="wandb-chart", files=charts),
        "tensorboard-csvs": Sample(format="tensorboard-csv", files=curves),
        "prime-halves": Sample(format="text", files=halves),
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
        if is_text(sample) and sample.format != "ipynb":  # nobody saves notebooks as UTF-16
            files = {sample.damaged: sample.data.decode().encode("utf-16")}
            found[f"{name}-utf16"] = Sample(format=sample.format, files=files, whole=sample.whole)
    return found | _folders()


def is_text(sample: Sample) -> bool:
    """Whether a sample's damaged file is text in UTF-8."""
    data, path = sample.data, sample.damaged
    return b"\0" not in data and not (data.startswith((b"PAR1", b":W&B")) or path.endswith((*PACKED,)))
