"""Stages: read from logs, compared as arms that are paired by run, and backward transfer."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from entropylaw import UsageError, read_runs
from entropylaw.analysis.arms import compare_rewards
from entropylaw.analysis.stages import StagedRun, stages_as_arms
from entropylaw.documents.loading import load
from entropylaw.results.arms import RunSeries, Stage
from entropylaw.roles.stages import stages_of
from tests.hostile import refused
from tests.typed import assert_error, typed, write_csv

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


def ends(stages: Any) -> list[tuple[str, float, float]]:
    return [(stage.name, stage.first, stage.last) for stage in stages[0]]


def test_stages_of_text_and_of_numbers_and_with_gaps() -> None:
    found = stages_of(read(table(), "stage"), "stage", None, "val_acc")
    assert ends(found) == [("rl", 0.0, 199.0), ("sft", 200.0, 400.0)]
    numbers = table(stage=[1.0] * 200 + [2.0] * 201)
    assert [one[0] for one in ends(stages_of(read(numbers, "stage"), "stage", None, "val_acc"))] == ["1", "2"]
    gaps = table(stage=[None] * 3 + ["rl"] + [None] * 196 + ["sft"] + [None] * 200)
    assert [one[1] for one in ends(stages_of(read(gaps, "stage"), "stage", None, "val_acc"))] == [0.0, 200.0]


def test_domains_have_the_rewards_named_like_the_reward() -> None:
    columns = table(
        stage=["rl+math"] * 200 + ["rl+code"] * 201,
        val_acc_math=np.where(STEPS % 8 == 0, 0.5, np.nan),
        val_acc_code=np.where(STEPS % 8 == 0, 0.4, np.nan),
        val_greedy_acc_code=np.full(401, 0.1),
    )
    stages, rewards = stages_of(read(columns, "stage"), "stage", None, "val_acc")
    assert [stage.trained for stage in stages] == [("math",), ("code",)]
    assert {domain: values.mean() for domain, (_, values) in rewards.items()} == {
        "math": pytest.approx(0.5),
        "code": pytest.approx(0.4),
    }


def test_a_column_of_domains_divides_stages() -> None:
    columns = table(
        stage=["rl"] * 401,
        domain=["math"] * 200 + ["math+code"] * 201,
        val_acc_math=np.where(STEPS % 8 == 0, 0.5, np.nan),
        val_acc_code=np.where(STEPS % 8 == 0, 0.4, np.nan),
    )
    stages, _ = stages_of(read(columns, "stage", "domain"), "stage", "domain", "val_acc")
    assert [stage.name for stage in stages] == ["rl+math", "rl+math+code"]
    assert [stage.trained for stage in stages] == [("math",), ("math", "code")]


def test_domains_that_alternate_are_those_of_evaluations() -> None:
    domain = np.where((STEPS // 8) % 2 == 0, "math", "code").tolist()
    columns = table(stage=["rl+math"] * 200 + ["rl+code"] * 201, domain=domain)
    stages, rewards = stages_of(read(columns, "stage", "domain"), "stage", "domain", "val_acc")
    assert [stage.name for stage in stages] == ["rl+math", "rl+code"]
    math, code = rewards["math"][0], rewards["code"][0]
    assert math.size + code.size == 51
    assert set((math // 8 % 2).tolist()) == {0.0}


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
    assert hint in refused(slug, stages_of, run, stage, domain, "val_acc", kind=UsageError).hint


STAGES = (
    Stage(name="rl", trained=("math",), first=0.0, last=199.0),
    Stage(name="sft", trained=("code",), first=200.0, last=400.0),
)


def staged(name: str, reward: Any, *, before: bool = True, stages: Any = STAGES, **rewards: Any) -> StagedRun:
    """A run with a reward at every eighth step, and the rewards of some domains there."""
    along = np.exp(-EVERY / 150)
    series = RunSeries(run=name, step=EVERY, reward=np.asarray(reward, float), along=along, error=0.0 * EVERY)
    of_domains = {domain: (EVERY, np.asarray(values, float)) for domain, values in rewards.items()}
    return StagedRun(series=series, stages=stages, rewards=of_domains, before_update=before)


def change(*runs: StagedRun) -> Any:
    arms, pairs = stages_as_arms({"arm": runs})
    return compare_rewards({"": arms}, pairs=pairs, paired="run")[0]


def test_an_evaluation_before_the_first_update_of_a_stage_is_of_the_one_before() -> None:
    reward = np.where(EVERY <= 200, 0.5, 0.3)
    before, after = (staged("run", reward, before=before).within(0).step[-1] for before in (True, False))
    assert (before, after) == (200.0, 192.0)


def test_stages_are_arms_that_are_paired_by_run() -> None:
    """Runs .2 apart change alike: the interval is that of the change."""
    rng = np.random.default_rng(0)
    runs = [
        staged(f"s{i}", own + np.where(EVERY <= 200, 0.5, 0.3) + 0.002 * rng.standard_normal(51))
        for i, own in enumerate((0.0, 0.1, 0.2))
    ]
    result = change(*runs)
    (pair,) = result.pairs
    assert (pair.arm, pair.baseline, result.paired, result.baseline) == ("sft", "rl", "run", None)
    found = pair["last_reward"]
    assert found.estimate.value == pytest.approx(-0.2, abs=0.01)
    assert found.seeds == (3, 3)
    assert found.decision.value == "lower"
    assert found.estimate.width < 0.05  # type: ignore[operator]


def test_a_run_that_did_not_reach_a_stage_does_not_count_in_it() -> None:
    reward = np.full(51, 0.5) + 0.002 * np.random.default_rng(1).standard_normal(51)
    (pair,) = change(
        staged("a", reward), staged("b", reward + 0.1), staged("c", reward - 0.1, stages=STAGES[:1])
    ).pairs
    assert pair["last_reward"].seeds == (2, 2)


def test_runs_of_one_arm_with_other_stages_are_refused() -> None:
    one, other = staged("one", 0.0 * EVERY), staged("other", 0.0 * EVERY, stages=STAGES[::-1])
    error = refused("stages-differ", stages_as_arms, {"arm": [one, other]}, kind=UsageError)
    assert "'other'" in error.message


def level(first: float, second: float, third: float) -> Any:
    """A reward that is at ``first``, ends stage 1 at ``second`` and the last one at ``third``."""
    return np.interp(EVERY, [0.0, 150.0, 200.0, 350.0, 400.0], [first, second, second, third, third])


def test_backward_transfer_is_one_contrast_paired_over_runs() -> None:
    runs = [
        staged(
            f"s{place}",
            level(0.1, 0.4, 0.6) + own,
            math=level(0.2 + own, 0.6 + own, 0.5 + own + 0.001 * place),
            code=level(0.1, 0.2, 0.7),
        )
        for place, own in enumerate((0.0, 0.1, 0.2))
    ]
    result = change(*runs)
    *of_domains, transfer = result.pairs
    assert [pair.arm for pair in of_domains] == ["math after sft", "code after sft"]
    assert of_domains[0]["last_reward"].estimate.value == pytest.approx(-0.099, abs=0.005)
    assert transfer.arm == "earlier domains after the last stage"
    found = transfer["last_reward"]
    assert found.estimate.value == pytest.approx(-0.099, abs=0.005)
    assert found.estimate.high < 0  # type: ignore[operator]


def test_backward_transfer_is_the_mean_over_stages_before_the_last() -> None:
    stages = (
        Stage(name="one", trained=("math",), first=0.0, last=199.0),
        Stage(name="two", trained=("code",), first=200.0, last=359.0),
        Stage(name="three", trained=("math",), first=360.0, last=400.0),
    )
    rewards = {"math": level(0.2, 0.6, 0.5), "code": level(0.1, 0.2, 0.7)}
    run = staged("run", level(0.1, 0.4, 0.6), stages=stages, **rewards)
    later, own = run.transfer(later=True), run.transfer(later=False)
    assert later is not None
    assert own is not None
    expected = ((0.5 - 0.6) + (0.7 - 0.7)) / 2
    assert float(later.reward[0] - own.reward[0]) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("trained", [(), ("law",)])
def test_backward_transfer_of_unknown_domains_is_not_compared(trained: tuple[str, ...]) -> None:
    stages = (Stage(name="rl", trained=trained, first=0.0, last=199.0), STAGES[1])
    rewards = {"math": level(0.2, 0.6, 0.5), "code": level(0.1, 0.2, 0.7)}
    arms, _ = stages_as_arms({"arm": [staged("run", level(0.1, 0.4, 0.6), stages=stages, **rewards)]})
    assert not any("domains" in name for name in arms)


def test_stages_of_logs_are_compared_also_of_one_arm(tmp_path: Any) -> None:
    rng = np.random.default_rng(2)
    for seed in range(3):
        entropy = 0.1 + np.exp(-np.arange(40) / 12.0)
        reward = 0.6 - 0.2 * entropy + 0.1 * (np.arange(40) >= 20) + 0.004 * rng.standard_normal(40)
        lines = ["step,actor/entropy,val_acc,stage"]
        lines += [f"{i},{entropy[i]},{reward[i]},{'rl' if i < 20 else 'sft'}" for i in range(40)]
        (tmp_path / f"run_s{seed}.csv").write_text("\n".join(lines))
    done = typed("compare", *(f"run_s{i}.csv" for i in range(3)), "--stage", "stage", cwd=tmp_path, code=0)
    assert "sft against rl, pairs of one run" in done.stdout
    assert "higher" in done.stdout.splitlines()[1]
    # Gates on differences are unknown where a run is in none, as without stages.
    (tmp_path / "run_s3.csv").write_text("step,actor/entropy,val_acc,stage\n1,0.5,0.4,rl\n2,0.4,0.5,sft\n")
    (tmp_path / "run_s4.parquet").write_bytes(b"PAR1 and nothing else")
    for options in ((), ("--at-equal", "step")):
        logs = [f"arm={name}" for name in ("run_s*.csv", "run_s4.parquet")]
        done = typed("compare", *logs, "--stage", "stage", *options, "-o", "x.json", cwd=tmp_path, code=0)
        missing = load(tmp_path / "x.json", "comparison").missing
        assert {(one.run, one.arm, one.read) for one in missing} == {
            ("run_s3", "arm", True),
            ("run_s4", "arm", False),
        }
    write_csv(tmp_path / "x_s0.csv", n=30)
    done = assert_error(
        typed("compare", "run_s0.csv", "x_s0.csv", "--domain", "d", cwd=tmp_path), "domain-without-stage", 2
    )
