"""A residual model is an entry of the registry and its covariances: every command offers and names it."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT, clean_environment

# The choices of the options are made when they are imported, so that the entry is added before that.
ADDED = """
import sys
from entropylaw.analysis.law.residual_models import RESIDUAL_MODELS, ResidualModel

def grid(step, entropy, reward):
    from entropylaw.engine.prior import point_grid
    return point_grid(length=float(step[-1] - step[0]) / step.size, share=0.0)

RESIDUAL_MODELS["ar1"] = ResidualModel(
    name="ar1", method="first-order autoregression", help="neighbours alike.",
    assumed="like neighbours",
)

from entropylaw.analysis.law.covariances import GRIDS

GRIDS["ar1"] = grid

from entropylaw.__main__ import main
main()
"""
LOG = ROOT / "data/lab/grpo_s0/metrics.parquet"


@pytest.fixture
def run_added(tmp_path):
    (tmp_path / "added.py").write_text(ADDED, encoding="utf-8")

    def start(*arguments):
        return subprocess.run(
            [sys.executable, "added.py", *map(str, arguments)],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout

    return start


def test_an_added_residual_model_fits_and_is_offered(run_added, tmp_path):
    run_added("fit", LOG, "--interval", "ar1", "-o", "fit.json", "-q")
    text = " ".join(run_added("fit", LOG, "--interval", "ar1", "--details", "--no-save").split())
    assert "first-order autoregression" in text
    law = json.loads((tmp_path / "fit.json").read_text(encoding="utf-8"))["runs"][0]["answer"]["law"]
    assert law["interval"] == "ar1"
    assert law["ceiling"]["method"] == "first-order autoregression"
    assert "<drift|walk|odr|ols|ar1>" in run_added("fit", "--help")


def test_an_added_residual_model_in_the_settings_file(run_added, tmp_path):
    (tmp_path / "entropylaw.toml").write_text('interval = "ar1"\n', encoding="utf-8")
    (line,) = [line for line in run_added("config").splitlines() if line.startswith("  interval")]
    assert line.split()[:2] == ["interval", "ar1"]
    run_added("report", LOG, "-o", "reports", "--figures", "none", "--no-phases", "--jobs", "1")
    report = (tmp_path / "reports" / "report.json").read_text(encoding="utf-8")
    assert json.loads(report)["settings"]["interval"] == "ar1"
    pages = (tmp_path / "reports" / "runs").rglob("*.html")
    assert any("like neighbours" in page.read_text(encoding="utf-8") for page in pages)
