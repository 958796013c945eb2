"""What is taken of a run: evaluations with entropy and reward, or the curves of the classes of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from entropylaw.arguments import with_unpaired
from entropylaw.arrays import FloatArray
from entropylaw.escaping import counted, shown
from entropylaw.logs.source import Source
from entropylaw.results.columns import Choice, Refusal
from entropylaw.results.result import Finding, sentences


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Series:
    """The evaluations that an analysis uses: paired arrays of shape (n,), and how they were chosen.

    ``entropy`` is in nats and positive by convention (the sign of a negated logger is reversed, and ``notes``
    say so); ``dropped`` counts what the run had and the pairing could not use, by reason; ``findings`` say
    what the run's settings mean for the law. ``max_reward`` is the largest reward that is possible by the
    column's name and values, None where it is unknown. ``logged`` are the steps of all logged entropies, as
    far from the evaluations' as these are from their own, and these entropies; ``unpaired`` are the steps and
    values of rewards without an entropy, None where there is none. Of a log without an entropy all rewards
    are unpaired, and ``no_entropy`` says why. ``end`` is the last step of the log.
    ``pair_why`` is why they pair so.

    Where this is a validation reward with few evaluations and the run has a training reward with many more,
    ``offer`` says how to name that one. ``label`` is short, and distinguishes the rewards of a run; it is
    empty where there is one.
    """

    run: str
    source: Source
    step: FloatArray
    entropy: FloatArray
    reward: FloatArray
    entropy_choice: Choice | None
    reward_choice: Choice
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    offer: str = ""
    max_reward: float | None = None
    logged: tuple[FloatArray, FloatArray] | None = None
    unpaired: tuple[FloatArray, FloatArray] | None = None
    no_entropy: Refusal | None = None
    end: float | None = None
    pair_why: str = ""
    label: str = ""

    def __repr__(self) -> str:
        """One line: the run's name, the number of pairs, and their columns."""
        if self.entropy_choice is None:
            rewards = counted(len(self.evaluations[0]), "reward")
            return f"<Series {shown(self.run)}: {rewards} of {shown(self.reward_choice.column)}>"
        columns = f"{shown(self.entropy_choice.column)} and {shown(self.reward_choice.column)}"
        return f"<Series {shown(self.run)}: {counted(len(self.step), 'pair')} of {columns}>"

    @property
    def evaluations(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Step, entropy and reward of the pairs and of rewards without an entropy, for which it is nan."""
        return with_unpaired(self.step, self.entropy, self.reward, self.unpaired)

    @property
    def count(self) -> int:
        """The number of pairs; without an entropy that of rewards."""
        return len(self.step) if self.entropy_choice is not None else len(self.evaluations[0])

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
        if self.entropy_choice is None:
            return {"reward": self.reward_choice}
        return {"entropy": self.entropy_choice, "reward": self.reward_choice}

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the run's settings mean for the law, in sentences."""
        return sentences(self.findings, "caution")


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
