"""Semantic entropy against scipy, all subsets, simulations and a published table; the scan of a table."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import entr

from entropylaw import InputError
from entropylaw.tokens.grams import GramScan, parse_grams
from entropylaw.tokens.query import TokenColumns
from entropylaw.tokens.semantic import common_size, rarefied_entropy
from tests.token_tables import entropies

# 249 types with Zipf's frequencies, as many as the published list of grams has.
ZIPF = 1 / np.arange(1, 250)
ZIPF /= ZIPF.sum()


# --- known answers


def scipy_entropy(counts, axis=None):
    """Of the shares, in nats."""
    counts = np.asarray(counts, dtype=float)
    return entr(counts / counts.sum(axis=axis, keepdims=True)).sum(axis=axis)


@pytest.mark.parametrize("counts", [[3], [1, 1, 1], [4, 2, 1], [5, 1, 1, 2], [2, 2, 2, 2]])
def test_rarefied_is_the_mean_over_all_subsets(counts):
    labels = np.repeat(np.arange(len(counts)), counts)
    for size in range(1, len(labels) + 1):
        subsets = itertools.combinations(labels, size)
        mean = np.mean([scipy_entropy(np.bincount(subset)) for subset in subsets])
        assert rarefied_entropy(counts, size) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "published", "decimals"),
    [(50, 3.17, 2), (200, 3.76, 2), (1000, 4.15, 2), (5000, 4.27, 2), (20_000, 4.289, 3)],
)
def test_the_bias_of_249_types(n, published, decimals):
    """The published values are simulations; ours is the expectation, of counts like the population."""
    assert scipy_entropy(ZIPF) == pytest.approx(4.294, abs=5e-4)
    expected = rarefied_entropy(np.round(ZIPF * 1e8), n)
    random = np.random.default_rng(n)
    sample = scipy_entropy(random.multinomial(n, ZIPF, size=400), axis=1)
    assert abs(expected - np.mean(sample)) < 4 * np.std(sample) / np.sqrt(400)
    assert abs(expected - published) < np.std(sample) + 0.5 * 10.0**-decimals


# --- by step


def test_steps_with_fewer_than_the_common_number_are_none():
    step = np.repeat([0, 10, 20], [30, 4, 50])
    found = entropies(step, np.arange(84) % 3, steps=[0, 5, 10, 20], common=30)
    assert found.step == (0, 5, 10, 20)
    assert found.count == (30, 0, 4, 50)
    assert found.rarefied[1:3] == (None, None)
    assert found.rarefied[0] is not None
    assert found.rarefied[3] is not None
    assert found.plug_in[1] is None


@pytest.mark.parametrize(
    ("counts", "size"),
    [
        ([40] * 19 + [5], 40),
        ([40] * 18 + [5], 5),
        ([40] * 18 + [5, 5], 5),
        ([0, 0, 40], 40),
        ([1, 7], None),
        ([], None),
    ],
)
def test_the_common_number_leaves_out_at_most_one_step_in_twenty(counts, size):
    assert common_size(counts) == size


# --- the scan


def rows(*responses, step=0):
    """A table of responses, each a text whose words are the tokens."""
    made = [(step, i, j, f" {w}") for i, text in enumerate(responses) for j, w in enumerate(text.split())]
    names = ("step", "response", "position", "token")
    return pa.table(dict(zip(names, map(list, zip(*made, strict=True)), strict=True)))


GRAMS = parse_grams("wait\nlet us try", "a test")


COLUMNS = TokenColumns(
    step="step", entropy="entropy", response=("response",), position="position", token="token"
)


def scanned(table, grams=GRAMS, batch=None, columns=COLUMNS, **options):
    scan = GramScan(grams, columns, **options)
    return scan, pa.Table.from_batches(scan.batches(table.to_batches(max_chunksize=batch)))


def test_the_scan_by_hand():
    table = pa.concat_tables(
        [
            rows("wait let us try 12 wait", "so let us", "try wait wait no"),
            rows("nothing here", step=5),
            rows("let us try 7 let us try 8", step=9),
        ]
    )
    scan, out = scanned(table)
    assert out.drop_columns(["planning_by_gram"]).equals(table)
    marked = "".join(out.filter(out["planning_by_gram"])["token"].to_pylist())
    assert marked == " wait let us try wait wait wait let us try let us try"
    result = scan.result([0, 5, 9])
    assert result["step"].to_pylist() == [0, 5, 9]
    assert result["grams"].to_pylist() == [5, 0, 2]
    assert result["entropy_semantic"].to_pylist() == [pytest.approx(scipy_entropy([4, 1])), None, 0.0]
    assert result["entropy_semantic_rarefied_n"].to_pylist() == [2] * 3
    assert result.schema.field("entropy_semantic_rarefied").type == pa.float64()


@pytest.mark.parametrize(
    ("column", "values", "covered"),
    [
        (2, [0, 1, 2, 3], [True] * 4),
        (2, [0, 1, 5, 6], [False, False, False, True]),
        (3, [" let", None, " try", " wait"], [False, False, False, True]),
    ],
    ids=["as it is", "a gap in the positions", "a null token"],
)
def test_a_gap_ends_the_text(column, values, covered):
    table = rows("let us try wait")
    scan, out = scanned(table.set_column(column, table.column_names[column], pa.array(values)))
    assert out["planning_by_gram"].to_pylist() == covered
    assert scan.result([0])["grams"].to_pylist() == [2 if all(covered) else 1]


@pytest.mark.parametrize(
    ("column", "values", "slug", "words"),
    [
        (3, [1, 2, 3, 4], "tokens-without-text", "int64"),
        (2, [0, 1, 1, 2], "tokens-unordered", "from 1 to 1"),
        (1, [0, 0, None, 1], "tokens-without-column", "null in 1"),
        (0, ["a"] * 4, "tokens-without-column", "whole numbers"),
        (0, [0.5] * 4, "tokens-without-column", "whole numbers"),
    ],
)
def test_tables_that_are_refused(column, values, slug, words):
    table = rows("let us try it")
    with pytest.raises(InputError, match=words) as caught:
        scanned(table.set_column(column, table.column_names[column], pa.array(values)))
    assert caught.value.slug == slug


def test_columns_that_do_not_identify_responses_fail_early():
    table = rows(*["wait a little"] * 100).set_column(1, "response", pa.array([0] * 300))
    source = iter(table.to_batches(max_chunksize=3))
    with pytest.raises(InputError, match="from 2 to 0"):
        list(GramScan(GRAMS, COLUMNS, chunk_rows=30).batches(source))
    assert len(list(source)) == 90
