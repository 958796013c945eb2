"""Tables of tokens for tests, and what a summary of them is."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import EntropyLawError
from entropylaw.tokens.options import TokenOptions
from entropylaw.tokens.run import summarise_tokens
from entropylaw.tokens.semantic import semantic_entropy


def summary(*tables, columns=None, **options):
    """The summary of files, with columns by role and other options."""
    return summarise_tokens([str(table) for table in tables], TokenOptions(**options, **(columns or {})))


def summary_of(folder, table, **options):
    """The summary of an Arrow table, or of columns."""
    return summary(written(folder / "tokens.parquet", table), **options)


def written(path, table):
    """Write an Arrow table, columns or, as JSON lines, records; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in table), encoding="utf-8")
    else:
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path)
    return path


def refused(slug, *tables, **options):
    """The error of a table that is refused with this slug."""
    with pytest.raises(EntropyLawError) as caught:
        summary(*tables, **options)
    assert caught.value.slug == slug, caught.value
    assert caught.value.hint
    return caught.value


def rows(result):
    """The rows of a summary by step."""
    return {row["step"]: row for row in result.steps.to_pylist()}


def entropies(step, label, steps=None, **options):
    """Semantic entropies: the columns by short names, as tuples."""
    steps = sorted(set(step)) if steps is None else steps
    table = semantic_entropy(np.asarray(step), np.asarray(label), steps=steps, **options)
    ends = {"plug_in": "", "miller_madow": "_mm", "rarefied": "_rarefied"}
    names = {name: f"entropy_semantic{end}" for name, end in ends.items()} | {
        "step": "step",
        "count": "grams",
    }
    return SimpleNamespace(**{name: tuple(table[column].to_pylist()) for name, column in names.items()})


def noted(result, text):
    """Whether a note of a summary has this text."""
    return any(text in note for note in result.notes)


def data(table):
    """A table as bytes, without its metadata."""
    pq.write_table(table.replace_schema_metadata(None), buffer := io.BytesIO())
    return buffer.getvalue()


def made(rows=5000, seed=0, steps=4):
    """A table of tokens with every column."""
    rng = np.random.default_rng(seed)
    planning = rng.random(rows) < 0.3
    entropy = rng.lognormal(np.where(planning, -1, -4), 1.5).clip(0, 7)
    entropy[rng.random(rows) < 0.05] = 0.0
    return pa.table(
        {
            "step": np.sort(rng.integers(0, steps, rows)) * 10,
            "prompt": rng.integers(0, 6, rows),
            "sample": rng.integers(0, 3, rows),
            "entropy": entropy.astype(np.float32),
            "logprob": -rng.exponential(1, rows),
            "is_planning": planning,
            "correct": rng.random(rows) < 0.5,
        }
    )
