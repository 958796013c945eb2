"""From a table to runs: values parsed, runs separated, one row per step, every loss counted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from entropylaw.arrays import FloatArray, IntArray
from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, places, quoted_path, shown, shown_cell
from entropylaw.logs.catalog import is_metric, sample_columns
from entropylaw.logs.runs import NAN, ROWS_COUNTED, TEXT, Run, Table, added
from entropylaw.logs.runs.number_parsing import Column, Parsed, classify, parse_column
from entropylaw.logs.runs.splitting import (
    OVERWRITTEN,
    SUPERSEDED,
    Group,
    Split,
    is_bookkeeping,
    lives,
    merge,
    split_runs,
)
from entropylaw.logs.runs.step_column import (
    COUNTERS,
    NO_STEP,
    ROW,
    StepColumn,
    by_folded_name,
    find_step,
    folded,
    on_one_axis,
)
from entropylaw.logs.source import Source
from entropylaw.logs.sources.content import plain_name
from entropylaw.logs.sources.stepless import FEWEST_EVALUATIONS, evaluations
from entropylaw.logs.suggest import no_step

# Names of files that do not identify the run in them.
GENERIC_STEMS = {
    *("metrics", "training_metrics", "train_metrics", "eval_metrics", "verl_metrics", "verl"),
    *("verl_console", "log", "logs", "logging", "output", "stdout", "train", "training", "train_log"),
    *("training_log", "trainer", "trainer_log", "trainer_state", "orchestrator", "experiment_log"),
    *("history", "wandb_history", "progress", "results", "result", "data", "curves"),
}
_GENERIC_FOLDER = re.compile(
    r"checkpoint-\d+|attempt_\d+|logs|latest|latest-run|files|run_default|trainer|orchestrator|\.{1,2}"
)

# Of one run's records, fewer than one in so many without a step are slips, such as a line that two processes
# wrote into; more may be another run.
_ONE_IN_SLIPS = 10
# So many consecutive records may be a run, however long the others are.
_SHORTEST_RUN = 8


def is_generic_folder(folder: str) -> bool:
    """Whether a folder's name does not identify the run in it."""
    return _GENERIC_FOLDER.fullmatch(folder) is not None


def display_name(path: str) -> str:
    """Name a run after its file: the stem, or the folder's name where the stem is generic."""
    if path == "-":
        return "stdin"
    pure = plain_name(path)
    stem = pure.stem.casefold()
    # TensorBoard names its files after the host, which does not identify the run.
    if stem in GENERIC_STEMS or stem.isdecimal() or "tfevents" in pure.name:
        folders = [folder for folder in pure.parts[:-1] if not is_generic_folder(folder)]
        if folders and folders[-1] != pure.anchor:
            return folders[-1]
    return pure.stem or path


def assemble(
    table: Table,
    source: Source,
    name: str,
    *,
    step: str | None = None,
    run: str | None = None,
    words: Collection[str] = (),
) -> tuple[tuple[Run, ...], tuple[tuple[str, InputError], ...]]:
    """Turn a table into runs and errors: of each run that is lost its name, empty if unknown, and the error.

    Records that belong to no run (without a step, unreadable) are counted in the first run of the file. Where
    their label occurs in no other record, or they are so many that they may be a run, there is an error.

    ``name`` is for runs without a label of their own; ``step`` and ``run`` are columns that the user names,
    and so are ``words``, of which those with text are kept at every step.
    The rows are counted where ``step`` is ``"row"`` and no column has that name.

    Raises ``no-step-column``, ``step-not-numeric``, ``column-not-found``, ``token-level-table`` or
    ``several-rows-a-step``.
    """
    table = on_one_axis(table, source.path) if step is None else table
    count_rows = step == ROW and ROW not in by_folded_name(table.columns)
    for cells in [*table.columns.values()][:1] if count_rows else ():
        table = replace(table, columns={**table.columns, ROW: np.arange(1.0, len(cells) + 1)})
    steps = find_step(table, source.path, step)
    if steps is None:
        raise no_step(table, source.path)
    steps = steps._replace(why=ROWS_COUNTED) if count_rows else steps
    refuse_samples(source.path, table.columns, steps.values)
    split = split_runs(table, steps.values, source.path, run)
    parsed = {
        column: parse_column(cells)
        for column, cells in table.columns.items()
        if column != steps.name and column not in split.columns
    }
    # The whole file as one run, from which each of its runs copies what they share.
    whole = Run(
        name=name,
        source=source,
        step=steps.values,
        columns={column: p.values for column, p in parsed.items() if p.numeric},
        texts={column: p.example or "" for column, p in parsed.items() if not p.numeric},
        notes=(*table.notes, *_notes(table, steps, split, parsed)),
        step_column=steps.name,
        step_why=steps.why,
        partial=table.partial,
        settings=table.settings,
        config=table.config,
        unread=table.unread,
        labels=split.columns,
    )
    spoiled = {
        name: {TEXT: np.array(p.where, dtype=np.intp), NAN: np.array(p.nans, dtype=np.intp)}
        for name, p in parsed.items()
        if p.numeric and (p.texts or p.nans)
    }
    written = {column: _coded(cells) for column, cells in table.columns.items() if column in words}
    runs = [started for group in split.groups for started in _starts(group, whole, spoiled, written)]
    read = True if table.unreadable is None else ~table.unreadable
    dropped = added(table.dropped, {NO_STEP: int((np.isnan(steps.values) & read).sum())}, runs[0].dropped)
    runs[0] = replace(runs[0], dropped=dropped)
    return tuple(runs), tuple(_lost(split, whole, table))


def refuse_samples(path: str, columns: Iterable[str], steps: Column) -> None:
    """Raise ``token-level-table`` where two columns mark tokens or samples, and steps repeat four times."""
    marks = sample_columns(columns)
    if len(marks) < 2:
        return
    values = parse_column(steps).values
    values = values[np.isfinite(values)]
    distinct = len(np.unique(values))
    # A table of tokens or samples repeats every step thousands of times.
    if distinct and len(values) >= 4 * distinct:
        rows = f"{counted(len(values), 'row')} for {counted(distinct, 'step')}; columns {listing(marks, 4)}"
        message = f"{quoted_path(path)} has one row per token or sample ({rows}), one row per step is needed"
        hint = "summarise it to one row per step with `entropylaw tokens`, and read that"
        raise InputError("token-level-table", message, hint)


def _lost(split: Split, whole: Run, table: Table) -> Iterator[tuple[str, InputError]]:
    """Yield the runs that have no step, and what may have been a run."""
    where, records = quoted_path(whole.source.path), counted(len(whole.step), "record")
    hint = "mend these records, name another step column with --step, or take them out of the file"
    for label, rows in split.lost:
        message = f"none of the {counted(len(rows), 'record')} of run {shown(label)} in {where} "
        yield label, InputError("run-without-steps", f"{message}has a readable step", hint)
    for name in table.lost:
        message = f"none of the records of run {shown(name)} in {where} can be read"
        again = "write the file again, or take the run out of it"
        yield name, InputError("run-without-steps", message, again)
    losses = list[str]()
    # Records without a step or label that hold a value or cannot be read.
    missed = np.zeros(len(whole.step), dtype=bool)
    if table.unreadable is not None:
        # A run that is still writing, or was killed, leaves its last record cut off.
        missed[:-1] = table.unreadable[:-1]
    for column in filter(is_metric, whole.columns):
        missed |= ~np.isnan(whole.columns[column])
    # Ten thousand of the records without a step are searched for text in the place of a number.
    for column in (whole.step_column, *filter(is_metric, table.columns)):
        cells = table.columns[column]
        missed[[row for row in split.unowned[:10_000].tolist() if classify(cells[row])[1]]] = True
    without_step = np.zeros(len(missed), dtype=bool)
    without_step[split.unowned] = True
    missed &= without_step
    block = np.diff(np.flatnonzero(np.diff(missed, prepend=False, append=False)))[::2]
    number = int(missed.sum())
    many = split.columns or number * _ONE_IN_SLIPS > len(missed) or block.max(initial=0) >= _SHORTEST_RUN
    if number > 1 and many:
        losses.append(f"{number} of {records} in {where} cannot be read or have no step")
    else:
        stepless = ~np.isfinite(whole.step)
        for _, rows in split.lost:
            stepless[rows] = False
        number = evaluations(table, stepless, (whole.step_column, *split.columns))
        if number >= FEWEST_EVALUATIONS:
            losses.append(f"{counted(number, 'value')} of metrics in {where} have no step")
    # Records without any value after the steps began again, as those of a lost run.
    curves = [values for column, values in whole.columns.items() if not is_bookkeeping(column)]
    fallen = whole.step[1:] < np.fmax.accumulate(whole.step[:-1])
    for values in curves if fallen.any() else ():
        fallen &= np.isnan(values[1:])
    empty = int(fallen.sum())
    if curves and not whole.unread and empty >= _SHORTEST_RUN and empty * _ONE_IN_SLIPS > len(whole.step):
        losses.append(f"{empty} of {records} in {where} have no value at an earlier step")
    for column, values in whole.columns.items():
        # The suffix of a name's second occurrence: ``#2`` of ours, ``.1`` of pandas.
        name = re.sub(r"(?:#|\.)\d+\Z", "", column)
        first = whole.columns.get(name)
        if first is not None and first is not values and is_metric(name):
            both = np.isfinite(first) & np.isfinite(values)
            if both.sum() >= _SHORTEST_RUN and (first != values)[both].any():
                losses.append(f"column {shown(name)} occurs twice in {where}, with other values")
    for message in losses:
        yield "", InputError("records-without-run", f"{message}; a run may be among them", hint)


def _coded(cells: Column) -> tuple[list[str], FloatArray]:
    """The texts of a column, each once, and the place of each cell's among them; nan for an empty cell."""
    texts = [str(cell).strip() if classify(cell)[1] else "" for cell in cells]
    codes = {text: code for code, text in enumerate(dict.fromkeys(filter(None, texts)))}
    return list(codes), np.array([codes.get(text, np.nan) for text in texts], dtype=float)


def _starts(
    group: Group,
    whole: Run,
    records: Mapping[str, Mapping[str, IntArray]],
    words: Mapping[str, tuple[list[str], FloatArray]],
) -> Iterator[Run]:
    """Yield a run for each start that the records of one label hold.

    ``records`` are by column those that hold no number, by what they hold.
    ``words`` are columns as :func:`_coded` gives them.
    """
    step, columns, name = whole.step, whole.columns, group.label or whole.name
    # A run that has all records of a large log does not copy them.
    if len(group.rows) < len(step):
        step = step[group.rows]
        columns = {column: values[group.rows] for column, values in columns.items()}
    watched = frozenset(filter(is_metric, columns))
    curves = [values for column, values in columns.items() if not is_bookkeeping(column)]
    for start, life in enumerate(lives(step, curves), start=1):
        label = name if start == 1 else f"{name}#{start}"
        merged = merge(life, step, columns, watched)
        if len(life.rows) >= _SHORTEST_RUN and merged.conflicts * 2 >= len(life.rows):
            rows = f"{counted(len(life.rows), 'row')} for {counted(len(merged.step), 'step')}"
            where = quoted_path(whole.source.path)
            message = f"{where} has several rows per step with different values of the same columns ({rows}, "
            hint = "name the column that separates the runs with --run, or summarise to one row per step"
            raise InputError("several-rows-a-step", f"{message}run {shown(label)})", hint)
        spoiled: dict[str, dict[str, FloatArray]] = {}
        for column, causes in records.items():
            measured = merged.step[~np.isnan(merged.columns[column])]
            for cause, of_file in causes.items():
                at = np.setdiff1d(whole.step[np.intersect1d(group.rows[life.rows], of_file)], measured)
                if at.size:
                    spoiled.setdefault(column, {})[cause] = at
        codes = {column: places[group.rows] for column, (_, places) in words.items()}
        written = {
            column: tuple("" if np.isnan(code) else words[column][0][int(code)] for code in places)
            for column, places in (merge(life, step, codes, frozenset()).columns if codes else {}).items()
            if np.isfinite(places).any()
        }
        yield replace(
            whole,
            name=label,
            step=merged.step,
            columns=merged.columns,
            words=written,
            dropped=added({SUPERSEDED: life.superseded + merged.redone, OVERWRITTEN: merged.overwritten}),
            notes=(*whole.notes, *life.notes, *merged.notes),
            spoiled=spoiled,
        )


def _notes(table: Table, step: StepColumn, split: Split, parsed: Mapping[str, Parsed]) -> Iterator[str]:
    if folded(step.name) in COUNTERS:
        yield f"steps are {shown(step.name)}, a count of log calls: no column holds the trainer's own step"
    yield from split.notes
    for column, cells in parsed.items():
        if cells.numeric and cells.texts:
            at = step.values[list(cells.where)]
            where = [f"first {shown_cell(cells.example)}", places("step", at[np.isfinite(at)].tolist())]
            if table.first_line is not None:
                where.append(places("line", [row + table.first_line for row in cells.where]))
            yield (
                f"column {shown(column)}: {counted(cells.texts, 'cell')} with text in place of a number "
                f"({'; '.join(filter(None, where))}), taken as missing"
            )
    if table.unread:
        left_out, most = len(table.unread), len(table.unread) + len(table.columns)
        yield f"{left_out} of {most} columns were not read: no analysis uses them, and the table is large"
