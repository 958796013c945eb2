"""Values that come one by one, each with its step, put into rows: TensorBoard's scalars, MLflow's metrics."""

from __future__ import annotations

import math
from array import array

import numpy as np

from entropylaw.ingest.formats.records import SparseColumns
from entropylaw.ingest.table import unique_names
from entropylaw.ingest.values import Column


class StepRows:
    """Puts values into rows, one a step, for one run after the other.

    A step gets a further row where a metric falls back, for then the run was resumed, and where one comes
    twice in the newest row: assembly knows what to make of either.

    Parameters
    ----------
    label
        The first run's name, for a column ``run``; without that column where it is None.

    """

    def __init__(self, label: str | None = None) -> None:
        self.steps = array("q")
        self.overwritten = 0
        self._columns = SparseColumns()
        self._labels: list[str] = []
        self._label = label
        self._row_of: dict[int, int] = {}
        self._resumed_at = 0

    def begin(self, label: str) -> None:
        """Begin another run."""
        self._label = label
        self._fall_back()

    def take(self, step: int, name: str, value: float) -> None:
        """Take one value, in the order in which they were logged."""
        column = self._columns.get(name)
        before, last = (column[0][-1], column[1][-1]) if column else (-1, math.nan)
        if before >= self._resumed_at and step < self.steps[before]:
            self._fall_back()
        row = self._row_of.get(step, -1)
        if row < 0 or row == before == len(self.steps) - 1:
            row = self._row_of[step] = len(self.steps)
            self.steps.append(step)
            if self._label is not None:
                self._labels.append(self._label)
        elif row == before:
            # A second row here, behind those of later steps, would pass for a resume and discard them.
            if math.isnan(value):
                return
            self.overwritten += not math.isnan(last) and value != last
        self._columns.put(row, name, value)

    def columns(self, size: int) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the columns, the step and the run's label first, and notes; ``size`` as the file's bytes."""
        found, notes = self._columns.filled(len(self.steps), size)
        first: list[tuple[str, Column]] = [("step", np.array(self.steps, dtype=np.float64))]
        if self._label is not None:
            first.append(("run", self._labels))
        names, renamed = unique_names((*(name for name, _ in first), *found))
        cells = (*(column for _, column in first), *found.values())
        return dict(zip(names, cells, strict=True)), (*notes, *renamed)

    def _fall_back(self) -> None:
        self._row_of = {}
        self._resumed_at = len(self.steps)
