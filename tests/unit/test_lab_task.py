"""The lab's task: prompts, demonstrations and the verifier. Needs no PyTorch."""

import numpy as np
import pytest

from lab import chains
from lab.domains import demonstrations, grade
from lab.task import (
    DOMAINS,
    END,
    GO,
    NAMES,
    PAD,
    PROMPT,
    RESPONSE,
    STRATEGIES,
    is_planning,
    is_written,
    numbers,
    text_of,
)


def tokens(text: str, length: int | None = None) -> np.ndarray:
    found = [NAMES.index(letter) for letter in text]
    return np.array(found + [PAD] * ((length or len(found)) - len(found)))


def judge(prompt: str, response: str):
    return grade(tokens(prompt)[None], tokens(response, RESPONSE)[None])


@pytest.mark.parametrize(
    ("response", "strategy"),
    [
        ("36=1692.", "direct"),
        ("30+06=141002821692.", "tens first"),
        ("06+30=028214101692.", "ones first"),
        ("40-04=188001881692.", "round up"),
        ("20+16=094007521692.", "sum"),
        ("50-14=235006581692.", "difference"),
    ],
)
def test_every_strategy_is_right(response, strategy):
    grades = judge("P4736", response)
    assert grades.correct[0]
    assert STRATEGIES[grades.strategy[0]] == strategy


@pytest.mark.parametrize(
    ("response", "plan", "execution"),
    [
        ("30+07=141003291739.", False, True),  # executed correctly, but 30 + 7 is not 36
        ("30+06=141002821693.", True, False),  # 1410 + 282 is 1692
        ("30+06=151002821692.", True, False),  # 47 × 30 is 1410
        ("30+06=14100282169", True, False),  # a digit and the end are missing
        ("30+06+141002821692.", False, False),  # no =
        ("3+06=0141028216920.", False, False),  # a part of one digit
        ("36=1692.0", True, False),  # continues after the end
    ],
)
def test_wrong_plans_and_executions_are_distinguished(response, plan, execution):
    grades = judge("P4736", response)
    assert (grades.plan_right[0], grades.execution_right[0]) == (plan, execution)
    assert not grades.correct[0]


@pytest.mark.parametrize(
    ("response", "strategy", "plan", "execution"),
    [
        ("36=1692.", "1 part", True, True),
        ("30+06=141002821692.", "2 parts", True, True),
        ("30+05+01=14100235164500471692.", "3 parts", True, True),
        ("30+05+00=14100235164500001645.", None, False, True),  # 35 is not 36
        ("30+05+01=14100235164500471693.", "3 parts", True, False),  # 1645 and 47 are 1692
        ("30+05+01=14100235164500471692", "3 parts", True, False),  # no end
        ("30+0501=14100235164500471692.", None, False, False),  # a sign is missing
        ("01+01+01+01+01+01+30=.", None, False, False),  # seven parts
    ],
)
def test_chains_are_executed_part_by_part(response, strategy, plan, execution):
    grades = grade(tokens("=4736")[None], tokens(response, chains.RESPONSE)[None])
    number = int(grades.strategy[0])
    assert (None if number < 0 else grades.strategies[number]) == strategy
    assert (grades.plan_right[0], grades.execution_right[0]) == (plan, execution)
    assert grades.correct[0] == (plan and execution)


def test_right_chains_have_six_lengths():
    shown = demonstrations("chain", 2000, np.random.default_rng(0))
    grades = grade(shown[:, :PROMPT], shown[:, PROMPT:])
    lengths = is_written(shown[:, PROMPT:]).sum(axis=1)
    assert grades.correct.all()
    assert set(lengths.tolist()) == set(chains.LENGTHS)
    assert np.array_equal(lengths, 11 * (grades.strategy + 1) - 3)
    assert len(np.unique(grades.plan)) > 500


def test_domains_reward_different_plans():
    tens, rough = "30+06=141002821692.", "21+15=098707051692."
    assert [judge(f"{kind}4736", tens).correct[0] for kind in "PSR"] == [True, True, False]
    assert [judge(f"{kind}4736", rough).correct[0] for kind in "PSR"] == [True, False, True]


@pytest.mark.parametrize("domain", list(DOMAINS))
def test_demonstrations_without_mistakes_are_right(domain):
    shown = demonstrations(domain, 3000, np.random.default_rng(0))
    assert grade(shown[:, :PROMPT], shown[:, PROMPT:]).correct.all()


def test_demonstrations_are_diverse_with_the_requested_share_of_mistakes():
    shown = demonstrations("free", 20_000, np.random.default_rng(0), 0.3, 0.15)
    grades = grade(shown[:, :PROMPT], shown[:, PROMPT:])
    # A plan for another number is right by chance where that number is b, once in 89.
    assert grades.plan_right.mean() == pytest.approx(0.7 + 0.3 / 89, abs=0.015)
    assert grades.execution_right.mean() == pytest.approx(0.85, abs=0.015)
    assert set(grades.strategy) == {-1, *range(len(STRATEGIES))}


def test_validation_pairs_are_not_used_in_training():
    random = np.random.default_rng(0)
    trained = {tuple(pair) for pair in numbers(20_000, random, validation=False)}
    kept = {tuple(pair) for pair in numbers(2_000, random, validation=True)}
    assert not trained & kept
    assert 0.07 < len(kept) / 89**2 < 0.13


def test_the_plan_ends_with_its_equals_sign():
    response = tokens("30+06=141002821692.", RESPONSE)[None]
    assert text_of(response[is_planning(response)]) == "30+06="
    assert is_written(response).all()
    short = tokens("36=1692.", RESPONSE)[None]
    assert text_of(short[is_written(short)]) == "36=1692."
    assert (short[0, 2], short[0, 7]) == (GO, END)
