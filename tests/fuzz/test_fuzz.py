"""Damaged and hostile copies of every format end in runs, or in an error that says what is wrong.

``ENTROPYLAW_FUZZ`` sets the number of damaged copies, ``ENTROPYLAW_FUZZ_SETS`` that of sets of inputs.
Each failure names its case; this runs it again::

    python -m tests.fuzz.worker flip/verl/17
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entropylaw.logs.load import read_all
from entropylaw.logs.sources.bundles import bundle_readers
from entropylaw.logs.sources.registry import format_names
from entropylaw.roles.select import select
from tests.conftest import ROOT
from tests.fuzz.corpus import samples
from tests.fuzz.damage import cases
from tests.fuzz.hostile_files import HOSTILE
from tests.fuzz.sets import failures
from tests.fuzz.worker import check_files

CASES = int(os.environ.get("ENTROPYLAW_FUZZ", "200"))
SETS = int(os.environ.get("ENTROPYLAW_FUZZ_SETS", "48"))
WORKERS = min(os.cpu_count() or 1, 8)
#: A worker stops after so many failures.
ENOUGH = 20
OF_HOSTILE = [f"hostile/{name}/0" for name in HOSTILE]
KNOWN = {*format_names(), *(reader.name for reader in bundle_readers())}


def test_every_format_has_a_sample():
    assert {sample.format for sample in samples().values()} >= KNOWN


@pytest.mark.parametrize("name", samples())
def test_a_whole_sample_is_read_as_its_format(name, tmp_path):
    sample = samples()[name]
    if sample.format not in KNOWN:
        pytest.skip("the format is not registered")
    for path, data in sample.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    reading = read_all([tmp_path if len(sample.files) > 1 else tmp_path / sample.damaged])
    assert not reading.failures
    for run in reading.runs:
        assert run.source.format == sample.format
        assert len(run.step) >= 12
        if sample.whole:
            assert len(select(run).step) >= 5
    assert reading.runs


def _worker(chosen: list[str]) -> tuple[list[str], str]:
    """Lines that a worker printed for some cases, and what it wrote when it died."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.worker"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        input="\n".join(chosen),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    died = f"{done.stderr}exit code {done.returncode}" if done.returncode else ""
    return done.stdout.splitlines(), died


def _failures(chosen: list[str]) -> dict[str, str]:
    """Cases that went wrong, and how. A case that ended its worker gets another, in which it is alone."""
    found: dict[str, str] = {}
    alone = False
    while chosen and len(found) < ENOUGH:
        lines, died = _worker(chosen[:1] if alone else chosen)
        outcomes = dict(zip(lines[::2], map(json.loads, lines[1::2]), strict=False))
        found |= {case: outcome for case, outcome in outcomes.items() if outcome != "ok"}
        if died and len(lines) % 2 == 0:
            raise AssertionError(f"a worker died without a case:\n{died[-2000:]}")
        if died and alone:
            found[lines[-1]] = died[-2000:]
        chosen = chosen[len(outcomes) + (bool(died) and alone) :]
        alone = bool(died) and not alone
    return found


@pytest.fixture(scope="module")
def found():
    """What went wrong in all cases of damaged and hostile files, in the same workers."""
    chosen = [*OF_HOSTILE, *cases(CASES)]
    with ThreadPoolExecutor(WORKERS) as pool:
        parts = pool.map(_failures, [chosen[start::WORKERS] for start in range(WORKERS)])
        return {case: outcome for part in parts for case, outcome in part.items()}


def _check(found: dict[str, str], chosen: list[str]) -> None:
    wrong = {case: outcome for case, outcome in found.items() if case in set(chosen)}
    summary = "\n".join(f"{case}: {outcome.strip().splitlines()[-1]}" for case, outcome in wrong.items())
    first = next(iter(wrong.values()), "")
    assert not wrong, f"{len(wrong)} of {len(chosen)} cases:\n{summary}\n\nthe first one:\n{first}"


def test_damaged_logs_end_in_runs_or_in_errors(found):
    chosen = cases(CASES)
    assert len(set(chosen)) == CASES
    _check(found, chosen)


def test_hostile_files_end_in_runs_or_in_errors(found):
    """None takes long, or memory that its size does not explain."""
    _check(found, OF_HOSTILE)


@pytest.mark.parametrize("part", range(8))
def test_no_gate_passes_on_a_set_that_hides_a_run(part):
    """Folders, files of several runs, documents beside logs; the sets without such a run pass."""
    numbers = range(part * SETS // 8, (part + 1) * SETS // 8)
    assert numbers
    assert not list(failures(numbers))


TOKENS = (
    *("step:", "step:12 - ", " - ", "actor/entropy:0.5", "critic/score/mean:nan", "(TaskRunner pid=1) "),
    "\r",
    *("{'", "': ", ", '", "}", "{'loss': 0.1, 'reward': 0.5, 'entropy': 0.4, 'epoch': 0.1}", "'epoch': 0.1}"),
    *("%|██▌  | 3/20 [00:19<11:24,  3.51s/it]", "100%|", "| 4/4 [", "\x1b[A", "\x1b[36m", "\x1b[0m", "\x1b["),
    *("rollout 3: {'rollout/raw_reward': ", "step 3: {'train/entropy_loss': 0.4, 'train/step': 3}"),
    "eval 3: ",
    *('metrics_tag: {"step": 3, "metrics": {"critic/entropy/mean": 0.5}}', "pipeline step 3 start...", '{"'),
    *("pipeline step 3 finished", '{"critic/correct/mean": 0.5}', "Train step 3/9 done.", "Stats (1/1):"),
    *("│ ppo_actor/update/entropy/avg │ 4.0e-01 │", "│", "╒", "╘", "├", "┏━", "┃ Metric ┃ Value ┃", "└─"),
    "╭",
    *("Step 12 | ", "Step 12", "Step 3 |   5.12s | Loss 0.1 | Entropy 0.4 | Mismatch KL 0.1"),
    "| Reward 0.5 ",
    *("Evaluated math (Step 3)", "Time: 5.1s | ", "SUCCESS ", "Global step 3: {'reward': 0.5, ", "✨ "),
    *("Evaluation completed in 0:01, global_step 3, eval_metrics: {'eval_x_pass1': 0.5}", "Step 3: ", "np."),
    *("{'policy/policy_entropy': '0.4',", " 'trainer/global_step': 3}", "tensor(", "np.float64(0.5)", ")"),
    *("│ optim/entropy │ 0.5 │", "Metrics ", "╭─── Metrics ───╮", "│  policy  entropy_avg: 0.3 |"),
    "╰──────╯",
    *("actor:", "  entropy_loss: 0.4", "reward:", "  accuracy: 0.5", "  ", "!!float 'nan'", "val:"),
    "training_step: 3",
    *("step,entropy,reward", "1,0.5,0.1", "2,0.4,0.2", ",", ";", "\t", '"', '""', "'", '"step"', "Step"),
    "Value",
    *("Wall time,Step,Value", '"a - reward"', '"a - reward__MIN"', "_step", "_timestamp", "run", "name"),
    "seed",
    *('{"step": 1, "entropy": 0.5, "reward": 0.2}', '{"step": 2, "data": {', '": ', "[", "]", "}"),
    '{"cells": [',
    *('"log_history": [', '"output_type": "stream"', "nan", "NaN", "inf", "-Infinity", "null", "None"),
    "True",
    *("0", "1", "2", "3", "-1", "0.5", "1e999", "1e-9", "9" * 400, "12/438", "2.28%", "\0", "\x85"),
    *("\u2028", "\ufeff"),
)
LINE = st.lists(st.sampled_from(TOKENS), max_size=8).map("".join)
TEXT = st.lists(st.one_of(LINE, LINE, LINE.map(lambda line: f"{line}\n{line}")), max_size=30)
NAMES = ("x.log", "x.csv", "x.jsonl", "x.json", "x.ipynb", "trainer_state.json", "run-a-tag-b.csv", "x")


@settings(
    max_examples=max(8, CASES // 10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
@given(lines=TEXT, end=st.sampled_from(("\n", "\r\n", "\r")), name=st.sampled_from(NAMES))
def test_lines_made_of_what_trainers_print(lines, end, name):
    check_files([(name, end.join(lines).encode())])
