"""Consoles that print a record per line: verl, prime-rl, OpenRLHF and slime."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from entropylaw.escaping import counted
from entropylaw.logs.readers.console import (
    BAD_PAIR,
    CUT_ENTRY,
    NESTING_PAIR,
    Console,
    Printout,
    Row,
    dict_pairs,
    plain,
)
from entropylaw.logs.runs.number_parsing import classify, parse_number, plain_numbers
from entropylaw.logs.runs.step_column import ROLLOUT_AXES

# --- verl -------------------------------------------------------------------------------------------------

# Not after a word or a slash: "training/global_step:3 - " is a pair inside such a line, not its start.
_VERL_STEP = re.compile(r"(?<![\w/])step:(\d+) - ")
# A job logs a few sets of keys, with and without a validation; each line has the keys of an earlier one.
_MOST_SHAPES, _LONGEST_SHAPE = 8, 1000
_CALL_PAIR = re.compile(r"([^:]+)(:)((?:\w+\.)?\w+\(.*\))", re.DOTALL)


@partial(
    Console,
    matches=_VERL_STEP.search,
    needles=("step:",),
    needle="step:",
    what="line of verl's console ('step:1 - actor/entropy:0.35 - …')",
)
def verl(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """verl: ``step:12 - actor/entropy:0.354 - critic/score/mean:0.433`` anywhere in a line."""
    shapes: list[tuple[re.Pattern[str], list[str]]] = []
    for heading in filter(None, map(_VERL_STEP.search, lines)):
        text = heading.string[heading.start() :]
        if (row := _verl_at_once(text, shapes)) is not None:
            yield row
            continue
        record: dict[str, float] = {}
        keys = []
        for key, number, is_text in map(verl_pair, text.split(" - ")):
            if is_text or not key.strip():
                printout.dropped[BAD_PAIR] += 1
            else:
                record[key.strip()] = number
            keys.append(key)
        if len(shapes) < _MOST_SHAPES and [key.strip() for key in keys[:_LONGEST_SHAPE]] == [*record]:
            shape = " - ".join(rf"{re.escape(key)}:([\d.e+-]++)" for key in keys)
            shapes.append((re.compile(shape, re.ASCII), [*record]))
        yield record


def verl_pair(pair: str) -> tuple[str, float, bool]:
    """Return the key and the number of ``key:value``, and whether the value is text."""
    key, _, value = pair.rpartition(":")
    with suppress(ValueError):  # nearly all values are plain numbers; all else is parsed in full
        number = float(value) if value.isascii() and "_" not in value else math.nan
        if number == number:
            return key, number, False
    called = _CALL_PAIR.fullmatch(pair.strip())
    key, _, value = called.groups() if called else (key, "", value)
    return key, *classify(value)


def _verl_at_once(text: str, shapes: list[tuple[re.Pattern[str], list[str]]]) -> dict[str, float] | None:
    """Read a line with the keys of an earlier one, and plain numbers alone; None for any other."""
    for shape, names in shapes:
        if match := shape.fullmatch(text):
            numbers = plain_numbers(match.groups())
            return None if numbers is None else dict(zip(names, numbers, strict=True))
    return None


# --- prime-rl ---------------------------------------------------------------------------------------------

_NUMBER = r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?(?:e[+-]?\d{1,9})?|inf|nan)"
# An SFT trainer prints no entropy behind its loss.
_PRIME_STEP = re.compile(
    r"(?<!\w)Step (?P<step>\d{1,9}) \| {1,12}(?:Time: )?\d[\w. ]{0,20} \| "
    rf"(?P<pairs>(?:Loss:? {_NUMBER} \| Entropy|Reward):? [-+\din].*)",
    re.ASCII,
)
_PRIME_PAIR = re.compile(
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
_POLICY = re.compile(r"Policy v(\d{1,9}) \|", re.ASCII)
# No message of prime-rl is longer.
_LONGEST_MESSAGE = 4000
_PRIME_NAMES = {
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
_PRIME_HALVES = {
    "entropy/all/mean": "the log of prime-rl's trainer: the rewards are in the log of its orchestrator",
    "reward/all/mean": "the log of prime-rl's orchestrator: the entropy is in the log of its trainer",
}


def shows_prime(text: str) -> bool:
    """Whether a step of the trainer or of the orchestrator is printed."""
    return ("Reward" in text or "Entropy" in text) and any(
        _PRIME_STEP.search(plain(line)) for line in text.split("\n") if " | " in line and "Step " in line
    )


@partial(
    Console,
    matches=shows_prime,
    needles=("Step ",),
    what="metrics as prime-rl prints them ('Step 12 | 5.12s | Loss 0.0012 | Entropy 0.1234 | …')",
)
def prime(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """prime-rl: ``Step 12 | 5.12s | Loss 0.0012 | Entropy 0.1234 | …``, and ``… | Reward 0.61 | …``.

    The trainer prints the entropy and the orchestrator the reward, each into a file of its own. Older
    versions print a colon behind every name, and ``Time:`` before the duration. From
    ``trainer/rl/train.py``, ``orchestrator/orchestrator.py`` and ``orchestrator/eval_utils.py`` in
    ``src/prime_rl`` of PrimeIntellect-ai/prime-rl, as of 2025 and 2026; ``utils/logger.py`` puts the time
    and the level before, and can write each message into a line of JSON.

    Columns have the names under which the trainer's monitor logs them; those that it does not log are named
    after the process that printed them. Durations, percentages and ratios are no metrics.
    """
    announced, seen = math.nan, set[str]()
    for line in lines:
        if step := _PRIME_STEP.search(line):
            behind = _JSON_BEHIND if '"message": "' in line[: step.start()] else _BEHIND
            text = behind.split(step["pairs"][:_LONGEST_MESSAGE], maxsplit=1)[0]
            process = "trainer" if text.startswith("Loss") else "orchestrator"
            values: dict[str, float] = {}
            for name, value in _prime_pairs(text):
                values.setdefault(_PRIME_NAMES.get(name, f"{process}/{name}"), value)
            seen.update(values)
            yield {"step": float(step["step"]), **values}
        elif evaluating := _EVALUATING.search(line):
            announced = parse_number(evaluating["policy"] or evaluating["step"])
        elif evaluated := _EVALUATED.search(line):
            yield _prime_evaluation(evaluated, announced)
    halves = seen.intersection(_PRIME_HALVES)
    if len(halves) == 1:
        printout.notes.append(f"this is {_PRIME_HALVES[halves.pop()]}")


def _prime_pairs(text: str) -> Iterator[tuple[str, float]]:
    """Yield names and numbers between bars."""
    for pair in filter(None, (_PRIME_PAIR.fullmatch(cell.strip()) for cell in text.split("|"))):
        yield pair["name"], float(pair["value"])


def _prime_evaluation(evaluated: re.Match[str], announced: float) -> dict[str, float]:
    """Return what one evaluation gave; older versions print its step in a line of its own."""
    env, rest = f"eval/{evaluated['env']}", evaluated.string[evaluated.end() :][:_LONGEST_MESSAGE]
    if not evaluated["step"]:
        scores = _SCORE.finditer(rest)
        named = {f"{env}/{score['kind'].lower()}@{score['of']}": float(score["value"]) for score in scores}
        return {"step": announced, **named}
    policy = _POLICY.match(rest)
    return {
        "step": float(evaluated["step"]),
        **({f"{env}/policy_version": float(policy[1])} if policy else {}),
        **{f"{env}/reward/mean": value for name, value in _prime_pairs(rest) if name == "Reward"},
    }


# --- OpenRLHF ---------------------------------------------------------------------------------------------

_TRAINED = r"Global step (?P<step>\d{1,9})(?: \[\w{1,40}\])?: "
_TESTED = r"Evaluation completed in [^,]{1,40}, global_step (?P<evaluated>\d{1,9}), eval_metrics: "
_OPENRLHF_ENTRY = re.compile(rf"(?:{_TRAINED}|{_TESTED})\{{(?=')", re.ASCII)


@partial(
    Console,
    matches=re.compile(rf"{_TRAINED}\{{(?=')", re.ASCII).search,
    needles=("Global step ",),
    needle="lobal",  # of Global step and of global_step
    what="metrics as OpenRLHF logs them ('Global step 5: {'policy_loss': 0.01, …}')",
)
def openrlhf(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """OpenRLHF: ``✨ Global step 5: {'policy_loss': 0.01, 'entropy_loss': 0.31, 'reward': 0.5, …}``.

    Every global step is logged with the means over its update, and every evaluation with its step:
    ``✨ Evaluation completed in 0:01:02, global_step 20, eval_metrics: {'eval_gsm8k_pass1': 0.4}``. From
    ``openrlhf/trainer/ppo_trainer.py`` and ``ppo_trainer_async.py`` of github.com/OpenRLHF/OpenRLHF, from
    0.7 to 0.11. Trackers get the same with ``train/`` or ``eval/`` before every key, and so does the table.
    The postfix of the progress bar (``ent_loss=``) has single minibatches only and is not read.
    """
    for line in lines:
        for entry in _OPENRLHF_ENTRY.finditer(line):
            prefix = "train" if entry["step"] else "eval"
            values, ended, end = dict_pairs(line, entry.end())
            # Some versions leave a text of the policy's in the dict, behind everything else.
            if ended or line.startswith("'generated_samples'", end):
                named = {f"{prefix}/{key}": value for key, value in values.items()}
                yield {"train/global_step": float(entry["step"] or entry["evaluated"]), **named}
            else:
                printout.dropped[CUT_ENTRY] += 1


# --- slime ------------------------------------------------------------------------------------------------

_SLIME_OPENS = re.compile(
    r"(?<![\w/-])(?P<kind>rollout|passrate|multi_turn|perf|eval|(?:critic-)?step)"
    r" (?P<number>\d{1,9}): \{(?=')",
    re.ASCII,
)
_SLIME_FIRST = re.compile(r"(?<![\w/-])(?:rollout \d{1,9}: \{'rollout/|step \d{1,9}: \{'train/)", re.ASCII)
_SLIME_ROLLOUT = re.compile(r"(?<![\w/-])rollout \d{1,9}: \{'", re.ASCII)
_NEXT_PAIR = re.compile(r", (?='[^'\\]{1,300}+': )")

LATER_STEP = "later training step of the same rollout"
EARLY_STEP = "training step before the first rollout that the file shows"


@partial(
    Console,
    matches=_SLIME_FIRST.search,
    needles=(": {'",),
    needle=": {'",
    reasons=(BAD_PAIR, LATER_STEP, EARLY_STEP),
    what="line of slime's console (\"rollout 1: {'rollout/raw_reward': 0.35, …}\")",
)
def slime(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """slime: ``rollout 3: {'rollout/raw_reward': 0.4, …}``, ``step 9: {'train/entropy_loss': 0.3, …}``.

    From THUDM/slime 0.3.1, and forks such as miles: ``gather_log_data`` in
    ``backends/megatron_utils/data.py``, ``train`` in ``backends/megatron_utils/model.py``,
    ``_log_eval_rollout_data`` in ``ray/rollout.py``. Each entry is put on the step of its rollout.
    """
    rollouts = _Rollouts(printout)
    for line in lines:
        openings = list(_SLIME_OPENS.finditer(line))
        # Two processes may have written into one line: an entry ends where the next one opens.
        ends = [*map(re.Match.start, openings), len(line)][1:]
        for opened, stop in zip(openings, ends, strict=True):
            entry = line[:stop]
            values, ended, end = dict_pairs(entry, opened.end(), NESTING_PAIR)
            while not ended:
                printout.dropped[BAD_PAIR] += 1
                if (pair := _NEXT_PAIR.search(entry, end)) is None:
                    break
                further, ended, end = dict_pairs(entry, pair.end(), NESTING_PAIR)
                values |= further
            step = rollouts.step(opened["kind"], int(opened["number"]))
            # Durations are left out, too: two processes print them at different times.
            metrics = {
                name: value
                for name, value in values.items()
                if name not in ROLLOUT_AXES and not (opened["kind"] == "perf" and name.startswith("perf/"))
            }
            if step is not None and metrics:
                yield {"step": float(step), **metrics}
            else:
                printout.lost += 1
    printout.notes += rollouts.notes()


class _Rollouts:
    """Finds the rollout that each entry of slime's console belongs to.

    A rollout's data are printed before its training steps, of which it may have several, with a count of
    their own. ``train.py`` evaluates after the training on a rollout and under its number, and once before
    the first of them.
    """

    def __init__(self, printout: Printout) -> None:
        self._dropped = printout.dropped
        self._shown = _SLIME_ROLLOUT.search(printout.content.opening) is not None
        self._rollout, self._trained, self._initial = -1, False, 0
        # For the actor and for the critic: the training step that was printed first for this rollout.
        self._first: dict[str, int] = {}

    def step(self, kind: str, number: int) -> int | None:
        """Return the rollout of the next entry of the file; None where the entry is left out."""
        if kind.endswith("step"):
            return self.training_step(kind, number)
        if kind == "eval" and number == 0 and not (self._rollout == 0 and self._trained):
            self._initial += 1
            return -1
        if kind == "rollout":
            self._shown = True
            self._first = self._first if number == self._rollout else {}
            self._rollout, self._trained = number, False
        elif kind == "perf" and not self._shown:
            self._rollout = number
        return number

    def training_step(self, kind: str, number: int) -> int | None:
        """Return the rollout of a training step; None where an earlier step of its rollout was printed."""
        self._trained = True
        if not self._shown:
            return number
        if self._rollout >= 0 and self._first.setdefault(kind, number) == number:
            return self._rollout
        self._dropped[EARLY_STEP if self._rollout < 0 else LATER_STEP] += 1
        return None

    def notes(self) -> Iterator[str]:
        """Note how steps of different kinds were brought together."""
        if self._shown:
            yield "steps are rollouts, counted from 0 as slime prints them"
        else:
            yield "no line shows a rollout's data: each training step is taken for one rollout"
        if self._dropped[LATER_STEP]:
            choice = "its first one's values are kept, which are of the policy that made the rollout"
            yield f"a rollout has several training steps: {choice}, on a part of its responses"
        if self._initial:
            yield f"{counted(self._initial, 'evaluation')} from before training: at step -1"
