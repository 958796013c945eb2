"""Properties of the entropy of counts, and of a scan whose result must not depend on batches."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropylaw.tokens.grams import GramScan, match_tokens, parse_grams
from entropylaw.tokens.query import TokenColumns
from entropylaw.tokens.semantic import rarefied_entropy
from tests.token_tables import entropies
from tests.unit.test_semantic import scipy_entropy

COLUMNS = TokenColumns(
    step="step", entropy="entropy", response=("response",), position="position", token="token"
)
counts = st.lists(st.integers(1, 200), min_size=1, max_size=12)
WORDS = ["so", "wait", "let", "us", "try", "let’s", "é", "等", ",", ".", "Wait"]
LISTS = st.lists(st.lists(st.sampled_from(WORDS[:8]), min_size=1, max_size=4), min_size=1, max_size=6)


def list_of(grams):
    return parse_grams("\n".join(" ".join(gram) for gram in grams), "a property")


@given(counts=counts, share=st.floats(0, 1))
def test_rarefied_lies_between_nothing_and_plug_in(counts, share):
    total = sum(counts)
    size = 1 + int(share * (total - 1))
    value = rarefied_entropy(counts, size)
    assert -1e-12 <= value <= scipy_entropy(counts) + 1e-9
    assert value <= np.log(size) + 1e-9
    (corrected,) = entropies(np.zeros(total), np.repeat(np.arange(len(counts)), counts)).miller_madow
    assert corrected == pytest.approx(scipy_entropy(counts) + (len(counts) - 1) / 2 / total, abs=1e-12)
    assert rarefied_entropy(counts, total) == pytest.approx(scipy_entropy(counts), abs=1e-9)
    if size < total:
        assert value <= rarefied_entropy(counts, size + 1) + 1e-9


@given(counts=counts, seed=st.integers(0, 99))
def test_names_and_order_do_not_matter(counts, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    mixed = np.random.default_rng(seed).permutation(labels)
    ours = entropies(np.zeros(len(labels)), labels, common=2 if len(labels) > 1 else None)
    names = 7 * (len(counts) - mixed)
    theirs = entropies(np.zeros(len(labels)), names, common=2 if len(labels) > 1 else None)
    assert theirs.plug_in == pytest.approx(ours.plug_in, abs=1e-12)
    assert theirs.rarefied == pytest.approx(ours.rarefied, abs=1e-12)
    assert ours.plug_in[0] == pytest.approx(scipy_entropy(counts), abs=1e-12)


@given(grams=LISTS, words=st.lists(st.sampled_from(WORDS), max_size=30), cuts=st.sets(st.integers(1, 200)))
def test_how_the_text_is_cut_into_tokens_does_not_matter(grams, words, cuts):
    """Also within a character."""
    grams = list_of(grams)
    text = " ".join(words).encode()
    ends = sorted(cut for cut in cuts if cut < len(text))
    tokens = [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    whole = match_tokens(grams, [bytes([byte]) for byte in text])
    found = match_tokens(grams, tokens)
    assert found.gram.tolist() == whole.gram.tolist()
    owner = np.repeat(np.arange(len(tokens)), [len(token) for token in tokens])
    touched = np.bincount(owner, whole.covered, minlength=len(tokens)) > 0
    np.testing.assert_array_equal(found.covered, touched)


@given(
    grams=LISTS,
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), min_size=1, max_size=8),
    batch=st.integers(1, 40),
    chunk=st.integers(1, 40),
)
def test_a_scan_does_not_depend_on_batches(grams, texts, batch, chunk):
    grams = list_of(grams)
    table = pa.table(
        {
            "step": [i // 3 for i, text in enumerate(texts) for _ in text],
            "response": [f"r{i}" for i, text in enumerate(texts) for _ in text],
            "position": [j for text in texts for j in range(len(text))],
            "token": [f" {word}" for text in texts for word in text],
        }
    )

    def scan(some, batch, chunk):
        made = GramScan(some, COLUMNS, chunk_rows=chunk)
        return made, pa.Table.from_batches(made.batches(table.to_batches(max_chunksize=batch)))

    whole, rows = scan(grams, None, 10**6)
    cut, same = scan(grams, batch, chunk)
    assert same.combine_chunks().equals(rows.combine_chunks())
    steps = sorted(set(table["step"].to_pylist()))
    assert cut.result(steps).equals(whole.result(steps))
