"""The state of a run: one word about what its reward has done so far, and the numbers behind it."""

from typing import Literal, get_args

from msgspec import Struct

from entropylaw.results import Estimate

Word = Literal["broken", "falling", "cannot tell", "rising", "flat"]
"""What a reward has done so far, in the order in which a run needs attention."""

WORDS: tuple[Word, ...] = get_args(Word)


class Kept(Struct, frozen=True, kw_only=True):
    """The step to keep: that of the highest level, where it is surely better than the last, else the last.

    ``level`` is the reward's there, without the noise of an evaluation, and ``p_better`` the probability that
    it is above that of the last step; 0 for the last one.
    """

    step: float
    level: float
    p_better: float
    is_last: bool


class State(Struct, frozen=True, kw_only=True):
    """What a reward has done so far; all levels are without the noise of an evaluation.

    Attributes
    ----------
    word
        ``"broken"``: more than half of what was gained is gone for certain, or the last tenth of the log has
        no usable reward; ``"flat"``: the change over the last half or third of the steps is within ± ``gain``
        with a probability of .9 or more; ``"rising"``, ``"falling"``: the change over the last third is
        above, below 0 with .975 or more; else ``"cannot tell"``. It is the word of all evaluations, and of
        all but the last: where these differ it is ``"cannot tell"``.
    since, last_step
        The step since which it is so, of a broken run the first lost evaluation, or the last with a reward;
        and the step of the last evaluation.
    change
        Change of the level since then, along a straight line; of a broken run over the last third.
    would_show
        The smallest change over the last third that these evaluations would show.
    now, gained
        The level at the last evaluation, and that less the level at the first; of a run of more than 48
        evaluations the mean level over a 24th of it or less.
    gain
        The gain that counts, in units of the reward.
    noise
        Standard deviation of one evaluation about the level.
    keep
        The step to keep; None of what is no score.
    lost
        Of a broken run the best mean of some evaluations, and that of the last ones; None where it is broken
        because rewards are missing at its end, and of all other runs.
    """

    word: Word
    since: float
    last_step: float
    change: Estimate
    would_show: float
    now: Estimate
    gained: Estimate
    gain: float
    noise: float
    keep: Kept | None
    lost: tuple[float, float] | None = None

    def flaw(self) -> str:
        """A loss of a run that is not broken."""
        return "nothing lost by a run that is not broken" if self.lost and self.word != "broken" else ""

    @property
    def has_ended(self) -> bool:
        """Whether it is broken because rewards are missing at the end of the log."""
        return self.word == "broken" and self.lost is None
