"""Every command that prints a result prints it in every format, and colours its text on a terminal alone."""

import contextlib
import csv
import io
import json
import re

import pytest

from entropylaw import load
from entropylaw.cli import output
from tests.conftest import LAB
from tests.fuzz.hiding import comma, records
from tests.typed import assert_says, typed

pytestmark = pytest.mark.usefixtures("one_cache")

LOG = LAB / "clean_start_s0" / "metrics.parquet"
TOKENS = "step,entropy,class\n1,0.5,planning\n1,0.2,execution\n2,0.4,planning\n2,0.1,execution\n"
CALLS = {
    "fit": ("fit", "fit.json"),
    "phases": ("phases", LOG),
    "check": ("check", "fit.json", "--fail-if", "n<8"),
    "predict": ("predict", "fit.json", "--target-entropy", "0.1"),
    "columns": ("columns", LOG),
    "tokens": ("tokens", "tokens.jsonl"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("formats")
    assert typed("fit", LOG, "-o", "fit.json", cwd=place).returncode == 0
    head, *rows = TOKENS.splitlines()
    cells = [dict(zip(head.split(","), row.split(","), strict=True)) for row in rows]
    lines = [json.dumps(row | {"step": int(row["step"]), "entropy": float(row["entropy"])}) for row in cells]
    (place / "tokens.jsonl").write_text("\n".join(lines) + "\n")
    return place


def call(command, *more):
    return ("fit", LOG, *more) if command == "fit" else (*CALLS[command], *more)


def assert_is(text, format):
    if format == "csv":
        head, *rows = csv.reader(io.StringIO(text))
        assert rows
        assert {len(row) for row in rows} == {len(head)}
    else:
        assert text.startswith(r"% \use")


@pytest.mark.parametrize("format", ["csv", "latex"])
@pytest.mark.parametrize("command", CALLS)
def test_a_command_prints_formats_that_no_transcript_shows(folder, command, format):
    files = ("-o", "-") if command == "fit" else ()
    done = typed(*call(command, "--format", format, *files), cwd=folder, code=0)
    assert_is(done.stdout, format)


def test_latex_has_the_tables_of_the_markdown_and_text_that_is_no_command(folder):
    log = r"50%_a&b{x}#1$\textbf~^.parquet"
    (folder / log).write_bytes(LOG.read_bytes())
    typed("fit", log, "-o", "one.tex", "-o", "one.md", cwd=folder, code=0)
    text, markdown = ((folder / f"one.{suffix}").read_text(encoding="utf-8") for suffix in ("tex", "md"))
    tables = re.findall(r"\\begin\{tabular\}\{(\w+)\}\n\\toprule\n(.*?)\\bottomrule", text, re.DOTALL)
    assert len(tables) == len(re.findall(r"(?m)^\| -", markdown)) > 2
    for kinds, body in tables:
        rows = [line for line in body.splitlines() if line != r"\midrule"]
        assert all(len(re.findall(r"(?<!\\)&", row)) == len(kinds) - 1 for row in rows)
        assert all(row.endswith(r" \\") for row in rows)
    (value,) = re.findall(r"\| drop per 100 steps \| (\S+ \[.*?\]) \|", markdown)
    assert f"drop per 100 steps & {value} &" in text


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")

    def shown(document, format):
        with contextlib.redirect_stdout(Terminal()):
            return output.shown(document, format)

    return shown


def test_text_is_coloured_on_a_terminal(folder, terminal, monkeypatch):
    document = load(folder / "fit.json", "fit")
    plain = output.rendered(document, "text")
    coloured = terminal(document, "text")
    assert re.search(r"  \x1b\[3[12]m(rising|falling|broken)\x1b\[0m +0", coloured)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
        assert terminal(document, "text") == plain


def test_text_is_as_wide_as_the_terminal(folder, terminal, monkeypatch):
    """Sentences are; a table is as wide as its columns."""
    document = load(folder / "fit.json", "fit")
    monkeypatch.setenv("NO_COLOR", "1")
    texts = {}
    for columns in ("60", "84", "100", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        texts[columns] = terminal(document, "text")
        sentences = [line for line in texts[columns].splitlines() if re.match(r" {19}\S|  next ", line)]
        assert 0.6 * min(int(columns), 100) < max(map(len, sentences)) <= min(int(columns), 100)
        assert output.rendered(document, "text") == texts.get("100", output.rendered(document, "text"))
    assert len({len(text.splitlines()) for text in texts.values()}) == 3


@pytest.mark.parametrize("format", ["json", "csv", "markdown", "latex"])
def test_no_other_format_is_coloured(folder, terminal, format):
    document = load(folder / "fit.json", "fit")
    assert terminal(document, format) == output.rendered(document, format)


def test_text_that_is_no_terminal_s_is_plain(folder, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    done = typed("fit", LOG, "-o", "-", cwd=folder)
    assert "\x1b" not in done.stdout
    assert done.stdout == output.rendered(load(folder / "fit.json", "fit"), "text")


@pytest.mark.parametrize("command", [["fit", "--no-save"], ["report", "-o", "pages", "--figures", "none"]])
def test_what_is_done_is_shown_on_a_terminal_only(run, tmp_path, command):
    """Elsewhere there are the results, and what is wrong."""
    (tmp_path / "logs").mkdir()
    for seed in range(4):
        (tmp_path / "logs" / f"a_s{seed}.csv").write_bytes(comma(records(True, seed)))
    done = run(*command, "logs", code=0)
    said = done.stderr.splitlines()
    assert not [line for line in said if re.match(r"\[|a_s\d|.*\d/4", line)]
    assert len(said) == {"fit": 0, "report": 5}[command[0]]


def test_a_terminal_shows_the_share_that_is_done(monkeypatch):
    shown = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    with contextlib.redirect_stderr(shown), output.runs_shown("runs") as progress:
        progress(1, 4)
    assert_says(shown.getvalue(), "runs", "25%")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ["config.json"] * 42 + [f"x{i}.csv" for i in range(8)],
            "50 files that …s: config.json (42), x0.csv, x1.csv, x2.csv, x3.csv, +4",
        ),
        (["a/b.csv", "c/b.csv", "d.csv"], "3 files that …s: b.csv (2), d.csv"),
        (["a"], "1 file that …: a"),
    ],
)
def test_skipped_files_are_one_line(capsys, names, said):
    warnings = [f"{name} was not read: no log" for name in names]
    output.say_skipped([*warnings, "steps.parquet is older"], quiet=False)
    line, other = capsys.readouterr().err.splitlines()
    what = "are not training log" if len(names) > 1 else "is not a training log"
    assert line == "Skipped " + said.replace("…", what)
    assert other == "steps.parquet is older"
