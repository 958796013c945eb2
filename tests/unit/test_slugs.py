"""Names for files and anchors: safe on any system, and all different."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw.escaping import in_shell, safe_name


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
