"""The answer of one screen: few lines, that fit, in a fixed order."""

import re

import pytest

from entropylaw.documents.document import FitDocument
from entropylaw.escaping import COLUMNS
from entropylaw.report.render import rendered
from entropylaw.report.words import headline
from entropylaw.results.fit import Fit
from tests.conftest import ROOT
from tests.unit.test_lost_reward import entry as lost
from tests.unit.test_report_samples import document, falling, synthetic

pytestmark = pytest.mark.usefixtures("one_cache")

LAB = ROOT / "data/lab"


@pytest.fixture
def columns(request: pytest.FixtureRequest):
    """The width of a terminal."""
    token = COLUMNS.set(request.param)
    yield request.param
    COLUMNS.reset(token)


@pytest.mark.parametrize("result", [synthetic().result, falling().result, lost().result])
def test_the_verdict_is_a_word_and_at_most_eight_more(result: Fit) -> None:
    assert len(headline(result).split()) <= 8


def many() -> FitDocument:
    """Thirty runs, one of which lost its reward."""
    return document(*(synthetic(f"a-name-of-a-run-with-many-letters-{i}") for i in range(29)), lost())


@pytest.mark.parametrize("columns", [60, 80, 100], indirect=True)
def test_a_table_of_runs_is_no_wider_than_the_terminal(columns: int) -> None:
    lines = rendered(many(), "text").rstrip().split("\n")
    assert max(map(len, lines)) <= columns
    assert "1 run lost more than half of the reward:" in lines[0]
    assert "29 runs did not:" in [line.strip() for line in lines]
    assert "The law holds in" in " ".join(lines[-3:])


def test_a_wider_terminal_has_more_columns() -> None:
    heads = []
    for width in (60, 80, 200):
        token = COLUMNS.set(width)
        heads.append(rendered(many(), "text"))
        COLUMNS.reset(token)
    numbers = [len(re.findall(r"best|ceiling|entropy law|left on|P\(left\)|R²", text)) for text in heads]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]
