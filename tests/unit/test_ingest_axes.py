"""Logs that count rollouts, updates and evaluations apart."""

import pytest

from entropylaw.logs.load import read_runs
from entropylaw.logs.runs.step_column import LATER_UPDATE
from entropylaw.roles.select import select


def slime(rollouts, updates, scale=1, evaluate=4):
    """What slime sends to W&B: a record a rollout, a record an update, a record an evaluation."""
    for rollout in range(rollouts):
        yield {"rollout/step": rollout * scale, "rollout/raw_reward": 0.01 * rollout}
        for update in range(updates):
            step = rollout * updates + update
            yield {"train/step": step, "train/entropy_loss": 1 / (1 + rollout) + 0.001 * update}
        if rollout % evaluate == evaluate - 1:
            yield {"eval/step": rollout * scale, "eval/aime": 0.02 * rollout}


def frame(records):
    records = list(records)
    names = dict.fromkeys(name for record in records for name in record)
    return {"_step": range(len(records))} | {name: [record.get(name) for record in records] for name in names}


@pytest.mark.parametrize("updates", [1, 3])
def test_the_first_update_of_a_rollout_is_its_entropy(updates):
    (run,) = read_runs(frame(slime(24, updates)))
    assert run.step.tolist() == list(range(24))
    assert run.columns["train/entropy_loss"].tolist() == [1 / (1 + rollout) for rollout in range(24)]
    assert run.dropped.get(LATER_UPDATE, 0) == 24 * (updates - 1)
    assert any("number of their rollout" in note for note in run.notes)
    series = select(run)
    assert (series.reward_choice.column, series.pair) == ("eval/aime", "next")
    assert series.step.tolist() == [3, 7, 11, 15, 19]
    assert series.entropy.tolist() == [1 / (2 + step) for step in series.step]
    assert select(run, reward="rollout/raw_reward").entropy[7] == 1 / 8


BOTH = {"train/entropy_loss": 1.0, "rollout/raw_reward": 0.5}
ENTROPIES = [{"step": s, "train/entropy_loss": 1.0} for s in range(24)]
REWARDS = [{"step": s, "rollout/raw_reward": 0.1} for s in range(8)]
SAMPLES = {
    "an update a rollout": (frame(slime(24, 1)),),
    "three updates a rollout": (frame(slime(24, 3)),),
    "rollouts that are numbered by updates": (frame(slime(24, 3, scale=3)),),
    "two counters in a record": (frame({"rollout/step": s, "train/step": s, **BOTH} for s in range(9)),),
    "updates and rollouts under one name": (frame([*ENTROPIES, *REWARDS]),),
    "as many updates as rollouts under one name": (frame([*ENTROPIES[:8], *REWARDS]),),
}
