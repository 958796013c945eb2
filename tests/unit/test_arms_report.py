"""What is said of arms: the answer first, one line per arm, every line with what it rests on."""

from __future__ import annotations

import csv
import io
import re

import pytest

from entropylaw.escaping import COLUMNS, WIDTH
from entropylaw.report.blocks import Table, Verdict
from entropylaw.report.describe import describe
from entropylaw.report.describe.stages import direction
from entropylaw.report.findings import sentence
from entropylaw.report.render import MEDIA, rendered
from entropylaw.report.single_page import single_page
from entropylaw.results.arms import Band, Decision
from entropylaw.results.result import caution, replace
from tests import arms
from tests.pages import Page
from tests.unit.test_report_samples import HOSTILE


def verdicts(result):
    return [block for block in describe(result) if isinstance(block, Verdict)]


def one(decision=Decision.undecided, *, change=None, **other):
    """The verdict of a comparison of two arms."""
    first, *others = arms.pair("clip_cov", decision=decision).differences
    pair = arms.pair("clip_cov", differences=(replace(first, **(change or {})), *others), **other)
    (found,) = verdicts(arms.comparison("clip_cov", pairs=(pair,)))
    return found


@pytest.mark.parametrize(
    ("decision", "badge", "ok"),
    [
        (Decision.above, "higher", True),
        (Decision.below, "lower", False),
        (Decision.same, "same", None),
        (Decision.undecided, "not decided", None),
    ],
)
def test_the_answer_is_a_word_and_a_number_with_its_range(decision, badge, ok):
    found = one(decision)
    assert (found.badge, found.ok) == (badge, ok)
    assert found.text.startswith(
        "clip_cov: reward at equal entropy +0.012 [-0.002, 0.026] over 0.10–0.50 nats "
        "(2 and 3 seeds, p = 0.16)"
    )
    assert ("28 seeds per arm decide ±0.012" in found.text) == (decision is Decision.undecided)


def test_seeds_that_are_there_or_are_not_enough_are_said():
    assert "these seeds have 80 % power to find ±0.012" in one(change={"seeds_needed": 2}).text
    assert "no usual number of seeds decides ±0.012" in one(change={"seeds_needed": None}).text


def test_without_spread_between_seeds_nothing_is_comparable():
    why = "no arm has two seeds: no between-seed variance, not comparable"
    estimate = arms.estimate(0.012, None, note=why)
    found = one(change={"estimate": estimate, "p_value": None, "p_adjusted": None})
    assert found.badge == "not comparable"
    assert found.text.endswith(f"+0.0120, without interval over 0.10–0.50 nats (2 and 3 seeds): {why}")
    assert "seeds per arm" not in found.text
    nothing = one(change={"estimate": arms.unknown("no common range of entropy"), "p_value": None})
    assert nothing.text == "clip_cov: reward at equal entropy: no common range of entropy"


def test_one_seed_per_arm_says_what_to_type():
    alone = tuple(arms.arm(name, seeds=1) for name in ("grpo", "clip_cov"))
    text = rendered(arms.comparison("clip_cov", arms=alone), "text")
    assert "--between-sd" in text
    assert "--between-sd" not in rendered(arms.comparison(), "text")
    assert "--between-sd" not in rendered(arms.comparison("clip_cov", arms=alone, between_sd=0.1), "text")


def test_all_pairs_name_both_arms():
    text = rendered(arms.comparison(baseline=None), "text")
    assert text.startswith("3 arms, all pairs · 9 runs")
    assert "clip_cov − grpo: reward at equal entropy" in text
    assert rendered(arms.comparison("a"), "text").startswith("a against grpo · ")
    assert rendered(arms.comparison(*arms.MANY), "text").startswith("6 arms against grpo · ")


def test_what_was_grouped_and_what_failed_come_first():
    lines = rendered(arms.comparison(), "text").splitlines()
    assert lines[1].split(maxsplit=1) == ["arms", "grpo (3 seeds), clip_cov (3 seeds), rloo (3 seeds)"]
    assert lines[2].split()[:4] == ["failed", "2", "runs:", "clip_cov_s2"]
    many = arms.comparison(*arms.MANY)
    assert "1 more: --details" in " ".join(rendered(many, "text").split())
    assert "entropy_bonus_0.1_s2 (stopped" in " ".join(rendered(many, "details").split())
    assert "--details" not in rendered(many, "markdown")
    none = arms.comparison("a", arms=(arms.arm("grpo"), arms.arm("a")))
    assert re.search(r"failed +no run\n", rendered(none, "text"))


def test_the_difference_in_final_reward_is_the_sum_of_its_parts():
    text = " ".join(rendered(arms.comparison("clip_cov"), "text").split())
    assert (
        "clip_cov: -0.050 [-0.064, -0.036] at step 400 (2 and 3 seeds), lower: -0.109 [-0.119, -0.099] by "
        "movement along the curve, +0.059 [0.049, 0.069] by a shift of the curve at 0.21 nats; movement is "
        "218 % [158, 278] of it"
    ) in text
    may_be_0 = arms.split(share=arms.unknown("the difference may be 0"))
    text = rendered(arms.comparison("a", pairs=(arms.pair("a", split=may_be_0),)), "text")
    assert "movement is" not in text
    nothing = arms.unknown("no arm has two seeds")
    parts = dict.fromkeys(("shift", "movement", "share"), nothing)
    text = rendered(arms.comparison("a", pairs=(arms.pair("a", split=arms.split(**parts)),)), "text")
    assert "lower; movement and shift are unknown: no arm has two seeds" in " ".join(text.split())


def test_where_a_band_excludes_0():
    entropy = (0.1, 0.2, 0.3, 0.4, 0.5)
    low = (0.01, 0.01, -0.01, -0.03, -0.02)
    high = (0.03, 0.03, 0.02, -0.01, 0.01)
    band = Band(entropy=entropy, mean=(0.0,) * 5, low=low, high=high)
    assert band.outside == [("above", 0.1, 0.2), ("below", 0.4, 0.4)]
    text = rendered(arms.comparison("a", pairs=(arms.pair("a", band=band),)), "text")
    assert "is above 0 over 0.10–0.20 nats and below 0 over 0.40–0.40 nats" in " ".join(text.split())
    contained = replace(band, low=(-0.1,) * 5, high=(0.1,) * 5)
    result = arms.comparison("a", pairs=(arms.pair("a", band=contained),))
    assert "contains 0 at every entropy" in rendered(result, "markdown")
    assert "contains 0" not in rendered(result, "text")


def test_up_to_three_comparisons_have_sentences_of_their_own():
    assert len(verdicts(arms.comparison(*arms.MANY[:3]))) == 3
    assert verdicts(arms.comparison(*arms.MANY[:4])) == []


def test_a_difference_without_a_test_is_not_comparable():
    for names in (("a",), arms.MANY):
        found = [
            dict(zip([column.key for column in block.columns], row, strict=True))
            for block in describe(arms.comparison(*names))
            if isinstance(block, Table) and block.columns[-1].key == "seeds_needed"
            for row in block.rows
        ]
        rows = [row for row in found if row.get("quantity") == "entropy at equal reward, nats"]
        assert [row["decision"] for row in rows] == ["not comparable"] * len(names)


def table_lines(text, head):
    """The lines of a table in a text, without those of its head."""
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith(head))
    rows = []
    for line in lines:
        if re.match(r"  \S", line) is None and line.strip():
            continue
        if not re.match(r"  \S+ {2,}(higher|lower|same|not)", line):
            break
        rows.append(line)
    return rows


def test_many_arms_have_a_line_each():
    names = [f"arm_{place}" for place in range(20)]
    result = arms.comparison(*names)
    text = rendered(result, "text")
    assert [row.split()[0] for row in table_lines(text, "  arm ")] == names
    assert not verdicts(result)
    # What was grouped, the failed runs, two rows per arm, and some lines of method.
    assert len(text.splitlines()) < 60


@pytest.mark.parametrize(
    ("names", "width"),
    [(("clip_cov",), 80), (("clip_cov", "entropy_bonus_0.02"), 80), (("clip_cov",), 100), (arms.MANY, 100)],
)
def test_lines_fit_a_terminal(names, width):
    token = COLUMNS.set(width)
    try:
        lines = rendered(arms.comparison(*names), "text").splitlines()
    finally:
        COLUMNS.reset(token)
    # The title is a line of its own.
    assert max(map(len, lines[1:])) <= width
    whole = rendered(arms.complete(*names, between_sd=None), "details").splitlines()
    assert max(map(len, whole[1:])) <= WIDTH


def test_a_given_spread_is_repeated_on_every_line():
    said = "between-seed sd 0.02 as given"
    for verdict in verdicts(arms.comparison(between_sd=0.02)):
        assert said in verdict.text
    assert not any(said in verdict.text for verdict in verdicts(arms.comparison()))
    text = " ".join(rendered(arms.comparison(between_sd=0.02), "text").split())
    # Two verdicts, two lines of final reward, two of curves.
    assert text.count(said) == 6
    many = arms.comparison(*arms.MANY, between_sd=0.02)
    tables = [block for block in describe(many) if isinstance(block, Table)]
    repeated = [table for table in tables if table.columns[-1].key == "between_sd"]
    assert [len(table.rows) for table in repeated] == [6, 6, 30]
    few = [block for block in describe(arms.comparison(between_sd=0.02)) if isinstance(block, Table)]
    assert sum(table.columns[-1].key == "between_sd" for table in few) == 2
    assert all(row[-1] == "0.02 as given" for table in repeated for row in table.rows)
    rows = csv.DictReader(io.StringIO(rendered(many, "csv")))
    assert {row["between_sd"] for row in rows} == {"0.02"}


def test_a_row_per_comparison_and_quantity():
    rows = list(csv.DictReader(io.StringIO(rendered(arms.comparison(), "csv"))))
    assert [row["arm"] for row in rows] == ["clip_cov"] * 8 + ["rloo"] * 8
    first = dict(rows[0])
    assert (first["quantity"], first["decision"], first["seeds_needed"]) == (
        "reward_at_entropy",
        "higher",
        "28",
    )
    assert [float(first[name]) for name in ("difference_low", "entropy_low", "p_adjusted")] == pytest.approx(
        [-0.002, 0.1, 0.16]
    )
    assert (rows[1]["difference"], rows[1]["note"]) == ("", "reward does not rise in one run")
    assert [row["quantity"] for row in rows[5:8]] == ["movement", "shift", "movement_share"]
    assert rendered(arms.comparison(*"abc"), "csv").count(",same,") == 1


def test_reasons_of_several_arms_are_one_line():
    text = " ".join(rendered(arms.comparison(), "text").split())
    assert text.count("reward does not rise in one run") == 1
    assert "clip_cov, rloo: entropy at equal reward, nats: reward does not rise in one run" in text


def test_the_method_has_level_degrees_of_freedom_and_adjustment():
    text = " ".join(rendered(arms.comparison(), "details").split())
    assert (
        f"method 95 % intervals: {arms.METHOD} (df 4.2); p-values adjusted by Holm's method over 2 "
        "comparisons"
    ) in text
    assert "failure rate, share: Newcombe" in text
    assert "Holm" not in rendered(arms.comparison("a"), "text")


@pytest.mark.parametrize(
    ("change", "expected"),
    [(arms.estimate(0.02), "rises"), (arms.estimate(-0.02), "falls"), (arms.estimate(0.005), "not decided")],
)
def test_a_change_has_a_direction_where_its_interval_excludes_0(change, expected):
    assert direction(change) == expected
    assert direction(arms.unknown("one seed")) == "not decided"
    result = arms.comparison(stages=(arms.stage(change=0.0),))
    stage = replace(result.stages[0], change=change)
    assert expected in rendered(replace(result, stages=(stage,)), "text")


def test_stages_and_transfers_are_shown_where_there_are_some():
    whole = " ".join(rendered(arms.complete(), "text").split())
    for part in (
        "two_stages 1 rl semantic, nats maths -0.200 [-0.210, -0.190] falls 2",
        "backward transfer -0.100 [-0.140, -0.060], falls",
        "maths 0.800 [0.790, 0.810] 0.200 [0.190, 0.210]",
    ):
        assert part in whole
    assert "caution a caution note a note" in whole
    one = arms.transfer()
    missing = replace(one, reward=((one.reward[0][0], arms.unknown("not evaluated")), one.reward[1]))
    lost = replace(missing, backward=arms.unknown("one stage"))
    text = " ".join(rendered(arms.comparison(transfers=(lost,)), "text").split())
    assert "backward transfer — (one stage) (seeds" in text
    assert "maths 0.800 [0.790, 0.810] —" in text
    assert "reward: not evaluated" in text
    plain = rendered(arms.comparison(), "text")
    assert not any(word in plain for word in ("place", "backward"))


def test_findings_have_sentences():
    assert "in 3 of 7 runs" in sentence(caution("law-fails-in-arms", failing=3, runs=7))
    assert "(0.02)" in sentence(caution("between-sd-given", sd=0.02))
    said = sentence(caution("left-out-of-curves", runs=tuple(f"s{i}" for i in range(15))))
    assert "s0, s1, " in said
    assert "s11 and 3 more, which" in said


@pytest.mark.parametrize("names", [(HOSTILE,), (HOSTILE, "caution", "a", "b")])
@pytest.mark.parametrize("medium", [*MEDIA, "page", "notebook"])
def test_names_are_text(names, medium):
    result = arms.complete(*names)
    if medium in ("page", "notebook"):
        page = Page(single_page(result) if medium == "page" else result._repr_html_())
        assert not page.open
        assert not {"script", "img", "iframe"} & set(page.tags)
        assert HOSTILE.replace("\n", "\\n") in page.text
        assert len(page.ids) == len(set(page.ids))
        assert set(page.references) <= set(page.ids)
        return
    text = rendered(result, medium)
    assert "\x1b" not in text
    assert "etc/" in text
    if medium == "markdown":
        assert "<script" not in text
        assert not re.search(r"(?<!\\)\]\(http", text)


@pytest.mark.parametrize("names", [("a",), arms.MANY])
def test_the_same_result_has_the_same_bytes(names):
    assert single_page(arms.complete(*names)) == single_page(arms.complete(*names))
    for medium in MEDIA:
        assert rendered(arms.complete(*names), medium) == rendered(arms.complete(*names), medium)


def test_the_page_has_the_answer_the_figures_and_every_run():
    page = Page(single_page(arms.complete()))
    assert page.tags.count("figure") == 2
    places = [
        page.text.index(word)
        for word in ("2 arms against grpo", "higher", "Curves and differences", "Arms and runs")
    ]
    assert places == sorted(places)
    for arm in arms.complete().arms:
        assert all(run.run in page.text for run in arm.runs)


def test_a_frame_is_the_table():
    frame = arms.comparison().to_frame()
    assert frame.shape[0] == 16
    assert list(frame.columns[9:12]) == ["difference", "difference_low", "difference_high"]
