"""What the stop line would have cost, and saved, in finished runs; beside patience and published rules.

python -m benchmarks.replay            print the tables; the tuning half of the public logs, and the lab
python -m benchmarks.replay --left-out and the other half, which is for looking at once
python -m benchmarks.replay --write    and put them into docs/benchmarks/replay.md

The last step of a run is its planned end. A rule's regret is the highest level of the whole run less the
highest one up to the stop, in ranges of the rewards: what was kept at the stop is compared with what would
have been kept at the end. Beside it is the regret of the patience that saves as many steps.
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
from benchmarks.docs import markdown_table, write_block
from benchmarks.finished import Finished, for_tuning
from benchmarks.forecasts import level_of
from benchmarks.looks import Look, replay
from entropylaw.analysis.state import FEWEST
from entropylaw.analysis.stop import UNLIKELY
from entropylaw.arrays import FloatArray
from entropylaw.results.stop import Says

PATIENCE = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8)
"""Shares of the plan without a new best reward at a stop."""

REGRETS = (0.005, 0.01, 0.02)
"""Regrets at which the steps are compared that the stop line's rule and patience save."""


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


def unlikely_without_best(play: Played, *, share: float) -> int | None:
    """The first look that far after the best reward at which a gain at any later step is unlikely."""
    step = play.run.step
    for look in play.looks:
        p = look.line.p_ever
        best = look.line.best_step
        is_unlikely = p is not None and not look.line.why_none and p < UNLIKELY
        if is_unlikely and best is not None and look.line.step - best >= share * (step[-1] - step[0]):
            return look.until
    return None


def without_best(play: Played, *, share: float) -> int | None:
    """The first evaluation, of eight or more, that far after the best reward so far."""
    step = play.run.step
    reward = play.run.reward
    best = 0
    for i in range(step.size - 1):
        if reward[i] > reward[best]:
            best = i
        is_far = step[i] - step[best] >= share * (step[-1] - step[0])
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
    named["patience of half of the plan"] = partial(without_best, share=0.5)
    named |= {"entropy halved within 150 steps": halved, "entropy below 0.18 at the start": low_at_start}
    if find_spec("rl_doctor") is not None:
        named |= {
            "rldoctor, a warning": partial(rldoctor, severity="WARNING"),
            "rldoctor, critical": partial(rldoctor, severity="CRITICAL"),
        }
    return named


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a rule did: its stops, and how many of them lost more than the gain.

    ``regret`` and ``saved``, in ranges of the rewards and lengths of the runs, are means over all runs.
    """

    stops: int
    losing: int
    regret: float
    saved: float


def outcome_of(rule: Rule, plays: Sequence[Played]) -> Outcome:
    """What a rule did on some runs."""
    stops = 0
    losing = 0
    regrets = []
    saved = []
    for play in plays:
        until = rule(play)
        if until is None:
            continue
        stops += 1
        step = play.run.step
        lost = float(play.level.max() - play.level[:until].max())
        state = play.looks[-1].line.state
        losing += state is not None and lost > state.gain
        regrets.append(lost / float(np.ptp(play.run.reward)))
        saved.append(float((step[-1] - step[until - 1]) / (step[-1] - step[0])))
    return Outcome(
        stops=stops,
        losing=losing,
        regret=sum(regrets) / len(plays),
        saved=sum(saved) / len(plays),
    )


def row(name: str, outcome: Outcome, patient: Sequence[Outcome]) -> list[str]:
    """A row of the table: a rule's outcome, and the regret of the ``patient`` that saves as many steps."""
    saved = [0.0, *sorted(each.saved for each in patient)]
    regret = [0.0, *sorted(each.regret for each in patient)]
    alike = f"{100 * np.interp(outcome.saved, saved, regret):.2f} %" if outcome.saved <= saved[-1] else "–"
    return [
        name,
        str(outcome.stops),
        str(outcome.losing),
        f"{100 * outcome.saved:.1f} %",
        f"{100 * outcome.regret:.2f} %",
        alike,
    ]


def saved_at(regret: float, outcomes: Sequence[Outcome]) -> str:
    """The steps that a rule saves at a regret, between its waits; beyond the shortest what that saves."""
    points = sorted((outcome.regret, outcome.saved) for outcome in outcomes)
    regrets = [0.0, *(point[0] for point in points)]
    saved = [0.0, *(point[1] for point in points)]
    beyond = "> " if regret > regrets[-1] else ""
    return f"{beyond}{100 * np.interp(regret, regrets, saved):.1f} %"


def table(runs: Sequence[Finished]) -> str:
    """The stop line and the rules on some runs, and the steps that they save at some regrets."""
    with ProcessPoolExecutor() as pool:
        plays = [play for play in pool.map(played, runs) if play.looks]
    groups = len({run.arm if run.group == "lab" else run.group for run in runs})
    where = "arms" if runs[0].group == "lab" else "repositories"
    patient = [outcome_of(partial(without_best, share=share), plays) for share in PATIENCE]
    rows = [row(name, outcome_of(rule, plays), patient) for name, rule in rules().items()]
    titles = ["rule", "stops", "lost more than the gain", "steps saved", "regret", "patience's"]
    unlikely = [outcome_of(partial(unlikely_without_best, share=share), plays) for share in PATIENCE]
    families = {f"P(gain ever) < {UNLIKELY} and patience": unlikely, "patience": patient}
    curves = [
        [name, *(saved_at(regret, outcomes) for regret in REGRETS)] for name, outcomes in families.items()
    ]
    regrets = [f"regret {100 * regret:g} %" for regret in REGRETS]
    return "\n\n".join(
        [
            f"{len(plays)} rewards, {groups} {where}.",
            markdown_table(["steps saved at a", *regrets], curves),
            markdown_table(titles, rows),
        ]
    )


def sections(*, left_out: bool) -> Iterator[str]:
    """The tables."""
    public = finished.public()
    sets = {"Public logs, tuning half": [run for run in public if for_tuning(run.group)]}
    if left_out:
        unseen = [run for run in public if not for_tuning(run.group)]
        sets["Public logs, the half that was left out"] = unseen
    sets["The lab"] = [run for run in finished.lab() if run.run.endswith("val_acc")]
    for title, runs in sets.items():
        yield f"### {title}\n\n{table(runs)}"


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
