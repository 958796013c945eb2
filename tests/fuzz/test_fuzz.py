"""Damaged and hostile copies of every format end in runs, or in an error that says what is wrong.

``ENTROPYLAW_FUZZ`` sets the number of damaged copies, ``ENTROPYLAW_FUZZ_SETS`` that of sets of inputs.
Each failure names its case; this runs it again::

    python -m tests.fuzz.worker flip/verl/17
"""

import os
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entropylaw.logs.load import read_all
from entropylaw.logs.sources.bundles import BUNDLES
from entropylaw.logs.sources.registry import format_names
from entropylaw.pipeline.pool import results
from entropylaw.roles.select import select
from tests.conftest import drawn
from tests.fuzz import worker
from tests.fuzz.corpus import is_text, samples
from tests.fuzz.damage import SPICE, cases
from tests.fuzz.hostile_files import hostile
from tests.fuzz.sets import failures

CASES = int(os.environ.get("ENTROPYLAW_FUZZ", "200"))
SETS = int(os.environ.get("ENTROPYLAW_FUZZ_SETS", "32"))
#: A hang ends the process of its case, which is never this one.
WORKERS = max(2, min(os.cpu_count() or 1, 8))
#: No more cases are read after so many failures.
ENOUGH = 20
KNOWN = {*format_names(), *(reader.name for reader in BUNDLES)}


def test_every_format_has_a_sample():
    assert {sample.format for sample in samples().values()} >= KNOWN


def test_a_whole_sample_is_read_as_its_format(tmp_path):
    for name, sample in samples().items():
        folder = tmp_path / name
        for path, data in sample.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        reading = read_all([folder if len(sample.files) > 1 else folder / sample.damaged])
        assert not reading.failures, name
        assert reading.runs, name
        for run in reading.runs:
            assert run.source.format == sample.format, name
            assert len(run.step) >= 12, name
            if sample.whole:
                assert len(select(run).step) >= 5, name


def _hostile() -> list[str]:
    """All of them nightly, or where the number of damaged copies is set."""
    names = hostile() if "ENTROPYLAW_FUZZ" in os.environ else drawn(hostile(), 24)
    return [f"hostile/{name}/0" for name in names]


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    """What went wrong in all cases of damaged and hostile files, in the same processes."""
    wrong: dict[str, str] = {}
    chosen = [*_hostile(), *cases(CASES)]
    for case, outcome in results(worker.outcome, chosen, jobs=WORKERS, died=worker.died):
        if outcome:
            wrong[case] = outcome
        if len(wrong) >= ENOUGH:
            break
    return wrong


def _check(found: dict[str, str], chosen: list[str]) -> None:
    wrong = {case: outcome for case, outcome in found.items() if case in set(chosen)}
    summary = "\n".join(f"{case}: {outcome.strip().splitlines()[-1]}" for case, outcome in wrong.items())
    first = next(iter(wrong.values()), "")
    assert not wrong, f"{len(wrong)} of {len(chosen)} cases:\n{summary}\n\nthe first one:\n{first}"


def test_damaged_logs_end_in_runs_or_in_errors(found):
    chosen = cases(CASES)
    assert len(set(chosen)) == CASES
    _check(found, chosen)


def test_hostile_files_end_in_runs_or_in_errors(found):
    """None takes long, or memory that its size does not explain."""
    _check(found, _hostile())


@pytest.mark.parametrize("part", range(8))
def test_no_gate_passes_on_a_set_that_hides_a_run(part):
    """Folders, files of several runs, documents beside logs; the sets without such a run pass."""
    numbers = range(part * SETS // 8, (part + 1) * SETS // 8)
    assert numbers
    assert not list(failures(numbers))


def _tokens():
    """What several samples that are text have in common, lines of them, and what readers stumble over."""
    texts = [sample.data.decode()[:3000] for sample in samples().values() if is_text(sample)]
    pieces = Counter(part for text in texts for part in {*re.split(r"( - | \| |[\s,:{}\[\]│|'\"])", text)})
    lines = {line for text in texts for line in text.splitlines()[:5] if len(line) < 400}
    spice = [part.decode() for part in SPICE if len(part) < 500 and part.isascii()]
    more = ("\x85", "\u2028", "\ufeff", "12/438", "2.28%", "global_step", "seed", "metrics_tag: {")
    return [*sorted(part for part, n in pieces.items() if part and n > 1), *sorted(lines), *spice, *more]


LINE = st.lists(st.deferred(lambda: st.sampled_from(_tokens())), max_size=8).map("".join)
TEXT = st.lists(st.one_of(LINE, LINE, LINE.map(lambda line: f"{line}\n{line}")), max_size=30)
NAMES = ("x.log", "x.csv", "x.jsonl", "x.json", "x.ipynb", "trainer_state.json", "run-a-tag-b.csv", "x")


@settings(
    max_examples=max(8, CASES // 10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
@given(lines=TEXT, end=st.sampled_from(("\n", "\r\n", "\r")), name=st.sampled_from(NAMES))
def test_lines_made_of_what_trainers_print(lines, end, name):
    worker.check_files([(name, end.join(lines).encode())])
