"""Token summaries against plain numpy, and independence of order, pieces and format of the tokens."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw.tokens import query
from entropylaw.tokens.on_duckdb import duckdb_backend
from tests.conftest import LAB
from tests.token_tables import data, made, summary, summary_of, written

COLUMNS = query.TokenColumns(step="step", entropy="entropy")
EDGES = query.EDGES
PERCENTS = (5, 10, 20, 50, 80, 90, 95, 99)


def bin_of(entropy):
    """Bins of entropies by the edges alone; the query's bins are tested with the edges."""
    return np.searchsorted(EDGES, entropy, side="right") - 1


def test_edges_hold_the_two_thresholds_and_every_entropy_has_its_bin(tmp_path):
    # The shares of tokens below and above these are exact.
    assert {0.01, 0.672} <= set(EDGES)
    assert EDGES[0] == 0
    assert EDGES[-1] == query.LIMIT > math.log(1e6)
    assert len(EDGES) == query.BINS + 1
    # Square roots round to the last bit, so that an edge may draw in the few numbers next to it.
    inside = np.nextafter(EDGES[1:], 0) * (1 - 1e-14)
    for entropies in (EDGES[:-1], inside):
        table = pa.table({"step": np.arange(query.BINS), "entropy": entropies})
        pq.write_table(table, path := tmp_path / "edges.parquet")
        with duckdb_backend() as engine:
            rows = engine.run(query.cells(engine.view("stored", f"FROM '{path}'"), COLUMNS)).to_pydict()
        assert dict(zip(rows["step"], rows["bin"], strict=True)) == {at: at for at in range(query.BINS)}


def test_sums_of_the_most_tokens_that_a_cell_may_hold_fit_into_64_bits():
    cell, most = 1 << 32, (1 << 63) - 1
    q = int(query.LIMIT * query.POINT) + 1
    assert q < 1 << query.HALF
    assert cell * q <= most
    assert (cell * q * q) >> query.HALF <= most
    assert cell * int(-query.LEAST_LOGPROB) * query.LOGPROB_POINT <= most
    assert (1 << 25) * int(query.LIMIT * query.MEAN_POINT) <= most


@pytest.mark.parametrize("run", ["entropy_bonus_0.1_s0", "grpo_s0", "kl_cov_s0", "sft_after_grpo_s0"])
def test_the_lab_as_plain_pandas_has_it(run):
    path = LAB / run / "tokens.parquet"
    if not path.exists():
        pytest.skip("data/lab has no tokens")
    frame = pd.read_parquet(path).astype({"entropy": float, "logprob": float})
    steps = summary(path).steps.to_pandas().set_index("step")
    assert list(steps.index) == sorted(frame.step.unique())
    kinds = {
        "": frame,
        "_planning": frame[frame.is_planning],
        "_execution": frame[~frame.is_planning],
        "_correct": frame[frame.correct],
        "_wrong": frame[~frame.correct],
    }
    for suffix, part in kinds.items():
        for step, entropy in part.groupby("step").entropy:
            row = steps.loc[step]
            assert row[f"tokens{suffix}"] == len(entropy)
            assert row[f"entropy{suffix}"] == pytest.approx(entropy.mean(), abs=1e-8)
            assert row[f"entropy_sd{suffix}"] == pytest.approx(entropy.std(), abs=1e-8)
            assert row[f"entropy_se{suffix}"] == pytest.approx(entropy.std() / len(entropy) ** 0.5, abs=1e-8)
            assert row[f"share_below_0.01{suffix}"] == (entropy < 0.01).mean()
            check_percentiles(entropy.to_numpy(), [row[f"entropy_p{p:02d}{suffix}"] for p in PERCENTS])
            top = np.sort(entropy)[::-1]
            k = 0.2 * len(top)
            share = (top[: int(k)].sum() + (k - int(k)) * top[int(k)]) / top.sum()
            assert row[f"share_top20{suffix}"] == pytest.approx(share, abs=2e-4)
    by_step = frame.groupby("step")
    share = frame[frame.is_planning].groupby("step").entropy.sum() / by_step.entropy.sum()
    np.testing.assert_allclose(steps.planning_entropy_share, share.loc[steps.index], atol=1e-8)
    np.testing.assert_allclose(steps.planning_share, by_step.is_planning.mean().loc[steps.index])
    np.testing.assert_allclose(steps.logprob, by_step.logprob.mean().loc[steps.index], atol=1e-6)


def check_percentiles(entropy, found):
    """Each lies in the bin of the order statistic that it stands for."""
    ordered = np.sort(entropy)
    for percent, value in zip(PERCENTS, found, strict=True):
        exact = ordered[max(1, math.ceil(percent * len(ordered) / 100)) - 1]
        at = int(bin_of(exact))
        assert EDGES[at] - 1e-8 <= value <= EDGES[at + 1] + 1e-8, (percent, exact, value)


def row_of(folder, entropy):
    """The row of the summary of a step with these entropies."""
    columns = {"step": np.zeros(len(entropy), dtype=int), "entropy": np.asarray(entropy, dtype=float)}
    (row,) = summary_of(folder, columns).steps.to_pylist()
    return row


def percentiles(row):
    return [row[f"entropy_p{percent:02d}"] for percent in PERCENTS]


@given(st.lists(st.floats(0, 8), min_size=1, max_size=60))
def test_percentiles_of_any_entropies_lie_in_the_right_bin(tmp_path_factory, entropy):
    check_percentiles(np.array(entropy), percentiles(row_of(tmp_path_factory.mktemp("any"), entropy)))


@given(st.lists(st.floats(0.001, 8), min_size=2, max_size=60))
def test_the_top_share_is_between_the_bounds_of_its_bins(tmp_path_factory, entropy):
    top = np.sort(entropy)[::-1]
    k = 0.2 * len(top)
    exact = (top[: int(k)].sum() + (k - int(k)) * top[int(k)]) / top.sum()
    at = bin_of(top)
    slack = ((EDGES[at + 1] - EDGES[at])[: int(k) + 1].sum() + 1e-7) / top.sum()
    share = row_of(tmp_path_factory.mktemp("top"), entropy)["share_top20"]
    assert share == pytest.approx(exact, abs=slack)


def test_tokens_of_one_value_have_that_value_as_every_percentile(tmp_path):
    row = row_of(tmp_path, [0.5] * 7)
    np.testing.assert_allclose(percentiles(row), 0.5, atol=1e-8)
    assert row["entropy_sd"] == 0
    assert row["share_top20"] == pytest.approx(0.2)
    assert row_of(tmp_path, [0.0, 0.0])["share_top20"] is None
    assert row_of(tmp_path, [0.3])["entropy_sd"] is None


def test_percentiles_of_a_smooth_distribution_are_far_finer_than_the_bins(tmp_path):
    entropy = np.random.default_rng(5).lognormal(-2.5, 1.8, 400_000).clip(0, 8)
    exact = np.quantile(entropy, np.array(PERCENTS) / 100, method="inverted_cdf")
    np.testing.assert_allclose(percentiles(row_of(tmp_path, entropy)), exact, rtol=1e-3)


def test_responses_by_the_ratio_estimator(tmp_path):
    table = made()
    frame = table.to_pandas().astype({"entropy": float})
    steps = summary_of(tmp_path, table).steps.to_pandas().set_index("step")
    for step, part in frame.groupby("step"):
        row = steps.loc[step]
        for name, keys in (("prompts", ["prompt"]), ("responses", ["prompt", "sample"])):
            each = part.groupby(keys).entropy.agg(["sum", "count", "mean"])
            n, s, m = each["count"], each["sum"], len(each)
            error = math.sqrt(m / (m - 1) * ((s - s.sum() / n.sum() * n) ** 2).sum()) / n.sum()
            assert row[name] == m
            assert row[f"entropy_se_{name}"] == pytest.approx(error, rel=1e-4)
        assert row.response_length == pytest.approx(n.mean())
        assert row.entropy_response_mean == pytest.approx(each["mean"].mean(), abs=1e-8)


@given(st.lists(st.integers(0, 3000), max_size=4), st.integers(0, 2**31), st.booleans())
def test_any_pieces_in_any_order_give_the_same_bytes(tmp_path_factory, cuts, seed, shuffled):
    table = made(3000)
    folder = tmp_path_factory.mktemp("pieces")
    order = np.random.default_rng(seed).permutation(3000) if shuffled else np.arange(3000)
    pieces = [table.take(order[start:stop]) for start, stop in pairwise([0, *sorted(cuts), 3000])]
    paths = [written(folder / f"part-{number}.parquet", piece) for number, piece in enumerate(pieces)]
    whole, split = summary_of(folder, table), summary(*reversed(paths))
    assert data(split.steps) == data(whole.steps)


def test_json_lines_and_partitions_have_the_summary_of_one_file(tmp_path):
    table = made(2000)
    table = table.set_column(3, "entropy", table.column("entropy").cast("float64"))
    whole = data(summary_of(tmp_path, table).steps)
    assert data(summary(written(tmp_path / "t.jsonl", table.to_pylist())).steps) == whole
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["step"])
    assert data(summary(tmp_path / "hive").steps) == whole


def test_the_top_quantile_is_cut_at_the_nearest_edge(tmp_path):
    table = made(20000)
    result = summary_of(tmp_path, table, top_quantile=0.2).steps.to_pandas().set_index("step")
    frame = table.to_pandas()
    for step, entropy in frame.groupby("step").entropy:
        row = result.loc[step]
        upper = entropy[entropy >= row.class_cut].astype(float)
        assert row.class_cut in EDGES
        assert row.tokens_planning == len(upper)
        assert row.planning_share == pytest.approx(0.2, abs=0.02)
        assert row.entropy_planning == pytest.approx(upper.mean(), abs=1e-8)
        assert row.planning_entropy_share == pytest.approx(row.share_top20, abs=0.02)


@pytest.fixture
def with_grams(tmp_path):
    """The rows of the summary of responses of these words, by a list of grams."""

    def summarised(grams, words, responses, steps=1, seed=None, **columns):
        step, sequence, position = np.indices((steps, responses, len(words))).reshape(3, -1)
        table = {"step": step, "sequence": sequence, "position": position}
        table = pa.table(table | {"token": [f" {words[i]}" for i in position]} | columns)
        order = np.arange(len(step)) if seed is None else np.random.default_rng(seed).permutation(len(step))
        (tmp_path / "grams.txt").write_text("\n".join(grams), encoding="utf-8")
        return summary_of(tmp_path, table.take(order), grams=str(tmp_path / "grams.txt")).steps.to_pylist()

    return summarised


def test_strategic_grams_define_classes(with_grams):
    words = ["We", "add", ".", "Let's", "try", "another", "way", ".", "So", "it", "is", "4"]
    entropy = [step + 0.5 if at in (3, 4) else 0.1 for step in (0, 1) for _ in range(40) for at in range(12)]
    grams = ["let's try", "so", "let's try another way"]
    steps = with_grams(grams, words, 40, steps=2, seed=0, entropy=entropy)
    expected = {"tokens_planning": 200, "responses": 40, "grams": 80}
    assert [row | expected for row in steps] == steps
    assert steps[1]["entropy_planning"] == pytest.approx((1.5 * 2 + 0.1 * 3) / 5)
    assert steps[0]["entropy_semantic"] == pytest.approx(math.log(2))


def test_masked_tokens_are_not_searched_for_grams(with_grams):
    words = ["so", "we", "add", "so", "it", "is"]
    (row,) = with_grams(["so"], words, 1, entropy=[0.5] * 6, loss_mask=[0, 0, 1, 1, 1, 1])
    assert row | {"tokens": 4, "tokens_masked": 2, "tokens_planning": 1, "grams": 1} == row


def test_the_covariance_of_log_probability_and_advantage_is_over_tokens_that_have_both(tmp_path):
    table = made().to_pandas()
    rng = np.random.default_rng(1)
    table["advantage"] = 0.3 * table.logprob + rng.normal(size=len(table))
    table["loss_mask"] = (rng.random(len(table)) < 0.9).astype(int)
    table.loc[::50, "advantage"] = np.nan
    table.loc[7::70, "logprob"] = -np.inf
    steps = summary_of(tmp_path, pa.Table.from_pandas(table)).steps.to_pylist()
    used = table[(table.loss_mask == 1) & np.isfinite(table.advantage) & np.isfinite(table.logprob)]
    expected = [np.cov(of.logprob, of.advantage, bias=True)[0, 1] for _, of in used.groupby("step")]
    assert [row["cov_logp_advantage"] for row in steps] == pytest.approx(expected, abs=1e-5)
    without = summary_of(tmp_path, pa.Table.from_pandas(table), advantage="")
    assert "cov_logp_advantage" not in without.steps.column_names
