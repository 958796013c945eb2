"""What the stop line would have cost, and saved, in finished runs; beside patience and published rules.

python -m benchmarks.replay            print the tables; the tuning half of the public logs, and the lab
python -m benchmarks.replay --left-out and the other half, which is for looking at once
python -m benchmarks.replay --write    and put them into docs/benchmarks/replay.md

The last step of a run is its planned end. A rule's regret is the highest level of the whole run less the
highest one up to the stop, in ranges of the rewards: what was kept at the stop is compared with what would
have been kept at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks import finished
from benchmarks.docs import write_block
from benchmarks.finished import Finished, for_tuning
from benchmarks.forecasts import level_of
from benchmarks.looks import Look, replay
from entropylaw.analysis.forecast import FEWEST
from entropylaw.arrays import FloatArray
from entropylaw.results.stop import Says

FLAT = (0.2, 0.25, 1.0 / 3.0, 0.4)
"""Shares of the plan over which a reward is flat at a stop."""

LOW = (0.1, 0.2, 0.4)
"""Probabilities of a gain at any later step below which three looks in a row make a stop."""

PATIENCE = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Shares of the plan without a new best reward at a stop."""

EVALUATIONS = (8, 24)
"""Numbers of evaluations without one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Played:
    """A finished run, its level (n,) by all of it, and what was said at its looks."""

    run: Finished
    level: FloatArray
    looks: list[Look]


Rule = Callable[[Played], int | None]
"""The number of evaluations at which a run is stopped; None where it goes on."""


def played(run: Finished) -> Played:
    """A run, played."""
    return Played(
        run=run,
        level=level_of(run),
        looks=replay(run.step, run.entropy, run.reward, max_reward=run.most),
    )


def said(play: Played, *, word: Says) -> int | None:
    """The first look at which the stop line says a word."""
    return next((look.until for look in play.looks if look.line.says == word), None)


def flat_for(play: Played, *, share: float) -> int | None:
    """The first look at which the state has been flat for a share of the plan."""
    step = play.run.step
    least = share * (step[-1] - step[0]) * (1.0 - 1e-9)
    for look in play.looks:
        state = look.line.state
        if state is not None and state.word == "flat" and look.line.step - state.since >= least:
            return look.until
    return None


def low_for(play: Played, *, limit: float) -> int | None:
    """The third look in a row at which a gain at any later step has a lower probability."""
    low = 0
    for look in play.looks:
        p = look.line.p_ever
        is_low = p is not None and not look.line.why_none and p < limit
        low = low + 1 if is_low else 0
        if low == 3:
            return look.until
    return None


def without_best(play: Played, *, share: float = 0.0, evaluations: int = 0) -> int | None:
    """The first evaluation, of eight or more, that far after the best reward so far."""
    step = play.run.step
    reward = play.run.reward
    best = 0
    for i in range(step.size - 1):
        if reward[i] > reward[best]:
            best = i
        is_far = step[i] - step[best] >= share * (step[-1] - step[0]) and i - best >= evaluations
        if i + 1 >= FEWEST and is_far:
            return i + 1
    return None


def halved(play: Played) -> int | None:
    """Entropy down by half within 150 steps."""
    run = play.run
    if run.entropy is None:
        return None
    early = run.step <= run.step[0] + 150
    low = np.flatnonzero(early & (run.entropy <= 0.5 * run.entropy[0]))
    return int(low[0]) + 1 if low.size else None


def low_at_start(play: Played) -> int | None:
    """Entropy below 0.18 in the mean of the first three evaluations."""
    entropy = play.run.entropy
    return 3 if entropy is not None and entropy[:3].mean() < 0.18 else None


def rldoctor(play: Played, *, severity: str) -> int | None:
    """The first look of which rldoctor says something at least as severe."""
    from rl_doctor import Severity, diagnose, run_from_records

    run = play.run
    entropy = np.full(run.step.size, np.nan) if run.entropy is None else run.entropy
    rows = [
        {"step": s, "entropy": h, "reward": r, "eval_score": r}
        for s, h, r in zip(run.step.tolist(), entropy.tolist(), run.reward.tolist(), strict=True)
    ]
    for look in play.looks:
        if diagnose(run_from_records(rows[: look.until])).worst >= Severity[severity]:
            return look.until
    return None


def rules() -> dict[str, Rule]:
    """The rules, by their names in the table."""
    words: tuple[Says, ...] = ("stop", "broken", "exploded")
    named: dict[str, Rule] = {f"the stop line, `{word}`": partial(said, word=word) for word in words}
    named |= {f"flat for {share:.2g} of the plan": partial(flat_for, share=share) for share in FLAT}
    named |= {f"P(gain ever) < {limit}, three looks": partial(low_for, limit=limit) for limit in LOW}
    named |= {f"patience of {share} of the plan": partial(without_best, share=share) for share in PATIENCE}
    named |= {f"patience of {n} evaluations": partial(without_best, evaluations=n) for n in EVALUATIONS}
    named |= {"entropy halved within 150 steps": halved, "entropy below 0.18 at the start": low_at_start}
    if find_spec("rl_doctor") is not None:
        named |= {
            "rldoctor, a warning": partial(rldoctor, severity="WARNING"),
            "rldoctor, critical": partial(rldoctor, severity="CRITICAL"),
        }
    return named


def row(name: str, rule: Rule, plays: Sequence[Played]) -> str:
    """A row of the table: stops, how many lost more than the gain, mean regret, and steps saved."""
    stops = 0
    losing = 0
    regrets = []
    saved = []
    for play in plays:
        until = rule(play)
        if until is None:
            regrets.append(0.0)
            saved.append(0.0)
            continue
        stops += 1
        step = play.run.step
        lost = float(play.level.max() - play.level[:until].max())
        state = play.looks[-1].line.state
        losing += state is not None and lost > state.gain
        regrets.append(lost / float(np.ptp(play.run.reward)))
        saved.append(float((step[-1] - step[until - 1]) / (step[-1] - step[0])))
    return f"| {name} | {stops} | {losing} | {100 * np.mean(regrets):.2f} % | {100 * np.mean(saved):.1f} % |"


def table(runs: Sequence[Finished]) -> list[str]:
    """The stop line and the rules on some runs."""
    with ProcessPoolExecutor() as pool:
        plays = [play for play in pool.map(played, runs) if play.looks]
    groups = len({run.arm if run.group == "lab" else run.group for run in runs})
    where = "arms" if runs[0].group == "lab" else "repositories"
    lines = [f"{len(plays)} rewards, {groups} {where}.", ""]
    lines += ["| rule | stops | lost more than the gain | regret | steps saved |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    return [*lines, *(row(name, rule, plays) for name, rule in rules().items())]


def sections(*, left_out: bool) -> Iterator[str]:
    """The tables."""
    public = finished.public()
    sets = {"Public logs, tuning half": [run for run in public if for_tuning(run.group)]}
    if left_out:
        unseen = [run for run in public if not for_tuning(run.group)]
        sets["Public logs, the half that was left out"] = unseen
    sets["The lab"] = [run for run in finished.lab() if run.run.endswith("val_acc")]
    for title, runs in sets.items():
        yield "\n".join([f"### {title}", "", *table(runs)])


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
