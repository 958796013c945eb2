"""From a table to runs: values parsed, runs separated, one row per step, every loss counted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from msgspec import structs

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.errors import InputError
from entropylaw.escaping import counted, in_shell, listing, places, quoted_path, shown, shown_cell
from entropylaw.logs.catalog import is_metric, sample_columns, stepless_sample_columns, token_columns
from entropylaw.logs.runs import (
    FRAME,
    ROWS_COUNTED,
    Run,
    Table,
    added,
    splitting,
    step_column,
)
from entropylaw.logs.runs.number_parsing import Column, Parsed, parse_column
from entropylaw.logs.runs.step_column import COUNTERS, ROW, StepColumn, by_folded_name, folded
from entropylaw.logs.source import Source
from entropylaw.logs.sources import kinds
from entropylaw.logs.sources.content import plain_name
from entropylaw.logs.suggest import is_evident, measured, measured_numbers, no_step

# Names of files that do not identify the run in them.
GENERIC_STEMS = frozenset(
    (
        "metrics",
        "training_metrics",
        "train_metrics",
        "eval_metrics",
        "verl_metrics",
        "verl",
        "verl_console",
        "log",
        "logs",
        "logging",
        "output",
        "stdout",
        "train",
        "training",
        "train_log",
        "training_log",
        "trainer",
        "trainer_log",
        "trainer_state",
        "orchestrator",
        "experiment_log",
        "history",
        "wandb_history",
        "progress",
        "results",
        "result",
        "data",
        "curves",
    )
)
_GENERIC_FOLDER = re.compile(
    r"checkpoint-\d+|attempt_\d+|logs|latest|latest-run|files|run_default|trainer|orchestrator|\.{1,2}"
)

# So many consecutive records may be a run, however long the others are.
_SHORTEST_RUN = 8
# No table has more runs that only a column without a run's name separates.
_MOST_RUNS = 32
# With fewer different steps, the step column is a constant.
_FEWEST_STEPS = 3
# Words of columns that number the parts of a step.
_PART_OF_A_STEP = re.compile(
    r"(?<![a-z])(?:rank|worker|device|gpu|node|batch|minibatch|mini|micro|epoch|inner|update|iter|substep|chunk"
    r"|shard|idx|index|sample|group|prompt)(?![a-z])"
)

#: Fewer evaluations cannot be fitted, and no gate could pass on them.
FEWEST_EVALUATIONS = 5
# So many records are searched for text.
_MOST_SEARCHED = 10_000


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
    supervised: bool = False,
) -> tuple[tuple[Run, ...], tuple[tuple[str, InputError], ...]]:
    """Turn a table into runs and errors: of each run that is lost its name, empty if unknown, and the error.

    Records that belong to no run (without a step, unreadable) are counted in the first run of the file, and
    in the ``unread`` share of its source. Where their label occurs in no other record, there is an error.

    ``name`` is for runs without a label of their own; ``step`` and ``run`` are columns that the user names,
    and so are ``words``, of which those with text are kept at every step.
    The rows are counted where ``step`` is ``"row"`` and no column has that name. Records of supervised
    training are set aside, unless ``supervised`` ones are requested, too.

    Raises ``no-step-column``, ``step-not-numeric``, ``column-not-found``, ``token-level-table`` or
    ``several-rows-a-step``.
    """
    if not supervised:
        table = kinds.without_supervised(table, source.path, words)
    table, steps = _with_steps(table, source.path, step)
    check_samples(source.path, table.columns, steps.values)
    split = splitting.split_runs(table, steps.values, source.path, run)
    others = {steps.name, *split.columns}
    parsed = {name: parse_column(cells) for name, cells in table.columns.items() if name not in others}
    # The whole file as one run, from which each of its runs copies what they share.
    whole = Run(
        name=name,
        source=source,
        step=steps.values,
        columns={column: cells.values for column, cells in parsed.items() if cells.numeric},
        texts={column: cells.example or "" for column, cells in parsed.items() if not cells.numeric},
        notes=(*table.notes, *_notes(table, steps, split, parsed)),
        step_column=steps.name,
        step_why=steps.why,
        partial=table.partial,
        settings=table.settings,
        config=table.config,
        unread=table.unread,
        labels=split.columns,
    )
    mixed = [column for column, cells in parsed.items() if cells.numeric and (cells.texts or cells.nans)]
    spoiled = {column: parsed[column].spoiled for column in mixed}
    if source.unread is not None:
        unread = max(source.unread, _unread_share(table, split, whole))
        whole = replace(whole, source=structs.replace(source, unread=unread))
    written = {column: kinds.coded(cells) for column, cells in table.columns.items() if column in words}
    runs = [started for group in split.groups for started in _starts(group, whole, spoiled, written, table)]
    stepless = np.isnan(steps.values)
    dropped = added(table.dropped, {step_column.NO_STEP: int(stepless.sum())}, runs[0].dropped)
    runs[0] = replace(runs[0], dropped=dropped)
    return tuple(runs), tuple(_lost_runs(split, source.path))


def _with_steps(table: Table, path: str, step: str | None) -> tuple[Table, StepColumn]:
    """A table with its steps on one axis, or with a count of its rows, and the step column."""
    if step is None:
        table = step_column.on_one_axis(kinds.one_column_per_metric(table), path)
    count_rows = step == ROW and ROW not in by_folded_name(table.columns)
    if count_rows and table.columns:
        rows = len(next(iter(table.columns.values())))
        table = replace(table, columns={**table.columns, ROW: np.arange(1.0, rows + 1)})
    steps = step_column.find_step(table, path, step, lambda: kinds.entropies_and_rewards(table))
    _check_rows_are_steps(table, None if steps is None or count_rows else steps.values, path)
    if steps is None:
        if marks := stepless_samples(table.columns):
            raise _row_per_sample(path, marks, f"{counted(table.rows, 'row')} without a step", stepless=True)
        raise no_step(table, path)
    if count_rows:
        steps = steps._replace(why=ROWS_COUNTED)
    table, steps = kinds.with_log_calls(table, steps)
    return kinds.by_kind(table, steps), steps


def _check_rows_are_steps(table: Table, steps: FloatArray | None, path: str) -> None:
    """Raise ``row-per-run`` where every row names another run, and no column counts steps."""
    rises = steps is not None and bool((np.diff(steps) > 0).all())
    if rises or table.labelled or table.partial or table.rows > _MOST_SEARCHED:
        return
    for name, labels in splitting.run_labels(table).items():
        if len(labels) >= _FEWEST_STEPS and "" not in labels and len(set(labels)) == len(labels):
            raise InputError(
                "row-per-run",
                f"{quoted_path(path)} has one row per run ({counted(len(labels), 'row')}, each with its own "
                f"{shown(name)}), one row per step is needed",
                "name the logs of the runs",
            )


def check_samples(path: str, columns: Iterable[str], steps: Column) -> None:
    """Raise ``token-level-table`` where two columns mark tokens or samples, and steps repeat four times."""
    marks = sample_columns(columns)
    values = parse_column(steps).values
    values = values[np.isfinite(values)]
    distinct = len(np.unique(values))
    # A table of tokens or samples repeats every step thousands of times.
    if len(marks) > 1 and distinct and len(values) >= 4 * distinct:
        raise _row_per_sample(path, marks, f"{counted(len(values), 'row')} for {counted(distinct, 'step')}")


def stepless_samples(columns: Collection[str]) -> list[str]:
    """The columns by which a table without a step has tokens or samples; none where it may have steps.

    A record with an entropy and an example of an answer may be that of a step: it has no place in an answer.
    """
    marks = stepless_sample_columns(columns)
    if not marks or token_columns(marks):
        return marks
    return [] if any(is_evident("entropy", column) for column in columns) else marks


def _row_per_sample(path: str, marks: Sequence[str], rows: str, *, stepless: bool = False) -> InputError:
    """Make the error of a table of tokens or samples, with the command that summarises it."""
    table = "TABLE" if path in (FRAME, "-") else in_shell(path)
    command = "tokens" if token_columns(marks) else "samples"
    hint = f"make its rows by step: entropylaw {command} {table} -o {command}-by-step.parquet"
    # Samples without a step are those of one checkpoint, and tokens need one.
    if stepless and command == "tokens":
        hint = f"add the column `step`, and {hint}"
    return InputError(
        "token-level-table",
        f"{quoted_path(path)} has one row per token or sample ({rows}; columns {listing(marks, 4)}), one row "
        "per step is needed",
        hint,
    )


def _lost_runs(split: splitting.Split, path: str) -> Iterator[tuple[str, InputError]]:
    """Yield the runs that have no step."""
    where = quoted_path(path)
    hint = "mend these records, name another step column with --step, or take them out of the file"
    for label, rows in split.lost:
        message = (
            f"none of the {counted(len(rows), 'record')} of run {shown(label)} in {where} has a readable step"
        )
        yield label, InputError("run-without-steps", message, hint)


def _unread_share(table: Table, split: splitting.Split, whole: Run) -> float:
    """The share of a table's records, or of its numbers of metrics, that is in no run.

    Records of runs of which none has a step are not counted: these runs have an error each.
    """
    of_runs = np.ones(len(whole.step), dtype=bool)
    for _, rows in split.lost:
        of_runs[rows] = False
    others = (whole.step_column, *split.columns)
    stepless = metric_numbers(table, of_runs & ~np.isfinite(whole.step), others)
    for column, values in whole.columns.items():
        # The suffix of a name's second occurrence: ``#2`` of ours, ``.1`` of pandas.
        name = re.sub(r"(?:#|\.)\d+\Z", "", column)
        earlier = whole.columns.get(name)
        if earlier is not None and earlier is not values and is_metric(name):
            both = np.isfinite(earlier) & np.isfinite(values)
            stepless += int((earlier != values)[both].sum())
    stepped = np.isfinite(whole.step)
    read = sum(int(np.isfinite(whole.columns[name][stepped]).sum()) for name in measured(whole.columns))
    return max(table.broken / max(table.rows, 1), stepless / max(stepless + read, 1))


def metric_numbers(table: Table, rows: BoolArray, without: Collection[str] = ()) -> int:
    """How many numbers of metrics some records (m,) have, by the names of their columns.

    Those in texts count, and those in parts of records that are not read. Columns ``without`` which are left
    out.
    """
    numbers: dict[str, int] = {}
    in_texts = 0
    for name, cells in table.columns.items():
        parsed = parse_column(cells)
        if name not in without:
            numbers[name] = int((np.isfinite(parsed.values) & rows).sum())
        with_text = (row for row in parsed.where if rows[row])
        in_texts += sum(_numbers_in_text(str(cells[row])) for row in islice(with_text, _MOST_SEARCHED))
    by_name = sum(numbers[name] for name in measured(name for name, number in numbers.items() if number))
    in_parts = sum(number for row, number in table.hidden.items() if rows[row])
    return by_name + in_texts + in_parts


def _numbers_in_text(text: str) -> int:
    """How many numbers of metrics a text has: "entropy: 0.5", a row within quotes, the name of a value."""
    cells = re.split("[,;\t]", text)
    if len(cells) > 1 and np.isfinite(parse_column(cells).values).all():
        return 1
    if numbers := measured_numbers(text):
        return len(numbers)
    return len(measured([text])) if " " not in text else 0


def _texts_of(
    words: Mapping[str, kinds.Coded], rows: IntArray, life: splitting.Life, step: FloatArray
) -> dict[str, tuple[str, ...]]:
    """The texts of a start at each of its steps, without columns that are empty at every step."""
    codes = {column: of_file[rows] for column, (_, of_file) in words.items()}
    texts: dict[str, tuple[str, ...]] = {}
    for column, cells in splitting.merge(life, step, codes, frozenset()).columns.items():
        if np.isfinite(cells).any():
            distinct = [*words[column][0], ""]
            texts[column] = tuple(distinct[int(code)] for code in np.nan_to_num(cells, nan=-1.0))
    return texts


def _starts(
    group: splitting.Group,
    whole: Run,
    records: Mapping[str, Mapping[str, IntArray]],
    words: Mapping[str, kinds.Coded],
    table: Table,
) -> Iterator[Run]:
    """Yield a run for each start that the records of one label hold.

    ``records`` are by column those that hold no number, by what they hold.
    """
    name = group.label or whole.name
    watched = frozenset(filter(is_metric, whole.columns))
    notes = whole.notes
    if aside := _before_rewards(
        whole.step[group.rows], [whole.columns[column][group.rows] for column in watched]
    ):
        note = "before it, with steps of their own and without an entropy and a reward, set aside"
        notes += (f"{counted(aside, 'record')} {note}",)
        group = group._replace(rows=group.rows[aside:])
    step = whole.step
    columns = whole.columns
    # A run that has all records of a large log does not copy them.
    if len(group.rows) < len(step):
        step = step[group.rows]
        columns = {column: values[group.rows] for column, values in columns.items()}
    curves = [values for column, values in columns.items() if not splitting.is_bookkeeping(column)]
    for start, life in enumerate(splitting.lives(step, curves), start=1):
        label = name if start == 1 else f"{name}#{start}"
        rows = group.rows[life.rows]
        merged = splitting.merge(life, step, columns, watched)
        many = merged.contested * 2 >= len(merged.step) >= _FEWEST_STEPS or merged.conflicts * 2 >= len(rows)
        if len(rows) >= _SHORTEST_RUN and many:
            _check_one_run(
                table, rows, step[life.rows], f"run {shown(label)} in {quoted_path(whole.source.path)}"
            )
            merged = splitting.averaged(life, step, columns)
        superseded = life.superseded + merged.redone
        yield replace(
            whole,
            name=label,
            step=merged.step,
            columns=merged.columns,
            words=_texts_of(words, group.rows, life, step),
            dropped=added({splitting.SUPERSEDED: superseded, splitting.OVERWRITTEN: merged.overwritten}),
            notes=(*notes, *life.notes, *merged.notes),
            spoiled=_spoiled_steps(records, whole.step, rows, merged),
        )


def _before_rewards(step: FloatArray, metrics: Sequence[FloatArray]) -> int:
    """How many of the first records have no entropy and no reward, where the steps begin anew behind them."""
    measured = np.any([np.isfinite(values) for values in metrics], axis=0) if metrics else np.zeros(1)
    first = int(np.argmax(measured))
    return first if first >= _FEWEST_STEPS and step[first] < step[first - 1] else 0


def _check_one_run(table: Table, rows: IntArray, step: FloatArray, where: str) -> None:
    """Raise ``several-rows-a-step`` for rows of one step that may be of several runs, or of several steps."""
    steps = len(np.unique(step))
    message = (
        f"{where} has several rows per step with different values of the same columns "
        f"({counted(len(rows), 'row')} for {counted(steps, 'step')})"
    )
    if steps < _FEWEST_STEPS:
        raise InputError("several-rows-a-step", message, f"add --step {ROW} ({ROW}: the rows are counted)")
    for column, cells in table.columns.items():
        if _PART_OF_A_STEP.search(column.casefold()):
            continue
        _, codes = np.unique(np.array([str(cells[row]) for row in rows.tolist()]), return_inverse=True)
        number = int(codes.max()) + 1
        is_unique = len(np.unique(np.column_stack((codes, step)), axis=0)) == len(rows)
        if is_unique and 1 < number <= _MOST_RUNS and number * _SHORTEST_RUN <= len(rows):
            message += f", which {shown(column)} separates"
            raise InputError("several-rows-a-step", message, f"add --run {in_shell(column)}")


def _spoiled_steps(
    records: Mapping[str, Mapping[str, IntArray]], step: FloatArray, rows: IntArray, merged: splitting.Merged
) -> dict[str, dict[str, FloatArray]]:
    """Steps of a start without a value of a column, by what its records have in place of a number."""
    spoiled: dict[str, dict[str, FloatArray]] = {}
    for column, causes in records.items():
        measured = merged.step[~np.isnan(merged.columns[column])]
        for cause, of_file in causes.items():
            at = np.setdiff1d(step[np.intersect1d(rows, of_file)], measured)
            if at.size:
                spoiled.setdefault(column, {})[cause] = at
    return spoiled


def _notes(
    table: Table, step: StepColumn, split: splitting.Split, parsed: Mapping[str, Parsed]
) -> Iterator[str]:
    if folded(step.name) in COUNTERS:
        yield f"steps are {shown(step.name)}, a count of log calls: no column holds the trainer's own step"
    yield from split.notes
    for column, cells in parsed.items():
        if cells.written:
            yield f"column {shown(column)}: {cells.written}"
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
