"""Histories from W&B, and its tables and summaries that have last values only."""

import csv
import json

import numpy as np
import pytest

from entropylaw.logs.readers.trackers.wandb import (
    COMPLETE_HISTORY,
    history_notes,
)
from tests.hostile import flipped
from tests.unit.test_ingest_wandb_exports import (
    CHART,
    HISTORY,
    REAL_HISTORY,
    RUN_TABLE,
    SUMMARY,
    content,
    quoted,
    refused,
)

# Histories


@pytest.mark.parametrize("rows", [500, 503, 524])
def test_about_500_rows_with_gaps_look_sampled(rows):
    steps = np.sort(np.random.default_rng(1).choice(9000, rows, replace=False))
    (note,) = history_notes(HISTORY, steps, rows)
    assert f"with {rows} rows of a run" in note
    assert "run.history() returns about 500 sampled rows" in note
    assert COMPLETE_HISTORY in note
    assert history_notes(HISTORY, steps[::-1], rows) == (note,)


def test_two_sampled_runs_below_each_other_look_sampled():
    steps = np.sort(np.random.default_rng(1).choice(9000, 500, replace=False))
    (note,) = history_notes(HISTORY, np.concatenate((steps, steps)), 1000)
    assert "with 500 rows of a run" in note


def test_other_gaps_may_be_innocent_and_the_note_says_so():
    (note,) = history_notes(HISTORY, [0, 1, 2, 5, 6, 9, 10], 7)
    assert "'_step' jumps in 2 of 6 places" in note
    assert "only rows with certain keys were requested" in note


def test_a_history_whose_steps_were_not_kept_may_be_sampled():
    (note,) = history_notes(HISTORY, None, 70)
    assert "maybe sampled" in note


def test_what_is_no_history_has_no_note():
    gaps = [0, 5, 7]
    assert history_notes(("_step", "reward"), gaps, 3) == ()
    assert history_notes(("step", "_runtime"), gaps, 3) == ()
    assert history_notes(("_step", "_timestamp"), gaps, 3) != ()


@pytest.mark.parametrize(
    "steps",
    [
        *([], [3], ["x", None, "y"], [np.nan, np.inf, 1], [1e308, -1e308, 1e308], [2, 2, 2], [None] * 9),
        *(np.arange(500), [str(step) for step in range(42)], np.arange(7, 90)),
        np.concatenate((np.arange(50), np.arange(70))),
        179 + 29 * np.arange(300),
    ],
)
def test_steps_that_show_nothing_or_a_complete_history_give_no_note(steps):
    assert history_notes(HISTORY, steps, len(steps)) == ()


@pytest.mark.skipif(not REAL_HISTORY.exists(), reason="the real history is not at hand")
def test_a_real_history_is_complete():
    with REAL_HISTORY.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert history_notes(list(rows[0]), [row["_step"] for row in rows], len(rows)) == ()
    without = [row["_step"] for row in rows if row["_step"] not in ("7", "9", "20")]
    assert "jumps in 3 of 38 places" in history_notes(list(rows[0]), without, len(without))[0]
    assert not RUN_TABLE.recognises(content(REAL_HISTORY.read_bytes()))
    assert not CHART.recognises(content(REAL_HISTORY.read_bytes()))


# Tables of runs

OWN = ["Name", "Agent", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep"]
STATES = ("finished", "failed", "running", "crashed")


def run_table(own=OWN, rows=6, names="run-{}"):
    cells = {
        "Name": names.format,
        "Agent": lambda _: "",
        "State": lambda row: STATES[row % 4],
        "Notes": lambda row: "-" if row else 'a "note",\nover two lines',
        "User": lambda _: "somebody",
        "Tags": lambda _: "a, b",
        "Created": lambda row: f"2025-11-13T09:{row:02d}:11.000Z",
        "Updated": lambda row: f"2025-11-14T09:{row:02d}:11.000Z",
        "Runtime": lambda row: 100 * row,
        "Sweep": lambda _: "1wfhjnkh",
        "GPU Type": lambda _: "A100",
    }
    table = [[*(cells[name](row) for name in own), 0.5, 0.1 * row, 7] for row in range(rows)]
    return quoted([[*own, "lr", "train/reward", "_step"], *table])


@pytest.mark.parametrize(
    "own",
    [
        OWN,
        ["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep"],
        ["Name", "State", "Notes", "User", "Tags", "Created", "Updated", "Runtime", "GPU Type"],
        ["Name", "Runtime", "Notes", "Tags"],
    ],
)
@pytest.mark.parametrize("rows", [1, 6, 300])
def test_a_table_of_runs_is_refused(own, rows):
    data = run_table(own, rows)
    assert RUN_TABLE.recognises(content(data))
    assert not CHART.recognises(content(data))
    error = refused("last-values-only", RUN_TABLE, data)
    assert "a row per run" in error.message
    assert COMPLETE_HISTORY in error.hint


def test_a_table_of_runs_without_quotes_and_with_same_names_is_known():
    own = ["Name", "State", "User", "Created", "Sweep"]
    assert RUN_TABLE.recognises(content(run_table(own, names="same").replace('"', "")))


def test_the_table_that_wandbs_documentation_makes_of_all_runs_is_known():
    header = ["", "summary", "config", "name"]
    rows = [[row, str({"reward": row, "_step": 9}), str({"lr": 1e-6}), f"run-{row}"] for row in range(3)]
    assert RUN_TABLE.recognises(content(quoted([header, *rows])))
    assert not RUN_TABLE.recognises(content(quoted([header, *([1, 2, 3, 4] for _ in range(3))])))


def test_a_history_with_the_runs_own_columns_on_every_row_is_no_table_of_runs():
    header = ["Name", "State", "User", "Created", "Runtime", "_step", "reward"]
    rows = [["a", "finished", "me", "2025", 9 * step, step, 0.1] for step in range(30)]
    assert not RUN_TABLE.recognises(content(quoted([header, *rows])))


def test_a_damaged_table_of_runs_raises_nothing():
    whole = run_table().encode()
    found = [RUN_TABLE.recognises(content(whole[:end])) for end in range(0, len(whole) + 1, 7)]
    assert any(found)
    assert sum(RUN_TABLE.recognises(content(data)) for data in flipped(whole)) > 100
    assert not RUN_TABLE.recognises(content("Name," * (1 << 17) + "\n1\n"))
    assert not RUN_TABLE.recognises(content('Name,State,User,Tags\n"' + "a\n" * 5000))
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
