"""Real logs of other people: each gives fits, or a clear error with its exit code; never a traceback."""

import json

import pytest

from entropylaw.logs.load import read_all
from tests.conftest import PUBLIC_LOGS, drawn

LOGS = sorted(path for path in PUBLIC_LOGS.glob("*/*") if path.is_file()) if PUBLIC_LOGS.is_dir() else []
pytestmark = pytest.mark.skipif(not LOGS, reason="the public logs are not here")

REFUSED = {"wandb_history.csv": ("no-entropy-column", 3)}
"""Name of a log that is refused → the error, and the exit code."""

WITHOUT_LAW = {
    "grpo_zero_entropy.jsonl": "entropy-constant",
    "distillation_on_metrics.jsonl": "reward-constant",
    "trainer_log.jsonl": "no-entropy-column",
}
"""Name of a log with a state and no law → why it has none."""


@pytest.mark.parametrize(
    "log",
    sorted({*drawn(LOGS, 8), *(log for log in LOGS if log.name in {*REFUSED, *WITHOUT_LAW})}),
    ids=lambda path: path.name[:40],
)
def test_fits_or_says_why_not(run, log):
    done = run("fit", log, "--format", "json", "-o", "-")
    assert done.returncode in (0, 3, 4), done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert document["runs"]
    if done.returncode == 0:
        assert any(entry["result"] for entry in document["runs"])
    else:
        assert all(entry["refusal"]["hint"] for entry in document["runs"])
        assert "error[" in done.stderr
    if log.name in WITHOUT_LAW:
        results = [entry["result"] for entry in document["runs"] if entry["result"]]
        assert {result["no_law"]["slug"] for result in results} == {WITHOUT_LAW[log.name]}
        assert all(result["state"]["word"] for result in results)
    if log.name in REFUSED:
        slug, code = REFUSED[log.name]
        assert done.returncode == code
        assert f"error[{slug}]" in done.stderr


def test_the_folder_of_all_logs_is_read_without_a_failure():
    reading = read_all([PUBLIC_LOGS])
    assert len(reading.runs) >= 20
    assert reading.failures == ()


PPO = "gemma-2-2b-it-ppo-bsz512_4-prompt1024-resp-512-0.640.log"


@pytest.mark.parametrize("name", [PPO, "qwen2-7b_math.log", "grpo_trl.jsonl"])
def test_a_run_fits_a_terminal(run, name):
    log = next(path for path in LOGS if path.name == name)
    for block in run("fit", log, "-o", "-").stdout.split("\n\n"):
        assert 5 <= len(block.splitlines()) <= 10


def test_the_law_is_refused_where_a_first_evaluation_carries_it(run):
    """The answer format is learned before step 10: without that evaluation there is no relation."""
    log = next(path for path in LOGS if path.name == "qwen2-7b_math_megatron.log")
    assert "undecided: no clear slope" in run("fit", log, "-o", "-", code=0).stdout
    details = run("fit", log, "--details", "-o", "-").stdout
    assert "the first evaluation is off the curve of the others" in " ".join(details.split())


def test_runs_of_a_long_table_keep_their_names_with_commas(run):
    log = next(path for path in LOGS if path.name == "curves_phase1.csv")
    document = json.loads(run("fit", log, "--format", "json", "-o", "-").stdout)
    assert list(dict.fromkeys(entry["run"] for entry in document["runs"])) == [
        "pure-GRPO [init=base, sparse, n4, lr1e-6, KL.001]",
        "SFT->GRPO [init=SFT-v1, sparse, n4, lr1e-6, KL.001]",
    ]
