"""prime-rl's logs: ``Step 12 | 5.12s | Loss 0.0012 | Entropy 0.1234 | …``, and ``… | Reward 0.61 | …``.

The trainer prints the entropy and the orchestrator the reward, each into a file of its own. Older versions
print a colon behind every name, and ``Time:`` before the duration. From ``trainer/rl/train.py``,
``orchestrator/orchestrator.py`` and ``orchestrator/eval_utils.py`` in ``src/prime_rl`` of
PrimeIntellect-ai/prime-rl, in the forms of 2025 and 2026; ``utils/logger.py`` puts the time and the level
before, and can write each message into a line of JSON.

Columns are called as the trainer's monitor calls them, what it does not log after the process that printed
it. Durations, percentages and ratios are no metrics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from entropylaw.ingest.formats.console import Console, Printout, Row, plain

_NUMBER = r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?(?:e[+-]?\d{1,9})?|inf|nan)"
# An SFT trainer prints no entropy behind its loss.
_STEP = re.compile(
    r"(?<!\w)Step (?P<step>\d{1,9}) \| {1,12}(?:Time: )?\d[\w. ]{0,20} \| "
    rf"(?P<pairs>(?:Loss:? {_NUMBER} \| Entropy|Reward):? [-+\din].*)",
    re.ASCII,
)
_PAIR = re.compile(
    rf"(?P<name>[A-Z][A-Za-z. -]{{0,40}}?):? (?P<value>{_NUMBER})(?: tokens/s| tokens/sample| GiB)?", re.ASCII
)
# Behind a message: where it was logged, when debugging; in a line of JSON, other fields or its second line.
_BEHIND = re.compile(r" \[[\w.-]{1,80}::\d{1,9}\]")
_JSON_BEHIND = re.compile(r'"|\\n')

# The final evaluation is announced without a step.
_EVALUATING = re.compile(
    r"Running (?:evals for (?:checkpoint|interval) step (?P<step>\d{1,9})"
    r"(?: \(current ckpt_step=(?P<policy>\d{1,9}))?|final evals)",
    re.ASCII,
)
_EVALUATED = re.compile(
    r"Evaluated (?P<env>[^\s|]{1,200}) (?:\(Step (?P<step>\d{1,9})\) \| |in [\d.]{1,20}s \()"
)
_SCORE = re.compile(rf"(?P<kind>Avg|Pass)@(?P<of>\d{{1,9}})(?:=|: )(?P<value>{_NUMBER})", re.ASCII)

# No message has more characters, save a stranger's.
_LONGEST = 4000
_NAMES = {
    "Entropy": "entropy/all/mean",
    "Reward": "reward/all/mean",
    "Val. Reward": "val_reward/mean",
    "Loss": "loss/mean",
    "Mismatch KL": "mismatch_kl/all/mean",
    "Grad. Norm": "optim/grad_norm",
    "LR": "optim/lr",
    "Max Vio": "max_vio/mean",
    "Seq. Length": "seq_len/all/mean",
}
_HALVES = {
    "entropy/all/mean": "the log of prime-rl's trainer: the rewards stand in the log of its orchestrator",
    "reward/all/mean": "the log of prime-rl's orchestrator: the entropy stands in the log of its trainer",
}


def matches(text: str) -> bool:
    """Whether a step of either is printed; loading a model can print for long before it."""
    return ("Reward" in text or "Entropy" in text) and any(
        _STEP.search(plain(line)) for line in text.split("\n") if " | " in line and "Step " in line
    )


def rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield steps and evaluations. Where one half is missing, a note says where it is."""
    evaluating, found = math.nan, set[str]()
    for line in lines:
        if step := _STEP.search(line):
            behind = _JSON_BEHIND if '"message": "' in line[: step.start()] else _BEHIND
            values = _values(behind.split(step["pairs"][:_LONGEST], maxsplit=1)[0])
            found.update(values)
            yield {"step": float(step["step"]), **values}
        elif announced := _EVALUATING.search(line):
            evaluating = float(announced["policy"] or announced["step"] or "nan")
        elif evaluated := _EVALUATED.search(line):
            yield _evaluation(evaluated, evaluating)
    halves = [name for name in _HALVES if name in found]
    if len(halves) == 1:
        printout.notes.append(f"this is {_HALVES[halves[0]]}")


def _values(text: str) -> dict[str, float]:
    """Return the numbers of one line by their column."""
    process = "trainer" if text.startswith("Loss") else "orchestrator"
    values: dict[str, float] = {}
    for pair in filter(None, (_PAIR.fullmatch(part.strip()) for part in text.split("|"))):
        values.setdefault(_NAMES.get(pair["name"], f"{process}/{pair['name']}"), float(pair["value"]))
    return values


def _evaluation(found: re.Match[str], announced: float) -> dict[str, float]:
    """Return what one evaluation gave; older versions print its step in a line of its own."""
    env, rest = f"eval/{found['env']}", found.string[found.end() :]
    if not found["step"]:
        scores = _SCORE.finditer(rest[:_LONGEST])
        named = {f"{env}/{score['kind'].lower()}@{score['of']}": float(score["value"]) for score in scores}
        return {"step": announced, **named}
    values = {"step": float(found["step"])}
    if policy := re.match(r"Policy v(\d{1,9}) \|", rest, re.ASCII):
        values[f"{env}/policy_version"] = float(policy[1])
    for pair in (_PAIR.fullmatch(part.strip()) for part in rest[:_LONGEST].split("|")):
        if pair and pair["name"] == "Reward":
            values[f"{env}/reward/mean"] = float(pair["value"])
    return values


CONSOLE = Console(
    rows=rows,
    matches=matches,
    needles=("Step ",),
    form="metrics as prime-rl prints them ('Step 12 | 5.12s | Loss 0.0012 | Entropy 0.1234 | …')",
)
