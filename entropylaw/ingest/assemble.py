"""From a table to runs: values parsed, runs told apart, one row a step, every loss counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from entropylaw.errors import InputError
from entropylaw.ingest import packed
from entropylaw.ingest.axes import on_one_axis
from entropylaw.ingest.catalog import is_metric
from entropylaw.ingest.labels import Group, Split, split_runs
from entropylaw.ingest.run import Run, Source
from entropylaw.ingest.samples import refuse_samples
from entropylaw.ingest.segments import OVERWRITTEN, SUPERSEDED, Life, is_bookkeeping, lives, merge
from entropylaw.ingest.steps import COUNTERS, NO_STEP, StepColumn, find_step, folded
from entropylaw.ingest.table import Table
from entropylaw.ingest.values import FloatArray, Parsed, classify, parse_column
from entropylaw.ingest.wording import counted, shown, shown_cell, shown_path

GENERIC_STEMS = frozenset(
    (
        *(
            "metrics",
            "training_metrics",
            "train_metrics",
            "verl_metrics",
            "verl",
            "verl_console",
            "eval_metrics",
            "log",
            "logs",
            "output",
        ),
        *(
            "train",
            "training",
            "history",
            "wandb_history",
            "progress",
            "results",
            "result",
            "data",
            "stdout",
        ),
        *(
            "experiment_log",
            "trainer_log",
            "training_log",
            "train_log",
            "trainer_state",
            "trainer",
            "orchestrator",
            "logging",
            "curves",
        ),
    )
)

# Of one run's records, fewer than one in so many without a step are slips, such as a line that two processes
# wrote into; more may be another run.
_FEW = 10
# How a name's second occurrence is called, by us and by pandas.
_AGAIN = re.compile(r"(?:#|\.)\d+\Z")
# So many records one behind the other may be a run, however long the others are.
_RUN = 8
# So many of the records without a step are searched for text in the place of a number.
_LOOKED_AT = 10_000

# Folders that say nothing of the run in them.
_NO_NAME = re.compile(
    r"checkpoint-\d+|attempt_\d+|logs|latest|latest-run|files|run_default|trainer|orchestrator|\.{1,2}"
)


def says_nothing(folder: str) -> bool:
    """Whether a folder's name tells nothing of the run in it."""
    return _NO_NAME.fullmatch(folder) is not None


def display_name(path: str) -> str:
    """Name a run after its file: the stem, or the folder's name where the stem says nothing."""
    if path == "-":
        return "stdin"
    pure = packed.plain_name(path)
    # TensorBoard names its files after the host, which is nobody's name for a run.
    stem = pure.stem.casefold()
    if stem in GENERIC_STEMS or stem.isdecimal() or "tfevents" in pure.name:
        folders = [part for part in pure.parts[:-1] if not _NO_NAME.fullmatch(part)]
        if folders and folders[-1] != pure.anchor:
            return folders[-1]
    return pure.stem or path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parts:
    """What all runs of one table share."""

    source: Source
    steps: StepColumn
    columns: Mapping[str, FloatArray]
    texts: Mapping[str, str]
    notes: tuple[str, ...]
    table: Table


class Lost(NamedTuple):
    """A run, or records that may be one, of which nothing can be used; the name is empty if unknown."""

    name: str
    error: InputError


class Assembled(NamedTuple):
    """The runs of a table, and what was read and gave none."""

    runs: tuple[Run, ...]
    lost: tuple[Lost, ...] = ()


def assemble(
    table: Table, source: Source, name: str, *, step: str | None = None, run: str | None = None
) -> Assembled:
    """Turn a table into runs.

    Records that belong to no run (without a step, unreadable) are counted in the first run of the file. Where
    they name a run that has no other record, or are so many that they may be a run, they are returned as
    lost: nobody may take the file for the runs that are left.

    Parameters
    ----------
    table, source
        What was read, and from where.
    name
        For runs that have no label of their own.
    step, run
        Columns that the user names.

    Raises
    ------
    InputError
        ``no-step-column``, ``step-not-numeric``, ``column-not-found``, ``token-level-table`` or
        ``several-rows-a-step``.

    """
    table = on_one_axis(table, source.path) if step is None else table
    steps = find_step(table, source.path, step)
    refuse_samples(source.path, table.columns, steps.values)
    split = split_runs(table, steps.values, source.path, run)
    parsed = {
        column: parse_column(cells)
        for column, cells in table.columns.items()
        if column != steps.name and column not in split.columns
    }
    parts = _Parts(
        source=source,
        steps=steps,
        columns={column: p.values for column, p in parsed.items() if p.numeric},
        texts={column: p.example or "" for column, p in parsed.items() if not p.numeric},
        notes=(*table.notes, *_counter(steps), *split.notes, *_mixed(parsed), *_unread(table)),
        table=table,
    )
    runs = [one for group in split.groups for one in _lives_of(group, name, parts)]
    dropped = Counter(table.dropped)
    without_step = np.isnan(steps.values)
    if table.unreadable is not None:
        without_step &= ~table.unreadable
    dropped[NO_STEP] += int(without_step.sum())
    runs[0] = replace(runs[0], dropped=dict(+(dropped + Counter(runs[0].dropped))))
    return Assembled(tuple(runs), tuple(_lost(split, parts)))


def _lost(split: Split, parts: _Parts) -> Iterator[Lost]:
    """Yield the runs without a step, and records without one that may be a run."""
    where, records = shown_path(parts.source.path), len(parts.steps.values)
    hint = "mend these records, name another step column with --step, or take them out of the file"
    for group in split.lost:
        what = f"none of the {counted(len(group.rows), 'record')} of run {shown(group.label)} in {where} "
        yield Lost(group.label, InputError("run-without-steps", f"{what}has a readable step", hint))
    for name in parts.table.lost:
        what = f"none of the records of run {shown(name)} in {where} can be read"
        yield Lost(
            name, InputError("run-without-steps", what, "write the file again, or take the run out of it")
        )
    missed = np.zeros(records, dtype=bool)
    if parts.table.unreadable is not None:
        # A run that is still writing, or was killed, leaves its last record cut off.
        missed[:-1] = parts.table.unreadable[:-1]
    for column in filter(is_metric, parts.columns):
        missed |= ~np.isnan(parts.columns[column])
    for column in (parts.steps.name, *filter(is_metric, parts.table.columns)):
        cells = parts.table.columns[column]
        missed[[row for row in split.unowned[:_LOOKED_AT].tolist() if classify(cells[row])[1]]] = True
    lost = np.zeros(records, dtype=bool)
    lost[split.unowned] = missed[split.unowned]
    number, block = int(lost.sum()), np.diff(np.flatnonzero(np.diff(lost, prepend=False, append=False)))[::2]
    if number > 1 and (split.columns or number * _FEW > records or block.max(initial=0) >= _RUN):
        what = f"{number} of {counted(records, 'record')} in {where} cannot be read or have no step"
        yield Lost("", InputError("records-without-run", f"{what}; a run may be among them", hint))
    curves = [values for column, values in parts.columns.items() if not is_bookkeeping(column)]
    steps = parts.steps.values
    # Steps that begin anew without any value were a run.
    again = steps < np.fmax.accumulate(np.concatenate(([-np.inf], steps[:-1])))
    empty = again & np.all([np.isnan(values) for values in curves], axis=0)
    if curves and not parts.table.unread and empty.sum() >= _RUN and empty.sum() * _FEW > records:
        what = (
            f"{int(empty.sum())} of {counted(records, 'record')} in {where} have no value at an earlier step"
        )
        yield Lost("", InputError("records-without-run", f"{what}; a run may be among them", hint))
    for column, values in parts.columns.items():
        first = parts.columns.get(_AGAIN.sub("", column))
        if first is not None and first is not values and is_metric(_AGAIN.sub("", column)):
            both = np.isfinite(first) & np.isfinite(values)
            if both.sum() >= _RUN and (first != values)[both].any():
                what = f"column {shown(_AGAIN.sub('', column))} stands twice in {where}, with other values"
                yield Lost("", InputError("records-without-run", f"{what}; a run may be among them", hint))


def _lives_of(group: Group, name: str, parts: _Parts) -> list[Run]:
    step = parts.steps.values[group.rows]
    columns = {column: values[group.rows] for column, values in parts.columns.items()}
    telling = [values for column, values in columns.items() if not is_bookkeeping(column)]
    label = group.label or name
    return [
        _one_life(life, label if start == 1 else f"{label}#{start}", step, columns, parts)
        for start, life in enumerate(lives(step, telling), start=1)
    ]


def _one_life(
    life: Life, name: str, step: FloatArray, columns: Mapping[str, FloatArray], parts: _Parts
) -> Run:
    watched = frozenset(filter(is_metric, columns))
    merged = merge(life, step, columns, watched)
    if len(life.rows) >= 8 and merged.conflicts * 2 >= len(life.rows):
        raise InputError(
            "several-rows-a-step",
            f"{shown_path(parts.source.path)} has several rows a step with different values of the same "
            f"columns ({counted(len(life.rows), 'row')} for {counted(len(merged.step), 'step')}, "
            f"run {shown(name)})",
            "name the column that tells the runs apart with --run, or summarise to one row a step",
        )
    dropped = {SUPERSEDED: life.superseded + merged.redone, OVERWRITTEN: merged.overwritten}
    return Run(
        name=name,
        source=parts.source,
        step=merged.step,
        columns=merged.columns,
        dropped={reason: number for reason, number in dropped.items() if number},
        notes=(*parts.notes, *life.notes),
        step_column=parts.steps.name,
        step_why=parts.steps.why,
        texts=parts.texts,
        partial=parts.table.partial,
        settings=parts.table.settings,
        unread=parts.table.unread,
    )


def _unread(table: Table) -> tuple[str, ...]:
    if not table.unread:
        return ()
    left_out, most = len(table.unread), len(table.unread) + len(table.columns)
    return (f"{left_out} of {most} columns were not read: nothing is made of them, and the table is large",)


def _counter(steps: StepColumn) -> tuple[str, ...]:
    if folded(steps.name) not in COUNTERS:
        return ()
    return (f"steps are {shown(steps.name)}, a count of log calls: no column holds the trainer's own step",)


def _mixed(parsed: Mapping[str, Parsed]) -> tuple[str, ...]:
    return tuple(
        f"column {shown(column)}: {counted(p.texts, 'cell')} with text in place of a number "
        f"(first {shown_cell(p.example)}), taken as missing"
        for column, p in parsed.items()
        if p.numeric and p.texts
    )
