"""A megabyte of a model's own text between two records of a console changes nothing."""

import random

import pytest

from entropylaw import read_runs
from entropylaw.roles.select import select

SENTENCES = (
    "Let's see, so the total is 12 + 30 = 42.",
    "Step 2: we have x = 5 and y: 7.",
    "The entropy of a fair coin is 0.69 nats.",
    "The reward for the first player is 3 coins.",
    "If n = 100, then the score is 1/2 of that, 50%.",
    "{'a': 1, 'b': [2, 3]}",
    "| x | y |",
    "| 1 | 2.5 |",
    "Batch 3 of the cookies takes 20 minutes at 350 degrees.",
)
RECORDS = {
    "verl": "step:{s} - actor/entropy:{h} - critic/score/mean:{r}",
    "trl": "{{'reward': {r}, 'entropy': {h}, 'epoch': {e}}}",
    "slime": "rollout {s}: {{'rollout/raw_reward': {r}, 'rollout/entropy': {h}}}",
    "skyrl": "{{'trainer/global_step': {s}, 'policy/policy_entropy': {h}, 'reward/avg_raw_reward': {r}}}",
    "by hand": "step={s} entropy={h} reward={r}",
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_megabyte_of_text_between_two_records_changes_nothing(tmp_path, name):
    lines = [RECORDS[name].format(s=s, h=1 / s, r=s / 50, e=s / 100) for s in range(1, 31)]
    chance = random.Random(3)
    text = [" ".join(chance.choices(SENTENCES, k=chance.randint(1, 4))) for _ in range(13_000)]
    assert sum(map(len, text)) > 1 << 20
    read = []
    for between in ([], text):
        path = tmp_path / "run.log"
        path.write_text("\n".join([*lines[:17], *between, *lines[17:]]) + "\n")
        (run,) = read_runs(path)
        series = select(run)
        read.append((series.step.tolist(), series.entropy.tolist(), series.reward.tolist(), run.step_column))
    assert read[0] == read[1]
    assert len(read[0][0]) >= 29
