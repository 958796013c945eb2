"""The language of gates, and the numbers in their sentences."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw import UsageError
from entropylaw.gates.decide import consistent_decimals
from entropylaw.gates.expression import parse
from entropylaw.gates.limits import Limit
from entropylaw.gates.quantities import QUANTITIES
from tests.hostile import refused


@pytest.mark.parametrize(
    ("text", "sign", "limit"),
    [
        ("ceiling<0.62", "<", 0.62),
        ("  ceiling  <=  -6.2e-1 ", "<=", -0.62),
        ("p_gain>90%", ">", 0.9),
        ("p_gain >= 1.1 %", ">=", 0.011),
        ("n==51", "==", 51.0),
        ("a!=.5", "!=", 0.5),
    ],
)
def test_comparisons(text, sign, limit):
    gate = parse(text)
    assert (gate.operator, gate.limit) == (sign, limit)
    assert gate.text == text.strip()


@pytest.mark.parametrize(
    ("text", "measured", "baseline"),
    [
        ("regression(base.fit.json)>1%", "now", "base.fit.json"),
        ("regression( now , a (2), b.json ) > 1%", "now", "a (2), b.json"),
        ("regression('x y>.json')>0", "now", "x y>.json"),
        ("regression(pages)>1%", "now", "pages"),
        ("regression(ceiling, pages)>1%", "ceiling", "pages"),
        ("regression(ceiling,a)==b).json)>0", "ceiling", "a)==b).json"),
    ],
)
def test_baselines(text, measured, baseline):
    gate = parse(text)
    assert (gate.measured, gate.baseline, gate.operator) == (measured, baseline, ">")


@pytest.mark.parametrize(
    ("text", "sign", "word"),
    [
        ("state==broken", "==", "broken"),
        ("state != flat ", "!=", "flat"),
        ("state=='cannot tell'", "==", "cannot tell"),
        ('phases!="settles, then rises"', "!=", "settles, then rises"),
        ("mean:stop_line==broken", "==", "broken"),
    ],
)
def test_a_word_has_quotes_or_is_one_word(text, sign, word):
    gate = parse(text)
    assert (gate.operator, gate.word) == (sign, word)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", 1, "a quantity was expected"),
        ("0.5<ceiling", 1, "a quantity was expected"),
        ("ceiling", 8, "one of < <= > >= == != was expected"),
        ("ceiling=0.6", 8, "'==' was expected"),
        ("ceiling<x", 9, "a number was expected for ceiling"),
        ("ceiling<1e999", 9, "a finite number"),
        ("ceiling<0.6 and b>1", 13, "--fail-if can be repeated"),
        ("ceiling<1%%", 11, "the end was expected"),
        ("fails==1", 6, "fails stands alone"),
        ("phases<'overlapping'", 7, "== or != was expected"),
        ("state==cannot tell", 8, "with its quotes"),
        ("state==broken flat", 8, "with its quotes"),
        ("state==lost", 8, "one of 'broken', 'falling', 'cannot tell', 'rising', 'flat' was expected"),
        ("state<broken", 6, "== or != was expected"),
        ("phases=='overlaping'", 9, "did you mean 'overlapping'?"),
        ("regression>1%", 11, "'(' and the baseline's document"),
        ("regression(a.json", 18, "a closing ')'"),
        ("regression()>1%", 12, "the baseline's document was expected"),
        ("regression(used,a.json)>1%", 12, "now or ceiling was expected"),
    ],
)
def test_bad_expressions_name_the_place(text, place, said):
    error = refused("bad-gate", parse, text, kind=UsageError)
    assert f"at character {place}, found " in error.message
    assert said in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("holds", "verdict!='holds'"),
        ("verdict!='hold'", "verdict!='holds'"),
        ("why=='no clear slop'", "why=='no clear slope'"),
        ("state==cannot tell", "state=='cannot tell'"),
        ("phases<'overlapping'", "phases=='overlapping'"),
    ],
)
def test_hints_show_words_with_the_quotes_that_a_shell_needs(text, typed):
    with pytest.raises(UsageError) as error:
        parse(text)
    assert f'"{typed}"' in error.value.hint
    assert "<Why" not in error.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p_gain>50", "type --fail-if 'p_gain>50%', or the number 0.5"),
        ("p_ever>2", "type --fail-if 'p_ever>2%', or the number 0.02"),
        ("p_gain<150%", "inside the range"),
        ("p_better>1", "inside the range"),
        ("odds_law<0", "inside the range"),
        ("flat_steps<0", "inside the range"),
        ("r_squared>5", "type --fail-if 'r_squared>5%', or the number 0.05"),
        ("lag1>1.5", "inside the range"),
        ("n<-3", "inside the range"),
        ("regression('a b')>5", """type --fail-if "regression('a b')>5%", or the number 0.05"""),
    ],
)
def test_a_limit_that_no_run_can_pass_is_refused(text, said):
    assert said in refused("bad-gate", parse, text, kind=UsageError).hint


@pytest.mark.parametrize(
    "text",
    [
        "p_gain>=1",
        "p_gain<=0",
        "regression(a)>1.2",
        "regression(a)<-1",
        "n<8",
        "ceiling>5",
        "delta<-9",
    ],
)
def test_a_limit_that_a_run_can_pass_is_taken(text):
    assert parse(text).text == text


def test_an_unknown_quantity_names_the_nearest_and_all():
    error = refused("unknown-quantity", parse, " ceilling<1", kind=UsageError)
    assert "(character 2); did you mean 'ceiling'?" in error.message
    assert all(name in error.hint for name in (*QUANTITIES, "regression"))


@given(st.text(max_size=40) | st.text("abceilng<>=!0.5%()' ", max_size=30))
def test_any_text_is_a_gate_or_a_usage_error(text):
    try:
        slug, told = "", parse(text).text
    except UsageError as error:
        slug, told = error.slug, error.message
    assert slug in ("", "bad-gate", "unknown-quantity")
    assert (repr(text) if slug else text.strip()) in told


numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


@pytest.mark.parametrize(
    ("values", "limit", "how", "shown"),
    [
        ([0.6199996], 0.62, {}, ["0.6199996"]),
        ([0.62], 0.62, {}, ["0.6200"]),
        ([0.6, 0.55, 0.6199996], 0.62, {}, ["0.6000000", "0.5500000", "0.6199996"]),
        ([0.0123], 0.01, {"shift": 2, "suffix": "%"}, ["1.230%"]),
        ([12.3], 1.0, {"suffix": "%"}, ["12.30%"]),
        ([590.0, None], 500.0, {}, ["590", "open"]),
    ],
)
def test_a_difference_from_the_limit_is_always_seen(values, limit, how, shown):
    assert consistent_decimals(values, Limit(number=limit, text="", **how)) == shown


@given(st.lists(numbers, min_size=1, max_size=3), numbers, st.sampled_from([0, 2]))
def test_what_is_shown_stands_on_the_side_where_the_number_is(values, limit, shift):
    shown = consistent_decimals(values, Limit(number=limit, text="", shift=shift, suffix="%"))
    bound = Decimal(repr(limit)).scaleb(shift)
    for value, text in zip(values, shown, strict=True):
        number = Decimal(text.removesuffix("%"))
        assert (number > bound, number < bound) == (value > limit, value < limit)
