"""Consoles among other text: folded by a terminal, and with what a model has written between the records."""

import math
import random
from pathlib import Path

import pytest

from entropylaw import read_runs
from entropylaw.roles.select import select

FORMATS = Path(__file__).parents[2] / "data" / "formats"
STEPS = range(1, 41)


def h(step):
    return round(0.1 + math.exp(-step / 9), 4)


def r(step):
    return round(0.9 - h(step) / 2, 4)


def verl():
    """The first records of a run of the lab; others of verl are longer."""
    return (FORMATS / "grpo_s0" / "verl_console.log").read_text().splitlines(keepends=True)[:40]


def trl():
    rest = "'learning_rate': 1e-06, 'completions/mean_length': 231.5, 'frac_reward_zero_std': 0.25"
    return [
        f"{{'loss': 0.01, 'reward': {r(s)}, 'entropy': {h(s)}, {rest}, 'epoch': {s / 99:.4f}}}\n"
        for s in STEPS
    ]


def pairs():
    start = "2026-03-01 10:00:00 INFO  Step"
    return [
        f"{start} {s:4}/40 | loss 0.001 | reward {r(s):.4f} | entropy {h(s):.4f} | lr 1e-06\n" for s in STEPS
    ]


def boxes():
    rows = [("train/reward", r), ("train/entropy", h)]
    for step in STEPS:
        cells = "".join(f"│ {name:<29} │ {of(step):8.4f} │\n" for name, of in rows)
        yield f"                 Step {step}\n┏{'━' * 31}┳{'━' * 10}┓\n{cells}└{'─' * 31}┴{'─' * 10}┘\n"


def names_below():
    return [f"step: {s}\nentropy: {h(s):.4f}\nreward: {r(s):.4f}\n" for s in STEPS]


CONSOLES = {"verl": verl, "trl": trl, "pairs": pairs, "boxes": boxes}


def folded(text, width):
    lines = (
        line[start : start + width]
        for line in text.split("\n")
        for start in range(0, max(len(line), 1), width)
    )
    return "\n".join(lines)


@pytest.fixture
def series(tmp_path):
    def of_text(text):
        (tmp_path / "console.log").write_text(text)
        (run,) = read_runs(tmp_path / "console.log")
        chosen = select(run)
        return run, [chosen.step.tolist(), chosen.entropy.tolist(), chosen.reward.tolist()]

    return of_text


@pytest.mark.parametrize("width", [60, 80, 120, 180])
@pytest.mark.parametrize("console", ["verl", "trl", "pairs"])
def test_a_folded_console_gives_the_series_of_the_unfolded_one(series, console, width):
    text = "".join(CONSOLES[console]())
    _, plain = series(text)
    run, of_folded = series(folded(text, width))
    assert of_folded == plain
    if folded(text, width) != text:
        assert f"lines are folded at {width} characters: joined" in run.notes


@pytest.mark.parametrize("records", [boxes, pairs, names_below])
def test_lines_of_one_length_are_not_joined(series, records):
    run, (step, entropy, reward) = series("".join(records()))
    assert (step, entropy, reward) == ([*STEPS], [h(s) for s in STEPS], [r(s) for s in STEPS])
    assert not any("folded" in note for note in run.notes)


def written_by_a_model(size):
    """Text with steps, rewards and assignments in it."""
    phrase = "so we have x = 5 and Step 2: compute the reward = 3 if y: 7 then {'a': 1} **Step 3** of the"
    words = f"{phrase} entropy of a coin: 0.69 Let's check 1/2 of 100% (a+b) answer: 42".split()
    draw = random.Random(size)
    text = []
    while sum(map(len, text)) < size:
        text.append(" ".join(draw.choices(words, k=draw.randint(3, 40))) + "\n")
    return "".join(text)


@pytest.mark.parametrize("console", CONSOLES)
def test_text_between_records_changes_nothing(series, console):
    records = [*CONSOLES[console]()]
    text = written_by_a_model(100_000)
    between = [text + record if place in (0, 9, 10, 30) else record for place, record in enumerate(records)]
    _, plain = series("".join(records))
    run, among_text = series("".join(between) + text)
    assert among_text == plain
    assert "x" not in run.columns
