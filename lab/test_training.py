"""The lab's training: a few real steps, each part against known values, runs that are made again.

``nox -s lab`` installs PyTorch and runs them.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from entropylaw.results.result import replace

torch = pytest.importorskip("torch", reason="the lab's training needs PyTorch")

from lab import overview, second  # noqa: E402
from lab.arms import runs  # noqa: E402
from lab.config import Config, Counts, Objective, Size, Stage, Start, read_config, write_config  # noqa: E402
from lab.domains import demonstrations  # noqa: E402
from lab.make import left_of, make, make_all, recorded  # noqa: E402
from lab.measure import frequency_entropy, pass_at  # noqa: E402
from lab.objectives import Batch, advantages_of, covariances, divergence, held_back, kept, loss_of  # noqa: E402
from lab.policy import Policy, chosen, entropy_of, log_probs, sample  # noqa: E402
from lab.tables import write_log  # noqa: E402
from lab.task import PROMPT, VOCABULARY, grade, is_written, numbers, prompts_of  # noqa: E402
from lab.train import train  # noqa: E402

ROOT = Path(__file__).parent.parent
RUNS = {config.run: config for config in second.runs()}

SMALL = Config(
    "small",
    "a few steps",
    size=Size(width=16, layers=1, heads=2),
    start=Start(steps=30),
    stages=(Stage(5),),
    prompts=8,
    samples=4,
    minibatches=2,
    val_prompts=16,
    val_samples=4,
    val_every=2,
    tokens_at=(0, 5),
)


def quiet(line: str) -> None:
    """Print nothing."""


@pytest.fixture(scope="module")
def policy() -> Policy:
    torch.manual_seed(0)
    return Policy(Size(width=16, layers=2, heads=2))


@pytest.fixture(scope="module")
def prompts() -> torch.Tensor:
    return torch.as_tensor(prompts_of("free", numbers(12, np.random.default_rng(0), validation=False)))


def test_five_steps_log_everything(tmp_path):
    log = train(SMALL, tmp_path, quiet)
    assert [row["step"] for row in log.rows] == [0, 1, 2, 3, 4, 5]
    assert [("val_acc" in row) for row in log.rows] == [True, False, True, False, True, True]
    for row in log.rows:
        assert 0 < row["entropy"] < math.log(VOCABULARY)
        assert row["kl_to_start"] >= -1e-6
    assert log.rows[0]["kl_to_start"] == 0
    assert log.rows[-1]["grad_norm"] is None
    write_log(log, tmp_path / "small")
    assert {path.name for path in (tmp_path / "small").iterdir()} == {
        "metrics.parquet",
        "tokens.parquet",
        "answers.parquet",
    }


def test_the_same_config_gives_the_same_rows(tmp_path):
    first = train(SMALL, tmp_path / "one", quiet)
    again = train(SMALL, tmp_path / "two", quiet)
    assert first.rows == again.rows
    looked = train(replace(SMALL, val_every=1, tokens_at=(3,)), tmp_path / "one", quiet)
    assert [row["entropy"] for row in looked.rows] == [row["entropy"] for row in first.rows]
    assert train(replace(SMALL, seed=1), tmp_path / "one", quiet).rows != first.rows


@pytest.mark.parametrize(
    "name", sorted({config.run.removesuffix("_s0") for config in runs() if config.seed == 0})
)
def test_every_arm_takes_a_step(name, tmp_path):
    (config,) = (config for config in runs() if config.run in (name, f"{name}_s0"))
    few = replace(
        config,
        size=SMALL.size,
        start=replace(config.start, steps=2, batch=16),
        stages=tuple(replace(stage, steps=1) for stage in config.stages),
        prompts=8,
        val_prompts=4,
        tokens_at=(),
    )
    rows = train(few, tmp_path, quiet).rows
    assert len(rows) == few.steps + 1
    assert rows[1]["entropy"] != rows[0]["entropy"]


def test_sampling_with_a_cache_equals_the_full_forward_pass(policy, prompts):
    written = sample(policy, prompts, torch.Generator(), greedy=True)
    likeliest = log_probs(policy, prompts, written).argmax(-1)
    where = torch.as_tensor(is_written(written.numpy()))
    assert torch.equal(likeliest[where], written[where])


def test_samples_follow_the_softmax(policy, prompts):
    many = prompts[:1].repeat(40_000, 1)
    first = sample(policy, many, torch.Generator().manual_seed(0))[:, 0]
    p = log_probs(policy, prompts[:1], sample(policy, prompts[:1], torch.Generator()))[0, 0].exp()
    share = torch.bincount(first, minlength=VOCABULARY) / len(many)
    assert torch.allclose(share, p.detach(), atol=0.01)


def test_entropy_and_divergence_of_known_distributions():
    even = torch.full((4,), 0.25).log()
    skewed = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()
    assert float(entropy_of(even)) == pytest.approx(math.log(4))
    assert float(entropy_of(skewed)) == pytest.approx(1.75 * math.log(2))
    assert float(divergence(skewed, even)) == pytest.approx(0.25 * math.log(2))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("leave-one-out", [2 / 3, -2 / 3, -2 / 3, 2 / 3, 0, 0, 0, 0]),
        ("batch", [0.75, -0.25, -0.25, 0.75, -0.25, -0.25, -0.25, -0.25]),
        ("group", [0.866, -0.866, -0.866, 0.866, 0, 0, 0, 0]),
    ],
)
def test_advantages(kind, expected):
    rewards = torch.tensor([1.0, 0, 0, 1, 0, 0, 0, 0])
    assert advantages_of(rewards, 4, kind).tolist() == pytest.approx(expected, abs=1e-4)


def batch_of(policy: Policy) -> tuple[Batch, torch.Tensor]:
    shown = torch.as_tensor(demonstrations("free", 8, np.random.default_rng(0)))
    prompts, written = shown[:, :PROMPT], shown[:, PROMPT:]
    logp = log_probs(policy, prompts, written)
    where = torch.as_tensor(is_written(written.numpy()))
    advantages = torch.tensor([1.0, -1.0] * 4)
    # As after updates of the policy: half of the ratios are outside the clip range, in both directions.
    shift = torch.linspace(-0.3, 0.3, written.shape[1])
    old = chosen(logp, written).detach() - shift
    return Batch(prompts, written, where, advantages, old, logp.detach()), logp


def gradient(objective: Objective, policy: Policy) -> torch.Tensor:
    batch, logp = batch_of(policy)
    loss, _ = loss_of(objective, batch, logp, torch.Generator().manual_seed(0))
    (found,) = torch.autograd.grad(loss, policy.head.weight)
    return found


def test_clipping_stops_gradients_and_preserving_does_not(policy):
    batch, logp = batch_of(policy)
    clipped, share = loss_of(Objective(), batch, logp, torch.Generator())
    kept, _ = loss_of(Objective(surrogate="preserve"), batch, logp, torch.Generator())
    assert 0.2 < float(share) < 0.8
    assert float(clipped.detach()) == pytest.approx(float(kept.detach()))
    assert not torch.allclose(
        gradient(Objective(), policy), gradient(Objective(surrogate="preserve"), policy), atol=1e-7
    )


def test_covariances_sum_to_the_covariance(policy):
    batch, logp = batch_of(policy)
    of = chosen(logp, batch.responses).detach()
    found = covariances(of, batch.advantages, batch.written)[batch.written].mean()
    spread = batch.advantages.unsqueeze(1).expand_as(of)[batch.written]
    expected = np.cov(of[batch.written].numpy(), spread.numpy(), bias=True)[0, 1]
    assert float(found) == pytest.approx(float(expected), abs=1e-6)


def test_clip_cov_leaves_out_its_share_of_tokens(policy):
    batch, logp = batch_of(policy)
    of = chosen(logp, batch.responses)
    objective = Objective(clip_cov=0.1, clip_cov_band=(0.001, 100.0))
    outside = torch.zeros_like(batch.written)
    keep = kept(objective, batch, of, outside, torch.Generator().manual_seed(0))
    out = keep == 0
    assert int(out.sum()) == round(0.1 * int(batch.written.sum()))
    assert covariances(of.detach(), batch.advantages, batch.written)[out].min() > 0.001
    assert kept(objective, batch, of, ~outside, torch.Generator()).min() == 1


def test_kl_cov_penalises_the_largest_covariances(policy):
    batch, logp = batch_of(policy)
    of = chosen(logp, batch.responses).detach()
    held = held_back(Objective(kl_cov=0.05), batch, of) > 0
    covariance = covariances(of, batch.advantages, batch.written)
    assert int(held.sum()) >= 1
    assert covariance[held].min() >= covariance[batch.written & ~held].max()


@pytest.mark.parametrize(("bonus", "sign"), [(0.5, 1), (-0.5, -1)])
def test_the_entropy_bonus_moves_entropy_in_its_direction(bonus, sign, tmp_path):
    start = replace(SMALL.start, steps=200)
    arm = replace(SMALL, start=start, objective=Objective(reward="none", entropy_bonus=bonus), lr=3e-3)
    rows = train(arm, tmp_path, quiet).rows
    assert sign * (rows[-1]["entropy"] - rows[0]["entropy"]) > 0.01


def test_pass_at_k_and_frequency_entropy_of_known_counts():
    assert pass_at(np.array([1]), 2, 1) == pytest.approx(0.5)
    assert pass_at(np.array([0, 2, 16]), 16, 16) == pytest.approx(2 / 3)
    assert pass_at(np.array([1]), 16, 8) == pytest.approx(0.5)
    assert frequency_entropy(np.array([0, 0, 1, 1])) == pytest.approx(math.log(2))
    assert frequency_entropy(np.array([], dtype=int)) is None


# --- the second edition: runs are made, and made again ------------------------------------------------

TINY = Config(
    "tiny_s0",
    "a few steps",
    size=Size(width=16, layers=1, heads=2),
    start=Start(steps=20),
    stages=(Stage(2), Stage(2, failure="dead groups", objective=Objective(max_tokens=7))),
    prompts=8,
    samples=4,
    minibatches=2,
    val_prompts=16,
    val_samples=4,
    val_every=2,
    counts=Counts(at=(0, 4), prompts=3, samples=8),
)


def say_nothing(line: str) -> None:
    """Print nothing."""


def test_the_validation_prompts_are_distinct_the_same_and_not_used_in_training():
    from lab.measure import validation_prompts

    fixed = validation_prompts(RUNS["grpo_s0"])["free"]
    assert len(fixed) == len(np.unique(fixed, axis=0)) == 400
    for config in RUNS.values():
        for domain, prompts in validation_prompts(config).items():
            np.testing.assert_array_equal(prompts[:, 1:], fixed[:, 1:], err_msg=f"{config.run}, {domain}")
    trained = prompts_of("free", numbers(100_000, np.random.default_rng(0), validation=False))
    assert not {tuple(row) for row in fixed} & {tuple(row) for row in trained}


AGAIN = (
    TINY,
    replace(
        TINY,
        run="tiny_stages_s1",
        seed=1,
        start=replace(TINY.start, domains=("free", "school")),
        stages=(Stage(1, "sft"), Stage(1, domains=("school",)), Stage(1, domains=("free", "school"))),
        counts=None,
        tokens_at=(0, 2),
    ),
    replace(TINY, run="tiny_rloo_s2", seed=2, objective=Objective(advantage="leave-one-out", kl_penalty=0.3)),
)


def train_in(folder: Path, configs: Sequence[Path], *options: str) -> subprocess.CompletedProcess[str]:
    """Train in a process of its own, which has no start in its folder."""
    folder.mkdir(exist_ok=True)
    command = (sys.executable, "-m", "lab", "train", *map(str, configs), "-o", "out", *options)
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def test_three_runs_that_are_made_again_by_another_process_have_the_same_bytes(tmp_path):
    written = [tmp_path / f"{config.run}.json" for config in AGAIN]
    for config, path in zip(AGAIN, written, strict=True):
        write_config(config, {}, path)
    assert train_in(tmp_path / "one", written).returncode == 0
    first = [tmp_path / "one" / "out" / config.run for config in AGAIN]
    configs = [folder / "config.json" for folder in first]
    assert [read_config(path) for path in configs] == list(AGAIN)
    again = train_in(tmp_path / "two", configs, "--check")
    assert (again.returncode, again.stdout.count("has the same bytes")) == (0, 3), again.stderr
    for folder in first:
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        other = tmp_path / "two" / "out" / folder.name
        assert files == {path.name: path.read_bytes() for path in other.iterdir()}
    assert {path.name for folder in first for path in folder.iterdir()} == set(overview.FILES)


def test_a_run_that_differs_from_the_one_beside_its_config_fails_the_check(tmp_path):
    make(replace(TINY, stages=(Stage(1),), counts=None), tmp_path, tmp_path / "cache", say_nothing)
    kept = tmp_path / TINY.run
    (kept / "metrics.parquet").write_bytes(b"other")
    done = train_in(tmp_path / "again", [kept / "config.json"], "--check")
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"differs from {kept} in metrics.parquet")


def test_the_columns_and_the_counts_of_a_run(tmp_path):
    from lab.measure import validation_prompts

    make(TINY, tmp_path, tmp_path / "cache", say_nothing)
    table = pq.read_table(tmp_path / TINY.run / "metrics.parquet").to_pandas()
    assert set(table["stage"]) == {"rl"}
    assert set(table["domain"]) == {"free"}
    dead = table["step"] >= TINY.lost_at
    assert (table["share_groups_without_gradient"][dead] == 1).all()
    assert (table["reward_mean"][dead] == 0).all()
    counts = pq.read_table(tmp_path / TINY.run / "counts.parquet").to_pandas()
    assert (counts.groupby(["step", "prompt"])["n"].sum() == TINY.counts.samples).all()
    assert not counts.duplicated(["step", "prompt", "answer"]).any()
    assert (counts["answer"].str.len() == counts["tokens"]).all()
    fixed = validation_prompts(TINY)["free"][: TINY.counts.prompts]
    problems = counts.groupby("prompt", sort=True)["asked"].first()
    assert list(problems) == ["P" + "".join(map(str, row[1:])) for row in fixed]


def test_what_is_left_is_made_and_what_is_finished_is_not_made_again(tmp_path):
    few = replace(TINY, stages=(Stage(1),), counts=None)
    configs = [few, replace(few, run="tiny_s1", seed=1)]
    make(few, tmp_path / "out", tmp_path / "cache", say_nothing)
    kept = (tmp_path / "out" / few.run / "metrics.parquet").stat().st_mtime_ns
    lines: list[str] = []
    times = tmp_path / "minutes.csv"
    assert make_all(configs, tmp_path / "out", tmp_path / "cache", 2, lines.append, times) == []
    assert list(recorded(times)) == ["tiny_s1"]
    assert left_of(configs, tmp_path / "out") == []
    assert (tmp_path / "out" / few.run / "metrics.parquet").stat().st_mtime_ns == kept
    assert lines[0].startswith("1 of 2 runs are finished; 1 are left")
    assert lines[1].startswith("tiny_s1: ")
    changed = replace(few, lr=1e-4)
    assert left_of([changed], tmp_path / "out") == [changed]


def test_a_run_that_is_interrupted_leaves_nothing_and_does_not_stop_the_others(tmp_path):
    whole = replace(TINY, stages=(Stage(1),), counts=None)
    impossible = replace(whole, run="impossible_s0", samples=0)
    lines: list[str] = []
    made = make_all([impossible, whole], tmp_path / "out", tmp_path / "cache", 1, lines.append)
    assert made == ["impossible_s0"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == [whole.run]


def test_an_unchecked_answer_in_one_step_is_rewarded_right_or_wrong():
    import torch

    from lab.policy import Policy
    from lab.task import Plan, answers_of, is_written
    from lab.train import Trainer

    a, b = np.array([47, 47, 47]), np.array([36, 36, 36])
    responses = answers_of(a, Plan(np.array([36, 36, 30]), np.array([0, 0, 6]), np.array([0, 0, 1])))
    responses[1:, 5] = (responses[1:, 5] + 1) % 10
    grades = grade(prompts_of("free", np.column_stack([a, b])), responses)
    trainer = Trainer(TINY, Policy(TINY.size))
    torch.manual_seed(0)

    def rewards(objective: Objective) -> list[float]:
        return trainer._rewards(objective, grades, is_written(responses)).tolist()

    assert rewards(Objective()) == [1, 0, 0]
    assert rewards(Objective(reward="unchecked")) == [2, 2, 0]
    assert rewards(Objective(reward="none")) == [0, 0, 0]
    assert rewards(Objective(max_tokens=8)) == [1, 0, 0]
    assert rewards(Objective(max_tokens=7)) == [0, 0, 0]


@pytest.mark.parametrize("name", [*second.CAUSES, "sft_grpo_sft", "steady"])
def test_every_further_arm_takes_a_step_of_every_stage(name, tmp_path):
    from lab.train import train

    config = RUNS[f"{name}_s0"]
    few = replace(
        config,
        size=TINY.size,
        start=replace(config.start, steps=2, batch=16),
        stages=tuple(replace(stage, steps=1) for stage in config.stages),
        prompts=8,
        val_prompts=4,
        tokens_at=(),
        counts=None,
    )
    rows = train(few, tmp_path, say_nothing).rows
    assert len(rows) == few.steps + 1
    assert rows[1]["entropy"] != rows[0]["entropy"]
