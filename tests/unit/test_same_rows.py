"""A log has the same evaluations, columns, ceiling and verdict in every command, or the same refusal.

Nightly every log is tested, else a few that are drawn.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entropylaw
from entropylaw import EntropyLawError, Fit, load
from entropylaw.documents.codec import encode
from entropylaw.documents.document import Entry
from entropylaw.roles.select import phase_series, select
from tests.conftest import LAB, PUBLIC_LOGS, ROOT, drawn, ended
from tests.golden.transcript import surroundings
from tests.laws import fit_arrays

pytestmark = pytest.mark.usefixtures("one_cache", "undrawn")

DRAWN = 5
"""Public logs that are tested, if not all."""

DIGITS = 6
"""Decimals of a ceiling that a stored posterior keeps."""

GATES = ("now<0.5", "n<3", "verdict=='holds'", "refused")


def public_logs() -> list[Path]:
    files = sorted(path for path in PUBLIC_LOGS.glob("*/*") if path.is_file())
    # Its evaluation before training has a column of its own.
    return sorted({*drawn(files, DRAWN), *PUBLIC_LOGS.glob("*/gemma*")})


LOGS = [
    # Few kinds, and two runs.
    *drawn((ROOT / "data" / "formats").glob("*/*"), 3),
    *(LAB / name / "metrics.parquet" for name in ("grpo_s0", "width_96_s0")),
    *public_logs(),
]

Facts = tuple[Any, ...]


def columns_of(entry: Entry) -> Facts:
    """The columns of a run, and how they are paired."""
    return entry.columns, entry.dropped


def rounded(value: float | None) -> float | None:
    """A level, unknown of a run with too few evaluations."""
    return None if value is None else round(value, DIGITS)


def answer_of(fit: Fit | None, slug: str) -> Facts:
    """The number of evaluations, the level now and the word about the law; or why there are none."""
    if fit is None:
        return (slug,)
    now = None if fit.state is None else rounded(fit.state.now.value)
    return fit.n_rewards, now, fit.verdict


def of_entry(entry: Entry) -> Facts:
    return answer_of(entry.result, entry.refusal.slug if entry.refusal else "")


def in_python(log: Path) -> Iterator[Facts]:
    """The answers of Python's functions; of a log that cannot be read its error."""
    try:
        runs = entropylaw.read_runs(log)
    except EntropyLawError as error:
        yield (error.slug,)
        return
    for run in runs:
        try:
            fit = entropylaw.fit(run)
        except EntropyLawError as error:
            yield answer_of(None, error.slug)
        else:
            yield from (answer_of(of_reward, "") for of_reward in fit.rewards.values())


def expected_in_python(entries: Sequence[Entry]) -> Iterator[Facts]:
    """The answers for the rewards that can be fitted; of a run whose first one cannot be its refusal."""
    for _, rewards in groupby(entries, key=lambda entry: entry.run):
        first, *others = rewards
        yield of_entry(first)
        if first.result is not None:
            yield from (of_entry(entry) for entry in others if entry.result is not None)


def of_cases(cases: Sequence[Mapping[str, Any]]) -> Iterator[Facts]:
    """What the gates of a check compared, run by run; empty for a refused one."""
    for start in range(0, len(cases), len(GATES)):
        now, n, verdict, refused = cases[start : start + len(GATES)]
        # A gate on the verdict is unknown without a law.
        known = n["value"], rounded(now["value"]), verdict["word"] or "none"
        yield () if refused["failed"] else known


def compared_by_gates(fit: Fit | None, answer: Facts) -> Facts:
    """The same of an answer: nothing of a refused run."""
    return () if fit is None else answer


def of_arm(log: Path) -> list[Facts]:
    """The runs of an arm beside another one, which has a fit of its own; empty for a refused one."""
    entropy = np.linspace(1.0, 0.1, 20)
    other = fit_arrays(entropy, 0.5 - 0.1 * np.exp(entropy), name="other")
    arms = entropylaw.compare({"log": str(log), "other": other}).arms
    return [(run.n, rounded(run.values["ceiling"])) if run.n else () for run in arms[0].runs]


def stdout(*arguments: str) -> str:
    return str(ended(arguments, None).stdout)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_command_has_the_same_rows(log: Path, tmp_path: Path) -> None:
    with surroundings(tmp_path):
        Path("fit.json").write_text(stdout("fit", str(log), "--format", "json"), "utf-8")
        entries = load("fit.json", "fit").runs
        answers, fitted = [*map(of_entry, entries)], [entry.result is not None for entry in entries]
        assert [*in_python(log)] == [*expected_in_python(entries)]

        stdout("report", str(log), "-o", "pages", "--figures", "none", "--jobs", "1")
        written = [run for path in Path("pages/runs").glob("*.json") for run in load(path, "report").reports]
        pages = {page.fit.name: page for page in written}
        fits = [pages[entry.name].fit for entry in entries]
        assert [*map(of_entry, fits)] == answers
        assert [*map(columns_of, fits)] == [*map(columns_of, entries)]

        gates = [word for gate in GATES for word in ("--fail-if", gate)]
        checked = json.loads(stdout("check", str(log), *gates, "--even-if-fails", "--format", "json"))
        assert [*of_cases(checked["cases"])] == [
            compared_by_gates(entry.result, answer) for entry, answer in zip(entries, answers, strict=True)
        ]

        in_report = {run: encode(page.phases) for run, page in pages.items() if page.phases is not None}
        Path("phases.json").write_text(stdout("phases", str(log), "--format", "json"), "utf-8")
        phases = {run.run: encode(run) for run in load("phases.json", "phases").runs}
        assert in_report == {run: phases[run] for run in in_report}

        if not any(fitted):
            return
        laws = [entry.result.law if entry.result else None for entry in entries]
        if len({entry.columns["reward"] for entry in entries if entry.result}) == 1 and None not in laws:
            assert of_arm(log) == [(law.n, rounded(law.ceiling.value)) for law in laws if law]
        if not any(laws):
            # Without a law there is no reward at an entropy.
            return
        predicted = json.loads(stdout("predict", "fit.json", "--target-entropy", "0", "--format", "json"))
        known = [answer for answer, has in zip(answers, fitted, strict=True) if has]
        for run, (_, now, verdict) in zip(predicted["runs"], known, strict=True):
            result = run["result"]
            assert result["verdict"] == verdict
            assert result["state"] is None or rounded(result["state"]["now"]["value"]) == now


def series_of(log: Path) -> Iterator[Any]:
    """What the law and the phases use of every run, or why they have nothing."""
    for run, choose in product(entropylaw.read_runs(log), (select, phase_series)):
        try:
            series = choose(run)
        except EntropyLawError as error:
            yield run.name, error.slug
        else:
            arrays = {
                key: value.tolist() for key, value in asdict(series).items() if hasattr(value, "tolist")
            }
            yield run.name, arrays, series.dropped, series.findings


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_large_file_is_read_with_every_column_that_is_used(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        whole = list(series_of(log))
    except EntropyLawError:
        pytest.skip("the log cannot be read")
    monkeypatch.setattr("entropylaw.logs.sources.content._LARGE", 0)
    np.testing.assert_equal(list(series_of(log)), whole)
