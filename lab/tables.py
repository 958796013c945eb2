"""What a run leaves on disk: ``metrics.parquet``, and tokens and answers at the steps that were kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lab.chains import is_chain
from lab.domains import grade
from lab.measure import Row
from lab.task import NAMES, PAD, PROMPT, Tokens, is_planning, is_written, text_of
from lab.train import Answers, Log


def write_log(log: Log, folder: Path) -> None:
    """Every table of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(metrics_table(log.rows), folder / "metrics.parquet")
    if log.answers:
        _write(pa.concat_tables(tokens_of(*kept) for kept in log.answers.items()), folder / "tokens.parquet")
        _write(
            pa.concat_tables(answers_of(*kept) for kept in log.answers.items()), folder / "answers.parquet"
        )
    if log.counted:
        _write(pa.concat_tables(counts_of(*kept) for kept in log.counted.items()), folder / "counts.parquet")


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", compression_level=15)


def metrics_table(rows: list[Row]) -> pa.Table:
    """One row per step; null where a step has no value."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def tokens_of(step: int, answers: Answers) -> pa.Table:
    """One row per written token: the entropy of its distribution, its log-probability, and its class."""
    row, position = np.nonzero(is_written(answers.responses))
    token = answers.responses[row, position]
    correct = grade(answers.prompts, answers.responses).correct
    return pa.table(
        {
            "step": pa.array(np.full(len(row), step, dtype=np.int16)),
            "prompt": pa.array((row // answers.samples).astype(np.int16)),
            "sample": pa.array((row % answers.samples).astype(np.int8)),
            "position": pa.array(position.astype(np.int8)),
            "token": pa.array([NAMES[t] for t in token]).dictionary_encode(),
            "entropy": pa.array(answers.entropy[row, position]),
            "logprob": pa.array(answers.logp[row, position]),
            "is_planning": pa.array(is_planning(answers.responses)[row, position]),
            "correct": pa.array(correct[row]),
        }
    )


def answers_of(step: int, answers: Answers) -> pa.Table:
    """One row per answer: the prompt, the answer, the strategy, and the grades."""
    grades = grade(answers.prompts, answers.responses)
    written = is_written(answers.responses)
    n = len(answers.prompts)
    names = np.array(["none", *grades.strategies])
    return pa.table(
        {
            "step": pa.array(np.full(n, step, dtype=np.int16)),
            "prompt": pa.array((np.arange(n) // answers.samples).astype(np.int16)),
            "sample": pa.array((np.arange(n) % answers.samples).astype(np.int8)),
            "asked": pa.array([text_of(tokens) for tokens in answers.prompts]).dictionary_encode(),
            "answer": pa.array([text_of(tokens) for tokens in np.where(written, answers.responses, PAD)]),
            "strategy": pa.array(names[grades.strategy + 1]).dictionary_encode(),
            "plan_right": pa.array(grades.plan_right),
            "execution_right": pa.array(grades.execution_right),
            "correct": pa.array(grades.correct),
            "length": pa.array(written.sum(1).astype(np.int8)),
            "entropy_mean": pa.array(
                ((answers.entropy * written).sum(1) / written.sum(1)).astype(np.float32)
            ),
            "logprob_sum": pa.array((answers.logp * written).sum(1).astype(np.float32)),
        }
    )


def counts_of(step: int, counted: tuple[Tokens, Tokens]) -> pa.Table:
    """One row per prompt and distinct answer: how many samples gave it, and whether it is right.

    The answer's key is its text; ``tokens`` is its length with its end. Rows are in the order of prompt and
    text, so that the order of the samples is not kept.
    """
    prompts, responses = counted
    both = np.concatenate([prompts, np.where(is_written(responses), responses, PAD)], axis=1)
    distinct, first, n = np.unique(both, axis=0, return_index=True, return_counts=True)
    _, order = np.unique(prompts, axis=0, return_index=True)
    number = {text_of(prompts[row]): i for i, row in enumerate(sorted(order))}
    problems = [text_of(row) for row in distinct[:, :PROMPT]]
    grades = grade(distinct[:, :PROMPT], responses[first])
    names = np.array(["none", *grades.strategies])
    return pa.table(
        {
            "step": pa.array(np.full(len(n), step, dtype=np.int16)),
            "prompt": pa.array(np.array([number[text] for text in problems], dtype=np.int16)),
            "asked": pa.array(problems).dictionary_encode(),
            "answer": pa.array([text_of(row) for row in distinct[:, PROMPT:]]),
            "n": pa.array(n.astype(np.int16)),
            "correct": pa.array(grades.correct),
            "plan": pa.array(grades.plan.astype(np.int64 if is_chain(prompts) else np.int32)),
            "strategy": pa.array(names[grades.strategy + 1]).dictionary_encode(),
            "tokens": pa.array((distinct[:, PROMPT:] != PAD).sum(1).astype(np.int8)),
        }
    )
