"""The same questions put to both editions, and which of the first one's answers stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from entropylaw.escaping import counted
from entropylaw.report.describe.arm_tables import decided
from entropylaw.report.describe.arms import signed
from entropylaw.results import Estimate
from lab.boundaries import curves_of
from lab.comparisons import (
    AFTER,
    ALGORITHMS,
    AT_EQUAL_ENTROPY,
    CLEAN,
    INSTEAD,
    INTERVENTIONS,
    MARGIN,
    ORDERS,
    PLAIN,
    Edition,
    seeds,
)
from lab.markdown import MISSING, listed, table
from lab.page import EARLY, fitted, held, verdict_counts
from lab.stages import direction

OPEN = "not decided"
"""The word of an answer that decides nothing."""

CONTROLS = ("entropy_minimised", "random_reward", "too_hard")


@dataclass(frozen=True)
class Answer:
    """An edition's answer to a question: the word, which is compared, and the text, which is shown."""

    word: str
    text: str
    is_small: bool = False
    """Whether the interval lies within the margin."""


@dataclass(frozen=True)
class Question:
    """A question, and its answer from the runs of an edition; None where these are not made."""

    words: str
    answer: Callable[[Edition], Answer | None]


def questions() -> list[Question]:
    """Every question that both editions can answer."""
    law = {
        "plain GRPO": (PLAIN,),
        "no planted mistakes": CLEAN,
        "width 32": ("width_32",),
        "width 64": ("width_64",),
        "width 96": ("width_96",),
        "methods that keep entropy up": INTERVENTIONS,
        "controls": CONTROLS,
    }
    steps = ((AFTER, 1), (AFTER, 2), (INSTEAD, 1))
    treated = (*ALGORITHMS[1:], *INTERVENTIONS, *CLEAN[1:])
    return [
        *(Question(f"Does the law hold? {words}", partial(verdicts, names)) for words, names in law.items()),
        Question("Does the law after a quarter predict the end?", foretold),
        *(Question(f"Accuracy at equal entropy: {name}", partial(equal_entropy, name)) for name in treated),
        *(
            Question(f"a and b: {name}", partial(coefficients, name))
            for name in (*ALGORITHMS[1:], *CLEAN[1:])
        ),
        *(Question(f"{name} per tenfold size", partial(slope, name)) for name in ("a", "b")),
        *(Question(f"Does an entropy rise? {name}", partial(turns, name)) for name in (PLAIN, AFTER)),
        *(
            Question(f"Distinct right plans over stage {place} of {name}", partial(plans, name, place))
            for name, place in steps
        ),
        *(Question(f"Backward transfer: {name}", partial(backward, name)) for name in ORDERS[1:]),
    ]


def verdicts(names: Sequence[str], found: Edition) -> Answer | None:
    """The verdicts that the runs have."""
    runs = found.of(*names)
    if not runs:
        return None
    words = sorted({run.answer.verdict.value for run in fitted(runs)})
    return Answer(" and ".join(words), verdict_counts(runs))


def foretold(found: Edition) -> Answer | None:
    """Whether most intervals contain the reward at the end."""
    right, every = held(found.by_arm, EARLY[0])
    if not every:
        return None
    return Answer("mostly" if right > every / 2 else "mostly not", f"in {right} of {every} runs")


def equal_entropy(name: str, found: Edition) -> Answer | None:
    """The decision of compare at equal entropy."""
    if (pair := found.pair(name)) is None:
        return None
    one = pair[AT_EQUAL_ENTROPY]
    ends = (one.estimate.low, one.estimate.high)
    is_small = all(end is not None and abs(end) < MARGIN for end in ends)
    return Answer(decided(one), f"{decided(one)}: {_signed(one.estimate)} ({seeds(pair)} seeds)", is_small)


def coefficients(name: str, found: Edition) -> Answer | None:
    """The differences of a and b, on which compare does not decide."""
    if (pair := found.pair(name)) is None:
        return None
    both = [pair[coefficient] for coefficient in ("a", "b")]
    numbers = ", ".join(f"{one.quantity} {_signed(one.estimate)}" for one in both)
    return Answer(OPEN, f"{OPEN}: {numbers}")


def slope(quantity: str, found: Edition) -> Answer | None:
    """Whether a or b rises with the size."""
    if quantity not in found.sizes:
        return None
    one = found.sizes[quantity]
    return _moving(one.slope, counted(len(one.points), "size"))


def turns(name: str, found: Edition) -> Answer | None:
    """Whether any of the three entropies rises."""
    runs = found.of(name)
    if not runs:
        return None
    rising = sum(any(curve.rises for curve in curves_of(run).values()) for run in runs)
    word = {0: "in none", len(runs): "in all"}.get(rising, "in some")
    return Answer(word, f"in {rising} of {len(runs)} runs")


def plans(name: str, place: int, found: Edition) -> Answer | None:
    """Whether a stage changes the number of distinct right plans."""
    changes = found.stages["val_distinct_correct"]
    one = next(
        (one for one in changes if (one.arm, one.place, one.quantity) == (name, place, "reward")), None
    )
    return None if one is None else _moving(one.change, counted(one.seeds, "seed"))


def backward(name: str, found: Edition) -> Answer | None:
    """Whether the second stage changes the accuracy on the domain of the first."""
    one = next((one for one in found.orders if one.arm == name), None)
    return None if one is None else _moving(one.backward, counted(one.seeds, "seed"))


def _moving(change: Estimate, of: str) -> Answer:
    """Whether a number rises or falls."""
    return Answer(direction(change), f"{direction(change)}: {_signed(change)} ({of})")


def _signed(estimate: Estimate) -> str:
    return MISSING if estimate.value is None else signed(estimate)


def is_open(answer: Answer) -> bool:
    """Whether an answer, or that of one run, decides nothing."""
    return any(word in answer.word for word in (OPEN, "undecided", "not comparable"))


def state(old: Answer | None, new: Answer | None) -> str:
    """What has become of an old answer."""
    if old is None:
        return "new"
    if new is None:
        return "cannot be said yet: not made"
    if is_open(new):
        return "open in both" if is_open(old) else "cannot be said yet: not decided"
    if is_open(old):
        return "decided now"
    if old.word == new.word:
        return "stands"
    return "stands, but a difference is found" if old.is_small and new.is_small else "changed"


def compared(first: Edition, second: Edition) -> list[tuple[str, str, str, str]]:
    """Every question with both answers, and what has become of the old one."""
    rows = []
    for question in questions():
        old, new = question.answer(first), question.answer(second)
        shown = [answer.text if answer else MISSING for answer in (old, new)]
        rows.append((question.words, shown[0], shown[1], state(old, new)))
    return rows


def changes(rows: Iterable[Sequence[str]]) -> str:
    """The table of both editions."""
    return table(("question", "first edition", "second edition", "the old answer"), [*rows])


def counts(rows: Sequence[Sequence[str]]) -> str:
    """``Of 33 answers of the first edition: 12 standing, 1 changed …``."""
    every = Counter(row[-1] for row in rows)
    said = [f"{every[word]} {words}" for word, words in STATES.items() if every[word]]
    new = "Failures, `steady`, three stages, samples and caps are new."
    return f"Of {len(rows)} answers of the first edition: {listed(said)}. {new}"


STATES = {
    "stands": "standing",
    "stands, but a difference is found": "standing with a difference below the margin",
    "changed": "changed",
    "decided now": "decided now",
    "open in both": "open in both",
    "cannot be said yet: not decided": "no longer decided",
    "cannot be said yet: not made": "without runs yet",
    "new": "new",
}
