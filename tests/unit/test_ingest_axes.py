"""Logs that count rollouts, updates and evaluations apart."""


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
