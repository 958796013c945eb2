"""The domain of chains: b is split into one to six parts, so that right answers have six lengths.

The response writes the parts, and then a times each of them, from the second on with the total so far. For
47 × 36 in three parts::

    =4736   20+10+06=09400470141002821692.        (940; 470, 1410; 282, 1692)

More parts are easier to multiply and longer to write: an answer has 11·k − 3 tokens for k parts, its end
included, so that a cap on tokens is a cap on parts. Every split into parts that add up to b is right.
"""

from __future__ import annotations

import numpy as np

from lab.task import (
    DOMAINS,
    END,
    GO,
    PAD,
    PLUS,
    Domain,
    Grades,
    Mask,
    Tokens,
    four_digits,
)

MOST = 6
"""Most parts."""

RESPONSE = 11 * MOST - 3
"""Tokens of the longest right answer."""

LENGTHS = tuple(11 * parts - 3 for parts in range(1, MOST + 1))
"""Tokens of a right answer, by its number of parts."""

STRATEGIES = ("1 part", *(f"{parts} parts" for parts in range(2, MOST + 1)))
SHARES = (0.15, 0.17, 0.17, 0.17, 0.17, 0.17)


def is_chain(prompts: Tokens) -> bool:
    """Whether the prompts (n, PROMPT) are of this domain."""
    return bool((prompts[:, 0] == DOMAINS["chain"]).all())


def write_answers(domain: Domain, a: Tokens, b: Tokens, random: np.random.Generator) -> Tokens:
    """Right answers (n, RESPONSE) for a · b, the number of parts by :data:`SHARES`.

    From two parts on the last has the ones, and the others the tens, at least one each, drawn evenly: a
    number with few tens has fewer parts.
    """
    del domain
    n, tens = len(b), b // 10
    number = np.minimum(random.choice(MOST, n, p=SHARES) + 1, tens + 1)
    # The tens are cut at different places; cuts that are not needed are behind the last of them.
    weight = random.random((n, 8))
    weight[np.arange(1, 9) >= tens[:, None]] = 2.0
    cuts = np.argsort(weight, axis=1)[:, : MOST - 2] + 1
    cuts = np.where(np.arange(2, MOST) < number[:, None], cuts, tens[:, None])
    edges = np.column_stack([np.zeros(n, dtype=np.int64), np.sort(cuts, axis=1), tens])
    parts = np.column_stack([10 * np.diff(edges, axis=1), np.zeros(n, dtype=np.int64)])
    row = np.arange(n)
    parts[row, number - 1] = np.where(number == 1, b, b % 10)
    return answers_of(a, parts, number)


def answers_of(a: Tokens, parts: Tokens, number: Tokens) -> Tokens:
    """The answer that executes the first ``number`` (n,) of ``parts`` (n, MOST) correctly, (n, RESPONSE).

    A total above 9999 is written modulo 10 000; its plan is wrong in any case.
    """
    answer = np.full((len(a), RESPONSE), PAD)
    for k in range(1, MOST + 1):
        rows = np.flatnonzero(number == k)
        some, factor = parts[rows, :k], a[rows]
        columns: list[Tokens] = []
        for i, part in enumerate(some.T):
            columns += [np.full_like(part, PLUS)] * (i > 0) + [part // 10, part % 10]
        columns.append(np.full_like(factor, GO))
        total = np.zeros_like(factor)
        for i, part in enumerate(some.T):
            total = total + factor * part
            columns += four_digits(factor * part) + (four_digits(total) if i else [])
        columns.append(np.full_like(factor, END))
        answer[rows, : len(columns)] = np.column_stack(columns)
    return answer


def read_plans(responses: Tokens) -> tuple[Tokens, Tokens, Mask]:
    """Parts (n, MOST), 0 behind the last, their number (n,), and where the plan is well formed (n,)."""
    n = len(responses)
    parts, number = np.zeros((n, MOST), dtype=np.int64), np.zeros(n, dtype=np.int64)
    plan = responses[:, : 3 * MOST].reshape(n, MOST, 3)
    digits: Mask = np.logical_and(plan[..., 0] < 10, plan[..., 1] < 10)
    value, signs = plan[..., 0] * 10 + plan[..., 1], plan[..., 2]
    for k in range(1, MOST + 1):
        whole: Mask = digits[:, :k].all(axis=1) & (signs[:, k - 1] == GO)
        whole &= (signs[:, : k - 1] == PLUS).all(axis=1)
        parts[whole, :k], number[whole] = value[whole, :k], k
    return parts, number, number > 0


def grade(prompts: Tokens, responses: Tokens) -> Grades:
    """Grade n responses, PAD after their end, to their prompts; the strategy is the number of parts."""
    a, b = prompts[:, 1] * 10 + prompts[:, 2], prompts[:, 3] * 10 + prompts[:, 4]
    parts, number, well_formed = read_plans(responses)
    fits = well_formed & (parts.sum(axis=1) == b)
    execution_right = well_formed & (answers_of(a, parts, number) == responses).all(axis=1)
    plan = parts @ 100 ** np.arange(MOST) * (MOST + 1) + number
    return Grades(
        correct=fits & execution_right,
        plan_right=fits,
        execution_right=execution_right,
        strategy=np.where(fits, number - 1, -1),
        plan=np.where(fits, plan, -1),
        strategies=STRATEGIES,
    )
