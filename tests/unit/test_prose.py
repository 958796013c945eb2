"""Sentences of the pages that state what a command says of a run of the lab: the command says it."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("one_cache")

FIT = "fit entropylaw/demo/{}.csv --no-save"

SENTENCES = (
    (
        "README.md",
        "Here it was about as often as they said.",
        FIT.format("grpo_s0"),
        "(+0.01 or more) 0.61 best so far 0.833 at step 400, the last step",
    ),
    (
        "README.md",
        "Here it was about as often as they said.",
        FIT.format("grpo_s0"),
        "such forecasts 67 % came true",
    ),
    (
        "docs/guide.md",
        "The run above is of the first kind",
        FIT.format("grpo_s1"),
        "fails: another curve of H fits better",
    ),
    (
        "docs/guide.md",
        "This one is of the second kind",
        FIT.format("clip_cov_s0"),
        "fails: reward needs more than entropy",
    ),
    ("docs/guide.md", "# the law's own, although it fails here", FIT.format("grpo_s0"), "fails:"),
    (
        "docs/guide.md",
        "`headroom>0.05` is *not excluded*",
        "check entropylaw/demo/clip_cov_s0.csv --fail-if headroom>0.05",
        "not excluded clip_cov_s0 headroom>0.05",
    ),
)


@pytest.mark.parametrize(("page", "sentence", "command", "expected"), SENTENCES)
def test_a_sentence_is_what_the_command_says(run, page, sentence, command, expected):
    assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert expected in " ".join(run(*command.split(), cwd=ROOT).stdout.split())
