"""Later steps, several runs and seams on the command line, over the lab's runs."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAB = ROOT / "data" / "lab"


def test_a_later_step_is_forecast(run, tmp_path):
    log = LAB / "clean_start_s0" / "metrics.parquet"
    assert run("predict", log, "--at-step", "500", "-o", "p.json").returncode == 0
    (one,) = json.loads((tmp_path / "p.json").read_text())["runs"]
    (reward,) = one["forecast"]["reward"]
    assert reward["low"] < reward["value"] < reward["high"]
    assert one["no_forecast"] is None


def test_a_backtest_counts(run, tmp_path):
    done = run("backtest", LAB / "clean_start_s0", LAB / "clean_start_s1", "--format", "json", "-o", "b.json")
    assert done.returncode == 0
    told = json.loads((tmp_path / "b.json").read_text())
    assert len(told["runs"]) == 2
    assert told["overall"]


def test_runs_that_share_the_law(run, tmp_path):
    done = run("fit", LAB / "clean_start_s0", LAB / "clean_start_s1", "--shared", "a,b", "-o", "f.json")
    assert done.returncode == 0
    document = json.loads((tmp_path / "f.json").read_text())
    assert document["shared"]["same"]["p_value"] > 0.05
    assert run("report", "f.json", "-o", "out").returncode == 0


def test_a_change_of_stage_is_found_and_fitted_around(run, tmp_path):
    log = LAB / "sft_after_grpo_s0" / "metrics.parquet"
    done = run("fit", log, "--find-seams", "-o", "f.json")
    assert done.returncode == 0
    (one,) = json.loads((tmp_path / "f.json").read_text())["runs"]
    assert {(seam["after"], seam["step"]) for seam in one["seams"]} == {(408.0, 416.0)}
    assert [segment["n"] for segment in one["segments"]["segments"]] == [52, 24]
    assert one["segments"]["same"]["p_value"] < 1e-4
    given = json.loads(run("fit", log, "--seam", "416", "--format", "json").stdout)
    assert given["runs"][0]["segments"] == one["segments"]


def test_charts_are_one_run_in_a_report_too(run, tmp_path):
    charts = [
        ROOT / "data" / "formats" / "grpo_s0" / f"wandb_ui_{name}.csv" for name in ("entropy", "val_acc")
    ]
    stored = run("fit", LAB / "clean_start_s0", "-o", "f.json")
    assert stored.returncode == 0
    done = run("report", charts[0], "f.json", charts[1], "-o", "out")
    assert (done.returncode, "error" in done.stderr) == (0, False)
    rows = json.loads((tmp_path / "out" / "report.json").read_text())["rows"]
    assert [(row["run"], "ceiling" in row["cells"]) for row in rows] == [
        ("clean_start_s0", True),
        ("grpo_s0", True),
    ]


def test_a_slip_is_named_and_left_out_or_kept(run, tmp_path):
    import numpy as np

    entropy = np.exp(-np.arange(60) / 20)
    reward = 1.0 - 0.3 * np.exp(entropy) + 0.004 * np.sin(np.arange(60) * 2.4)
    entropy[30] = 8.2
    rows = [f"{s},{h},{r}" for s, (h, r) in enumerate(zip(entropy, reward, strict=True))]
    (tmp_path / "x.csv").write_text("step,entropy,reward\n" + "\n".join(rows) + "\n")
    done = run("fit", "x.csv")
    assert "59 evaluations" in done.stdout
    assert "8.2" in done.stdout
    kept = run("fit", "x.csv", "--keep-outliers")
    assert "60 evaluations" in kept.stdout
