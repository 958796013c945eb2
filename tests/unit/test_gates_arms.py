"""Gates on differences between arms: they trip on all of an interval, and fail on what is not known."""

import pytest

from entropylaw import Estimate, InputError, UsageError
from entropylaw.documents.codec import encode
from entropylaw.documents.comparison import ComparisonDocument
from entropylaw.gates.differences import differences
from entropylaw.gates.expression import parse
from entropylaw.options import CompareOptions
from tests.arms import UNITS
from tests.findings import made
from tests.gate_documents import case, cases, document, fitted

QUANTITIES = (
    *("last_reward", "living_reward", "reward_at_entropy", "reward_at_equal", "failure_rate"),
    *("last_entropy", "entropy_loss", "shift", "movement", "ceiling", "a", "b"),
)

GATE = "difference(clip, grpo).reward_at_entropy<0"


def estimate(value, low=None, high=None, note=None):
    return Estimate(value=value, low=low, high=high, level=0.95, method="m", note=note)


def compared(*pairs, arms=("grpo", "clip", "rloo")):
    """A comparison; of every pair (arm, baseline, estimate of every quantity)."""
    made_pairs = [
        {
            "arm": arm,
            "baseline": baseline,
            "common": None,
            "last_step": None,
            "differences": [
                {"quantity": name, "unit": UNITS.get(name, "reward"), "estimate": known}
                for name in QUANTITIES
            ],
            "band": None,
        }
        for arm, baseline, known in pairs
    ]
    rate = estimate(0.0, 0.0, 0.5)
    found = made(
        ComparisonDocument,
        inputs=(),
        settings=CompareOptions(),
        grouped=[{"arm": arm, "by": "as given", "runs": ("r",)} for arm in arms],
        comparison={
            "arms": [{"arm": arm, "runs": (), "failure_rate": rate} for arm in arms],
            "baseline": arms[0],
            "pairs": made_pairs,
            "level": 0.95,
            "margin": 0.01,
        },
    )
    return encode(found)


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ((-0.03, -0.01), "tripped"),
        ((-0.03, 0.0), "not excluded"),
        ((0.01, 0.03), "passed"),
        ((None, -0.01), "tripped"),
        ((None, 0.01), "not excluded"),
        ((0.01, None), "passed"),
    ],
)
def test_the_interval_decides(ends, outcome):
    low, high = ends
    value = high if low is None else low if high is None else (low + high) / 2
    found = case(compared(("clip", "grpo", estimate(value, *ends))), GATE)
    assert (found.outcome, found.failed) == (outcome, outcome == "tripped")
    assert found.run == "comparison of grpo, clip, rloo"
    strict = case(compared(("clip", "grpo", estimate(value, *ends))), GATE, strict=True)
    assert strict.failed is (outcome != "passed")


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_quantity_is_read_for_either_order_of_the_arms(name):
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    for arms, sign, ends in (("clip, grpo", 1, (0.01, 0.04)), ("grpo,clip", -1, (-0.04, -0.01))):
        found = case(data, f"difference({arms}).{name} < 0")
        assert (found.value, found.low, found.high) == (sign * 0.02, *ends)
        assert found.outcome == ("passed" if sign > 0 else "tripped")


def test_only_the_named_quantity_and_pair_are_read():
    data = compared(
        ("clip", "grpo", estimate(0.02, 0.01, 0.04)), ("rloo", "grpo", estimate(-0.5, -0.6, -0.4))
    )
    ceiling = data["comparison"]["pairs"][0]["differences"][QUANTITIES.index("ceiling")]
    ceiling["estimate"] = encode(estimate(-0.2, -0.3, -0.1))
    found = cases([data], GATE, "difference(clip, grpo).ceiling<0", "difference(rloo, grpo).ceiling<0")
    assert [one.value for one in found] == [0.02, -0.2, -0.5]
    assert [one.outcome for one in found] == ["passed", "tripped", "tripped"]


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (estimate(None, note="no common range of entropy: a stays above 0.5 nats"), "no common range"),
        (estimate(0.2, note="no arm has two seeds: no between-seed variance"), "no arm has two seeds"),
        (estimate(None), "not known"),
    ],
)
def test_what_is_not_known_fails_with_the_reason(known, words):
    for gate in (GATE, "difference(grpo, clip).reward_at_entropy>-5", f"{GATE.split('<')[0]}!=3"):
        found = case(compared(("clip", "grpo", known)), gate)
        assert (found.outcome, found.failed) == ("unknown", True)
        assert words in found.sentence


def test_a_pair_or_a_quantity_that_was_not_compared_fails():
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    found = case(data, "difference(rloo, clip).ceiling<0")
    assert (found.outcome, found.failed) == ("unknown", True)
    assert "--baseline` names another baseline, or all" in found.sentence
    differences = data["comparison"]["pairs"][0]["differences"]
    differences[:] = [row for row in differences if row["quantity"] != "reward_at_entropy"]
    found = case(data, GATE)
    assert (found.outcome, found.failed) == ("unknown", True)
    assert "was not compared in reward_at_entropy" in found.sentence


def test_an_arm_that_no_comparison_has_is_an_error():
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    with pytest.raises(UsageError, match="no arm is called 'clipp'") as caught:
        case(data, "difference(clipp, grpo).ceiling<0")
    assert caught.value.slug == "no-such-arm"
    assert caught.value.hint == "the arms are 'grpo', 'clip', 'rloo'"
    # Where another comparison has the arms, this one fails as unknown.
    other = compared(("x", "y", estimate(0.02, 0.01, 0.04)), arms=("y", "x"))
    found = cases([data, other], "difference(x, y).ceiling<0")
    assert [one.outcome for one in found] == ["unknown", "passed"]


def test_gates_on_runs_are_unknown_for_a_comparison_and_the_other_way_round():
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    gates = ("ceiling<0.1", "fails", "undecided", "refused", "phases=='overlapping'", "n<3")
    assert [(one.outcome, one.failed) for one in cases([data], *gates)] == [("unknown", True)] * len(gates)
    found = case(document(fitted()), GATE)
    assert (found.outcome, found.failed) == ("unknown", True)
    assert "`entropylaw compare` writes one" in found.sentence


@pytest.mark.parametrize(
    ("text", "arms", "name"),
    [
        ("difference(a, b).ceiling<0", ("a", "b"), "ceiling"),
        ("difference(  a b ,c(d) ).failure_rate > 5%", ("a b", "c(d)"), "failure_rate"),
        ("difference('a, b', \"c\").a!=1", ("a, b", "c"), "a"),
        ("difference(w(1).5, b).b>=1", ("w(1).5", "b"), "b"),
    ],
)
def test_arms_are_read_from_an_expression(text, arms, name):
    gate = parse(text)
    assert gate.arms == arms
    assert gate.quantity.name == f"difference({arms[0]}, {arms[1]}).{name}"
    assert gate.quantity.unit == differences()[name].unit


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("difference<0", "'(' and two arms were expected at character 11"),
        ("difference(a, b)<0", "').' and a quantity"),
        ("difference(a).a<0", "two different arms"),
        ("difference(a, a).a<0", "two different arms"),
        ("difference(a, b, c).a<0", "two different arms"),
        ("difference(, b).a<0", "two different arms"),
        ("difference('', b).a<0", "two different arms"),
        ("difference(a, b).reward_at_entropi<0", "did you mean 'reward_at_entropy' or"),
        ("difference(a, b).reward_now<0", "one of last_reward"),
        ("difference(a, b).ceiling", "one of < <= > >= == != was expected"),
        ("difference(a, b).ceiling<0<1", "the end was expected"),
        ("difference(a, b).failure_rate>2", "is from -1 to 1"),
    ],
)
def test_a_wrong_expression_says_what_to_write(text, words):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.slug == "bad-gate"
    assert words in caught.value.message


@pytest.mark.parametrize("arm", ["clip", "grpo", "", "rloo"])
def test_a_difference_of_an_arm_with_a_file_that_could_not_be_read_is_unknown(arm):
    data = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    data["left_out"] = [{"run": "x", "why": "it is empty", "arm": arm, "read": False}]
    for gate in (GATE, "difference(grpo, clip).failure_rate>50%"):
        assert (case(data, gate, even_if_fails=True).outcome == "unknown") is (arm != "rloo")
    # One that was read, and has too few evaluations, is of no other arm, and has no state.
    data["left_out"][0]["read"] = True
    for gate in (GATE, "difference(clip, grpo).failure_rate>50%"):
        assert (case(data, gate).outcome == "unknown") is (arm in ("clip", "grpo"))


def test_a_pair_that_is_there_twice_is_refused():
    data = compared(
        ("clip", "grpo", estimate(0.02, 0.01, 0.04)), ("clip", "grpo", estimate(-0.2, -0.3, -0.1))
    )
    turned = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)), ("grpo", "clip", estimate(0.2, 0.1, 0.3)))
    twice = compared(("clip", "grpo", estimate(0.02, 0.01, 0.04)))
    (pair,) = twice["comparison"]["pairs"]
    pair["differences"] += pair["differences"][:1]
    for one, words in ((data, "each pair of arms once"), (turned, "each pair"), (twice, "each quantity")):
        with pytest.raises(InputError, match=words):
            cases([one], GATE)
