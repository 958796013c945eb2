"""Every command prints and writes what its golden transcript says, and documents that follow their schema."""

import json

import jsonschema
import pytest

from entropylaw.documents.codec import decode, dumps
from entropylaw.documents.kinds import KINDS
from tests.conftest import ROOT
from tests.golden.kept import FOLDER, NAMES, kept, played, stale
from tests.golden.shape import kept_json
from tests.golden.transcript import difference

SCHEMAS = {kind.schema: kind for kind in KINDS.values()}

LARGEST = 700_000
"""Bytes of all transcripts: they are in every clone, and somebody reads their differences."""


@pytest.mark.usefixtures("one_cache")
@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str) -> None:
    assert kept(name).exists(), f"no transcript is kept; write it by: python -m tests.golden {name}"
    documents: set[str] = set()
    differing = difference(kept(name).name, kept(name).read_text("utf-8"), played(name, documents))
    if differing:
        pytest.fail(f"{differing}\n\nwrite it anew by: python -m tests.golden {name}", pytrace=False)
    for text in documents:
        follows_its_schema(text)


def follows_its_schema(text: str) -> None:
    """A document is valid, and the same bytes where it is read and written again."""
    body = json.loads(text)
    if kind := SCHEMAS.get(body.get("schema")):
        schema = json.loads((ROOT / "docs" / "schemas" / f"{kind.name}.json").read_text("utf-8"))
        jsonschema.Draft202012Validator(schema).validate(body)
        assert dumps(decode(kind.type, body).to_json()) == text


def test_every_transcript_has_a_case_and_all_are_small() -> None:
    assert stale() == []
    assert sum(path.stat().st_size for path in FOLDER.glob("*.txt")) < LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_no_bug_is_kept(name: str) -> None:
    assert "error[bug]" not in kept(name).read_text("utf-8")


def test_a_difference_is_shown_where_more_than_the_last_decimals_differ() -> None:
    old = "ceiling 0.52549290780562973\nsecond line\n"
    assert difference("a", old, old.replace("2973", "2977")) == ""
    assert "-ceiling 0.525492908" in difference("a", old, old.replace("0.5254", "0.5255"))
    assert "+third line" in difference("a", old, old.replace("second", "third"))
    assert difference("a", "", "line\n" * 500).endswith("… 443 more lines")


BODY = {"runs": [{"run": f"seed {i}", "n": 40, "ceiling": 0.5 + i / 7, "note": None} for i in range(9)]}


def _kept(**changed: object) -> str:
    runs = [*BODY["runs"][:-1], BODY["runs"][-1] | changed]
    return kept_json(json.dumps({"runs": runs}, indent=1))


@pytest.mark.parametrize(
    "changed",
    [{"ceiling": 1.6428}, {"ceiling": 0.5}, {"n": 41}, {"run": "seed 9"}, {"note": "late"}, {"more": 1}],
)
def test_what_is_kept_of_json_changes_with_any_value(changed) -> None:
    assert difference("a", _kept(), _kept(**changed))


def test_what_is_kept_of_json_is_short_and_does_not_change_with_the_last_decimals() -> None:
    assert _kept().splitlines()[:2] == [
        "JSON of this shape:",
        "{runs: 9 × {text: run; integer: n; number: ceiling; null: note}}",
    ]
    assert "runs[8].ceiling" not in _kept()
    assert difference("a", _kept(), _kept(ceiling=(0.5 + 8 / 7) * (1 + 1e-11))) == ""
    assert kept_json('{"code": "too-short"}') is None
