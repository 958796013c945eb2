"""The noise with which entropies were logged, where the user knows it: a number, or a column of the log."""

from __future__ import annotations

import math

import numpy as np

from entropylaw.errors import InputError, UsageError
from entropylaw.ingest.pairing import Pairs
from entropylaw.ingest.run import Run
from entropylaw.ingest.steps import require_column
from entropylaw.ingest.values import FloatArray
from entropylaw.ingest.wording import counted, shown


def noise_of(run: Run, pairs: Pairs, given: str) -> FloatArray:
    """Standard deviation of each paired entropy, shape (n,), nats.

    Parameters
    ----------
    run, pairs
        As read, and what was paired of it.
    given
        A number for all, or the name of a column that stands on the entropy's rows.

    Raises
    ------
    InputError
        ``column-not-found``; ``entropy-sd-missing`` where a paired entropy has no sd above 0.
    UsageError
        ``bad-entropy-sd`` for a number that is not above 0.
    """
    number = as_number(given)
    if number is not None:
        if not 0 < number < math.inf:
            raise UsageError(
                "bad-entropy-sd",
                f"entropy sd {given}, expected a number of nats above 0",
                "give the standard error of one logged entropy, or the column that holds it",
            )
        return np.full(len(pairs), number)
    column = require_column(given, tuple(run.columns), run.source.path, "--entropy-sd")
    values = run.columns[column][pairs.entropy_row]
    lacking = ~((values > 0) & np.isfinite(values))
    if lacking.any():
        first = int(np.flatnonzero(lacking)[0])
        raise InputError(
            "entropy-sd-missing",
            f"{shown(column)} of run {shown(run.name)} is {values[first]:g} beside the entropy of step "
            f"{pairs.step[first]:g}, and no sd above 0 at {counted(int(lacking.sum()), 'evaluation')}",
            "leave out these rows, or give one number for all: --entropy-sd 0.02",
        )
    return values


def as_number(given: str) -> float | None:
    """``given`` as a number, None where it is the name of a column."""
    try:
        return float(given)
    except ValueError:
        return None
