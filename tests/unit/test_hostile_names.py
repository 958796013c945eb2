"""A name from a log is text in every medium, and safe as the name of a file."""

import csv
import io
import re
import shutil
import subprocess
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import entropylaw
from entropylaw.escaping import in_shell, one_line, safe_name
from entropylaw.report.pages import single_page
from entropylaw.report.render import rendered
from entropylaw.results.result import replace
from tests import arms
from tests.findings import stated
from tests.gate_documents import cases, checked, fitted
from tests.gate_documents import document as fit_document
from tests.made import report_runs
from tests.pages import Page
from tests.unit import test_phase_report as phases
from tests.unit.test_report_samples import HOSTILE, document, refused, synthetic

NAME = f"{HOSTILE}=1\x1b[31m\x07\x00\r\u2028\u202e50%_&{{x}}#1\\input{{etc}}~^"
"""Of markup, of a terminal, of LaTeX; of a path, and of a spreadsheet where it begins with a sign."""


def forecast() -> entropylaw.Forecast:
    law = synthetic().result.law
    assert law is not None
    return entropylaw.forecast(law.step, law.entropy, law.reward, at_step=[400.0, 450.0], run=NAME)


@cache
def results() -> dict[str, Any]:
    """A result of every kind whose names are hostile."""
    run = replace(synthetic(), run=NAME)
    fits = document(run, refused(f"={NAME}"), warnings=(NAME,))
    columns = phases.COLUMNS | {"planning": phases.column(f"={NAME}")}
    several = replace(phases.ordered(), run=NAME, notes=(NAME,), columns=columns)
    alone = replace(several.result, run=NAME, findings=stated("caution", f"caution about {HOSTILE}"))
    gates = cases([fit_document(fitted(NAME), fitted("b"))], "ceiling<0.8", "n>3")
    return {
        "fit": replace(run.result, run=NAME),
        "fits": fits,
        "report": report_runs(fits),
        "forecast": forecast(),
        "phases": phases.document(several),
        "phases of a run": alone,
        "check": checked(gates),
        "comparison": arms.complete(NAME),
        "many arms": arms.complete(NAME, "caution", "a", "b"),
    }


KINDS = (
    *("fit", "fits", "report", "forecast", "phases", "phases of a run"),
    *("check", "comparison", "many arms"),
)


@pytest.mark.parametrize("medium", ["text", "details", "markdown", "csv", "latex"])
@pytest.mark.parametrize("kind", KINDS)
def test_names_are_text(kind: str, medium: str) -> None:
    if kind == "check" and medium in ("csv", "latex"):
        pytest.skip("a check has no table")
    text = rendered(results()[kind], medium)
    # A single result is a table without its name.
    assert "etc" in text or medium == "csv"
    assert all(letter.isprintable() for line in text.splitlines() for letter in line)
    assert not any(line.startswith("# $x$") for line in text.splitlines())
    {"markdown": is_markdown, "csv": is_table, "latex": is_latex}.get(medium, str)(text)


def is_markdown(text: str) -> None:
    assert not re.search(r"<(script|b)\b", text)
    assert not re.search(r"(?<!\\)\]\(http", text)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def is_table(text: str) -> None:
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if re.match(r"[=@+]|-(?!\d|inf)", cell)]


def is_latex(text: str) -> None:
    cells = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    commands = {"begin", "end", "toprule", "midrule", "bottomrule"}
    escapes = {"textbackslash", "textasciitilde", "textasciicircum"}
    assert set(re.findall(r"\\([A-Za-z]+)", cells)) <= commands | escapes
    assert not re.search(r"(?<!\\)[%#$_]", cells)


def test_names_are_text_in_junit() -> None:
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", rendered(results()["check"], "junit"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("report", "phases", "check")])
def test_names_are_text_in_a_notebook_and_on_a_page(kind: str) -> None:
    result = results()[kind]
    pages = [single_page(result)] if kind in ("comparison", "many arms") else []
    for text in (result._repr_html_(), *pages):
        page = Page(text)
        assert not page.open
        assert not {"script", "img", "iframe"} & set(page.tags)
        assert not [key for key, _ in page.attributes if key.startswith("on")]
        assert one_line(HOSTILE) in page.text
        assert len(page.ids) == len(set(page.ids))
        assert set(page.references) <= set(page.ids)
        outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
        assert not re.search(r"https?://(?!c\.example)", outside)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("grpo_s0", "grpo_s0"),
        ("entbonus_0.05", "entbonus_0.05"),
        ("../../etc/passwd", "etc-passwd"),
        ('a\\b:c*d?"<>|\n', "a-b-c-d"),
        ("..", "run"),
        ("", "run"),
        ("日本", "run"),
        ("café", "cafe"),
        (".hidden", "hidden"),
        ("CON", "run-CON"),
        ("nul.txt", "run-nul.txt"),
        ("ends.", "ends"),
        ("a..b", "a.b"),
        ("x" * 300, "x" * 80),
    ],
)
def test_safe_name(name: str, expected: str) -> None:
    assert safe_name(name, set()) == expected


def test_names_stay_apart_on_systems_that_fold_case() -> None:
    taken: set[str] = set()
    names = [safe_name(name, taken) for name in ("run", "Run", "日本", "run-2", "x" * 90, "x" * 91)]
    assert len({name.casefold() for name in names}) == len(names)


@given(st.lists(st.text(), max_size=8))
def test_any_name_is_safe_and_unique(names: list[str]) -> None:
    taken: set[str] = set()
    made = [safe_name(name, taken) for name in names]
    assert len({name.casefold() for name in made}) == len(names)
    for name in made:
        assert name
        assert len(name) <= 100
        assert not name.startswith(".")
        assert ".." not in name
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("name", ["plain", "a b", "it's", "a\r\nb'c\\d", "\x1b[2J\x07日本\x85\u2028", ""])
def test_a_name_that_is_typed_is_that_name(name: str) -> None:
    word = in_shell(name)
    assert word.isprintable()
    done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode() == name
