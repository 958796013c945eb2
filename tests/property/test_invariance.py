"""What should not matter does not: rows in another order, twice, or in two files; units and origins.

Resumes and restarts are in ``test_values.py``.
"""

import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from entropylaw import fit_logs, forecast, read_runs
from entropylaw.documents.codec import encode
from entropylaw.pipeline import answers
from entropylaw.results.result import replace
from tests.conftest import few
from tests.laws import fit_arrays

SEEDS = st.integers(0, 1000)
FEW = st.integers(0, 3)
"""Seeds where the reading is tested, and not the numbers: any four runs will do."""

SHIFTS = st.floats(-10, 10)
SCALES = st.floats(1e-3, 1e3)
UNITS = st.floats(1e-3, 1e4)
ORIGINS = st.integers(-1000, 1000)
FORMATS = st.sampled_from(["csv", "jsonl", "parquet"])
NUMBERS = ("a", "b", "ceiling")


@pytest.fixture(scope="module")
def fitted_once():
    """The same numbers and options are fitted once: what reads them again as others is fitted anew."""
    fit, known = answers.fit_evaluations, {}

    def remembered(*values, **options):
        key = pickle.dumps((values, options))
        if key not in known:
            known[key] = fit(*values, **options)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "fit_evaluations", remembered)
        yield


def a_run(seed=0, n=26, jump=0.0):
    """Step, entropy and reward; the law holds, steps are uneven, and the reward may jump in the middle."""
    rng = np.random.default_rng(seed)
    step = np.cumsum(rng.integers(1, 9, n)).astype(float)
    entropy = 0.1 + 0.9 * np.exp(-3 * np.arange(n) / n) + 0.002 * rng.standard_normal(n)
    reward = 0.5 - 0.2 * np.expm1(entropy) + 0.01 * rng.standard_normal(n)
    reward[n // 2 :] += jump
    return step, entropy, reward


def records_of(step, entropy, reward):
    """One record an evaluation, as a trainer writes them."""
    return [
        {"step": int(s), "entropy": float(h), "val_acc": float(r)}
        for s, h, r in zip(step, entropy, reward, strict=True)
    ]


def write(path, records):
    """Write records as the suffix says; returns the path."""
    columns = list(records[0])
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    else:
        rows = [",".join(repr(record[name]) for name in columns) for record in records]
        path.write_text("\n".join([",".join(columns), *rows]) + "\n", encoding="utf-8")
    return path


def fitted(*paths):
    """The runs of a fit document, without the names of the files."""
    runs = [encode(run) for run in fit_logs(paths).runs]
    for run in runs:
        assert run["refusal"] is None
        for key in ("path", "notes"):
            del run[key]
    return runs


def assert_close(one, other, width):
    """Value and ends of two estimates, to a millionth of the interval's width."""
    for end in ("value", "low", "high"):
        left, right = getattr(one, end), getattr(other, end)
        assert (left is None) == (right is None), end
        if left is not None:
            assert abs(left - right) <= 1e-6 * width, (end, left, right)


def assert_moved(before, after, scale=1.0, shift=0.0):
    """Whether one estimate is the other one in other units."""
    ends = ("value", "low", "high")
    numbers = {end: getattr(before, end) for end in ends}
    moved = {end: None if number is None else shift + scale * number for end, number in numbers.items()}
    width = after.value if None in (after.low, after.high) else after.high - after.low
    assert_close(replace(before, **moved), after, max(width, 1e-6 * abs(scale)))


# Rows, columns and files


def halves_of(records, rng):
    """Entropy and score of a step on records of their own, as many trainers write them, in any order."""
    halves = [{"step": r["step"], name: r[name]} for r in records for name in ("entropy", "val_acc")]
    return [halves[i] for i in rng.permutation(len(halves))]


REARRANGED = {
    "rows in another order": lambda records, rng: [records[i] for i in rng.permutation(26)],
    "columns in another order": lambda records, rng: [
        {name: record[name] for name in rng.permutation(list(record))} for record in records
    ],
    "rows repeated in place": lambda records, rng: [
        record for record in records for _ in range(rng.integers(1, 4))
    ],
    # The first record repeated at the end would be a restart.
    "rows repeated at the end": lambda records, rng: [
        *records,
        *(records[i] for i in rng.integers(1, 26, rng.integers(1, 27))),
    ],
    "rows repeated anywhere": lambda records, rng: [
        records[i] for i in rng.permutation([*range(26), *rng.integers(1, 26, rng.integers(1, 27))])
    ],
    "records of training and evaluation": halves_of,
}


@pytest.mark.usefixtures("fitted_once")
@pytest.mark.parametrize("change", REARRANGED)
@few
@given(seed=FEW, order=SEEDS, suffix=FORMATS)
def test_the_arrangement_of_a_log_does_not_matter(change, seed, order, suffix):
    records = records_of(*a_run(seed))
    changed = REARRANGED[change](records, np.random.default_rng(order))
    suffix = "jsonl" if change.startswith("records") else suffix
    with tempfile.TemporaryDirectory() as folder:
        plain = fitted(write(Path(folder) / f"one.{suffix}", records))
        path = write(Path(folder) / f"one.{suffix}", changed)
        assert fitted(path) == plain
        if change == "rows in another order":
            (run,) = read_runs(path)
            assert run.dropped == {}
            assert any("not in the order of their steps; sorted" in note for note in run.notes)


@given(moves=st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=5))
def test_a_few_records_out_of_order_are_counted(moves):
    """They read as resumes and restarts; then what they replace is counted."""
    order = list(range(26))
    for source, target in moves:
        order.insert(target, order.pop(source))
    step, entropy, reward = (column[order] for column in a_run())
    runs = read_runs({"step": step, "entropy": entropy, "val_acc": reward})
    assert sum(run.step.size + sum(run.dropped.values()) for run in runs) == 26
    if len(runs) > 1 or runs[0].dropped:
        assert all(any("steps fall from" in note for note in run.notes) for run in runs)


@pytest.mark.usefixtures("fitted_once")
@given(seed=FEW, cut=st.integers(1, 25), suffix=FORMATS)
def test_two_halves_are_the_whole(seed, cut, suffix):
    """As ``cat`` joins them (the second head of a CSV is no record), or as two parts of a table."""
    records = records_of(*a_run(seed))
    with tempfile.TemporaryDirectory() as name:
        (folder := Path(name) / "one").mkdir()
        (whole,) = fitted(write(Path(name) / f"one.{suffix}", records))
        halves = [
            write(folder / f"part-{i}.{suffix}", rows)
            for i, rows in enumerate((records[:cut], records[cut:]))
        ]
        if suffix == "parquet":
            joined = folder
        else:
            joined = Path(name) / f"one.{suffix}"
            joined.write_text("".join(half.read_text(encoding="utf-8") for half in halves), encoding="utf-8")
        (both,) = fitted(joined)
    assert both == whole
    assert whole["dropped"] == {}


def write_chart(path, records, column):
    """One metric of the run "one", as W&B's page exports it."""
    head = ["Step", f"one - {column}", f"one - {column}__MIN", f"one - {column}__MAX"]
    rows = [[record["step"], *[record[column]] * 3] for record in records]
    lines = [",".join(f'"{cell}"' for cell in row) for row in (head, *rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("fitted_once")
@given(seed=FEW, cut=st.integers(1, 25), order=st.permutations(range(4)))
def test_charts_of_one_run_are_the_run_however_they_are_cut_and_named(seed, cut, order):
    step, entropy, reward = a_run(seed)
    records = records_of(step, entropy, reward)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (alone,) = fitted(write(folder / "one.csv", records))
        charts = [
            write_chart(folder / f"{column}_{half}.csv", rows, column)
            for column in ("entropy", "val_acc")
            for half, rows in enumerate((records[:cut], records[cut:]))
        ]
        (joined,) = fitted(*(charts[i] for i in order))
        for chart in charts:
            chart.unlink()
        charts = [write_chart(folder / f"{column}.csv", records, column) for column in ("entropy", "val_acc")]
        (whole,) = fitted(*charts)
    assert joined == whole
    assert joined["result"] == alone["result"]


@pytest.mark.usefixtures("fitted_once")
@few
@given(seed=FEW, order=st.permutations(range(3)))
def test_the_order_of_the_files_does_not_matter(seed, order):
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            write(Path(folder) / f"run{i}.csv", records_of(*a_run(seed + i, n=20 + seed + i)))
            for i in range(3)
        ]
        plain = fitted(*paths)
        assert fitted(*(paths[i] for i in order)) == [plain[i] for i in order]


# Units and origins


@few
@given(shift=SHIFTS, scale=SCALES, unit=UNITS, origin=ORIGINS, seed=SEEDS)
# The scale of this run's residuals changes for certain: nothing is said of long memory.
@example(shift=0.0, scale=1.0, unit=1.0, origin=0, seed=511)
@example(shift=-2.0, scale=30.0, unit=0.01, origin=100, seed=511)
def test_a_fit_does_not_depend_on_units(shift, scale, unit, origin, seed):
    step, entropy, reward = a_run(seed, jump=0.02 * (seed % 3))
    reward = reward + 3.0
    moved = shift + scale * reward
    # Rewards between 0 and 1 may be rates, for which a ceiling above 1 is impossible.
    assume(moved.min() < 0 or moved.max() > 1)
    plain = fit_arrays(entropy, reward, step, gain=0.01)
    other = fit_arrays(entropy, moved, unit * (origin + step), gain=0.01 * scale)
    assert_same_verdict(plain, other)
    for name in NUMBERS:
        offset = 0.0 if name == "a" else shift
        assert_moved(getattr(plain.law, name), getattr(other.law, name), scale, offset)
    for form, after in zip(plain.law.forms, other.law.forms, strict=True):
        assert after.residual_sd == pytest.approx(scale * form.residual_sd, rel=1e-6)
    for one, after in zip(plain.predict([0.05, 0.4]), other.predict([0.05, 0.4]), strict=True):
        assert_moved(one.mean, after.mean, scale, shift)
        assert_moved(one.observation, after.observation, scale, shift)


def assert_same_verdict(one, other):
    """Verdict, probabilities and what is said of the residual: none of them has a unit."""
    assert (one.law.verdict, one.law.why) == (other.law.verdict, other.law.why)
    assert [found.code for found in one.findings] == [found.code for found in other.findings]
    assert one.law.dropped == other.law.dropped
    assert [form.form for form in one.law.forms] == [form.form for form in other.law.forms]
    for left, right in zip(one.law.forms, other.law.forms, strict=True):
        assert left.probability == pytest.approx(right.probability, rel=1e-6)
        for name, shape in left.shapes.items():
            assert_close(shape, right.shapes[name], 1.0)
    for name in ("effective_n", "drift_share", "long_memory"):
        left, right = getattr(one.law.residuals, name), getattr(other.law.residuals, name)
        assert (left is None) == (right is None), name
        if left is not None:
            assert left == pytest.approx(right, rel=1e-6)


@few
@given(shift=SHIFTS, scale=SCALES, unit=UNITS, origin=ORIGINS, seed=SEEDS, blind=st.booleans())
@example(shift=0.0, scale=1.0, unit=13.47196798977484, origin=1, seed=227, blind=False)
@example(shift=0.0, scale=1.0, unit=1.9, origin=-74, seed=130, blind=False)
def test_a_forecast_moves_with_the_units(shift, scale, unit, origin, seed, blind):
    step, entropy, reward = a_run(seed)
    reward = reward + 3.0
    # Rewards from 0 to 1 are taken for rates, of which the largest is 1.
    assume((shift + scale * reward).min() < 0 or (shift + scale * reward).max() > 1)
    ahead = step[-1] + np.array([10.0, 60.0])
    path = None if blind else [0.13, 0.1]
    plain = forecast(step, entropy, reward, at_step=ahead, entropy_path=path)
    other = forecast(
        unit * (origin + step),
        entropy,
        shift + scale * reward,
        at_step=unit * (origin + ahead),
        entropy_path=path,
    )
    for before, after in zip(plain.rewards, other.rewards, strict=True):
        assert_moved(before, after, scale, shift)
    for before, after in zip(plain.entropies, other.entropies, strict=True):
        assert_close(before, after, 1.0)
    assert other.p_gains == pytest.approx(plain.p_gains, rel=1e-6)
    assert other.gain == pytest.approx(scale * plain.gain)
    for end in ("value", "low", "high"):
        before, after = getattr(plain.spent, end), getattr(other.spent, end)
        assert (before is None) == (after is None)
        if before is not None:
            assert after == pytest.approx(unit * (origin + before), rel=1e-6)
