"""A console that does not say which steps its entries are of: every door says entry, and none says step."""

import re

import pytest

import entropylaw
from tests.typed import typed

#: A step with its number, or by which something is; an option, a key or a column in quotes is none.
STEP = re.compile(
    r"(?<![-\w'\"])steps? \d|\b(by|at|keep|since|the last) +step\b(?!')|100 steps", re.IGNORECASE
)


@pytest.fixture
def log(tmp_path):
    rows = []
    for entry in [*range(1, 11), *range(61, 131)]:
        reward = 0.9 - 0.6 / (1 + entry / 30) + 0.004 * (entry % 5)
        values = {"reward": round(reward, 4), "entropy": round(0.05 + 1 / (1 + entry / 20), 4)}
        rows.append({**values, "num_tokens": 2900.0 * entry, "epoch": round(entry / 300, 2)})
    path = tmp_path / "run.log"
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


COMMANDS = {
    "fit": ("fit",),
    "details": ("fit", "--details", "--steps", "400"),
    "markdown": ("fit", "--format", "markdown"),
    "predict": ("predict", "--at-step", "300"),
    "check": ("check", "--fail-if", "p_gain<0.0001", "--fail-if", "forecast_reward<0"),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_every_command_names_entries(log, arguments):
    command, *options = arguments
    done = typed(command, log.name, *options, cwd=log.parent, code=0)
    assert re.search(r"entr(y|ies) \d", done.stdout)
    assert not STEP.search(done.stdout)


def test_so_do_the_pages_of_a_report(log):
    typed("report", log.name, "--output", "out", cwd=log.parent, code=0)
    for name in ("runs/run.html", "report.md"):
        text = (log.parent / "out" / name).read_text()
        assert "entry" in text
        assert not STEP.search(text)


def test_so_do_python_its_figure_and_the_watcher(log):
    fit = entropylaw.fit(log)
    assert fit.axis == "entry"
    assert "entries 1–130" in str(fit)
    assert not STEP.search(str(fit))
    assert fit.forecast.plot().get_xlabel() == "entry"
    said = []
    watcher = entropylaw.Watcher(str(log), say=said.append)
    (line,) = watcher.read()
    assert line.axis == "entry"
    assert "entry 130" in said[0]
    assert not STEP.search(said[0])
