"""Runs at W&B: read and written through the wandb package, against a server in a thread."""

import importlib.util
import sys

import numpy as np
import pytest

from entropylaw import UsageError, read_runs
from entropylaw.roles.select import select
from tests.conftest import HANGS
from tests.hostile import refused
from tests.wandb_server import Server, serving

RUN = "wandb://ent/proj/abc"
N = 40
ENTROPY = 0.1 + 0.7 * np.exp(-np.arange(N) / 8)
REWARD = 0.9 - 0.25 * np.expm1(ENTROPY) + 0.004 * np.cos(3.1 * np.arange(N))

installed = pytest.mark.skipif(not importlib.util.find_spec("wandb"), reason="wandb is not installed")


@pytest.fixture(autouse=True)
def no_settings_are_left():
    """The package holds the first address that it met: no test has that of another."""
    yield
    if module := sys.modules.get("wandb"):
        module.teardown()


@pytest.fixture
def address(tmp_path, monkeypatch):
    """A server's address in the environment, for this process and for commands; the server."""
    rows = []
    for i, (h, r) in enumerate(zip(ENTROPY.tolist(), REWARD.tolist(), strict=True)):
        row = {"_step": 3 * i, "training/global_step": i, "actor/entropy": h, "val-core/x/acc/mean@1": r}
        rows.append(row | {"media": {"_type": "table-file", "size": 7}, "nothing": "NaN"})
    monkeypatch.setattr("entropylaw.wandb_runs._PATIENCE", HANGS)
    server = Server(rows, {"actor_rollout_ref": {"rollout": {"temperature": 0.6}}, "password": "hidden"})
    with serving(server) as url:
        for name, value in (("BASE_URL", url), ("API_KEY", "0" * 40), ("CACHE_DIR", str(tmp_path / "cache"))):
            monkeypatch.setenv(f"WANDB_{name}", value)
        yield server


@installed
def test_a_run_is_read_as_its_log_would_be(address):
    (run,) = read_runs(RUN)
    assert (run.name, run.source.path, run.source.format) == ("my run", RUN, "wandb-api")
    assert run.step_column == "training/global_step"
    np.testing.assert_array_equal(run.columns["actor/entropy"], ENTROPY)
    assert run.settings == {"actor_rollout_ref/rollout/temperature": 0.6}
    series = select(run)
    assert series.reward_choice.column == "val-core/x/acc/mean@1"
    assert any("temperature 0.6" in note for note in series.notes)
    # The same history is the same bytes.
    assert read_runs(RUN)[0].source.sha256 == run.source.sha256


@installed
@pytest.mark.parametrize(
    ("path", "slug"), [("ent/proj/none", "wandb-run-not-found"), ("ent/secret/abc", "wandb-not-logged-in")]
)
def test_a_run_that_is_not_there_or_not_for_this_user(address, path, slug):
    assert f"'{path}'" in refused(slug, read_runs, f"wandb://{path}").message


@installed
def test_without_a_key_it_says_how_to_log_in(address, tmp_path, monkeypatch):
    monkeypatch.delenv("WANDB_API_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    assert "wandb login" in refused("wandb-not-logged-in", read_runs, RUN).hint


@installed
def test_without_an_answer_it_names_the_network(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setattr("entropylaw.wandb_runs._PATIENCE", 1)
    refused("wandb-unreachable", read_runs, RUN)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    error = refused("remote-not-installed", read_runs, RUN, kind=UsageError)
    assert "pip install wandb" in error.hint


@pytest.mark.parametrize("path", ["wandb://", "wandb://ent/proj", "wandb://a/b/c/d", "wandb://a//c"])
def test_a_path_of_another_form(path):
    refused("wandb-path", read_runs, path, kind=UsageError)
