"""Stages: read from logs, changes over each, whether they narrow the policy, and backward transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from entropylaw.analysis.stages import breadth, stage_changes, transfers
from entropylaw.errors import UsageError
from entropylaw.logs.load import read_runs
from entropylaw.report.findings import sentence
from entropylaw.results.arms import StageChange
from entropylaw.results.result import replace
from entropylaw.results.stages import StageCurve, StageRows
from entropylaw.roles.stages import stage_rows

STEPS = np.arange(0.0, 401.0)
EVERY = STEPS[::8]


def table(**columns: Any) -> dict[str, Any]:
    """Two stages of 200 steps, evaluated every 8 before the update, with 0.01 of noise."""
    rng = np.random.default_rng(3)
    entropy = np.exp(-STEPS / 150)
    reward = np.where(STEPS % 8 == 0, 0.8 - 0.4 * entropy + 0.01 * rng.standard_normal(STEPS.size), np.nan)
    stage = ["rl"] * 200 + ["sft"] * 201
    return {"step": STEPS, "stage": stage, "entropy": entropy, "val_acc": reward} | columns


def read(columns: Mapping[str, Any], *names: str) -> Any:
    (run,) = read_runs(dict(columns), columns=names)
    return run


def test_stages_of_text_and_of_numbers_and_with_gaps() -> None:
    rows = stage_rows(read(table(), "stage"), "stage")
    assert (rows.stages, rows.first, rows.last) == (("rl", "sft"), (0.0, 200.0), (199.0, 400.0))
    assert rows.before_update
    numbers = stage_rows(read(table(stage=[1.0] * 200 + [2.0] * 201), "stage"), "stage")
    assert (numbers.stages, numbers.first) == (("1", "2"), (0.0, 200.0))
    gaps = table(stage=[None] * 3 + ["rl"] + [None] * 196 + ["sft"] + [None] * 200)
    assert stage_rows(read(gaps, "stage"), "stage").first == (0.0, 200.0)


def test_curves_are_found_by_name_and_sign() -> None:
    semantic = np.where(STEPS < 5, np.nan, 1.2)
    columns = table(
        entropy=-np.exp(-STEPS / 150), entropy_planning=np.full(401, 0.9), entropy_semantic=semantic
    )
    rows = stage_rows(read(columns, "stage"), "stage")
    assert [one.quantity for one in rows.curves] == ["reward", "entropy", "planning", "semantic"]
    reward, entropy, planning, other = rows.curves
    assert (reward.unit, reward.evaluated, reward.step.size) == ("reward", True, 51)
    assert (entropy.unit, entropy.evaluated) == ("nats", False)
    assert entropy.value.min() > 0
    assert planning.column == "entropy_planning"
    assert other.step[0] == 5


def test_domains_have_the_rewards_named_like_the_reward() -> None:
    columns = table(
        stage=["rl+math"] * 200 + ["rl+code"] * 201,
        val_acc_math=np.where(STEPS % 8 == 0, 0.5, np.nan),
        val_acc_code=np.where(STEPS % 8 == 0, 0.4, np.nan),
        val_greedy_acc_code=np.full(401, 0.1),
    )
    rows = stage_rows(read(columns, "stage"), "stage")
    assert rows.trained == (("math",), ("code",))
    assert rows.domains == ("math", "code")
    assert rows.curve("reward", "code").column == "val_acc_code"  # type: ignore[union-attr]


def test_a_column_of_domains_divides_stages() -> None:
    columns = table(
        stage=["rl"] * 401,
        domain=["math"] * 200 + ["math+code"] * 201,
        val_acc_math=np.where(STEPS % 8 == 0, 0.5, np.nan),
        val_acc_code=np.where(STEPS % 8 == 0, 0.4, np.nan),
    )
    rows = stage_rows(read(columns, "stage", "domain"), "stage", "domain")
    assert rows.stages == ("rl+math", "rl+math+code")
    assert rows.trained == (("math",), ("math", "code"))


def test_domains_that_alternate_are_those_of_evaluations() -> None:
    domain = np.where((STEPS // 8) % 2 == 0, "math", "code").tolist()
    columns = table(stage=["rl+math"] * 200 + ["rl+code"] * 201, domain=domain)
    rows = stage_rows(read(columns, "stage", "domain"), "stage", "domain")
    assert rows.stages == ("rl+math", "rl+code")
    assert rows.trained == (("math",), ("code",))
    whole, math, code = (rows.curve("reward", name) for name in ("", "math", "code"))
    assert whole.step.size == math.step.size + code.step.size == 51  # type: ignore[union-attr]
    assert set((math.step // 8 % 2).tolist()) == {0.0}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("stage", "domain", "slug", "hint"),
    [
        ("stages", None, "no-stage-column", "--stage stage"),
        ("nothing", None, "no-stage-column", "--stage"),
        ("stage", "domains", "no-domain-column", "--domain"),
        ("other", None, "no-stage-column", "columns=['other']"),
    ],
)
def test_columns_that_are_not_there(stage: str, domain: str | None, slug: str, hint: str) -> None:
    run = read(table(other=["x"] * 401), "stage")
    with pytest.raises(UsageError) as error:
        stage_rows(run, stage, domain)
    assert error.value.slug == slug
    assert hint in error.value.hint


def curve(quantity: str, value: Any, domain: str = "", **other: Any) -> StageCurve:
    value = np.asarray(value, dtype=float)
    step = EVERY if value.size == EVERY.size else STEPS
    unit = "reward" if quantity == "reward" else "nats"
    return StageCurve(
        quantity=quantity, column=quantity, unit=unit, step=step, value=value, domain=domain, **other
    )


def rows_of(*curves: StageCurve, **other: Any) -> StageRows:
    about = {
        "run": "run",
        "stages": ("rl", "sft"),
        "trained": ((), ()),
        "first": (0.0, 200.0),
        "last": (199.0, 400.0),
        "before_update": True,
    }
    return StageRows(curves=curves, **(about | other))  # type: ignore[arg-type]


def one_stage(*curves: StageCurve, last: float = 400.0) -> StageRows:
    return rows_of(*curves, stages=("rl",), trained=((),), first=(0.0,), last=(last,))


def by(changes: Sequence[StageChange]) -> dict[tuple[str, int, str], StageChange]:
    return {(one.arm, one.place, one.quantity): one for one in changes}


def test_a_change_of_fixed_problems_starts_where_the_stage_before_ended() -> None:
    """The evaluation at the first step of a stage, before its first update, is of the policy before it."""
    rng = np.random.default_rng(0)
    reward = np.where(EVERY <= 200, 0.5 + 0.2 * EVERY / 200, 0.3) + 0.002 * rng.standard_normal(51)
    entropy = np.where(STEPS < 200, 0.4, 0.9) + 0.002 * rng.standard_normal(401)
    rows = rows_of(curve("reward", reward, evaluated=True), curve("entropy", entropy))
    known = by(stage_changes({"arm": [rows]}))
    assert known["arm", 1, "reward"].change.value == pytest.approx(0.2, abs=0.01)
    assert known["arm", 2, "reward"].change.value == pytest.approx(-0.4, abs=0.01)
    # The problems of a stage may differ from those before: an entropy does not jump inside a stage.
    assert known["arm", 1, "entropy"].change.value == pytest.approx(0.0, abs=0.005)
    assert known["arm", 2, "entropy"].change.value == pytest.approx(0.0, abs=0.005)


def test_an_evaluation_after_the_update_belongs_to_its_own_stage() -> None:
    reward = np.where(EVERY < 200, 0.5, 0.3)
    rows = rows_of(curve("reward", reward, evaluated=True), before_update=False)
    known = by(stage_changes({"arm": [rows]}))
    assert known["arm", 1, "reward"].change.value == 0.0
    assert known["arm", 2, "reward"].change.value == pytest.approx(-0.2)


def test_changes_are_smoothed() -> None:
    """An end is known better than one value of it."""
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(40):
        rows = rows_of(curve("entropy", 0.5 + 0.1 * rng.standard_normal(401)))
        errors.append(stage_changes({"arm": [rows]})[0].change.value)
    assert np.std(errors) < 0.5 * 0.1 * np.sqrt(2)


def test_seeds_give_the_interval_and_one_seed_has_none() -> None:
    def arm(*ends: float) -> list[StageRows]:
        return [one_stage(curve("entropy", np.linspace(1.0, end, 401))) for end in ends]

    known = by(stage_changes({"two": arm(0.1, 0.3), "three": arm(0.5, 0.6, 0.7), "one": arm(0.4)}))
    two, three, one = (known[name, 1, "entropy"].change for name in ("two", "three", "one"))
    squared = (2 * 0.1**2 + 2 * 0.1**2) / 3
    assert two.value == pytest.approx(-0.8, abs=1e-3)
    assert two.std_error == pytest.approx(np.sqrt(squared / 2), rel=1e-2)
    assert three.width == pytest.approx(2 * t.ppf(0.975, 3) * np.sqrt(squared / 3), rel=1e-2)
    assert (one.low, one.high) == (None, None)
    assert "one seed" in (one.note or "")
    assert known["three", 1, "entropy"].seeds == 3


def test_arms_of_unlike_spread_have_their_own() -> None:
    rng = np.random.default_rng(5)
    made = {
        name: [
            rows_of(curve("entropy", 1.0 - (0.5 + sd * rng.standard_normal()) * STEPS / 400))
            for _ in range(6)
        ]
        for name, sd in (("tight", 0.001), ("wide", 0.2))
    }
    known = by(stage_changes(made))
    assert "arm alone (df 5)" in known["tight", 1, "entropy"].change.method
    assert known["tight", 1, "entropy"].change.width < 0.05 * known["wide", 1, "entropy"].change.width  # type: ignore[operator]


def test_a_run_that_did_not_reach_a_stage_does_not_count_in_it() -> None:
    whole = rows_of(curve("entropy", np.linspace(1.0, 0.2, 401)))
    short = one_stage(curve("entropy", np.linspace(1.0, 0.2, 401)), last=199.0)
    known = by(stage_changes({"arm": [whole, short]}))
    assert (known["arm", 1, "entropy"].seeds, known["arm", 2, "entropy"].seeds) == (2, 1)


def test_runs_of_one_arm_with_other_stages_are_refused() -> None:
    one, other = rows_of(run="one"), rows_of(run="other", stages=("sft", "rl"))
    for function in (stage_changes, transfers):
        with pytest.raises(UsageError) as error:
            function({"arm": [one, other]})
        assert error.value.slug == "stages-differ"
        assert "'other'" in error.value.message


def test_breadth_is_by_the_semantic_entropy_first() -> None:
    rng = np.random.default_rng(2)

    def seed(semantic: float, planning: float) -> StageRows:
        noise = 0.01 * rng.standard_normal(2)
        return one_stage(
            curve("planning", 1 + (planning + noise[0]) * STEPS / 400),
            curve("semantic", 1 + (semantic + noise[1]) * STEPS / 400),
        )

    made = {
        "narrow": [seed(-0.5, 0.4) for _ in range(3)],
        "wide": [seed(0.5, -0.4) for _ in range(3)],
        "same": [seed(0.0, -0.4) for _ in range(3)],
        "alone": [seed(-0.5, -0.4)],
    }
    changes = stage_changes(made)
    found = {one.values["arm"]: one for one in breadth(changes)}
    assert {arm: one.values["says"] for arm, one in found.items()} == {
        "narrow": "narrows",
        "wide": "widens",
        "same": "undecided",
        "alone": "undecided",
    }
    assert "rl of narrow narrows the policy: its semantic entropy changes by -0.5" in sentence(
        found["narrow"]
    )
    assert "[" not in sentence(found["alone"])
    planning = breadth([one for one in changes if one.quantity == "planning"])
    assert [one.values["says"] for one in planning][:2] == ["widens", "narrows"]


def level(first: float, second: float, third: float) -> Any:
    """A reward that is at ``first``, ends stage 1 at ``second`` and the last one at ``third``."""
    return np.interp(EVERY, [0.0, 150.0, 200.0, 350.0, 400.0], [first, second, second, third, third])


def two_domains(
    math: tuple[float, float, float], code: tuple[float, float, float], **other: Any
) -> StageRows:
    curves = (
        curve("reward", (level(*math) + level(*code)) / 2, evaluated=True),
        curve("reward", level(*math), "math", evaluated=True),
        curve("reward", level(*code), "code", evaluated=True),
    )
    about = {"stages": ("rl+math", "rl+code"), "trained": (("math",), ("code",))}
    return rows_of(*curves, **(about | other))


def test_backward_transfer_is_paired_over_seeds() -> None:
    """Seeds 0.2 apart forget alike: the interval is that of what they forget."""
    runs = [
        two_domains((0.2 + own, 0.6 + own, 0.5 + own + 0.001 * place), (0.1, 0.2, 0.7))
        for place, own in enumerate((0.0, 0.1, 0.2))
    ]
    (found,) = transfers({"arm": runs})
    assert (found.stages, found.domains, found.seeds) == (("rl+math", "rl+code"), ("math", "code"), 3)
    means = [[each.value for each in row] for row in found.reward]
    np.testing.assert_allclose(means, [[0.7, 0.2], [0.601, 0.7]], atol=0.005)
    assert found.backward.value == pytest.approx(-0.099, abs=0.005)
    assert found.backward.high < 0  # type: ignore[operator]
    assert found.backward.width < 0.1 * found.reward[0][0].width  # type: ignore[operator]


def rows_of_share(rows: StageRows, most: float) -> StageRows:
    return replace(rows, curves=tuple(replace(one, max_reward=most) for one in rows.curves))


def test_no_reward_of_a_domain_is_above_the_largest() -> None:
    runs = [two_domains((0.2, 0.9, high), (0.1, 0.2, 0.7)) for high in (0.85, 0.99)]
    free, known = (transfers({"arm": [rows_of_share(run, most) for run in runs]}) for most in (np.inf, 1.0))
    assert free[0].reward[1][0].high > 1  # type: ignore[operator]
    assert known[0].reward[1][0].high == 1


def test_backward_transfer_is_the_mean_over_stages_before_the_last() -> None:
    rows = two_domains((0.2, 0.6, 0.5), (0.1, 0.2, 0.7), trained=(("math", "code"), ("code",)))
    (found,) = transfers({"arm": [rows]})
    assert found.backward.value == pytest.approx((-0.1 + 0.5) / 2, abs=0.005)
    assert found.backward.low is None
    three = two_domains(
        (0.2, 0.6, 0.5),
        (0.1, 0.2, 0.7),
        stages=("rl+math", "rl+code", "rl+math"),
        trained=(("math",), ("code",), ("math",)),
        first=(0.0, 200.0, 360.0),
        last=(199.0, 359.0, 400.0),
    )
    (found,) = transfers({"arm": [three]})
    expected = ((0.5 - 0.6) + (0.7 - 0.7)) / 2
    assert found.backward.value == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"trained": ((), ("code",))}, "--domain"),
        ({"trained": (("law",), ("code",))}, "law is not evaluated"),
        ({"stages": ("rl",), "trained": (("math",),), "first": (0.0,), "last": (400.0,)}, "one stage"),
    ],
)
def test_backward_transfer_that_is_unknown(other: dict[str, Any], why: str) -> None:
    (found,) = transfers({"arm": [two_domains((0.2, 0.6, 0.5), (0.1, 0.2, 0.7), **other)]})
    assert found.backward.value is None
    assert why in (found.backward.note or "")


def test_arms_without_several_domains_have_no_matrix() -> None:
    assert transfers({"arm": [rows_of(curve("reward", np.full(51, 0.5), evaluated=True))]}) == ()
