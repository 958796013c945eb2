"""Whatever happens in a training loop: a watcher says what a new one says of the same evaluations.

Ten kinds of what happens, three drawn cases of each. A case is a generator that yields, at some points of a
training, the watcher that saw all of it and a new one with what is left of it.
"""

import errno
import itertools
import json
import math
import random
from types import SimpleNamespace

import pytest

import entropylaw

CASES = 3
SPACING = 5
END = 600
STOP_ON = ("stop", "broken")


def new_watcher(log=None, say=lambda _: None, steps=END):
    return entropylaw.Watcher(log, steps=steps, max_reward=1, stop_on=STOP_ON, say=say)


def new_callback(**options):
    return entropylaw.EntropyLawCallback(stop_on=STOP_ON, say=lambda _: None, **options)


def entropy_at(number):
    """The entropy at an evaluation."""
    return 0.05 + 0.8 * math.exp(-number / 9)


def evaluations(chance, n, *, dies=None, first=0):
    """Steps, entropies and rewards of a run that climbs, or loses its reward at an evaluation."""
    rows = []
    for number in range(first, n):
        reward = 0.1 + 0.6 * (1 - math.exp(-number / 12)) + chance.gauss(0, 0.01)
        if dies is not None and number >= dies:
            reward = abs(chance.gauss(0, 0.01))
        rows.append((SPACING * number, entropy_at(number), reward))
    return rows


def feed(watcher, rows, name="gsm8k"):
    """Give a watcher evaluations one by one."""
    for step, entropy, reward in rows:
        watcher.update(step, entropy=entropy, rewards={name: reward})
    return watcher


def of_rows(rows, name="gsm8k"):
    """A new watcher with all of some evaluations."""
    return feed(new_watcher(), rows, name)


def of_log(path):
    """A new watcher that has read a log."""
    watcher = new_watcher(path)
    watcher.read()
    return watcher


def record(row):
    """An evaluation as a line of a log, of about 200 bytes."""
    step, entropy, reward = row
    values = {"step": step, "entropy": entropy, "val/gsm8k/acc": reward, "host/note": "x" * 120}
    return (json.dumps(values) + "\n").encode()


def write(path, rows):
    path.write_bytes(b"".join(map(record, rows)))


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def what_says_it_fails(chance, folder):
    """What is called with the lines raises an error, always or now and then."""
    del folder
    errors = itertools.cycle(
        [
            UnicodeEncodeError("ascii", "·", 0, 1, "ordinal not in range(128)"),
            OSError(errno.ENOSPC, "No space left on device"),
            RuntimeError(),
        ]
    )
    often = chance.choice((1, 1, 2, 3))
    calls = itertools.count()

    def say(text):
        if next(calls) % often == 0:
            raise next(errors)
        assert text.startswith("entropylaw: ")

    watcher = new_watcher(say=say)
    rows = evaluations(chance, 30, dies=chance.randrange(12, 24))
    for number, row in enumerate(rows, start=1):
        feed(watcher, [row])
        if number in (6, 11, 30):
            yield watcher, of_rows(rows[:number])


def a_log_is_resumed_to_the_same_number_of_evaluations(chance, folder):
    """The file goes on from a checkpoint, and is read when it has as many steps again."""
    path = folder / "metrics.jsonl"
    n = chance.randrange(18, 28)
    at = chance.randrange(9, n - 6)
    write(path, evaluations(chance, n))
    watcher = of_log(path)
    yield watcher, of_log(path)
    append(path, b"".join(map(record, evaluations(chance, n, dies=at + 1, first=at))))
    watcher.read()
    yield watcher, of_log(path)
    append(path, b"".join(map(record, evaluations(chance, n, first=at))))
    watcher.read()
    yield watcher, of_log(path)


def a_loop_is_resumed_to_fewer_evaluations(chance, folder):
    """A run that lost its reward goes on from a checkpoint before that."""
    del folder
    dies = chance.randrange(12, 20)
    lost = evaluations(chance, dies + 6, dies=dies)
    watcher = of_rows(lost)
    yield watcher, of_rows(lost)
    at = chance.randrange(9, dies)
    again = evaluations(chance, dies + chance.randrange(1, 4), first=at)
    for number in range(1, len(again) + 1):
        feed(watcher, again[number - 1 : number])
        if number in (1, len(again)):
            yield watcher, of_rows([*lost[:at], *again[:number]])


class Trainer:
    """What a callback gets of a trainer."""

    def __init__(self, steps):
        self.state = SimpleNamespace(
            log_history=[], max_steps=steps, global_step=0, is_world_process_zero=True
        )
        self.control = SimpleNamespace(should_training_stop=False)

    def add(self, rows):
        """Have evaluations logged."""
        for step, entropy, reward in rows:
            self.state.global_step = step
            self.state.log_history.append({"step": step, "entropy": entropy, "reward": reward})

    def seen_by(self, callback):
        """The watcher of a callback that sees the log."""
        self.control.should_training_stop = False
        callback.on_log(None, self.state, self.control, logs={})
        assert self.control.should_training_stop is callback.watcher.should_stop
        return callback.watcher


def a_second_training_with_one_callback(chance, folder):
    """It has another planned end; at its first reading it has fewer, as many, or more records."""
    del folder
    callback = new_callback()
    n = chance.randrange(16, 24)
    first = Trainer(SPACING * (n - 1))
    first.add(evaluations(chance, n))
    yield first.seen_by(callback), first.seen_by(new_callback())
    second = Trainer(END)
    dies = chance.randrange(n - 8, n - 4)
    second.add(evaluations(chance, n + chance.choice((-1, 0, 1)), dies=dies))
    yield second.seen_by(callback), second.seen_by(new_callback())
    third = Trainer(-1)
    third.add(evaluations(chance, n))
    yield third.seen_by(callback), third.seen_by(new_callback())


def a_log_of_a_trainer_is_corrected_or_resumed(chance, folder):
    """A record is another one, and a checkpoint's log has as many records as were read."""
    del folder
    callback = new_callback()
    trainer = Trainer(END)
    n = chance.randrange(20, 28)
    trainer.add(evaluations(chance, n, dies=n - 6))
    yield trainer.seen_by(callback), trainer.seen_by(new_callback())
    kept = chance.randrange(n - 6, n - 3)
    for entry, row in zip(trainer.state.log_history[kept:], evaluations(chance, n, first=kept), strict=True):
        entry["reward"] = row[2]
    yield trainer.seen_by(callback), trainer.seen_by(new_callback())
    del trainer.state.log_history[n - 8 :]
    trainer.add(evaluations(chance, n, dies=n - 7, first=n - 8))
    yield trainer.seen_by(callback), trainer.seen_by(new_callback())


def a_second_training_by_updates(chance, folder):
    """It begins at the first step of the one before, or earlier, with the same reward or another one."""
    del folder
    dies = chance.randrange(10, 18)
    lost = evaluations(chance, dies + 6, dies=dies, first=1)
    watcher = of_rows(lost)
    yield watcher, of_rows(lost)
    name = chance.choice(("gsm8k", "math"))
    first = chance.choice((0, 1))
    rows = evaluations(chance, 16, first=first)
    for number, row in enumerate(rows, start=1):
        feed(watcher, [row], name)
        if number in (1, 5, len(rows)):
            yield watcher, of_rows(rows[:number], name)


def a_log_grows_by_parts_of_lines(chance, folder):
    """It is read after parts that end anywhere."""
    path = folder / "metrics.jsonl"
    rows = evaluations(chance, 26, dies=chance.randrange(14, 20))
    data = b"".join(map(record, rows))
    path.write_bytes(record(rows[0]))
    watcher = of_log(path)
    done = path.stat().st_size
    while done < len(data):
        part = data[done : done + chance.randrange(1, 900)]
        append(path, part)
        done += len(part)
        watcher.read()
        if chance.random() < 0.3 or done == len(data):
            yield watcher, of_log(path)


def a_log_is_cut_to_a_checkpoint(chance, folder):
    """It shrinks, and grows again with other values, within a line or to as many bytes as before."""
    path = folder / "metrics.jsonl"
    n = chance.randrange(20, 28)
    write(path, evaluations(chance, n, dies=n - 6))
    watcher = of_log(path)
    yield watcher, of_log(path)
    kept = chance.randrange(8, n - 6)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:kept]))
    watcher.read()
    yield watcher, of_log(path)
    data = b"".join(map(record, evaluations(chance, n, first=kept)))
    append(path, data[:-7])
    watcher.read()
    yield watcher, of_log(path)
    append(path, data[-7:])
    watcher.read()
    yield watcher, of_log(path)


def a_log_is_written_anew_with_corrected_values(chance, folder):
    """Values at its end, and in a middle of many bytes, are others; in the same file or one in its place."""
    path = folder / "metrics.jsonl"
    early = evaluations(chance, 50)
    late = evaluations(chance, 80, first=50)
    write(path, [*early, *late])
    watcher = of_log(path)
    yield watcher, of_log(path)
    at = chance.randrange(22, 26)
    wrong = [(step, entropy, 0.9 - reward) for step, entropy, reward in early[at : at + 4]]
    for rows in (
        [*early[:at], *wrong, *early[at + 4 :], *late],
        [*early, *((step, entropy, 0.001) for step, entropy, _ in late)],
        [*early, *late],
    ):
        if chance.random() < 0.5:
            write(path, rows)
        else:
            write(folder / "other", rows)
            (folder / "other").replace(path)
        watcher.read()
        yield watcher, of_log(path)


class Tensor:
    """A number of one element, as of a library for tensors."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        if self.value is None:
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
        return self.value

    def __bool__(self):
        raise RuntimeError("it is of no use")


class Unconvertible:
    """An object that raises what no number raises."""

    def __float__(self):
        raise KeyError("float")


def several_rewards_with_odd_values_and_corrections(chance, folder):
    """A step is updated several times, with values that are none between them; one reward is lost first."""
    del folder
    watcher = new_watcher()
    kept = {}
    n = 26
    deaths = {"a": chance.randrange(10, 13), "b": chance.randrange(16, 19)}
    odd = (math.nan, None, math.inf, -math.inf, "0.5", Tensor(None), Unconvertible(), [1.0], True, {})
    for number in range(n):
        step = SPACING * number
        entropy = entropy_at(number)
        values = {name: evaluations(chance, number + 1, first=number)[0][2] for name in deaths}
        watcher.update(step, entropy=chance.choice(odd), rewards=dict(values))
        dead = {name: 0.001 * number for name, dies in deaths.items() if number >= dies}
        watcher.update(step, entropy=Tensor(entropy), rewards={name: chance.choice(odd) for name in values})
        watcher.update(Tensor(float(step)), rewards={name: Tensor(value) for name, value in dead.items()})
        watcher.update(chance.choice(odd[:3]), rewards=0.5)
        kept[step] = (entropy, values | dead)
        if number in (9, 15, n - 1):
            fresh = new_watcher()
            for at, (h, rewards) in kept.items():
                fresh.update(at, entropy=h, rewards=rewards)
            yield watcher, fresh


KINDS = [
    what_says_it_fails,
    a_log_is_resumed_to_the_same_number_of_evaluations,
    a_loop_is_resumed_to_fewer_evaluations,
    a_second_training_with_one_callback,
    a_log_of_a_trainer_is_corrected_or_resumed,
    a_second_training_by_updates,
    a_log_grows_by_parts_of_lines,
    a_log_is_cut_to_a_checkpoint,
    a_log_is_written_anew_with_corrected_values,
    several_rewards_with_odd_values_and_corrections,
]


@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_is_said_is_what_a_new_watcher_says(kind, number, tmp_path):
    said = set()
    for watcher, fresh in kind(random.Random(f"{kind.__name__} {number}"), tmp_path):
        assert fresh.lines
        assert watcher.lines == fresh.lines
        assert watcher.should_stop is fresh.should_stop
        said.add(tuple(line.says for line in watcher.lines))
    # What happened changed what is said.
    assert len(said) > 1
