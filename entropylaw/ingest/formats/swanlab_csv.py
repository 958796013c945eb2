"""CSV files that SwanLab exports: a step, and a pair of columns for every metric of every experiment.

``step,<experiment>-<metric>_step,<experiment>-<metric>_timestamp,…``: in spite of its name, the first column
of a pair holds the metric's values. The layout is as the ``swanlab`` package parses it:
swanlab/api/experiment.py in 0.6.8, swanlab/api/experiment/__init__.py in 0.7.8,
swanlab/api/helper/extractor.py in 0.10.3. Its ``export_csv()`` gives the address of such a file, with one
metric of one experiment. Not verified: files downloaded from the web page, whose layout is documented
nowhere; those with another header are read as any CSV file.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from entropylaw.errors import InputError
from entropylaw.ingest.catalog import is_metric
from entropylaw.ingest.content import Content
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table
from entropylaw.ingest.wording import counted, listing, shown_path

OTHER_LENGTH = "row with more or fewer cells than the header"


def recognises(content: Content) -> bool:
    """Whether the header is a step and pairs of columns as SwanLab names them."""
    text = content.opening if content.is_text else ""
    if text[:5].lstrip('"')[:4].lower() != "step":
        return False
    try:
        return bool(_labels(next(csv.reader([text.partition("\n")[0]]), [])))
    except csv.Error:
        return False


def read(content: Content) -> Table:
    """Read it into a table with a row for each step of each experiment, and a column for each metric.

    Raises ``no-records`` where there is no row, ``file-corrupt`` where the header is another one.
    """
    rows = csv.reader(filter(None, content.lines()))
    shared: Counter[tuple[bool, str]] = Counter()

    def likely(split: tuple[str, str]) -> tuple[bool, int, int]:
        run, metric = split
        # Experiments and metrics may have dashes in their names. A metric that the catalog knows decides
        # where one ends; then, that other columns have the same experiment or metric.
        return is_metric(metric), shared[True, run] + shared[False, metric], len(run)

    try:
        labels = _labels(next(rows, []))
        for run, metric in (split for label in labels[:1000] for split in _splits(label)):
            shared.update(((True, run), (False, metric)))
        series = [max(_splits(label), key=likely) for label in labels]
        if series:
            return _table(content, series, rows)
        what = "has no header as SwanLab writes it (step, EXPERIMENT-METRIC_step, …)"
    except csv.Error as problem:
        what = f"cannot be read to its end: {problem}"
    raise InputError("file-corrupt", f"{shown_path(content.path)} {what}", "download the file again")


def _labels(header: Sequence[str]) -> list[str]:
    """Return ``<experiment>-<metric>`` of each pair of columns; nothing where the header is another one."""
    step, *names = [name.strip() for name in header] or [""]
    labels = [name.removesuffix("_step") for name in names[::2]]
    paired = [label + end for label in labels for end in ("_step", "_timestamp")]
    return labels if step.lower() == "step" and names == paired and all("-" in one for one in labels) else []


def _splits(label: str) -> Iterator[tuple[str, str]]:
    """Yield what may be the experiment and the metric of a pair of columns, for the last 12 dashes."""
    for end in [place for place, mark in enumerate(label) if mark == "-"][:-13:-1]:
        yield label[:end], label[end + 1 :]


def _table(content: Content, series: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> Table:
    runs: dict[str, list[tuple[int, str]]] = {}
    for number, (run, metric) in enumerate(series):
        runs.setdefault(run, []).append((1 + 2 * number, metric))
    records, other = Records(), 0
    for row in rows:
        whole = len(row) == 1 + 2 * len(series)
        other += not whole
        for run, places in runs.items() if whole else ():
            if cells := {metric: row[place] for place, metric in places if row[place]}:
                records.add({"step": row[0], "run": run, **cells})
    if not records.rows:
        what = f"{shown_path(content.path)} is a CSV file from SwanLab without a whole row of values"
        hint = "check that the run has logged something, and download the file again"
        raise InputError("no-records", what, hint)
    metrics = list(dict.fromkeys(metric for _, metric in series))
    note = f"{counted(len(metrics), 'metric')} ({listing(metrics, 4)}) of {counted(len(runs), 'experiment')} "
    note += f"({listing(list(runs), 4)}), told apart at a dash in the names of the columns"
    # Of an experiment's metrics, one, or sixteen at most.
    return records.table(content, {OTHER_LENGTH: other}, (note,), partial=True)
