"""What an error says to type next is right for what was typed, and works."""

import re
import shlex
from pathlib import Path

import pytest

from entropylaw import InputError, read_runs
from tests.typed import assert_error, assert_says, typed, write_csv

pytestmark = pytest.mark.usefixtures("undrawn")

OWN = "it,policy/entropy,val/pass@1"
FLAGS = ("--step", "it", "--entropy", "policy/entropy", "--reward", "val/pass@1")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write_csv(tmp_path / "mine.csv", header=OWN)
    return tmp_path


def hint(folder: Path, slug: str, *arguments: str, code: int = 2) -> str:
    """The second line of an error."""
    done = assert_error(typed(*arguments, cwd=folder), slug, code)
    (line,) = re.findall(rf"error\[{slug}\]: .+\n  (.+)", done.stderr)
    return str(line)


def test_a_report_that_is_one_page_says_so(tmp_path: Path) -> None:
    write_csv(tmp_path / "log.csv", n=3)
    done = typed("report", "log.csv", "-o", "l.html", cwd=tmp_path, code=4)
    assert "nothing was fitted: l.html was not written" in done.stderr


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("out.xlsx", "type -o out.csv"),
        ("a b.docx", "type -o 'a b.txt'"),
        ("out", "type -o out.txt"),
        ("out.html", "type `entropylaw report LOG -o out.html`"),
        ("out.xml", "type `entropylaw check LOG --junit out.xml`"),
    ],
)
def test_a_suffix_that_is_not_written(log: Path, path: str, expected: str) -> None:
    for format in ("text", "latex"):
        said = hint(log, "unknown-suffix", "fit", "mine.csv", "--format", format, "-o", path)
        assert said == f"the suffix decides the format; {expected}"
    if expected.startswith("type -o"):
        assert typed("fit", "mine.csv", *FLAGS, *shlex.split(expected)[1:], cwd=log).returncode == 0


def test_a_wrong_setting_names_the_command_that_lists_them(log: Path) -> None:
    for text, slug in (("gaain = 3", "unknown-setting"), ("gain = 'x'", "bad-setting")):
        (log / "entropylaw.toml").write_text(text)
        (command,) = re.findall("`entropylaw (.*?)`", hint(log, slug, "fit", "mine.csv"))
        assert "gain" in typed(*command.split(), cwd=log, code=0).stdout


def test_a_log_in_place_of_a_command(log: Path) -> None:
    said = hint(log, "no-command", "mine.csv", *FLAGS)
    command = shlex.split(said.removeprefix("type: entropylaw "))
    assert command == ["fit", "mine.csv", *FLAGS]
    assert typed(*command, cwd=log).returncode == 0
    assert hint(log, "no-command", "reports/mine.fit.json").startswith("type: entropylaw report ")
    assert hint(log, "no-command", "reports") == "type: entropylaw fit reports"
    assert "No such command 'nope.csv'" in typed("nope.csv", cwd=log).stderr


def test_the_step_named_for_another_role(log: Path) -> None:
    flags = ("--step", "it", "--entropy", "policy/entropy")
    done = assert_error(typed("fit", "mine.csv", *flags, "--reward", "it", cwd=log), "same-column", 2)
    assert_says(
        done.stderr,
        "'it', which --reward names, is the step of run 'mine' already",
        "those with numbers are 'policy/entropy', 'val/pass@1'",
    )


def test_columns_are_counted_alike(tmp_path: Path) -> None:
    cells = (f"{i},{1 / (i + 1)},{i / 9},word,a" for i in range(9))
    (tmp_path / "x.csv").write_text("\n".join(["it,ent,x,note,run", *cells]) + "\n")
    zork = ("--entropy", "zork")
    for flags in ((), ("--step", "it", *zork), ("--step", "zork"), ("--step", "row", *zork)):
        assert "its 5 columns" in typed("fit", "x.csv", *flags, "--reward", "zork", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("target", "slug", "works"),
    [
        ("mine.csv", "output-is-input", None),
        ("other.csv", "not-a-folder", "other-report"),
        ("other", "not-a-folder", "other-report"),
        ("x.pdf", "unknown-suffix", "x"),
        ("x.csv", "unknown-suffix", "x"),
        ("x.xlsx", "unknown-suffix", "x"),
    ],
)
def test_a_report_into_a_file_of_another_kind(log: Path, target: str, slug: str, works: str | None) -> None:
    for name in ("other.csv", "other"):
        (log / name).write_text("kept")
    said = hint(log, slug, "report", "mine.csv", *FLAGS, "-o", target)
    assert (log / "other.csv").read_text() == "kept"
    if works is not None:
        assert f"-o {works} for a folder" in said
        for place in re.findall(r"-o (\S+) for", said):
            typed("report", "mine.csv", *FLAGS, "--figures", "none", "-o", place, cwd=log, code=0)


def test_a_folder_may_have_a_dot_in_its_name(log: Path) -> None:
    (log / "x.pdf").mkdir()
    for folder in ("v1.2", "x.pdf"):
        assert typed("report", "mine.csv", *FLAGS, "-o", folder, cwd=log).returncode == 0


def test_numbers_have_placeholders_and_examples_that_fit(log: Path) -> None:
    text = typed("fit", "--help").stdout
    assert_says(text, "--from-step STEP", "--max-reward X")
    assert hint(log, "bad-option", "fit", "mine.csv", "--max-reward", "x").startswith("give --max-reward 1;")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nope.csv", "files in this folder that may be logs: 'a.jsonl', 'b.csv', 'mine.csv' and 1 more"),
        ("mien.csv", "did you mean 'mine.csv'?"),
        ("mine.cvs", "did you mean 'mine.csv'?"),
        ("mine", "did you mean 'mine.csv'?"),
    ],
)
def test_near_names_of_a_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: str
) -> None:
    for other in ("mine.csv", "b.csv", "a.jsonl", "z.parquet", "notes.docx", ".hidden.csv"):
        (tmp_path / other).write_text("x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        read_runs(name)
    assert caught.value.hint == expected
