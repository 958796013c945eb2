"""What TRL prints: written by hand as tqdm writes it, damaged, and real logs where they are at hand."""

import math

import numpy as np
import pytest

from entropylaw.errors import InputError
from entropylaw.ingest import read_runs, select
from entropylaw.ingest.readers.trainer_state import BAD_ENTRY
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.registry import reader_of
from tests.conftest import PUBLIC_LOGS, processor_time
from tests.hostile import refused, rows_or_refusal

REAL = PUBLIC_LOGS / "trl-console-tqdm"
SHOWN = "steps are those that the progress bar showed when each entry was printed"
COUNTED = "steps are counted from 1, logging_steps is not known"
SUMMARY = "{'train_runtime': 9.5, 'train_samples_per_second': 1.7, 'train_loss': 0.01, 'epoch': 0.5}"


def entry(step, **more):
    values = {"loss": 0.0, "reward": 0.1 * step, "rewards/f/mean": 0.3, "entropy": 0.5 / step}
    return str({**values, **more, "epoch": round(step / 100, 4)})


def evaluation(step, **more):
    return str({"eval_loss": 0.1, "eval_reward": 0.2 * step, **more, "epoch": round(step / 100, 4)})


def bar(step, total=20, name=""):
    return f"\r{name}{100 * step // total:3d}%|██▌       | {step}/{total} [00:19<11:24,  3.51s/it]"


def wiped(step, total=20):
    return "\r" + " " * (len(bar(step, total)) - 1) + "\r"


def evaluating(step, total=20):
    """The bar of an evaluation is drawn, and wiped, below the trainer's."""
    below = f"\n{bar(0, 8)}\x1b[A\n{bar(8, 8)}\x1b[A"
    wiping = wiped(step, total) + "\n\r" + " " * 40 + "\r\x1b[A"
    after = bar(step, total) + f"\n{bar(8, 8)}\x1b[A\n\r" + " " * 40 + "\x1b[A"
    return below + wiping, after


def terminal(every=5, total=20, last=None, evaluations=()):
    """The log of a run whose entries and bar come in the order in which they were printed."""
    text = "loading\n" + bar(4, 4, name="Loading checkpoint shards: ") + "\n" + bar(0, total)
    for step in range(1, (last or total) + 1):
        text += bar(step, total)
        if step % every == 0:
            text += wiped(step, total) + entry(step) + "\n" + bar(step, total)
        if step in evaluations:
            before, after = evaluating(step, total)
            text += before + evaluation(step) + "\n" + after
    return text


def buffered(text, at_once):
    """The same, when the entries wait in a buffer until there are several, as they do in a file."""
    parts, waiting = [], []
    for part in text.replace("{", "\0{").replace("}\n", "}\n\0").split("\0"):
        if part.startswith("{"):
            waiting.append(part)
            part = "".join(waiting) if len(waiting) == at_once else ""
            waiting = [] if part else waiting
        parts.append(part)
    return "".join(parts), "".join(waiting)


def read(data):
    return reader_of("trl").read(Content("x.log", data if isinstance(data, bytes) else data.encode()))


def lines(entries):
    return "".join(f"{one}\n" for one in entries)


OF_20 = "steps are counted: 4 entries in 20 steps, so that logging_steps is 5"
APART = lines(entry(5 * n) for n in range(1, 5)) + "".join(bar(n) for n in range(21))


def test_a_run_from_end_to_end(tmp_path):
    path = tmp_path / "grpo.log"
    path.write_text(terminal() + wiped(20) + SUMMARY + "\n" + bar(20) + "\n", encoding="utf-8", newline="")
    (run,) = read_runs(path)
    assert run.source.format == "trl"
    assert run.source.rows == 5
    assert run.step.tolist() == [5, 10, 15, 20]
    assert run.columns["reward"].tolist() == pytest.approx([0.5, 1, 1.5, 2])
    assert run.columns["epoch"].tolist() == [0.05, 0.1, 0.15, 0.2]
    assert run.dropped == {}
    assert run.notes == (SHOWN, "1 closing summary (train_runtime, train_loss and the like) left out")
    assert select(run).reward_choice.column == "reward"


@pytest.mark.parametrize("at_once", [2, 3, 4])
def test_entries_that_come_late(at_once):
    text, rest = buffered(terminal(evaluations=(5, 15)), at_once)
    table = read(text + rest)
    assert list(table.columns["step"]) == [5, 10, 15, 20]
    np.testing.assert_equal(table.columns["eval_reward"], [1.0, math.nan, 3.0, math.nan])
    assert table.notes == (SHOWN,)


def test_entries_that_were_in_the_buffer_when_the_run_was_killed():
    text, rest = buffered(terminal(every=1), 3)
    assert rest
    table = read(text)
    assert list(table.columns["step"]) == list(range(1, 19))
    assert table.notes == (SHOWN,)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (terminal().replace(wiped(10), "\nSaving model checkpoint\n" + wiped(10)), SHOWN),
        # tqdm draws ten times a second at most, and always behind an entry.
        (terminal().replace(bar(10) + wiped(10), wiped(8)).replace(bar(9), ""), SHOWN),
        ("".join(f"(TaskRunner pid=1) {bar(n)[1:]}{entry(n)}\n" for n in (5, 10, 15, 20)), SHOWN),
        (
            "".join(f"{bar(n)}{wiped(n)}\n{bar(n)}{entry(n)}\n" for n in (5, 10, 15, 20)).replace("\r", "\n"),
            SHOWN,
        ),
        (terminal().replace("\r", "\n"), SHOWN),
        (terminal(evaluations=(10,)).replace("\n", "\r\n"), SHOWN),
        (terminal().replace("\r", ""), SHOWN),
        (terminal().replace(bar(7), bar(7) + "\ndef f():\n            \n    return 1\n"), SHOWN),
        (bar(3, 7) + wiped(3) + terminal(), SHOWN),
        (terminal().replace(bar(7), bar(7) + wiped(7) + "a message\n" + bar(7)), OF_20),
        # Standard output and standard error were kept apart, and put together afterwards.
        (APART, OF_20),
    ],
    ids=[
        "a message before the bar is wiped",
        "a bar that lags behind",
        "entries behind the bar on the same line",
        "entries behind a bar that was drawn again",
        "line feeds",
        "line ends of Windows",
        "no carriage returns",
        "blank lines in an answer",
        "a bar without a name before the trainer's",
        "a message printed as entries are",
        "entries and bar kept apart",
    ],
)
def test_entries_and_the_bar(text, note):
    table = read(text)
    assert list(table.columns["step"]) == [5, 10, 15, 20]
    assert table.notes == (note,)


def test_without_a_bar_entries_are_counted():
    table = read(lines([evaluation(0), entry(7), entry(14), evaluation(14), entry(21)]))
    assert list(table.columns["step"]) == [0, 1, 2, 3]
    np.testing.assert_equal(table.columns["eval_reward"], [0.0, math.nan, 14 * 0.2, math.nan])
    assert table.notes == (COUNTED,)


def test_entries_kept_apart_from_an_unfinished_bar():
    unfinished = read(APART.replace(bar(20), ""))
    assert list(unfinished.columns["step"]) == [1, 2, 3, 4]
    assert unfinished.notes == (COUNTED,)


def test_a_run_that_was_started_again(tmp_path):
    path = tmp_path / "again.log"
    path.write_text(terminal(last=12) + "\nTraceback\n" + terminal(), encoding="utf-8", newline="")
    first, second = read_runs(path)
    assert first.step.tolist() == [5, 10]
    assert second.step.tolist() == [5, 10, 15, 20]


def test_a_run_that_was_killed_with_entries_in_the_buffer_and_resumed_with_more_steps():
    killed, rest = buffered(terminal(every=1), 3)
    assert rest
    table = read(killed + "\nTraceback\n" + terminal(every=2, total=30))
    assert list(table.columns["step"]) == [*range(1, 19), *range(2, 31, 2)]
    assert table.notes == (SHOWN,)


def test_the_count_goes_back_with_the_epoch():
    table = read(lines(entry(n) for n in (1, 2, 3, 4, 3, 4, 5, 1, 2)))
    assert list(table.columns["step"]) == [1, 2, 3, 4, 3, 4, 5, 1, 2]
    assert table.notes == (COUNTED + "; where the epoch falls, the count goes back with it",)


def test_a_step_in_the_entry_itself():
    entries = (entry(n, global_step=n).replace("global_step", "step") for n in (10, 20, 30))
    assert list(read(lines(entries)).columns["step"]) == [10, 20, 30]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0.0012", 0.0012),
        ("'0.0012'", 0.0012),
        ("-1.5e-07", -1.5e-7),
        ("3", 3),
        ("nan", math.nan),
        ("'nan'", math.nan),
        ("None", math.nan),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("np.float64(0.25)", 0.25),
        ("tensor(0.25, device='cuda:0')", 0.25),
        ("1" + "0" * 399, math.inf),
    ],
)
def test_numbers(written, number):
    table = read(f"{{'loss': 0.0, 'reward': {written}, 'epoch': 0.01}}\n")
    np.testing.assert_equal(table.columns["reward"], [number])


@pytest.mark.parametrize("written", ["'[String too long to display, length: 999 > 100]'", "True", "[1, 2]"])
def test_what_is_no_number_is_no_metric(written):
    table = read(f"{{'loss': 0.0, 'x': {written}, 'epoch': 0.01}}\n")
    assert set(table.columns) == {"step", "loss", "epoch"}


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "(TaskRunner pid=1) ",
        "\x1b[36m(main_task pid=7)\x1b[0m ",
        "2026-04-04 19:53:32,742 [INFO] ",
        "INFO:",
    ],
)
def test_prefixes_and_colours(prefix):
    coloured = entry(2).replace("'reward'", "\x1b[32m'reward'\x1b[0m")
    table = read(prefix + entry(1) + "\n" + prefix + coloured + "\x1b[0m\r\n")
    assert list(table.columns["reward"]) == [0.1, 0.2]
    assert table.dropped == {}


@pytest.mark.parametrize(
    "broken",
    [
        "{'loss': 0.0, 'rew",
        "{'loss': 0.0, 'reward': 0.",
        "{'loss': 0.0, 'reward': __import__('os'), 'epoch': 0.03}",
        "{'loss': 0.0, 'reward': {'a': 1}, 'epoch': 0.03}",
        "{'loss': 0.0, 'reward': " + "1" * 1_000_000 + ", 'epoch': 0.03}",
        "{'loss': 0.0, " + "{" * 10_000,
        "{'loss'",
    ],
)
def test_broken_entries_are_counted_and_keep_their_step(broken):
    table = read(lines([entry(1), entry(2), broken, entry(4)]))
    assert list(table.columns["step"]) == [1, 2, 4]
    assert table.dropped == {BAD_ENTRY: 1}
    assert table.rows == 4


def test_an_entry_that_another_one_breaks():
    table = read(lines([entry(1), "{'loss': 0.0, 'gr" + entry(2)]))
    assert list(table.columns["reward"]) == [0.1, 0.2]
    assert table.dropped == {BAD_ENTRY: 1}


def test_other_dicts_are_no_entries():
    others = ["Updated tokens: {'bos_token_id': None, 'pad_token_id': 151643}.", "{'a': 1", "{}", "{'b'}"]
    table = read(lines([*others, entry(1), "reward {'f': 0.5}", entry(2)]))
    assert list(table.columns["step"]) == [1, 2]
    assert table.dropped == {}


def test_a_history_printed_at_the_end_is_not_read_again():
    entries = [entry(n) for n in (1, 2, 3)]
    assert list(read(lines([*entries, f"[{', '.join(entries)}]"])).columns["step"]) == [1, 2, 3]


@pytest.mark.parametrize(
    "data", ["", "nothing", SUMMARY, "{'loss': 0.1, 'reward'", "{'loss': 0.1}", b"\xff\x00{'"]
)
def test_no_entries(data):
    refused("no-records", read, data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("noise\n" * 20_000 + entry(1), True),
        (terminal(), True),
        ("epoch 1\n{'loss': 0.5, 'epoch': ", False),
        ("{'bos_token_id': None}\n", False),
        ('{"loss": 0.5, "epoch": 1}\n', False),
        (b"\x00\x01\x02\x03" * 100 + entry(1).encode(), False),
    ],
)
def test_recognises(data, expected):
    content = Content("x", data if isinstance(data, bytes) else data.encode())
    assert reader_of("trl").recognises(content) is expected


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "{'a': ",
            "{'loss': 0.0, ",
            "{'loss': '",
            "{'loss': a(",
            "{'loss': [1, ",
            "{'loss': {",
            "{'loss': 1",
        ),
        *("1%|", " 1%| | 1/2 [x]", "\r          \r", "\x1b[1", "\n\x1b[A", ":    ", " ", "'", "\\'"),
    ],
)
def test_hostile_text_takes_time_in_proportion(unit):
    """Quadratic, the least of these would take minutes."""
    with processor_time(100.0):
        rows_or_refusal(read, lines([entry(1), unit * (1_000_000 // len(unit)), entry(2)]))


@pytest.mark.skipif(not REAL.is_dir(), reason="the public logs are not here")
@pytest.mark.parametrize(
    ("name", "entropy", "reward"),
    [
        ("exp1a__rho0.30_seed42.log", (1.1e-12, 8.23), (0, 0.95)),
        ("exp1a__rho1.50_seed43.log", (0.0915, 0.276), (0.1, 0.975)),
    ],
)
def test_real_runs(name, entropy, reward):
    """Their entries stand in the file up to eight at a time, 40 steps behind the first."""
    (run,) = read_runs(REAL / name)
    assert run.source.format == "trl"
    assert run.step.tolist() == list(range(5, 201, 5))
    assert run.dropped == {}
    assert SHOWN in run.notes
    series = select(run)
    assert len(series.step) == 40
    assert (series.entropy_choice.column, series.reward_choice.column) == ("entropy", "reward")
    assert (series.entropy.min(), series.entropy.max()) == pytest.approx(entropy, rel=2e-2)
    assert (series.reward.min(), series.reward.max()) == pytest.approx(reward, rel=5e-3)


@pytest.mark.parametrize("form", ["'{}/438'", "{}/438"])
def test_ms_swift_says_the_step_itself(tmp_path, form):
    entries = [
        f"{{'loss': 0.1, 'reward': {s / 10}, 'entropy/mean': {1 / s}, 'epoch': {s / 100}, "
        f"'global_step/max_steps': {form.format(s)}}}"
        for s in (5, 10, 15)
    ]
    path = tmp_path / "x.log"
    path.write_text("\n".join(f"Train:   1%|▏         | 5/438 [00:01<01:00,  6.00it/s]{e}" for e in entries))
    if form.startswith("'"):
        (run,) = read_runs(path)
        assert run.step.tolist() == [5, 10, 15]
        assert run.columns["entropy/mean"].tolist() == [1 / 5, 1 / 10, 1 / 15]
    else:
        # No Python prints that, and a dict that is none is left out.
        with pytest.raises(InputError):
            read_runs(path)
