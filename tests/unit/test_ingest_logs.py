"""Real logs of other people, where they are at hand: counts and ranges from their description."""

from pathlib import Path

import pytest

from entropylaw.logs.load import read_all, read_runs
from entropylaw.roles.explain import explain
from entropylaw.roles.select import select
from tests.hostile import refused

SHARED = Path(__file__).parents[3] / "shared"
LOGS = SHARED / "logs"

pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="the shared logs are not here")

GSM8K = "verl-gsm8k-ppo"
TEXTCRAFT = "verl-agentgym-textcraft"
GEMMA = f"{GSM8K}/gemma-2-2b-it-ppo-bsz512_4-prompt1024-resp-512-0.640.log"

# file, rows with both, H range, R range; of the training reward, on the same row
TRAINING = [
    (f"{GSM8K}/Qwen2.5-0.5B-bsz256_2-prompt1024-resp512-0.567.log", 435, (0.049, 0.644), (0.004, 0.777)),
    (f"{GSM8K}/Qwen2.5-0.5B-bsz256_2-prompt512-resp256-0.538.log", 435, (0.05, 0.476), (0, 0.77)),
    (GEMMA, 106, (0.142, 0.426), (0.408, 0.738)),
    ("verl-qwen2-7b-math/qwen2-7b_math.log", 210, (0.011, 0.354), (0.433, 0.956)),
    ("verl-qwen2-7b-math/qwen2-7b_math_megatron.log", 105, (0.055, 0.336), (0.259, 0.99)),
    (f"{TEXTCRAFT}/sft_grpo_5epoch_metrics.csv", 115, (0.15, 0.303), (0.789, 1)),
    (f"{TEXTCRAFT}/training_metrics_main-clip-gp7.csv", 2448, (0.0375, 0.0972), (0.266, 1)),
    (f"{TEXTCRAFT}/training_metrics_main-fixed-gp1-cons.csv", 1675, (0.0311, 0.0856), (0.359, 1)),
    ("tinker-metrics-jsonl/arithmetic_metrics.jsonl", 100, (7.78e-05, 0.773), (0.676, 1)),
    ("tinker-metrics-jsonl/distillation_on_metrics.jsonl", 35, (0.0047, 5.59), (0, 0)),
    ("custom-jsonl-countdown/grpo_zero_entropy.jsonl", 500, (0, 0), (0.124, 1.5)),
    ("trl-trainer-state/sparse_reward_trainer_state.json", 100, (0.0699, 0.0943), (0, 0.125)),
    ("trl-trainer-state/wordle_stage2_eval_rows_trainer_state.json", 160, (0.378, 0.884), (-2.07, 2.51)),
    ("trl-console-tqdm/exp1a__rho0.30_seed42.log", 40, (1.1e-12, 8.23), (0, 0.95)),
    ("trl-console-tqdm/exp1a__rho1.50_seed43.log", 40, (0.0915, 0.276), (0.1, 0.975)),
    ("custom-jsonl-countdown/grpo_trl.jsonl", 49, (0.143, 0.242), (0.723, 1.44)),
]
REWARD = {"verl": "critic/score/mean", "tinker": "env/all/reward/total", "trl": "reward"}


@pytest.mark.parametrize(("name", "rows", "entropy", "reward"), TRAINING, ids=[case[0] for case in TRAINING])
def test_training_rewards(name, rows, entropy, reward):
    (run,) = read_runs(LOGS / name)
    series = select(run, reward=REWARD.get(explain(run).trainer, "mean_reward"))
    assert len(series.step) == rows
    assert (series.entropy.min(), series.entropy.max()) == pytest.approx(entropy, rel=5e-3)
    assert (series.reward.min(), series.reward.max()) == pytest.approx(reward, rel=5e-3)
    assert series.reward_choice.meaning.kind == "training"


# file, validations paired on the same row, and with the entropy of the next one
VALIDATION = [
    (f"{GSM8K}/Qwen2.5-0.5B-bsz256_2-prompt1024-resp512-0.567.log", "val/test_score/openai/gsm8k", 43, 43),
    (f"{GSM8K}/Qwen2.5-0.5B-bsz256_2-prompt512-resp256-0.538.log", "val/test_score/openai/gsm8k", 43, 43),
    ("verl-qwen2-7b-math/qwen2-7b_math.log", "val-core/openai/gsm8k/reward/mean@1", 42, 42),
    ("verl-qwen2-7b-math/qwen2-7b_math_megatron.log", "val-core/openai/gsm8k/reward/mean@1", 21, 21),
    (f"{TEXTCRAFT}/training_metrics_main-clip-gp7.csv", "val-core_textcraft_acc_mean@1", 5, 4),
    (f"{TEXTCRAFT}/training_metrics_main-fixed-gp1-cons.csv", "val-core_textcraft_acc_mean@1", 4, 3),
]


@pytest.mark.parametrize(
    ("name", "column", "same", "following"), VALIDATION, ids=[case[0] for case in VALIDATION]
)
def test_validation_rewards(name, column, same, following):
    (run,) = read_runs(LOGS / name)
    assert len(select(run, reward=column, pair="same").step) == same
    series = select(run, reward=column)
    assert (series.pair, len(series.step)) == ("next", following)


def test_the_evaluation_before_training_joins_the_others():
    (run,) = read_runs(LOGS / GEMMA)
    series = select(run)
    # ten validations and the one from before training, 0.521; step 0 is logged twice, as is right
    assert len(series.step) == 11
    assert (series.step[0], series.reward[0]) == (0, 0.521)
    assert series.entropy[:2].tolist() == run.columns["actor/entropy_loss"][[0, 10]].tolist()
    assert run.dropped == {}


def test_arms_with_commas_in_their_names():
    runs = read_runs(LOGS / "verl-game24-long-csv" / "curves_wave1.csv")
    assert {run.name: len(select(run, reward="critic/score/mean").step) for run in runs} == {
        "control [sparse, n4]": 89,
        "n8 [sparse, n8]": 82,
        "shaped [shaped, n4]": 88,
        "staged-p1 [shaped, n4]": 89,
    }
    paired = [select(run, reward="val/test_score/game24", pair="same") for run in runs]
    assert [len(series.step) for series in paired] == [4] * 4


@pytest.mark.parametrize("name", ["wandb-ui-csv", "wandb-binary", "wandb-history-csv", "llamafactory-jsonl"])
def test_logs_without_an_entropy_are_refused(name):
    for path in sorted((LOGS / f"neg-{name}").iterdir()):
        refused("no-entropy-column", select, read_runs(path)[0])


@pytest.mark.parametrize(
    ("name", "entropy", "reward", "pairs"),
    [
        ("trl-tfevents-eval", "train/entropy", "eval/reward", 7),
        ("sb3-tfevents-negative-entropy", "train/entropy_loss", "eval/mean_reward", 122),
    ],
)
def test_event_files_are_read(name, entropy, reward, pairs):
    (path,) = (path for path in sorted((LOGS / name).rglob("*")) if "tfevents" in path.name)
    (run,) = read_runs(path)
    series = select(run)
    assert (series.entropy_choice.column, series.reward_choice.column) == (entropy, reward)
    assert len(series.step) == pairs
    assert series.entropy.min() > 0


def test_the_folder_of_all_logs_reads_without_a_crash():
    reading = read_all([LOGS])
    assert len(reading.runs) >= 20
    assert reading.failures == ()
    for run in reading.runs:
        explain(run)


def test_the_lab():
    if not (SHARED / "lab").is_dir():
        pytest.skip("the lab is not here")
    reading = read_all([SHARED / "lab"])
    assert [run.name for run in reading.runs] == ["entbonus_0.05", "grpo_s0"]
    assert reading.failures == ()
    ignored = {Path(item.path).name for item in reading.ignored}
    assert ignored == {"config.json", "rollouts.parquet", "tokens.parquet", "verl_metrics.jsonl"}
    series = select(reading.runs[1])
    assert (len(series.step), series.reward_choice.column, series.pair) == (51, "val_acc", "same")


def test_a_reading_is_shown_in_a_few_lines(lab):
    path = lab / "grpo_s0" / "metrics.parquet"
    shown = repr(read_runs(path))
    assert len(shown) < 300
    assert all(
        part in shown for part in ("'grpo_s0'", "401 rows", "30 columns", "metrics.parquet' (parquet)")
    )
    (run,) = read_runs(path)
    assert repr(select(run)) == "<Series 'grpo_s0': 51 pairs of 'entropy' and 'val_acc'>"
