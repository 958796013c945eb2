"""Finished runs played through the stop line, beside fixed rules that are published and rldoctor.

python -m benchmarks.replay            print the tables; the tuning half of the public logs, and the lab
python -m benchmarks.replay --left-out and the other half, which is for looking at once
python -m benchmarks.replay --write    and put them into docs/benchmarks/replay.md

rldoctor (PyPI) is run where it is installed; the page is not written without it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from benchmarks import finished
from benchmarks.docs import write_block
from benchmarks.finished import Finished, for_tuning
from benchmarks.forecasts import SIMULATED, every, learn, policies, shapes, to_learn
from benchmarks.looks import Replay, replay
from benchmarks.simulated import SHAPES
from benchmarks.worlds import FloatArray
from entropylaw.analysis import forecast as module
from entropylaw.analysis.forecast import FEWEST, Constants
from entropylaw.analysis.stop import EXPLODED, LOOKS, LOST
from entropylaw.results.stop import STATES

WITHIN = 3
"""Evaluations after the label within which a failure is to be said."""

PREFIXES = 8
"""Parts of a run after each of which rldoctor is run."""


class Alarm(NamedTuple):
    """The number of evaluations at an alarm, and the gain that counts."""

    until: int
    gain: float


def reaches(run: Finished, alarm: Alarm) -> bool:
    """Whether three evaluations in a row after an alarm, in the mean, are a gain above the five before it."""
    later = run.reward[alarm.until :]
    if later.size < LOOKS:
        return False
    means = np.convolve(later, np.full(LOOKS, 1.0 / LOOKS), "valid")
    now = float(run.reward[max(0, alarm.until - 5) : alarm.until].mean())
    return bool(means.max() >= now + alarm.gain)


def gain_of(run: Finished) -> float:
    """A hundredth of the largest reward, of a rate, or of the range."""
    rate = run.reward.min() >= 0 and run.reward.max() <= 1
    return 0.01 * (run.most or (1.0 if rate else float(np.ptp(run.reward))))


def halved(run: Finished) -> Alarm | None:
    """Entropy down by half within 150 steps."""
    if run.entropy is None:
        return None
    early = run.step <= run.step[0] + 150
    low = np.flatnonzero(early & (run.entropy <= 0.5 * run.entropy[0]))
    return Alarm(int(low[0]) + 1, gain_of(run)) if low.size else None


def low_at_start(run: Finished) -> Alarm | None:
    """Entropy below 0.18 in the mean of the first three evaluations."""
    if run.entropy is None or run.entropy[:3].mean() >= 0.18:
        return None
    return Alarm(3, gain_of(run))


@cache
def severities(run: Finished) -> list[tuple[int, int]]:
    """The evaluations of each part of a run, and the worst that rldoctor says of it."""
    from rl_doctor import diagnose, run_from_records

    entropy = np.full(run.step.size, np.nan) if run.entropy is None else run.entropy
    rows = [
        {"step": s, "entropy": h, "reward": r, "eval_score": r}
        for s, h, r in zip(run.step.tolist(), entropy.tolist(), run.reward.tolist(), strict=True)
    ]
    parts = (run.step.size * part // PREFIXES for part in range(1, PREFIXES))
    return [
        (until, int(diagnose(run_from_records(rows[:until])).worst)) for until in parts if until >= FEWEST
    ]


def rldoctor(severity: str) -> Callable[[Finished], Alarm | None]:
    """The first part of a run of which rldoctor says something at least as severe."""

    def rule(run: Finished) -> Alarm | None:
        from rl_doctor import Severity

        severe = (until for until, worst in severities(run) if worst >= Severity[severity])
        until = next(severe, None)
        return None if until is None else Alarm(until, gain_of(run))

    return rule


def lost_label(reward: FloatArray) -> int | None:
    """The first evaluation from which a reward is below a fifth of its best for good."""
    if reward.max() <= 0:
        return None
    first = int(np.flatnonzero(reward >= LOST * reward.max())[-1]) + 1
    return first if reward.size - first >= LOOKS else None


def exploded_label(entropy: FloatArray) -> int | None:
    """The last of the first three evaluations in a row with more than twice the lowest entropy so far."""
    above = entropy > EXPLODED * np.minimum.accumulate(entropy)
    runs = np.convolve(above, np.ones(LOOKS), "valid") == LOOKS
    return int(np.argmax(runs)) + LOOKS - 1 if runs.any() else None


def label_of(run: Finished) -> int | None:
    """The evaluation at which a run is lost or has exploded by its label, whichever comes first."""
    labels = [lost_label(run.reward)]
    labels.append(None if run.entropy is None else exploded_label(run.entropy))
    return min((label for label in labels if label is not None), default=None)


def in_time(run: Finished, played: Replay, label: int) -> tuple[bool, bool]:
    """Whether the stop line named a failure, and whether it gave an alarm, by three evaluations after it."""
    latest = run.step[min(label + WITHIN, run.step.size - 1)]
    lines = [look.line for look in played.looks if look.line.step <= latest]
    named = any(line.lost_since is not None or line.exploded_since is not None for line in lines)
    return named, any(line.says in STATES for line in lines)


def row(name: str, plays: Sequence[Replay], alarms: Sequence[bool], gained: Sequence[bool]) -> str:
    """A row of the table: alarms, and how many of them are false: a gain followed in a run that improves."""
    improving = sum(played.improving for played in plays)
    false = sum(played.improving and after for played, after in zip(plays, gained, strict=True))
    share = f"{100 * false / improving:.0f} %" if improving else "—"
    return f"| {name} | {sum(alarms)} of {len(plays)} | {false} of {improving} | {share} |"


@cache
def played_with(run: Finished, constants: str) -> Replay:
    """The replay of a run with the constants that are in force, which have a name."""
    del constants
    return replay(run.step, zeros_or(run), run.reward, max_reward=run.most)


def table(
    runs: Sequence[Finished], constants: str, rules: dict[str, Callable[[Finished], Alarm | None]]
) -> list[str]:
    """The stop line and the rules on some runs."""
    plays = [played_with(run, constants) for run in runs]
    lines = ["| rule | alarms | false, of runs that improve | share |", "| --- | ---: | ---: | ---: |"]
    for state in STATES:
        looks = [played.first(state) for played in plays]
        gained = [look is not None and bool(look.gained) for look in looks]
        lines.append(row(f"the stop line, `{state}`", plays, [look is not None for look in looks], gained))
    for name, rule in rules.items():
        alarms = [rule(run) for run in runs]
        gained = [alarm is not None and reaches(run, alarm) for run, alarm in zip(runs, alarms, strict=True)]
        lines.append(row(name, plays, [alarm is not None for alarm in alarms], gained))
    saved = []
    for played in plays:
        stop = played.first("stop")
        if stop is not None:
            saved.append(1.0 - stop.line.step / played.looks[-1].line.step)
    share = f"After a stop come {100 * sum(saved) / max(len(runs), 1):.1f} % of all steps."
    return [*lines, "", f"{failures(runs, plays)} {share}"]


def failures(runs: Sequence[Finished], plays: Sequence[Replay]) -> str:
    """How many runs are lost or explode by their labels, and for how many that was said in time."""
    labels = without_gain = named = alarmed = 0
    for run, played in zip(runs, plays, strict=True):
        label = label_of(run)
        if label is None:
            continue
        is_named, is_alarmed = in_time(run, played, label)
        labels += 1
        named += is_named
        # An alarm at a label that a gain follows would be false.
        if not (played.improving and reaches(run, Alarm(label + 1, gain_of(run)))):
            without_gain += 1
            alarmed += is_alarmed
    return (
        f"Lost or exploded by the label: {labels}, of which the line named {named} in time. Without those "
        f"of runs that improve and gain after it: {without_gain}, an alarm in time for {alarmed}."
    )


def zeros_or(run: Finished) -> FloatArray:
    """The entropies of a run, ones where none are logged: they never explode."""
    return np.ones(run.step.size) if run.entropy is None else run.entropy


def failing() -> dict[str, str]:
    """Name of a run of the lab that is made to fail → that of its healthy twin."""
    twins: dict[str, str] = {}
    for path in sorted(finished.LAB.glob("*/config.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        if any(stage.get("failure") for stage in config["stages"]):
            twins[config["run"]] = config["twin"]
    return twins


def sections(*, left_out: bool) -> Iterator[str]:
    """The tables, each with constants that were learned without its own runs."""
    rules: dict[str, Callable[[Finished], Alarm | None]] = {
        "entropy halved within 150 steps": halved,
        "entropy below 0.18 at the start": low_at_start,
    }
    if find_spec("rl_doctor") is not None:
        rules |= {"rldoctor, a warning": rldoctor("WARNING"), "rldoctor, critical": rldoctor("CRITICAL")}
    public, of_lab = finished.public(), finished.lab()
    halves = {half: [run for run in public if for_tuning(run.group) == half] for half in (True, False)}
    made = every(to_learn, policies())
    made += [case for name in SHAPES for case in shapes(name, SIMULATED["shapes"])]
    tuning, lab_cases = every(to_learn, halves[True]), every(to_learn, of_lab)
    accuracies = [run for run in of_lab if run.run.endswith("val_acc")]
    by_name = {run.run.partition(",")[0]: run for run in accuracies}
    twins = failing()
    pairs = [by_name[name] for name in [*twins, *dict.fromkeys(twins.values())]]
    without_lab = learn([*tuning, *made])
    sets: list[tuple[str, Sequence[Finished], Constants]] = [
        ("The lab, all runs", accuracies, without_lab),
        (f"{len(twins)} failing runs of the lab with their twins", pairs, without_lab),
        ("Public logs, tuning half", halves[True], learn([*lab_cases, *made])),
    ]
    if left_out:
        constants = learn([*tuning, *lab_cases, *made])
        sets.append(("Public logs, the half that was left out", halves[False], constants))
    shipped = module.learned()
    for title, runs, learned in sets[::-1]:
        constants = learned._replace(reliability=shipped.reliability)
        module.learned = lambda constants=constants: constants  # type: ignore[assignment]
        long = [run for run in runs if run.step.size >= FEWEST + LOOKS]
        groups = len({run.arm if run.group == "lab" else run.group for run in long})
        where = "arms" if long[0].group == "lab" else "repositories"
        made_of = f"{len(long)} rewards, {groups} {where}."
        yield "\n".join([f"### {title}", "", made_of, "", *table(long, str(learned.path), rules)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks/replay.md")
    parser.add_argument("--left-out", action="store_true", help="replay the half that was left out, too")
    arguments = parser.parse_args()
    if arguments.write and find_spec("rl_doctor") is None:
        raise SystemExit("without rldoctor the page would lose its rows: pip install -e '.[bench]'")
    texts = []
    for text in sections(left_out=arguments.left_out):
        print(text, end="\n\n", flush=True)
        texts.append(text)
    if arguments.write:
        write_block("replay", "\n\n".join(texts))


if __name__ == "__main__":
    main()
