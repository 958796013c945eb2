"""The task of the lab: long multiplication of two numbers by a chosen plan, with exact grading.

A prompt holds two numbers of two digits, a and b, and a domain. The response first writes the *plan*: how b
is split, ``36=``, ``30+06=`` or ``40-04=``; then the *execution*: a times every part, and their sum or
difference, four digits each. For 47 × 36::

    P4736   40-04=188001881692.        (40 - 4 = 36;  1880, 188;  1880 - 188 = 1692)

Three domains differ only in the reward, which is 1 if all of the following is right; a fourth, ``chain``, has
answers of other lengths (:mod:`lab.chains`):

- ``free``: every split of b, about a hundred, so that many answers are right;
- ``school``: only tens + ones, so that one answer is right;
- ``rough``: both parts are above 10 and do not end in 0, so that the products are hard to guess.

Positions belong to the plan up to and including the first ``=``: the class is known from the text before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]
Mask = NDArray[np.bool_]
Domain = Literal["free", "school", "rough", "chain"]

PLUS, MINUS, GO, END, PAD = 10, 11, 12, 13, 14
DOMAINS: dict[Domain, int] = {"free": 15, "school": 16, "rough": 17, "chain": GO}
NAMES = [*"0123456789", "+", "-", "=", ".", "_", "P", "S", "R"]
VOCABULARY = len(NAMES)
PROMPT, RESPONSE = 5, 19

STRATEGIES = ("direct", "tens first", "ones first", "round up", "sum", "difference")
SHARES = {
    "free": (0.10, 0.15, 0.15, 0.20, 0.20, 0.20),
    "school": (0.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    "rough": (0.0, 0.0, 0.0, 0.0, 0.5, 0.5),
}


@dataclass(frozen=True)
class Plan:
    """A split of b for n prompts: b = first, or first + second, or first - second. Arrays of shape (n,)."""

    first: Tokens
    second: Tokens
    sign: Tokens  # 0 where there is no second part, else 1 or -1

    @property
    def reaches(self) -> Tokens:
        """The sum or difference of the parts."""
        return self.first + self.sign * self.second


@dataclass(frozen=True)
class Grades:
    """The verifier's results for n responses, arrays of shape (n,)."""

    correct: Mask
    plan_right: Mask
    execution_right: Mask
    strategy: Tokens  # index into STRATEGIES; -1 where the plan is not well formed or does not give b
    plan: Tokens  # the plan as one number, to count distinct ones; -1 likewise
    strategies: tuple[str, ...] = STRATEGIES


HELD_OUT = 0.1
"""Share of the pairs of numbers that is held out for validation."""


def numbers(n: int, random: np.random.Generator, *, validation: bool) -> Tokens:
    """Factors a and b between 11 and 99, shape (n, 2), with replacement, of one of the two sets."""
    kept = np.empty((0, 2), dtype=np.int64)
    while len(kept) < n:
        drawn = random.integers(11, 100, (30 * n if validation else 2 * n, 2))
        kept = np.concatenate([kept, drawn[_is_held_out(drawn) == validation]])
    return kept[:n]


def distinct_pairs(n: int, random: np.random.Generator) -> Tokens:
    """``n`` different pairs a, b of the validation set, shape (n, 2)."""
    factors = np.arange(11, 100)
    every = np.column_stack([np.repeat(factors, len(factors)), np.tile(factors, len(factors))])
    return random.permutation(every[_is_held_out(every)])[:n]


def _is_held_out(pairs: Tokens) -> Mask:
    # A fixed hash of the pair decides, so that no list has to be stored.
    held_out: Mask = (pairs[:, 0] * 7919 + pairs[:, 1] * 104_729 + 17) % 1009 < 1009 * HELD_OUT
    return held_out


def prompts_of(domain: Domain, pairs: Tokens) -> Tokens:
    """The tokens of prompts, shape (n, PROMPT)."""
    a, b = pairs.T
    return np.column_stack([np.full_like(a, DOMAINS[domain]), a // 10, a % 10, b // 10, b % 10])


def demonstrations(
    domain: Domain,
    n: int,
    random: np.random.Generator,
    wrong_plan: float,
    wrong_execution: float,
    write: Callable[[Domain, Tokens, Tokens, np.random.Generator], Tokens],
) -> Tokens:
    """Prompts with diverse answers, PAD behind the end, shape (n, PROMPT + T).

    ``write`` gives right answers (n, T) for domain, a and b. In a share ``wrong_plan`` they are those of
    another number b, and in a share ``wrong_execution`` one digit after the ``=`` is wrong.
    """
    pairs = numbers(n, random, validation=False)
    a, b = pairs.T
    made = np.where(random.random(n) < wrong_plan, random.integers(11, 100, n), b)
    answer = write(domain, a, made, random)
    behind = (answer < 10) & ~is_planning(answer)
    where = np.argmax(np.where(behind, random.random(answer.shape), -1.0), axis=1)
    row = np.flatnonzero(random.random(n) < wrong_execution)
    answer[row, where[row]] = (answer[row, where[row]] + random.integers(1, 10, len(row))) % 10
    return np.concatenate([prompts_of(domain, pairs), answer], axis=1)


def write_answers(domain: Domain, a: Tokens, b: Tokens, random: np.random.Generator) -> Tokens:
    """Right answers (n, RESPONSE) for a · b, their plans by :func:`draw_plans`."""
    return answers_of(a, draw_plans(domain, b, random))


def draw_plans(domain: Domain, b: Tokens, random: np.random.Generator) -> Plan:
    """One plan for every b, its strategy by the domain's shares, its parts evenly among those that fit."""
    n = len(b)
    strategy = random.choice(len(STRATEGIES), n, p=SHARES[domain])
    tens, ones = b // 10 * 10, b % 10
    up = np.minimum(tens + 10, 99)
    lower, upper = random.integers(0, b + 1), random.integers(b, 100)
    if domain == "rough":
        lower, upper = _rough_parts(b, random)
        strategy = np.where(lower == 0, 5, np.where(upper == b, 4, strategy))
    choices = [(b, 0 * b, 0), (tens, ones, 1), (ones, tens, 1), (up, up - b, -1), (lower, b - lower, 1)]
    choices.append((upper, upper - b, -1))
    first, second, sign = (np.choose(strategy, [np.broadcast_to(c[i], n) for c in choices]) for i in range(3))
    return Plan(first, second, sign)


def _rough_parts(b: Tokens, random: np.random.Generator) -> tuple[Tokens, Tokens]:
    """First parts of a sum and of a difference with no round and no small part, if there are any."""
    candidates = np.arange(100)
    first, other = np.broadcast_to(candidates, (len(b), 100)), np.abs(b[:, None] - candidates)
    fits = _is_rough(first) & _is_rough(other)
    weight = random.random(fits.shape)
    lower = np.argmax(np.where(fits & (first < b[:, None]), weight, -1.0), axis=1)
    upper = np.argmax(np.where(fits & (first > b[:, None]), weight, -1.0), axis=1)
    return lower, np.maximum(upper, b)


def _is_rough(part: Tokens) -> Mask:
    rough: Mask = (part > 10) & (part % 10 != 0)
    return rough


def answers_of(a: Tokens, plan: Plan) -> Tokens:
    """The answer that executes a plan correctly, PAD after its end, shape (n, RESPONSE).

    A total below 0 or above 9999 is written modulo 10 000; its plan is wrong in any case.
    """
    tens = [plan.first // 10, plan.first % 10]
    parts = [a * plan.first, a * plan.second, a * plan.reaches % 10_000]
    go, end = np.full_like(a, GO), np.full_like(a, END)
    short = np.column_stack([*tens, go, *four_digits(parts[0]), end])
    sign = np.where(plan.sign < 0, MINUS, PLUS)
    second = [sign, plan.second // 10, plan.second % 10, go]
    long = np.column_stack([*tens, *second, *(digit for part in parts for digit in four_digits(part)), end])
    padding = np.full((len(a), RESPONSE - short.shape[1]), PAD)
    return np.where(plan.sign[:, None] == 0, np.concatenate([short, padding], axis=1), long)


def four_digits(value: Tokens) -> list[Tokens]:
    """The digits of numbers modulo 10 000, from the first."""
    return [value // place % 10 for place in (1000, 100, 10, 1)]


def grade(prompts: Tokens, responses: Tokens) -> Grades:
    """Grade n responses, PAD after their end, to their prompts."""
    a, b = prompts[:, 1] * 10 + prompts[:, 2], prompts[:, 3] * 10 + prompts[:, 4]
    plan, well_formed = read_plans(responses)
    fits = well_formed & (plan.reaches == b)
    strategy = strategy_of(plan, b)
    rough = _is_rough(plan.first) & _is_rough(plan.second)
    school, is_rough = prompts[:, 0] == DOMAINS["school"], prompts[:, 0] == DOMAINS["rough"]
    allowed = np.where(school, strategy == 1, np.where(is_rough, rough, True))
    execution_right = well_formed & (answers_of(a, plan) == responses).all(axis=1)
    number = np.where(fits, (plan.first * 3 + plan.sign + 1) * 100 + plan.second, -1)
    return Grades(
        correct=fits & allowed & execution_right,
        plan_right=fits & allowed,
        execution_right=execution_right,
        strategy=np.where(fits, strategy, -1),
        plan=number,
    )


def read_plans(responses: Tokens) -> tuple[Plan, Mask]:
    """The plans at the beginning of responses, and where they are well formed (zeros elsewhere)."""
    sign = np.where(responses[:, 2] == PLUS, 1, np.where(responses[:, 2] == MINUS, -1, 0))
    digits = (responses[:, [0, 1, 3, 4]] < 10) | ((sign == 0)[:, None] & np.array([False, False, True, True]))
    closed = np.where(sign == 0, responses[:, 2] == GO, responses[:, 5] == GO)
    well_formed = digits.all(axis=1) & closed
    first = np.where(well_formed, responses[:, 0] * 10 + responses[:, 1], 0)
    second = np.where(well_formed & (sign != 0), responses[:, 3] * 10 + responses[:, 4], 0)
    return Plan(first, second, np.where(well_formed, sign, 0)), well_formed


def strategy_of(plan: Plan, b: Tokens) -> Tokens:
    """Index into STRATEGIES of plans that give b; if two match, the first."""
    tens, ones = b // 10 * 10, b % 10
    named = [
        plan.sign == 0,
        (plan.sign > 0) & (plan.first == tens),
        (plan.sign > 0) & (plan.first == ones),
        (plan.sign < 0) & (plan.first == np.minimum(tens + 10, 99)),
        plan.sign > 0,
    ]
    return np.select(named, range(5), default=5)


def is_planning(responses: Tokens) -> Mask:
    """Positions of the plan: up to and including the first ``=``, shape (n, RESPONSE)."""
    closed = responses == GO
    planning: Mask = np.cumsum(closed, axis=1) - closed == 0
    return planning


def is_written(responses: Tokens) -> Mask:
    """Positions that the policy wrote: up to and including the first end, shape (n, RESPONSE)."""
    ended = responses == END
    written: Mask = np.cumsum(ended, axis=1) - ended == 0
    return written


def text_of(tokens: Tokens) -> str:
    """The text of one sequence."""
    return "".join(NAMES[token] for token in tokens if token != PAD)
