"""The GitHub action and the snippets of docs/howto_ci.md: their commands, run with the installed package."""

import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest
import yaml

from tests.conftest import HANGS, LAB, ROOT, clean_environment
from tests.fuzz.hiding import parquet, records

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
PAGE = (ROOT / "docs" / "howto_ci.md").read_text(encoding="utf-8")
BASH = shutil.which("bash")

pytestmark = [
    pytest.mark.usefixtures("one_cache"),
    pytest.mark.skipif(BASH is None, reason="no bash, in which the steps are written"),
]


def block(language, first):
    """The block of docs/howto_ci.md that begins with a line."""
    (found,) = re.findall(rf"```{language}\n({re.escape(first)}\n.*?)```", PAGE, re.DOTALL)
    return found


@pytest.fixture
def shell(tmp_path):
    """A workspace with two logs; ``python -m pip`` only notes what it was asked to install."""
    (tmp_path / "logs").mkdir()
    for name in ("grpo_s0", "grpo_s1"):
        # Without the two classes' entropies: the phases of a page would take most of the time.
        table = pq.read_table(LAB / name / "metrics.parquet", columns=["step", "entropy", "val_acc"])
        pq.write_table(table, tmp_path / "logs" / f"{name}.parquet")
    stubs = tmp_path / "bin"
    stubs.mkdir()
    # A report without figures: to draw them would take most of what is left.
    plain = 'case " $*" in *" report "*) set -- "$@" --figures none;; esac\n'
    (stubs / "entropylaw").write_text(f'#!/bin/sh\n{plain}exec "{sys.executable}" -m entropylaw "$@"\n')
    (stubs / "python").write_text(
        "#!/bin/sh\n"
        f'if [ "$2" = pip ]; then printf "%s\\n" "$@" > "{tmp_path}/pip.txt"; exit 0; fi\n'
        f"{plain}"
        f'exec "{sys.executable}" "$@"\n'
    )
    for stub in stubs.iterdir():
        stub.chmod(0o755)

    def start(command, **environment):
        path = os.pathsep.join([str(stubs), os.environ["PATH"]])
        return subprocess.run(
            [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            cwd=tmp_path,
            env=clean_environment() | {"PATH": path} | environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=HANGS,
        )

    return start


def filled(step, **inputs):
    """A step's variables, with the action's inputs in them as GitHub puts them there."""
    values = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()} | inputs
    known = {f"inputs.{name}": value for name, value in values.items()} | {"github.action_path": "/action"}
    return {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], text)
        for name, text in STEPS[step]["env"].items()
    }


def test_no_input_is_ever_written_into_a_command():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert step.get("shell", "bash") == "bash"
    assert {step.get("shell") for step in ACTION["runs"]["steps"] if "run" in step} == {"bash"}


def test_every_input_is_used_and_every_used_one_is_there():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    for given in ACTION["inputs"].values():
        assert given["description"]
        assert given.get("required") or "default" in given


@pytest.mark.parametrize(("version", "what"), [("", "/action"), ("1.0", "entropylaw==1.0")])
def test_the_action_installs_itself_or_a_version(shell, tmp_path, version, what):
    done = shell(STEPS["Install entropylaw"]["run"], **filled("Install entropylaw", version=version))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pip.txt").read_text().splitlines()[-2:] == ["--", what]


def test_the_action_checks_every_log_against_every_gate(shell, tmp_path):
    given = {"logs": "logs/*.parquet\n", "fail-if": "ceiling<0.1\n\nn<5\n"}
    environment = filled("Check", **given) | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = shell(STEPS["Check"]["run"], **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    suites = ET.parse(tmp_path / "entropylaw-junit.xml").getroot()
    assert (suites.get("tests"), len(suites)) == ("4", 2)
    assert "2 gates on 2 runs: 4 passed** (PASSED)" in (tmp_path / "summary.md").read_text()


def test_two_stars_reach_folders_of_any_depth_and_a_pattern_without_files_fails(shell, tmp_path):
    (tmp_path / "logs" / "a" / "b").mkdir(parents=True)
    (tmp_path / "logs" / "grpo_s1.parquet").rename(tmp_path / "logs" / "a" / "b" / "deep.parquet")
    summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    gates = {"fail-if": "ceiling<0.1"}
    done = shell(STEPS["Check"]["run"], **filled("Check", logs="logs/**/*.parquet", **gates), **summary)
    assert (done.returncode, done.stdout.count("passed  ")) == (0, 2)
    without = filled("Check", logs="logs/*.parquet\nlog/*.csv", **gates)
    assert shell(STEPS["Check"]["run"], **without, **summary).returncode == 5


def test_the_action_fails_where_a_gate_trips_and_reports_all_the_same(shell, tmp_path):
    given = {"logs": "logs/*.parquet", "fail-if": "ceiling<0.99", "report": "pages", "strict": "true"}
    environment = filled("Check", **given) | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = shell(STEPS["Check"]["run"], **environment)
    assert done.returncode == 5
    assert "--strict" in done.stdout
    assert "!cancelled()" in STEPS["Report"]["if"]
    done = shell(STEPS["Report"]["run"], **filled("Report", **given))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pages" / "index.html").is_file()


@pytest.mark.parametrize("strict", ["yes", "TRUE", "True", "on", "1", "", " true", "true\nfalse"])
def test_strict_is_true_or_false(shell, strict):
    done = shell(STEPS["Check"]["run"], **filled("Check", logs="logs/*.parquet", strict=strict))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[bad-input]: the input strict is ")
    assert done.stderr.endswith(", expected true or false\n")


@pytest.mark.parametrize("strict", ["true", "false"])
def test_without_gates_no_run_may_be_broken(shell, tmp_path, strict):
    environment = filled("Check", logs="logs/*", strict=strict)
    environment["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
    done = shell(STEPS["Check"]["run"], **environment)
    assert (done.returncode, done.stdout.count("passed  ")) == (0, 2), done.stderr
    assert (" state==broken " in done.stdout, "--strict" in done.stdout) == (True, strict == "true")


def test_without_gates_a_broken_run_fails(shell, broken, tmp_path):
    environment = filled("Check", logs="logs/*")
    environment["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
    done = shell(STEPS["Check"]["run"], **environment)
    assert (done.returncode, done.stdout.count("TRIPPED"), done.stdout.count("passed  ")) == (5, 1, 2)


def test_inputs_are_never_read_as_code(shell, tmp_path):
    evil = "$(touch pwned) `touch pwned`; touch pwned #"
    given = {
        "logs": f"a b {evil}\n--quiet",
        "fail-if": f"ceiling<0.1 {evil}",
        "strict": evil,
        "junit": "a b.xml",
    }
    environment = filled("Check", **given) | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = shell(STEPS["Check"]["run"], **environment)
    assert done.returncode == 2
    assert "error[bad-input]: the input strict is " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    environment["STRICT"] = "false"
    done = shell(STEPS["Check"]["run"], **environment)
    assert done.returncode == 2
    assert "error[bad-gate]" in done.stderr
    done = shell(STEPS["Check"]["run"], **environment | {"FAIL_IF": "state==broken"})
    assert done.returncode == 5
    assert "error[file-not-found]: 2 runs could not be used" in done.stderr
    shell(STEPS["Report"]["run"], **filled("Report", **given | {"report": evil}))
    shell(STEPS["Install entropylaw"]["run"], **filled("Install entropylaw", version=evil))
    assert not (tmp_path / "pwned").exists()


def test_the_page_uses_the_action_as_it_is():
    workflow = yaml.safe_load(block("yaml", "# .github/workflows/entropy-law.yml"))
    (step,) = (step for step in workflow["jobs"]["check"]["steps"] if "entropylaw" in step["uses"])
    assert set(step["with"]) <= set(ACTION["inputs"])
    required = {name for name, given in ACTION["inputs"].items() if given.get("required")}
    assert required <= set(step["with"])


@pytest.fixture
def broken(tmp_path):
    """A run that lost its reward, among the logs."""
    rows = [row if row["step"] < 20 else row | {"reward": 0.0} for row in records(True, 0)]
    (tmp_path / "logs").mkdir(exist_ok=True)
    (tmp_path / "logs" / "broken.parquet").write_bytes(parquet(rows))


def assert_failed_and_written(done, tmp_path):
    """The page's gates trip on the run that is broken, and what the job keeps is there."""
    assert done.returncode == 5, done.stderr
    root = ET.parse(tmp_path / "entropylaw-junit.xml").getroot()
    assert "broken" in {suite.get("name") for suite in root if int(suite.get("failures"))}


def test_the_page_s_workflow_runs(shell, broken, tmp_path):
    workflow = yaml.safe_load(block("yaml", "# .github/workflows/entropy-law.yml"))
    (step,) = (step for step in workflow["jobs"]["check"]["steps"] if "entropylaw" in step["uses"])
    environment = filled("Check", **step["with"]) | {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    assert_failed_and_written(shell(STEPS["Check"]["run"], **environment), tmp_path)
    assert shell(STEPS["Report"]["run"], **filled("Report", **step["with"])).returncode == 0
    kept = workflow["jobs"]["check"]["steps"][-1]["with"]["path"].split()
    assert all((tmp_path / path).exists() for path in kept)


def test_the_page_s_gitlab_job_runs(shell, broken, tmp_path):
    job = yaml.safe_load(block("yaml", "# .gitlab-ci.yml"))["entropy law"]
    install, check = job["script"]
    assert shell(install, **job["variables"]).returncode == 0
    assert (tmp_path / "pip.txt").read_text().splitlines()[-1] == job["variables"]["ENTROPYLAW"]
    assert_failed_and_written(shell(check), tmp_path)
    for command in job["after_script"]:
        assert shell(command).returncode == 0
    assert all((tmp_path / path).exists() for path in job["artifacts"]["paths"])
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).is_file()


def test_the_page_s_jenkinsfile_runs(shell, broken, tmp_path):
    text = block("groovy", "// Jenkinsfile")
    install, check, report = (
        one or other for one, other in re.findall(r"sh (?:'([^'\n]*)'|\"([^\"\n]*)\")", text)
    )
    assert shell(install, ENTROPYLAW="entropylaw").returncode == 0
    assert_failed_and_written(shell(check), tmp_path)
    assert shell(report).returncode == 0
    (junit,) = re.findall(r"junit '([^']+)'", text)
    assert (tmp_path / junit).is_file()
    assert (tmp_path / "reports").is_dir()
    assert text.count("{") == text.count("}")
