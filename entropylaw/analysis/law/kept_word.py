"""What the law of the first two thirds of a run said of its last third."""

from __future__ import annotations

import numpy as np

from entropylaw.analysis.numbers import reads_of
from entropylaw.analysis.state import is_share_of_count
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import levels_of
from entropylaw.engine.threads import one_thread
from entropylaw.results import KeptWord
from entropylaw.results.law import LawFit

SHARE = 2.0 / 3.0
"""Share of the evaluations from which the others are predicted."""

FEWEST = 6
"""Evaluations of which that share is at least, and twice as many as those that are predicted."""


@one_thread
def kept_word_of(law: LawFit) -> KeptWord | None:
    """:attr:`LawFit.kept_word <entropylaw.results.law.LawFit.kept_word>`.

    The curves say how the reward changes with the entropy from the last of the first evaluations on; where it
    is there is said by the level of their rewards, which is the same for all three.
    """
    fitted = round(SHARE * law.n)
    step = law.step[:fitted]
    entropy = law.smoothed_entropy[:fitted]
    reward = law.reward[:fitted]
    later = law.n - fitted
    if fitted < FEWEST or later < FEWEST // 2 or np.ptp(entropy) == 0 or np.ptp(reward) == 0:
        return None
    reads = reads_of(law, first=fitted)
    is_share = is_share_of_count(reward, law.max_reward)
    level = float(levels_of(step, reward, is_share=is_share).level()[-1])
    off = law.reward[fitted:] - level
    later_entropy = law.smoothed_entropy[fitted - 1 :]
    of_law, averaged = reads.table.mean_curves(later_entropy, [reads.law, reads.averaged])
    return KeptWord(
        fitted=fitted,
        law=_root_mean_square(off - (of_law[1:] - of_law[0])),
        curve=_root_mean_square(off - (averaged[1:] - averaged[0])),
        level=_root_mean_square(off),
    )


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
