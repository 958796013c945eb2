"""Sentences of the pages that state what a command says of a run of the lab: the command says it."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("one_cache")

FIT = "fit data/lab/{}/metrics.parquet --no-save"

SENTENCES = (
    ("README.md", "Where the law fails", FIT.format("grpo_s0"), "FAILS"),
    (
        "docs/guide.md",
        "has a run of the first kind",
        FIT.format("grpo_s0"),
        "FAILS: a power of H fits far better",
    ),
    (
        "docs/guide.md",
        "This one is of the second kind",
        FIT.format("clean_start_s1"),
        "FAILS: reward needs more",
    ),
    ("docs/guide.md", "# the law's own, although it fails here", FIT.format("grpo_s0"), "FAILS"),
    (
        "docs/guide.md",
        "`headroom>0.05` is *not excluded*",
        "check data/lab/clean_start_s1/metrics.parquet --fail-if headroom>0.05",
        "not excluded clean_start_s1 headroom>0.05",
    ),
)


@pytest.mark.parametrize(("page", "sentence", "command", "expected"), SENTENCES)
def test_a_sentence_is_what_the_command_says(run, page, sentence, command, expected):
    assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert expected in " ".join(run(*command.split(), cwd=ROOT).stdout.split())
