"""The screen of a run: short, nothing twice, and nothing that another line of it denies."""

import io
import re
from pathlib import Path

import pytest

from entropylaw import load
from entropylaw.cli import output
from entropylaw.report.numbers import sparkline
from entropylaw.report.render import rendered
from tests.conftest import LAB, PUBLIC_LOGS, drawn
from tests.typed import typed

RUNS = [path.parent for lab in (LAB, LAB.parent / "lab2") for path in lab.glob("*/metrics.parquet")]
PUBLIC = [str(path) for path in PUBLIC_LOGS.glob("*/*") if path.is_file() and path.stat().st_size < 1_000_000]
NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e-?\d+)?"
INTERVAL = re.compile(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]")
GONE = (
    "left on the curve|headroom|came true|like now|this log cannot tell|by the law alone|present stage|"
    "no term|looks in a row|end above it|erupt|rests on"
)
"""Words that a screen had once."""


def words(text: str) -> list[str]:
    """The words of a screen: a formula or an interval is one, a sign between two words none."""
    return re.findall(r"R = b − a·exp\(H\)|\[[^]]*\]|[^\s·→=>]+", text)


@pytest.mark.parametrize("log", drawn(map(str, RUNS), 10), ids=lambda path: "/".join(Path(path).parts[-2:]))
def test_a_screen_is_short_and_says_nothing_twice_and_denies_nothing(tmp_path, log):
    typed("fit", Path(log) / "metrics.parquet", "-o", "fit.json", cwd=tmp_path, code=0)
    (run,) = load(tmp_path / "fit.json", "fit").runs
    shown = {format: rendered(run, format) for format in ("text", "details")}
    check_screen(shown["text"], run.result)
    assert run.result.state is not None
    if not run.result.is_broken:
        ((low, high),) = re.findall(rf"next +{NUMBER} \[({NUMBER}), ({NUMBER})\]", shown["text"])
        assert 0.0 <= float(low) <= float(high) <= 1.0
    for text in shown.values():
        rows = [line.strip() for line in text.splitlines() if line.strip()]
        assert len(rows) == len(set(rows))
        intervals = [match[0] for match in INTERVAL.finditer(text)]
        assert len(intervals) == len(set(intervals))
        check_text(text)


@pytest.mark.skipif(not PUBLIC, reason="the public logs are not here")
@pytest.mark.parametrize("log", drawn(PUBLIC, 5), ids=lambda path: Path(path).name[:40])
def test_a_screen_of_a_public_log_is_as_short(tmp_path, log):
    done = typed("fit", log, "-o", "fit.json", cwd=tmp_path)
    if not (tmp_path / "fit.json").exists():
        assert done.returncode in (3, 4), done.stderr
        return
    for run in load(tmp_path / "fit.json", "fit").runs:
        if run.result is not None:
            text = rendered(run, "text")
            check_screen(text, run.result)
            check_text(text)


def check_text(text):
    """No word that a screen had once, every estimate within its interval, and one R²."""
    assert not re.search(GONE, text)
    for value, low, high in INTERVAL.findall(text):
        assert float(low) <= float(value) <= float(high)
    assert text.count("R² ") <= 1


def check_screen(text, fit):
    """Six lines and 80 words at most, and no number that another denies."""
    lines = text.splitlines()
    # A long name takes a line.
    assert len(lines) <= 6 + lines[1].startswith("    "), text
    assert len(words(text)) <= 80, text
    assert max(map(len, lines)) <= 100
    if fit.state is None:
        return
    now = fit.state.now.value
    assert f" {output_number(text)} now" in text
    if fit.is_broken:
        assert not re.search(r"\bnext\b|or more|at H = 0|R²|such runs", text)
        return
    forecasts = re.findall(rf"next +{NUMBER} \[({NUMBER}), ({NUMBER})\]", text)
    for low, high in forecasts:
        assert float(low) <= float(high) <= (fit.max_reward or float("inf"))
    at_zero = re.search(rf"at H = 0: ({NUMBER}) \S+ \S+( reached)?", text)
    if at_zero is not None:
        rounding = 0.5 * 10.0 ** -len(at_zero[1].partition(".")[2])
        if at_zero[2]:
            assert float(at_zero[1]) <= now + rounding
        else:
            assert float(at_zero[1]) >= now - rounding
    kept = re.search(rf"keep +step \d+: ({NUMBER})", text)
    if kept is not None:
        assert float(kept[1]) > now


def output_number(text: str) -> str:
    """The level now, as the line of the state has it."""
    (number,) = re.findall(rf"({NUMBER}) now", text)
    return number


def test_the_screen_of_several_runs_is_a_table_without_codes(tmp_path):
    (tmp_path / "short.csv").write_text("step,val_acc\n0,0.1\n1,0.2\n")
    names = ("lab2/blow_up_s0", "lab2/grpo_s0", "lab2/random_reward_s1", "lab/diverging")
    logs = [LAB.parent / name / "metrics.parquet" for name in names]
    done = typed("fit", *logs, "short.csv", "--no-save", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert re.split(" {2,}", lines[0].strip())[:3] == ["run", "so far", "now"]
    states = [
        state for line in lines for state in re.findall("  (broken|falling|cannot tell|rising|flat)  ", line)
    ]
    assert states == sorted(states, key=["broken", "falling", "cannot tell", "rising", "flat"].index)
    assert re.search("blow_up_s0 .*[▁▂▃▅▇]{12} .*  broken ", done.stdout)
    assert "2 usable evaluations, expected at least" in done.stdout
    assert not re.search(r"\b[a-z]+-[a-z]+-[a-z]+\b", done.stdout)


def test_a_log_without_an_entropy_says_so_once_and_what_logs_it(tmp_path):
    rows = "".join(f"{step},{0.1 + 0.005 * step}\n" for step in range(40))
    (tmp_path / "bare.csv").write_text(f"step,val_acc\n{rows}")
    typed("fit", "bare.csv", "-o", "bare.txt", cwd=tmp_path)
    text = (tmp_path / "bare.txt").read_text()
    assert text.count("no entropy in this log") == 1
    assert "law     none: name it with --entropy COLUMN" in text
    assert len(text.splitlines()) <= 6


def test_a_series_is_a_line_of_at_most_twelve_bars():
    assert sparkline((0.0, 0.25, 0.5, 0.75, 1.0)) == "▁▂▃▅▇"
    assert sparkline((0.3, 0.3)) == "▃▃"
    assert len(sparkline(tuple(range(100)))) == 12


@pytest.mark.parametrize("details", [("--details",), ("--details", "all"), ("--details=all",)])
def test_details_take_a_topic_or_none(tmp_path, details):
    log = LAB / "grpo_s0" / "metrics.parquet"
    whole = typed("fit", *details, log, "--no-save", cwd=tmp_path).stdout
    assert all(
        text in whole for text in ("gain that counts", "P(+0.01 or more)", "functional form", "pairing")
    )
    shown = {
        topic: typed("fit", log, "--details", topic, "--no-save", cwd=tmp_path).stdout
        for topic in ("state", "forecast", "law", "reading")
    }
    assert "gain that counts" in shown["state"]
    assert "P(+0.01 or more)" in shown["forecast"]
    assert "functional form" in shown["law"]
    assert "pairing" in shown["reading"]
    # The numbers of a topic are in the place of its line.
    assert " in all, " in " ".join(shown["law"].split())
    assert " in all, " not in " ".join(shown["state"].split())
    assert sum("functional form" in text for text in shown.values()) == 1


class Terminal(io.StringIO):
    """Standard output of a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("run", "code"), [("lab/grpo_s0", "32"), ("lab2/random_reward_s1", "33"), ("lab2/blow_up_s0", "31")]
)
def test_a_state_has_a_colour_on_a_terminal_and_a_law_has_none(tmp_path, monkeypatch, run, code):
    typed("fit", LAB.parent / run / "metrics.parquet", "-o", "fit.json", cwd=tmp_path)
    document = load(tmp_path / "fit.json", "fit")
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    text = output.shown(document, "text")
    word = document.runs[0].result.state.word
    assert f"\x1b[{code}m{word}\x1b[0m" in text
    assert set(re.findall(r"\x1b\[(\d+)m", text)) <= {"0", "1", code}
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in output.shown(document, "text")
