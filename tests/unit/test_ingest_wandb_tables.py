"""Histories from W&B, and its tables and summaries that have last values only."""

import json
import re

import numpy as np
import pytest

from entropylaw.logs.readers.trackers.wandb import history_notes
from tests.hostile import flipped
from tests.unit.test_ingest_wandb_exports import (
    CHART,
    HISTORY,
    RUN_TABLE,
    SUMMARY,
    content,
    quoted,
    refused,
)

# Histories

STEPS = np.sort(np.random.default_rng(1).choice(9000, 524, replace=False))
NOTED = [
    (STEPS[:500], 500, "with 500 rows of a run"),
    (STEPS[:503], 503, "run.history() returns about 500 sa"),
    (STEPS[::-1], 524, "with 524 rows of a run"),
    (np.concatenate((STEPS[:500], STEPS[:500])), 1000, "with 500 rows of a run"),
    ([0, 1, 2, 5, 6, 9, 10], 7, "'_step' jumps in 2 of 6 places"),
    ([0, 1, 2, 5, 6, 9, 10], 7, "only rows with certain keys were requested"),
    (None, 70, "maybe sampled"),
]


@pytest.mark.parametrize(("steps", "rows", "said"), NOTED, ids=range(len(NOTED)))
def test_what_looks_sampled_is_noted(steps, rows, said):
    (note,) = history_notes(HISTORY, steps, rows)
    assert said in note
    assert "pandas.DataFrame(wandb.Api().run(PATH).scan_history()).to_csv(FILE)" in note


@pytest.mark.parametrize(
    "steps",
    [
        *([], [3], ["x", None, "y"], [np.nan, np.inf, 1], [1e308, -1e308, 1e308], [2, 2, 2], [None] * 9),
        *(np.arange(500), [str(step) for step in range(42)], np.arange(7, 90)),
        *(np.concatenate((np.arange(50), np.arange(70))), 179 + 29 * np.arange(300)),
    ],
)
def test_steps_that_show_nothing_or_a_complete_history_give_no_note(steps):
    assert history_notes(HISTORY, steps, len(steps)) == ()


def test_what_is_no_history_has_no_note():
    found = [bool(history_notes((step, other), [0, 5, 7], 3)) for step, other in (
        ("_step", "reward"), ("step", "_runtime"), ("_step", "_timestamp")
    )]  # fmt: skip
    assert found == [False, False, True]


# Tables of runs

CELLS = {
    "Name": "run-{}",
    "Agent": "",
    "State": "finished",
    "Notes": 'a "note",\nover two lines',
    "User": "somebody",
    "Tags": "a, b",
    "Created": "2025-11-13T09:{:02d}:11.000Z",
    "Updated": "2025-11-14T09:{:02d}:11.000Z",
    "Runtime": "{}00",
    "Sweep": "1wfhjnkh",
    "GPU Type": "A100",
}
OWN = ["Name", "Agent", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep"]


def run_table(own=OWN, rows=6):
    table = [[*(CELLS[name].format(row) for name in own), 0.5, 0.1 * row, 7] for row in range(rows)]
    return quoted([[*own, "lr", "train/reward", "_step"], *table])


DOCUMENTED = ["", "summary", "config", "name"]
SAME = run_table(["Name", "State", "User", "Created", "Sweep"]).replace('"', "")
RUN_TABLES = [
    *(run_table(rows=rows) for rows in (1, 6, 300)),
    run_table(["Name", "State", "Notes", "User", "Tags", "Created", "Updated", "Runtime", "GPU Type"]),
    run_table(["Name", "Runtime", "Notes", "Tags"]),
    *(SAME, re.sub(r"run-\d", "same", SAME)),
    # As wandb's documentation makes one of all runs.
    quoted([DOCUMENTED, *([n, str({"_step": 9}), "{'lr': 1}", f"run-{n}"] for n in range(3))]),
]


@pytest.mark.parametrize("data", RUN_TABLES, ids=range(len(RUN_TABLES)))
def test_a_table_of_runs_is_refused(data):
    assert RUN_TABLE.recognises(content(data))
    assert not CHART.recognises(content(data))
    error = refused("last-values-only", RUN_TABLE, data)
    assert "a row per run" in error.message
    assert "pandas.DataFrame(wandb.Api().run(PATH).scan_history()).to_csv(FILE)" in error.hint


def test_a_history_with_the_runs_own_columns_on_every_row_is_no_table_of_runs():
    header = ["Name", "State", "User", "Created", "Runtime", "_step", "reward"]
    rows = [["a", "finished", "me", "2025", 9 * step, step, 0.1] for step in range(30)]
    assert not RUN_TABLE.recognises(content(quoted([header, *rows])))
    assert not RUN_TABLE.recognises(content(quoted([DOCUMENTED, *([1, 2, 3, 4],) * 3])))


def test_a_damaged_table_of_runs_raises_nothing():
    whole = run_table().encode()
    assert any(RUN_TABLE.recognises(content(whole[:end])) for end in range(0, len(whole) + 1, 7))
    found = [RUN_TABLE.recognises(content(data)) for data in flipped(whole)]
    assert sum(found) > len(found) / 3
    for text in ("Name," * (1 << 17) + "\n1\n", 'Name,State,User,Tags\n"' + "a\n" * 5000):
        assert not RUN_TABLE.recognises(content(text))
    RUN_TABLE.recognises(content("Name,State,User,Tags\n" + '"' + "a" * 200_000 + '",finished,b,c\n'))


# Summaries

SUMMARIES = [
    {"train/reward": 0.5, "_timestamp": 1.7e9, "_runtime": 2.5, "_step": 525, "_wandb": {"runtime": 2}},
    {"actor": {"entropy": 0.3}, "_wandb": {"runtime": 130}},
    {"_wandb": {"runtime": 7}},
    {"loss": float("nan"), "_runtime": 4, "_step": 4, "_timestamp": 1644345412},
    {"media": {"_type": "histogram", "values": [1, 2]}, "_step": 10**20, "_runtime": 1, "_wandb": {}},
    {**{f"metric {number}": number for number in range(9000)}, "_wandb": {"runtime": 3}},
]


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_summary_is_refused(summary, indent):
    data = json.dumps(summary, indent=indent) + "\n"
    assert SUMMARY.recognises(content(data, "wandb-summary.json"))
    assert ".wandb" in refused("last-values-only", SUMMARY, data, "wandb-summary.json").hint


def test_a_summary_that_was_cut_off_is_none():
    whole = json.dumps(SUMMARIES[0])
    assert not any(SUMMARY.recognises(content(whole[:end])) for end in range(len(whole)))
    for data in flipped(whole.encode()):
        SUMMARY.recognises(content(data))
