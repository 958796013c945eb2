"""Logs with records of several kinds, other names, and layouts that people write by hand."""

import csv
import io
import json
import math
import re
import shlex

import numpy as np
import pytest

from entropylaw import EntropyLawError, InputError, read_runs
from entropylaw.roles.explain import explain
from entropylaw.roles.select import select
from tests.hostile import refused

N = 20
STEPS = range(1, N + 1)
EVERY = 4


def h(step):
    return round(0.1 + 0.9 * math.exp(-step / 8), 4)


def r(step):
    return round(0.9 - 0.25 * h(step), 4)


def v(step):
    return round(0.7 - 0.2 * h(step), 4)


def trained():
    return [(step, h(step), r(step)) for step in STEPS]


def evaluated(scale=1.0):
    return [(step, h(step), round(v(step) * scale, 4)) for step in STEPS if step % EVERY == 0]


def jsonl(training, evaluation=None):
    rows = []
    for step in STEPS:
        rows.append(training(step))
        if evaluation and step % EVERY == 0:
            rows.append(evaluation(step))
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def table(rows, separator=","):
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(text := io.StringIO(), delimiter=separator, lineterminator="\n")
    writer.writerows([names, *([row.get(name, "") for name in names] for row in rows)])
    return text.getvalue()


def lines(training, evaluation=None):
    return "".join(
        training(step) + (evaluation(step) if evaluation and step % EVERY == 0 else "") for step in STEPS
    )


def update(step, **more):
    return {"step": step, "entropy": h(step), "reward": r(step), "loss": 0.1, **more}


def state():
    for step in STEPS:
        yield update(step, learning_rate=1e-6, epoch=step / N)
        if step % EVERY == 0:
            yield {"eval_loss": 0.2, "eval_runtime": 9.5, "reward": v(step), "epoch": step / N, "step": step}


def kinds():
    for step in STEPS:
        yield {"type": "rollout", "step": step, "reward": r(step)}
        yield {"type": "update", "step": step, "entropy": h(step), "reward": -1.0}
        if step % EVERY == 0:
            yield {"type": "evaluation", "step": step, "pass@1": v(step), "n": 500}
    yield {"type": "summary", "step": N, "reward": 0.99, "entropy": 5.0}


def benchmarks():
    for step in STEPS:
        yield {"split": "train", **update(step)}
        for name, share in (("aime", 0.5), ("math500", 1.0)) if step % EVERY == 0 else ():
            yield {"split": "test", "dataset": name, "step": step, "accuracy": v(step) * share}


def calls(named):
    """Rows of W&B: training with a step or without, evaluations without."""
    rows = []
    for step in STEPS:
        rows.append({named: step} if named else {})
        rows[-1] |= {"entropy": h(step), "loss": 0.1} | ({"reward": r(step)} if named else {})
        if not named or step % EVERY == 0:
            rows.append({"val_acc": v(step)} if named else {"reward": r(step)})
    return table([{"_step": call, "_timestamp": 1.7e9 + call, **row} for call, row in enumerate(rows)])


def box(step):
    cells = {"train/reward": r(step), "train/entropy": h(step)}
    rows = "".join(f"\x1b[2m│ \x1b[36m{name:14}\x1b[0m │ {value:8} │\n" for name, value in cells.items())
    head = "┏━━━━━━━━━━━━━━━━┳━━━━━━━━━━┓\n┃ Metric         ┃ Value    ┃\n"
    return f"          Step {step}\n{head}{rows}└──┴──┘\n"


def tidy():
    metrics = (("val_acc", v, EVERY), ("entropy", h, 1))
    return [
        {"run_name": "a", "metric": name, "step": step, "value": of(step)}
        for name, of, every in metrics
        for step in STEPS
        if step % every == 0
    ]


def sections(step):
    text = f"===== Step {step} =====\nRollout:\n  mean reward: {r(step)}\nTraining:\n  entropy: {h(step)}\n"
    return text + (f"Validation:\n  accuracy: {v(step)}\n" if step % EVERY == 0 else "")


PER_UPDATE = [
    {"iteration": step, "ppo_epoch": k, "entropy": round(h(step) + 0.01 * (k - 1), 4), "mean_reward": r(step)}
    for step in STEPS
    for k in range(3)
]
#: Name of the file, text, entropy, reward, pairs of (step, entropy, reward).
SAMPLES = {
    "a column `split`": (
        "a.jsonl",
        jsonl(lambda s: update(s, split="train"), lambda s: {"split": "val", "step": s, "reward": v(s)}),
        *("entropy", "reward [val]", evaluated()),
    ),
    "five kinds, of which each has its own values": (
        *("a.jsonl", "".join(f"{json.dumps(row)}\n" for row in kinds())),
        *("entropy [update]", "pass@1 [evaluation]", evaluated()),
    ),
    "a switch": (
        "a.jsonl",
        jsonl(lambda s: update(s, is_eval=False), lambda s: {"is_eval": True, "step": s, "reward": v(s)}),
        *("entropy", "reward [eval]", evaluated()),
    ),
    "two benchmarks at a step": (
        *("a.jsonl", "".join(f"{json.dumps(row)}\n" for row in benchmarks())),
        *("entropy", "accuracy [test aime]", evaluated(0.5)),
    ),
    "evaluations that no column names": (
        "a.jsonl",
        jsonl(update, lambda s: {"step": s, "reward": v(s), "n_problems": 500}),
        *("entropy", "reward [eval]", evaluated()),
    ),
    "a Trainer's evaluations without a prefix": (
        *("trainer_state.json", json.dumps({"log_history": [*state()]})),
        *("entropy", "reward [eval]", evaluated()),
    ),
    "nested": (
        "a.jsonl",
        jsonl(
            lambda s: {"step": s, "train": update(s), "eval": {"reward": v(s)} if s % EVERY == 0 else None}
        ),
        *("train/entropy", "eval/reward", evaluated()),
    ),
    "calls that alternate": ("a.csv", calls(""), "entropy", "reward", trained()),
    "evaluations without the named step": ("a.csv", calls("grpo_step"), "entropy", "val_acc", evaluated()),
    "a step in the rows of images alone": (
        "a.csv",
        table([row for s in STEPS for row in (update(s) | {"step": "", "train/iteration": s}, {"step": s})]),
        *("entropy", "reward", trained()),
    ),
    "several updates of a rollout": ("a.csv", table(PER_UPDATE), "entropy", "mean_reward", trained()),
    "a row per metric": ("a.csv", table(tidy()), "entropy", "val_acc", evaluated()),
    "counts and a rate": (
        "a.csv",
        table(
            [
                {"step": s, "entropy": h(s), "n_rewarded": s % 3, "reward_std": 0.1, "win_rate": r(s)}
                for s in STEPS
            ]
        ),
        *("entropy", "win_rate", trained()),
    ),
    "percent signs": (
        "a.csv",
        table([{"step": s, "entropy": h(s), "accuracy": f"{100 * r(s):.2f}%"} for s in STEPS]),
        *("entropy", "accuracy", trained()),
    ),
    "names in words": (
        "a.csv",
        table([{"Iteration": s, "Policy Entropy": h(s), "Mean Score": r(s)} for s in STEPS], ";"),
        *("Policy Entropy", "Mean Score", trained()),
    ),
    "pairs behind a prefix": (
        "a.log",
        lines(lambda s: f"\x1b[36m(main pid=9)\x1b[0m 10:00:00 INFO step={s} entropy={h(s)} reward={r(s)}\n"),
        *("entropy", "reward", trained()),
    ),
    "bars and tags": (
        "a.log",
        lines(
            lambda s: f"[Train] Step {s:>4}/{N} | entropy {h(s)} | reward {r(s)}\n",
            lambda s: f"[Eval]  Step {s:>4}/{N} | reward {v(s)} | n 500\n",
        ),
        *("entropy", "reward [eval]", evaluated()),
    ),
    "brackets": (
        "a.log",
        lines(lambda s: f"Epoch [1/3] Step [{s}/{N}] Loss: 0.1 Entropy: {h(s)} Reward: {r(s)}\n"),
        *("Entropy", "Reward", trained()),
    ),
    "sections": ("a.log", lines(sections), "Training/entropy", "Validation/accuracy", evaluated()),
    "a step that closes its record": (
        "a.log",
        lines(lambda s: f"entropy: {h(s)}\nreward: {r(s)}\nstep: {s}\n---\n"),
        *("entropy", "reward", trained()),
    ),
    "boxes with colours": ("output.log", lines(box), "train/entropy", "train/reward", trained()),
    "a header again and again": (
        "a.out",
        lines(
            lambda s: (
                ("  Step   Reward  Entropy\n" if s % 5 == 1 else "") + f"{s:6} {r(s):8.4f} {h(s):8.4f}\n"
            )
        ),
        *("Entropy", "Reward", trained()),
    ),
    "a table in Markdown": (
        *(
            "a.md",
            "| step | entropy | reward |\n|---|---|---|\n" + lines(lambda s: f"| {s} | {h(s)} | {r(s)} |\n"),
        ),
        *("entropy", "reward", trained()),
    ),
    "a progress bar": (
        "a.log",
        lines(lambda s: f"\r {s * 5}%|██▌ | {s}/{N} [00:01<00:09, 2.6s/it, entropy={h(s)}, reward={r(s)}]")
        + "\n",
        *("entropy", "reward", trained()),
    ),
    "JSON in a line": (
        "a.log",
        lines(
            lambda s: (
                f"2026-03-01 INFO {json.dumps({'step': s, 'policy': {'entropy': h(s)}, 'reward': r(s)})}\n"
            )
        ),
        *("policy/entropy", "reward", trained()),
    ),
    "a logger's JSON": (
        "a.log",
        jsonl(lambda s: {"level": "info", "message": f"step={s} entropy={h(s)} reward={r(s)}"}),
        *("entropy", "reward", trained()),
    ),
    "an evaluation below a heading": (
        "a.log",
        lines(
            lambda s: f"--- iteration {s} ---\nreward = {r(s)}\nentropy = {h(s)}\n",
            lambda s: f"running evaluation\nreward = {v(s)}\n",
        ),
        *("entropy", "reward [eval]", evaluated()),
    ),
}


@pytest.fixture
def read(tmp_path):
    def from_text(name, text, **options):
        (tmp_path / name).write_text(text)
        return read_runs(tmp_path / name, **options)

    return from_text


@pytest.mark.parametrize(("name", "text", "entropy", "reward", "pairs"), SAMPLES.values(), ids=SAMPLES)
def test_each_record_is_in_its_place(read, name, text, entropy, reward, pairs):
    (run,) = read(name, text)
    series = select(run)
    assert (series.entropy_choice.column, series.reward_choice.column) == (entropy, reward)
    assert series.reward_choice.meaning.kind == ("training" if pairs == trained() else "validation")
    values = np.column_stack([series.entropy, series.reward])
    np.testing.assert_allclose(values, [pair[1:] for pair in pairs], rtol=0, atol=1e-9)
    assert run.dropped.keys() <= {"no step in the record"}
    if "[" in reward:
        note = next(note for note in run.notes if note.startswith("records of "))
        assert f"'{reward}'" in note
        assert note in explain(run).notes


def test_a_value_of_one_kind_never_replaces_one_of_another(read):
    (run,) = read(*SAMPLES["five kinds, of which each has its own values"][:2])
    assert {name: run.finite(name).tolist()[-1] for name in run.columns if "reward" in name} == {
        "reward [rollout]": r(N),
        "reward [update]": -1.0,
        "reward [summary]": 0.99,
    }


def test_a_chosen_column_says_why(read):
    (run,) = read(*SAMPLES["several updates of a rollout"][:2])
    assert any("60 rows for 20 steps" in note and "mean per step" in note for note in run.notes)
    assert "on 60 of 60 records" in run.step_why


UNKNOWN = {
    "letters": table([{"t": s, "H": h(s), "R": r(s)} for s in STEPS]),
    "a count before a reward": table(
        [{"it": s, "ent": h(s), "n_ok": s, "groups": 2 * s, "rew": r(s)} for s in STEPS]
    ),
    "no step": table([{"entropy": h(s), "reward": r(s)} for s in STEPS]),
    "two runs without a name": table(
        [{"lr": lr, "step": s, "entropy": h(s) + lr, "reward": r(s)} for s in STEPS for lr in (0.1, 0.3)]
    ),
    "a constant step": table([{"step": 0, "entropy": h(s), "reward": r(s)} for s in STEPS]),
    "bits": table([{"step": s, "entropy": h(s) + 13, "reward": r(s)} for s in STEPS]),
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_what_a_hint_says_leads_to_the_right_columns(read, text):
    options = {"step": None, "run": None, "entropy": None, "reward": None}
    for _ in range(4):
        try:
            runs = read("log.csv", text, step=options["step"], run=options["run"])
            series = select(runs[0], entropy=options["entropy"], reward=options["reward"])
            if series.no_entropy is None:
                break
            hint = series.no_entropy.hint
        except EntropyLawError as error:
            hint = error.hint
        words = shlex.split(re.sub(r"\(row: .*|, as in: .*", "", hint))
        options |= {word[2:]: words[at + 1] for at, word in enumerate(words) if word.startswith("--")}
    rewards = series.reward.tolist()
    assert rewards == [r(s) for s in STEPS]
    assert len(runs) == (2 if "lr" in text else 1)


def test_units_are_named_with_the_column(read):
    rows = [{"step": s, "ent": 2 * h(s), "acc": 100 * r(s)} for s in STEPS]
    (run,) = read("a.csv", table(rows))
    series = select(run, entropy="ent:bits", reward="acc:percent")
    np.testing.assert_allclose(series.reward, [r(s) for s in STEPS])
    np.testing.assert_allclose(series.entropy, [2 * math.log(2) * h(s) for s in STEPS])
    series = select(run, entropy="ent")
    assert any("'acc' is in percent; --reward acc:percent" in note for note in series.notes)


def test_a_workbook_is_named_with_the_way_to_csv(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04" + b"\0" * 26 + b"[Content_Types].xml" + b"\0" * 99)
    with pytest.raises(InputError, match="workbook of Excel") as caught:
        read_runs(tmp_path / "a.xlsx")
    assert "CSV" in caught.value.hint
    refused("format-not-read", read_runs, tmp_path / "a.xlsx")
