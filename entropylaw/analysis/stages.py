"""Stages of training: the stages of an arm as arms themselves, which are paired by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from entropylaw.analysis.seeds import last_level
from entropylaw.arrays import FloatArray
from entropylaw.errors import UsageError
from entropylaw.escaping import shown
from entropylaw.results.arms import RunSeries, Stage
from entropylaw.results.result import replace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagedRun:
    """A run with its stages, and domain → steps and rewards on it.

    Where an evaluation on fixed problems is of the policy ``before_update``, that at the first step of a
    stage is of the policy at the end of the one before.
    """

    series: RunSeries
    stages: Sequence[Stage]
    rewards: Mapping[str, tuple[FloatArray, FloatArray]]
    before_update: bool

    def within(self, number: int, domain: str = "") -> RunSeries:
        """What was measured in a stage, of all problems or of a domain; its unit is the run."""
        series, stage = self.series, self.stages[number]
        step, reward = self.rewards[domain] if domain else (series.step, series.reward)
        there = (stage.first <= step) & (step <= stage.last)
        if self.before_update and number + 1 < len(self.stages):
            there |= step == self.stages[number + 1].first
        along = series.along
        error = series.error
        if along.size:
            along = np.interp(step, series.step, along)[there]
            error = np.interp(step, series.step, error)[there]
        return replace(
            series,
            step=step[there],
            reward=reward[there],
            along=along,
            error=error,
            lost=None,
            unit=series.run,
            coefficients={},
            fails=False,
        )

    def transfer(self, *, later: bool) -> RunSeries | None:
        """The mean reward on what each stage but the last trained on, after it, or ``later``: after the last.

        The difference is the backward transfer (Lopez-Paz & Ranzato 2017, arXiv:1706.08840). None where a
        domain of a stage is not known or was not evaluated.
        """
        levels = []
        for number, stage in enumerate(self.stages[:-1]):
            ends = [
                self.within(len(self.stages) - 1 if later else number, domain)
                for domain in stage.trained
                if domain in self.rewards
            ]
            if not ends or len(ends) < len(stage.trained) or not all(end.step.size for end in ends):
                return None
            levels.append(np.mean([last_level(end.step, end.reward) for end in ends]))
        if not levels:
            return None
        last = self.within(len(self.stages) - 1)
        return replace(last, reward=np.full(last.step.size, np.mean(levels)))


def stages_as_arms(
    arms: Mapping[str, Sequence[StagedRun]],
) -> tuple[dict[str, list[RunSeries]], list[tuple[str, str]]]:
    """The stages of some arms, of every domain with a reward, as arms; and pairs, each with the one before.

    Raises UsageError ``stages-differ``: runs of one arm with different stages.
    """
    named: dict[str, list[RunSeries]] = {}
    pairs: list[tuple[str, str]] = []
    for arm, runs in arms.items():
        stages = _stages(arm, runs)
        domains = list(dict.fromkeys(chain.from_iterable(run.rewards for run in runs)))
        if len(domains) < 2:
            # The empty name is for all problems.
            domains = [""]
        start = f"{arm}: " if len(arms) > 1 else ""
        for domain in domains:
            of_domain = [run for run in runs if domain in ("", *run.rewards)]
            names: list[str] = []
            for number, stage in enumerate(stages):
                name = f"{start}{domain} after {stage}" if domain else f"{start}{stage}"
                if name in named:
                    name += f" ({number + 1})"
                names.append(name)
                named[name] = [run.within(number, domain) for run in of_domain if number < len(run.stages)]
            pairs += zip(names[1:], names, strict=False)
        earlier = transfers([run for run in runs if len(run.stages) == len(stages)])
        if len(domains) > 1 and earlier is not None:
            last, first = f"{start}earlier domains after the last stage", f"{start}after their own"
            named[last], named[first] = earlier
            pairs.append((last, first))
    return named, pairs


def transfers(runs: Sequence[StagedRun]) -> tuple[list[RunSeries], list[RunSeries]] | None:
    """The two sides of the backward transfer, later first; None where a run does not have both."""
    later, own = ([run.transfer(later=side) for run in runs] for side in (True, False))
    known_later, known_own = ([end for end in side if end is not None] for side in (later, own))
    whole = len(known_later) == len(known_own) == len(runs)
    return (known_later, known_own) if whole else None


def _stages(arm: str, runs: Sequence[StagedRun]) -> list[str]:
    """The stages of an arm: those of its longest run, of which all others have the first ones."""
    names = {run.series.run: [stage.name for stage in run.stages] for run in runs}
    longest = max(names, key=lambda run: len(names[run]))
    for run, stages in names.items():
        if stages != names[longest][: len(stages)]:
            listed = f"{', '.join(names[longest])} and {', '.join(stages)}"
            message = f"runs {shown(longest)} and {shown(run)} of arm {shown(arm)} have different stages: "
            raise UsageError("stages-differ", message + listed, "put them into two arms: one=LOGS other=LOGS")
    return names[longest]
