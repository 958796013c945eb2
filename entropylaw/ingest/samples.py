"""Tables of tokens or answers, which are no run: they repeat every step thousands of times."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest.values import Column, parse_column
from entropylaw.ingest.wording import counted, listing, shown_path

# Columns that only a record of one token or one answer has.
SAMPLE_MARKERS = frozenset(
    (
        *(
            "token",
            "tokens",
            "token_id",
            "token_ids",
            "position",
            "token_position",
            "is_planning",
            "logprob",
        ),
        *(
            "log_prob",
            "old_log_prob",
            "logprobs",
            "prompt",
            "prompt_id",
            "response",
            "response_id",
            "answer",
        ),
        *(
            "completion",
            "completion_id",
            "sample_id",
            "rollout_id",
            "question",
            "output_text",
            "generation",
        ),
    )
)
_ROWS_A_STEP = 4


def sample_columns(names: Iterable[str]) -> list[str]:
    """List those columns that mark a record as one token or one answer."""
    return [name for name in names if name.casefold() in SAMPLE_MARKERS]


def refuse_samples(path: str, names: Iterable[str], steps: Column) -> None:
    """Refuse a table that holds tokens or answers in place of steps.

    Raises
    ------
    InputError
        ``token-level-table`` where two marking columns are there and steps repeat four times on average.

    """
    marks = sample_columns(names)
    if len(marks) < 2:
        return
    values = parse_column(steps).values
    values = values[np.isfinite(values)]
    distinct = len(np.unique(values))
    if distinct and len(values) >= _ROWS_A_STEP * distinct:
        raise InputError(
            "token-level-table",
            f"{shown_path(path)} has one row a token or an answer ({counted(len(values), 'row')} for "
            f"{counted(distinct, 'step')}; columns {listing(marks, 4)}), one row a step is needed",
            "summarise it to one row a step with `entropylaw tokens`, and read that",
        )
