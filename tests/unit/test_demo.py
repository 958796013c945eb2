"""``entropylaw demo``: its files, and all that runs on them: examples of the help, pages, the notebook."""

import json
import re
import shlex
import shutil

import pyarrow.parquet as pq
import pytest

from docs import demo
from entropylaw.cli.command import NAMES, command_of
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("one_cache")

TRIPPED = 5
PAGES = ("docs/howto_ci.md", "docs/howto_paper.md", "docs/SKILL.md")


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(demo.DEMO, tmp_path / "demo")
    return tmp_path


def test_the_files_are_those_of_the_lab():
    for name in demo.RUNS:
        assert (demo.DEMO / f"{name}.csv").read_text("utf-8") == demo.log(name)
    assert pq.read_table(demo.DEMO / "tokens.parquet").equals(demo.tokens())
    assert pq.read_table(demo.DEMO / "samples.parquet").equals(demo.samples())
    assert sum(path.stat().st_size for path in demo.DEMO.iterdir()) < 400_000


def test_the_demo_writes_its_files_and_prints_five_commands_that_run(run, tmp_path):
    done = run("demo", "a folder", code=0)
    written = {path.name: path.read_bytes() for path in (tmp_path / "a folder").iterdir()}
    assert written == {path.name: path.read_bytes() for path in demo.DEMO.iterdir()}
    commands = [line.strip() for line in done.stdout.splitlines() if line.startswith("  entropylaw")]
    assert len(commands) == 5
    for command in commands:
        assert run(*shlex.split(command)[1:]).returncode == 0


def test_it_replaces_nothing_that_was_changed(run, tmp_path):
    assert [run("demo").returncode for _ in range(2)] == [0, 0]
    changed = tmp_path / "demo" / "grpo_s0.csv"
    changed.write_text("step,entropy,reward\n")
    done = run("demo")
    assert (done.returncode, "error[demo-exists]" in done.stderr) == (2, True)
    assert changed.read_text() == "step,entropy,reward\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_command_runs(name, run, folder):
    words, *_ = command_of(name).example.partition(" > ")
    run(*shlex.split(words)[1:], code=0)


@pytest.mark.parametrize(
    "command",
    [
        ["columns"],
        ["fit", "--no-save"],
        ["predict"],
        ["phases"],
        ["compare"],
        ["report", "--figures", "none"],
        ["check", "--fail-if", "state==broken"],
    ],
    ids=" ".join,
)
def test_a_command_on_the_folder_has_its_three_runs_and_no_error(run, folder, command):
    done = run(command[0], "demo", *command[1:], code=0)
    assert (
        "Skipped 3 files that are not training logs: notebook.ipynb, samples.parquet, tokens.parquet\n"
        in (done.stderr)
    )
    assert "error[" not in done.stderr + done.stdout
    assert "could not" not in done.stderr + done.stdout
    assert "notebook" not in done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page, run, folder):
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for command in "".join(blocks).splitlines():
        done = run(*shlex.split(command)[1:])
        assert done.returncode in (0, TRIPPED), done.stderr


def test_the_questions_of_the_skill_have_commands_that_run(run, folder):
    text = (ROOT / "entropylaw" / "SKILL.md").read_text("utf-8")
    commands = re.findall(r"^\| .+ \| `entropylaw (.+)` \|$", text, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        given = command.replace("'a=LOGS' 'b=LOGS'", "'a=demo/grpo_s*' b=demo/clip_cov_s0.csv")
        given = given.replace("LOG", "demo/grpo_s0.csv").replace("-step N", "-step 600")
        given = given.replace("--steps N --cost-per-step C", "--steps 600 --cost-per-step 2")
        given = given.replace("TABLE --against OTHER", "demo/samples.parquet --against 0")
        assert run(*shlex.split(given)).returncode in (0, TRIPPED)


def test_the_notebook_shows_what_it_has_stored():
    path = demo.DEMO / "notebook.ipynb"
    stored, now = (json.loads(text) for text in (path.read_text("utf-8"), demo.executed(path)))
    for notebook in (stored, now):
        outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
        assert len(outputs) == 5
        # The figure's bytes depend on the release of matplotlib.
        pages = [
            output["data"].pop("text/html") for output in outputs if "text/html" in output.get("data", ())
        ]
        assert [("<svg" in "".join(page), "<table" in "".join(page)) for page in pages] == [(True, True)]
    assert now == stored


def test_tables_of_tokens_name_the_extra_that_they_need(run, folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    done = run("tokens", "demo/tokens.parquet")
    assert (done.returncode, "error[duckdb-not-installed]" in done.stderr) == (2, True)
    assert "pip install 'entropylaw[tokens]'" in done.stderr
