"""Every command that prints a result prints it in every format, and colours its text on a terminal alone."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from xml.etree import ElementTree as ET

import pytest

from entropylaw.cli import output
from entropylaw.documents.loading import load_fit
from entropylaw.options import SUFFIXES
from tests.conftest import LAB
from tests.typed import typed

pytestmark = pytest.mark.usefixtures("one_cache")

LOG = LAB / "clean_start_s0" / "metrics.parquet"
TOKENS = "step,entropy,class\n1,0.5,planning\n1,0.2,execution\n2,0.4,planning\n2,0.1,execution\n"
CALLS = {
    "fit": ("fit", "fit.json"),
    "phases": ("phases", LOG),
    "backtest": ("backtest", LOG),
    "check": ("check", "fit.json", "--fail-if", "ceiling<0.1"),
    "predict": ("predict", "fit.json", "--target-entropy", "0.1"),
    "columns": ("columns", LOG),
    "tokens": ("tokens", "tokens.jsonl"),
}
BEGINS = {"text": re.compile(r"\S"), "markdown": re.compile(r"#+ \S"), "latex": re.compile(r"% needs ")}


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
    if format == "json":
        assert isinstance(json.loads(text), dict)
    elif format == "csv":
        head, *rows = csv.reader(io.StringIO(text))
        assert rows
        assert {len(row) for row in rows} == {len(head)}
    elif format == "junit":
        assert ET.fromstring(text).tag == "testsuites"
    else:
        assert BEGINS[format].match(text)


@pytest.mark.parametrize("format", SUFFIXES)
@pytest.mark.parametrize("command", CALLS)
def test_a_command_prints_every_format(folder, command, format):
    files = ("-o", "-") if command == "fit" else ()
    done = typed(*call(command, "--format", format, *files), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_is(done.stdout, format)


@pytest.mark.parametrize("command", ["fit", "phases", "backtest", "check"])
def test_a_suffix_stands_for_each_format(folder, command):
    names = {format: f"{command}-result{suffix}" for format, suffix in SUFFIXES.items()}
    done = typed(*call(command, *(word for name in names.values() for word in ("-o", name))), cwd=folder)
    assert done.returncode == 0, done.stderr
    for format, name in names.items():
        assert_is((folder / name).read_text(encoding="utf-8"), format)


def test_predict_writes_a_latex_file(folder):
    done = typed(*call("predict", "-o", "predict.tex"), cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert_is((folder / "predict.tex").read_text(encoding="utf-8"), "latex")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def shown(document, format):
        with contextlib.redirect_stdout(Terminal()):
            return output.shown(document, format)

    return shown


def test_text_is_coloured_on_a_terminal(folder, terminal, monkeypatch):
    document = load_fit(folder / "fit.json")
    plain = output.rendered(document, "text")
    coloured = terminal(document, "text")
    title, verdict = coloured.splitlines()[:2]
    assert re.fullmatch(r"\x1b\[1m[^\x1b]+\x1b\[0m", title)
    assert re.match(r"\x1b\[33m  with cautions\x1b\[0m The law fits this run", verdict)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal(document, "text") == plain


@pytest.mark.parametrize("format", sorted(SUFFIXES.keys() - {"text"}))
def test_no_other_format_is_coloured(folder, terminal, format):
    document = load_fit(folder / "fit.json")
    assert terminal(document, format) == output.rendered(document, format)


def test_text_that_is_no_terminal_s_is_plain(folder):
    done = typed("fit", LOG, "-o", "-", cwd=folder)
    assert "\x1b" not in done.stdout
    assert done.stdout == output.rendered(load_fit(folder / "fit.json"), "text")
