"""What is taken of a run: evaluations with entropy and reward, or the curves of the classes of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from entropylaw.arguments import with_unpaired
from entropylaw.arrays import FloatArray
from entropylaw.errors import InputError
from entropylaw.escaping import counted, shown
from entropylaw.logs.runs import added
from entropylaw.logs.source import Source
from entropylaw.results.columns import Choice
from entropylaw.results.result import Finding, replace, sentences


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Series:
    """The evaluations that an analysis uses: paired arrays of shape (n,), and how they were chosen.

    ``entropy`` is in nats and positive by convention (the sign of a negated logger is reversed, and ``notes``
    say so); ``dropped`` counts what the run had and the pairing could not use, by reason; ``findings`` say
    what the run's settings mean for the law. ``max_reward`` is the largest reward that is possible by the
    column's name and values, None where it is unknown, and ``entropy_sd`` the known noise of each entropy in
    nats, where the user gave it. ``logged`` are the steps of all logged entropies, as far from the
    evaluations' as these are from their own, and these entropies; ``unpaired`` are the steps and values of
    rewards without an entropy, None where there is none.

    Where this is a validation reward with few evaluations and the run has a training reward with many more,
    ``offer`` says how to name that one. ``label`` is short, and distinguishes the rewards of a run; it is
    empty where there is one.
    """

    run: str
    source: Source
    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    entropy_choice: Choice
    reward_choice: Choice
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    offer: str = ""
    max_reward: float | None = None
    entropy_sd: FloatArray | None = None
    logged: tuple[FloatArray, FloatArray] | None = None
    unpaired: tuple[FloatArray, FloatArray] | None = None
    label: str = ""

    def __repr__(self) -> str:
        """One line: the run's name, the number of pairs, and their columns."""
        columns = f"{shown(self.entropy_choice.column)} and {shown(self.reward_choice.column)}"
        return f"<Series {shown(self.run)}: {counted(len(self.step), 'pair')} of {columns}>"

    @property
    def evaluations(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Step, entropy and reward of the pairs and of rewards without an entropy, for which it is nan."""
        return with_unpaired(self.step, self.entropy, self.reward, self.unpaired)

    def starting_at(self, first: float | None) -> Series:
        """The series from a step on; evaluations before it are counted among the dropped ones.

        Raises InputError (``no-step-left``) where there is none from that step on.
        """
        if first is None:
            return self
        is_left = self.step >= first
        if not is_left.any():
            raise InputError(
                "no-step-left",
                f"steps go from {self.step[0]:g} to {self.step[-1]:g}, and none is {first:g} or more",
                "give an earlier --from-step",
            )
        before = {f"before the first step to fit, {first:g}": int(self.step.size - is_left.sum())}
        return replace(
            self,
            step=self.step[is_left],
            entropy=self.entropy[is_left],
            reward=self.reward[is_left],
            entropy_sd=None if self.entropy_sd is None else self.entropy_sd[is_left],
            logged=_starting_at(self.logged, first),
            unpaired=_starting_at(self.unpaired, first),
            dropped=added(self.dropped, before),
        )

    @property
    def is_training(self) -> bool:
        """Whether its reward is one of training."""
        return self.reward_choice.meaning.kind == "training"

    @property
    def pair(self) -> str:
        """``"same"`` or ``"next"``: the entropy that goes with a reward."""
        return str(self.reward_choice.pair)

    @property
    def columns(self) -> dict[str, Choice]:
        """The columns by their use."""
        return {"entropy": self.entropy_choice, "reward": self.reward_choice}

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the run's settings mean for the law, in sentences."""
        return sentences(self.findings, "caution")


def _starting_at(
    columns: tuple[FloatArray, FloatArray] | None, first: float
) -> tuple[FloatArray, FloatArray] | None:
    """Steps and their values from a step on."""
    if columns is None:
        return None
    step, values = columns
    return step[step >= first], values[step >= first]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PhaseSeries:
    """The entropy curves of one run on its steps, arrays of shape (m,) with nan where a value is missing.

    ``step`` rises strictly: every step at which a curve has a value. ``planning``, ``execution``,
    ``semantic`` (of plans) and ``aggregate`` are in nats, None where there is no such column;
    ``columns`` are those of the curves, by the same names. ``dropped`` counts values that were left out, by
    reason; ``notes`` say what was decided, ``findings`` what may look like a rise.
    """

    step: FloatArray
    planning: FloatArray | None
    execution: FloatArray | None
    semantic: FloatArray | None
    aggregate: FloatArray | None
    columns: Mapping[str, Choice]
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    label: str = ""
