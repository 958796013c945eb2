"""Which readers take a text for one of their own, whatever its file is called."""

import json

import pytest

from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import READERS
from tests.unit import test_ingest_notebook as notebooks
from tests.unit import test_ingest_tensorboard_csv as tensorboard
from tests.unit import test_ingest_trainer_state as trainer_state
from tests.unit import test_ingest_trl_console as trl

STATE = trainer_state.text([trainer_state.training(1)])
SUMMARY = {"train/reward": 0.5, "_timestamp": 1.7e9, "_runtime": 2.5, "_step": 525, "_wandb": {"runtime": 2}}
POINTS = json.dumps(tensorboard.POINTS, indent=2)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


RECOGNISED = {
    "trainer-state, jsonl": [
        *(STATE, "\n  " + STATE, "\ufeff" + STATE, STATE[:400], trainer_state.text([], None)),
        '{"best_metric": null, "log_history": [{"step": 1, "reward": 0.5}]}',
        '{"log_history": [{"step": 1, "reward": 0.5}], "global_step": 1}',
    ],
    "tensorboard-csv, csv": [
        *(tensorboard.CSV, "\ufeff" + tensorboard.CSV, tensorboard.CSV.encode("utf-16")),
        *('"Wall time","Step","Value"\n1,2,3\n', "wall time\tstep\tvalue\n1\t2\t3\n"),
    ],
    "tensorboard-csv": ["Wall time,Step,Value"],
    "tensorboard-csv, jsonl": [tensorboard.JSON, POINTS],
    "trl": ["noise\n" * 20_000 + trl.entry(1)],
    "trl, text": [trl.terminal()],
    "text": [
        "DEBUG Micro Step 0/4 | Loss 0.1 | Entropy 0.2 | Mismatch KL 0.0\n",
        "Episode 3 | Reward 0.5 | Entropy 0.1\n",
    ],
    "wandb-chart, csv": ["Step,a - loss,a - loss__MIN,a - loss__MAX\n1,2,3,4\n"],
    "verl": ["step:1 - a:2\n1,2,3,4\n", "Name of the run: x\nstep:1 - a:2\n"],
    "jsonl, verl": [lines({"text": notebooks.notebook(notebooks.code()).decode()})],
    "csv": [
        *("step,log_history\n1,[\n", "step,entropy,reward\n1,2,3\n", '"step","entropy"\n"1","0.5"\n'),
        # Not TensorBoard's, with three columns of these names.
        *("Wall time,Step,Value,Run\n1,2,3,4\n", "Step,Value\n1,2\n"),
        # Not a chart of W&B, with bounds or one metric of several runs.
        *("epoch,loss - train,loss - val\n1,0.5,0.2\n", "step,train - loss,val - loss\n1,0.5,0.2\n"),
        *("step,entropy - mean,kl,reward\n1,0.5,0.2,3\n", "id,x__MIN,x__MAX,x,name\n1,2,3,4,5\n"),
        "Step,a - 1,a - 2,b - 3,b - 4,c - 5\n1,2,3,4,5,6\n",
        # Not its table of runs.
        "Name,State,step,reward\na,finished,1,2\n",
        "Name,State,User,Tags,Created\nBerlin,open,me,x,2020\nRome,closed,me,x,2021\n",
    ],
    "jsonl": [
        *('{"step": 1, "log_history": "x"}\n', '{"step": 1, "reward": 0.5}\n', '{"loss": 0.5, "epoch": 1}\n'),
        *("[[1, 2, 3], [4, 5, 6]]", "[[1.7e9, 1, 0.5, 3]]", '[["a", 1, 0.5]]', "[]", '[{"step": 1}]', "{}"),
        *(
            lines({"cells": 3, "step": 1}, {"cells": 4}),
            '{"metadata": {}, "cells": [{"cell_type": "neuron"}]}',
        ),
        *(lines({"a - b": 2}, {"a - b": 2}), '{"step": 1, "actor": {"entropy_loss": 0.4}}\n'),
        # Not a summary of W&B, which is one object with last values.
        *(json.dumps([SUMMARY]), lines(*({"_step": n, "_runtime": 9.5, "reward": 0.5} for n in range(3)))),
        lines({"step": 1, "data": {"actor/entropy": 0.5, "_step": 1, "_runtime": 2}}),
        lines(*({"_step": step, "_runtime": 9.5, "note": "x" * 70_000} for step in range(3))),
        json.dumps({"_step": [1, 2, 3], "_runtime": [4, 5, 6], "reward": [7, 8, 9]}),
        json.dumps({"_step": {"0": 1, "1": 2}, "_runtime": {"0": 3, "1": 4}, "_wandb": {"runtime": 1}}),
        json.dumps({"_wandb": {"value": {"cli_version": "0.31.0"}}, "lr": {"value": 1e-6}}),
        *('{"_wandb": ' * 100_000, '{"_step": ' + "9" * 5000, '{"reward": 0.5}'),
    ],
    "": [
        *(
            "",
            "\n",
            "3",
            "Name,State,User,Tags,Created\n",
            "{" * 100_000,
            b"\x80\x04\x95" + bytes(range(256)),
            '["log_history", [1]]',
        ),
        *(b"\0\1\2" * 100 + tensorboard.CSV.encode(), b"\0\1\2\3" * 100 + trl.entry(1).encode()),
        *("epoch 1\n{'loss': 0.5, 'epoch': ", "{'bos_token_id': None}\n"),
        "12:00:00 SUCCESS Step 3 | Time: 5.12s | Loss: 0.5 | Accuracy: 0.4 | Grad. Norm: 0.1\n",
        "12:00:00 SUCCESS Step 3 |   5.12s | Loss 0.5000 | Grad. Norm 0.1 | LR 1e-6\n",
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nKeyError: {'a': 1}\n",
        "Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'reward'\nStep 3: \nnone\n",
        "Collecting torch\n  Downloading torch-2.9.1.whl\n     ━━━━━ 90/900 MB │ 3.1 MB/s\nStep 1\n",
        "Collecting torch\n  Downloading torch-2.5.1 (906 MB)\nStep 1/3 : FROM python\n",
        "Step 1\nTools:\n  hammer: 1\n\nStep 2\nTools:\n  saw: 2\n",
        "rollout 1: {'a': 1}\nstep 2: {'loss': 0.5}\nperf 3: {}\n",
        "pipeline step 3 start...\nnothing\n",
        "Train step 3/4 done.\n| a | 1 |\n│ name │ value │\n",
        "Global step 3 | Reward 0.5\nMetrics\n┃ Metric ┃\n",
        # NeMo RL prints no entropy: the reward alone is not a log of a run.
        f"{'=' * 25} Step 1/100 {'=' * 25}\n📊 Training Results:\n  • Loss: 0.0123\n  • Avg Reward: 0.1234\n",
    ],
}


@pytest.mark.parametrize(
    ("readers", "text"), [(readers, text) for readers, texts in RECOGNISED.items() for text in texts]
)
def test_the_readers_that_recognise_a_text(readers, text):
    content = Content("x", text if isinstance(text, bytes) else text.encode())
    assert ", ".join(reader.name for reader in READERS if reader.recognises(content)) == readers
