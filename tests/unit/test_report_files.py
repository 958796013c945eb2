"""The folder: safe names, whole files, and the same bytes every time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw.documents.fit import load_fit
from entropylaw.errors import OutputError
from entropylaw.report.files import render_report, safe_name, write_report
from tests.unit.test_report_samples import HOSTILE, document, falling, refused, synthetic


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


def test_files_of_a_report(tmp_path: Path) -> None:
    paths = write_report(document(synthetic(), refused()), tmp_path / "reports")
    names = [path.relative_to(tmp_path / "reports").as_posix() for path in paths]
    figures = [
        f"figures/sample-{name}.{kind}" for name in ("law", "series", "residuals") for kind in ("svg", "png")
    ]
    assert names == [*figures, "index.html", "report.md", "report.json", "report.csv"]
    assert all(path.stat().st_size > 0 for path in paths)
    assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == sorted(paths)


def test_hostile_name_stays_in_the_folder(tmp_path: Path) -> None:
    paths = write_report(document(replace(synthetic(), run=HOSTILE)), tmp_path / "reports")
    assert all(path.resolve().is_relative_to((tmp_path / "reports").resolve()) for path in paths)


def test_a_stored_document_gives_the_same_bytes(tmp_path: Path) -> None:
    fresh = document(synthetic(), falling(), refused())
    files = render_report(fresh)
    stored = tmp_path / "x.fit.json"
    stored.write_text(str(files["report.json"]), encoding="utf-8")
    assert render_report(load_fit(stored)) == files


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(OutputError) as caught:
        write_report(document(refused()), tmp_path / "taken")
    assert caught.value.slug == "cannot-write"
    assert (tmp_path / "taken").read_text() == "a file"


SCRIPT = """
import hashlib, sys
sys.path.insert(0, {here!r})
from tests.unit.test_report_samples import document, falling, refused, synthetic
from entropylaw.report.files import render_report
digest = hashlib.sha256()
for name, content in render_report(document(synthetic(), falling(), refused())).items():
    digest.update(name.encode() + (content if isinstance(content, bytes) else content.encode()))
print(digest.hexdigest())
"""


def test_two_processes_give_the_same_bytes(tmp_path: Path) -> None:
    here = Path(__file__).parent
    digests = set()
    for seed, folder in (("1", tmp_path), ("2", here)):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(here.parents[1]),
            "TZ": f"UTC-{seed}",
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(here=str(here.parents[1]))],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1
    assert len(digests.pop().strip()) == hashlib.sha256().digest_size * 2


def test_texts_come_without_matplotlib() -> None:
    code = (
        "import sys; from entropylaw.report import csvtable, html, markdown, words, files; "
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
