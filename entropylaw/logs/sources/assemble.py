"""From a table to runs: values parsed, runs separated, one row per step, every loss counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from entropylaw.arrays import BoolArray, FloatArray, IntArray
from entropylaw.errors import InputError
from entropylaw.escaping import counted, in_shell, listing, places, quoted_path, shown, shown_cell
from entropylaw.logs.catalog import is_metric, sample_columns, stepless_sample_columns, token_columns
from entropylaw.logs.runs import (
    FRAME,
    NAN,
    NO_ROW,
    ROWS_COUNTED,
    TEXT,
    Run,
    Table,
    added,
    splitting,
    step_column,
)
from entropylaw.logs.runs.number_parsing import Column, Parsed, classify, parse_column
from entropylaw.logs.runs.step_column import COUNTERS, ROW, StepColumn, by_folded_name, folded
from entropylaw.logs.source import Source
from entropylaw.logs.sources import kinds
from entropylaw.logs.sources.content import plain_name
from entropylaw.logs.suggest import is_evident, measured, measured_numbers, no_step

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
# No table has more runs that only a column without a run's name separates.
_MOST_RUNS = 32
# With fewer different steps, the step column is a constant.
_FEWEST_STEPS = 3
# Words of columns that number the parts of a step.
_PARTS_OF_A_STEP = frozenset(
    (
        *("rank", "worker", "device", "gpu", "node", "batch", "minibatch", "mini", "micro", "epoch", "inner"),
        *("update", "iter", "substep", "chunk", "shard", "idx", "index", "sample", "group", "prompt"),
    )
)

#: Fewer evaluations cannot be fitted, and no gate could pass on them.
FEWEST_EVALUATIONS = 5
# So many records are searched for text.
_MOST_SEARCHED = 10_000
_STEP_IN_NAME = re.compile(r"(?<![^/._-])\d+(?![^/._-])")


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
    table, steps = with_steps(table, source.path, step)
    refuse_samples(source.path, table.columns, steps.values)
    split = splitting.split_runs(table, steps.values, source.path, run)
    others = {steps.name, *split.columns}
    parsed = {name: parse_column(cells) for name, cells in table.columns.items() if name not in others}
    columns, texts, spoiled = numbers_and_texts(parsed)
    # The whole file as one run, from which each of its runs copies what they share.
    whole = Run(
        name=name,
        source=source,
        step=steps.values,
        columns=columns,
        texts=texts,
        notes=(*table.notes, *_notes(table, steps, split, parsed)),
        step_column=steps.name,
        step_why=steps.why,
        partial=table.partial,
        settings=table.settings,
        config=table.config,
        unread=table.unread,
        labels=split.columns,
    )
    written = {column: kinds.coded(cells) for column, cells in table.columns.items() if column in words}
    runs = [started for group in split.groups for started in _starts(group, whole, spoiled, written, table)]
    stepless = np.isnan(steps.values)
    if table.unreadable is not None:
        stepless &= ~table.unreadable
    dropped = added(table.dropped, {step_column.NO_STEP: int(stepless.sum())}, runs[0].dropped)
    runs[0] = replace(runs[0], dropped=dropped)
    return tuple(runs), tuple(lost_runs(split, whole, table))


def numbers_and_texts(
    parsed: Mapping[str, Parsed],
) -> tuple[dict[str, FloatArray], dict[str, str], dict[str, dict[str, IntArray]]]:
    """The columns of numbers, the first text of the others, and the records without a number by cause."""
    columns, texts, spoiled = dict[str, FloatArray](), dict[str, str](), dict[str, dict[str, IntArray]]()
    for column, cells in parsed.items():
        if not cells.numeric:
            texts[column] = cells.example or ""
            continue
        columns[column] = cells.values
        if cells.texts or cells.nans:
            where = {TEXT: cells.where, NAN: cells.nans}
            spoiled[column] = {cause: np.array(rows, dtype=np.intp) for cause, rows in where.items()}
    return columns, texts, spoiled


def with_steps(table: Table, path: str, step: str | None) -> tuple[Table, StepColumn]:
    """A table with its steps on one axis, or with a count of its rows, and the step column."""
    if step is None:
        table = step_column.on_one_axis(kinds.one_column_per_metric(table), path)
    count_rows = step == ROW and ROW not in by_folded_name(table.columns)
    if count_rows and table.columns:
        rows = len(next(iter(table.columns.values())))
        table = replace(table, columns={**table.columns, ROW: np.arange(1.0, rows + 1)})
    steps = step_column.find_step(table, path, step, lambda: kinds.entropies_and_rewards(table))
    if steps is None:
        refuse_stepless_samples(path, table)
        raise no_step(table, path)
    table, steps = kinds.with_log_calls(table, steps._replace(why=ROWS_COUNTED) if count_rows else steps)
    return kinds.by_kind(table, steps), steps


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
        raise _row_per_sample(path, marks, f"{counted(len(values), 'row')} for {counted(distinct, 'step')}")


def refuse_stepless_samples(path: str, table: Table) -> None:
    """Raise ``token-level-table`` where the columns of a table without a step mark tokens or samples."""
    if marks := stepless_samples(table.columns):
        raise _row_per_sample(path, marks, f"{counted(table.rows, 'row')} without a step", stepless=True)


def stepless_samples(columns: Collection[str]) -> list[str]:
    """The columns by which a table without a step has tokens or samples; none where it may have steps.

    A record with an entropy and an example of an answer may be that of a step: it has no place in an answer.
    """
    marks = stepless_sample_columns(columns)
    if not marks or token_columns(marks):
        return marks
    has_entropy = any(is_evident("entropy", column) for column in columns)
    return [] if has_entropy else marks


def _row_per_sample(path: str, marks: Sequence[str], rows: str, *, stepless: bool = False) -> InputError:
    """Make the error of a table of tokens or samples, with the command that summarises it."""
    rows = f"{rows}; columns {listing(marks, 4)}"
    message = f"{quoted_path(path)} has one row per token or sample ({rows}), one row per step is needed"
    table = "TABLE" if path in (FRAME, "-") else in_shell(path)
    command = "tokens" if token_columns(marks) else "samples"
    hint = f"make its rows by step: entropylaw {command} {table} -o {command}-by-step.parquet"
    # Samples without a step are those of one checkpoint, and tokens need one.
    if stepless and command == "tokens":
        hint = f"add the column `step`, and {hint}"
    return InputError("token-level-table", message, hint)


def lost_runs(split: splitting.Split, whole: Run, table: Table) -> Iterator[tuple[str, InputError]]:
    """Yield the runs that have no step, and what may have been a run."""
    where = quoted_path(whole.source.path)
    hint = "mend these records, name another step column with --step, or take them out of the file"
    for label, rows in split.lost:
        message = f"none of the {counted(len(rows), 'record')} of run {shown(label)} in {where} "
        yield label, InputError("run-without-steps", f"{message}has a readable step", hint)
    for name in table.lost:
        message = f"none of the records of run {shown(name)} in {where} can be read"
        yield (
            name,
            InputError("run-without-steps", message, "write the file again, or take the run out of it"),
        )
    for loss in filter(None, (lost_records(split, whole, table), *doubled_columns(whole))):
        yield "", InputError("records-without-run", f"{loss}; a run may be among them", hint)


def lost_records(split: splitting.Split, whole: Run, table: Table) -> str:
    """Say how many records without a step or label hold a value or cannot be read; empty for slips."""
    where = quoted_path(whole.source.path)
    missed = missed_records(split, whole, table)
    block = np.diff(np.flatnonzero(np.diff(missed, prepend=False, append=False)))[::2]
    number = int(missed.sum())
    many = split.columns or number * _ONE_IN_SLIPS > len(missed) or block.max(initial=0) >= _SHORTEST_RUN
    if number > 1 and many:
        return f"{number} of {counted(len(missed), 'record')} in {where} cannot be read or have no step"
    stepless = ~np.isfinite(whole.step)
    for _, rows in split.lost:
        stepless[rows] = False
    number = evaluations(table, stepless, (whole.step_column, *split.columns))
    if number < FEWEST_EVALUATIONS:
        return ""
    return f"{counted(number, 'value')} of metrics in {where} have no step"


def evaluations(table: Table, stepless: BoolArray, without: Collection[str] = ()) -> int:
    """How many evaluations some records, those that are ``stepless``, may hold.

    Numbers count by the names of their columns, also where a run's name or a step is in these, and so do
    texts and parts of records that are not read. Columns ``without`` which are left out.
    """
    hidden = sum(number for row, number in table.hidden.items() if row == NO_ROW or stepless[row])
    if not stepless.any():
        return hidden
    numbers, texts = dict[str, BoolArray](), list[Column]()
    for name, cells in table.columns.items():
        parsed = parse_column(cells)
        filled = np.isfinite(parsed.values) & stepless
        if name not in without and filled.any():
            numbers[name] = filled
        if parsed.texts:
            texts.append(cells)
    metrics, none = measured(numbers), np.zeros_like(stepless)
    evaluated, valued = (
        np.any([none, *(numbers[name] for name in names)], axis=0) for names in (metrics, numbers)
    )
    # {"B": {"1": {"reward": 0.2}, "2": …}} is one record and many evaluations.
    kinds = Counter[str]()
    for name in metrics:
        kinds[_STEP_IN_NAME.sub("#", name)] += int(numbers[name].sum())
    held = 0
    for row in np.flatnonzero(stepless & ~evaluated)[:_MOST_SEARCHED].tolist() if texts else ():
        held += max(held_in_text(str(cells[row]), valued=bool(valued[row])) for cells in texts)
    return hidden + max(int(evaluated.sum()), *kinds.values(), 0) + held


def held_in_text(text: str, *, valued: bool) -> int:
    """How many evaluations a cell of text may hold, in a record with a number if it is ``valued``.

    As "entropy: 0.5", {"key": "entropy", "value": 0.5} and a row of a table within quotes; in a history in
    one cell, as of JSON, each of its entropies is one.
    """
    cells, entropies = re.split("[,;\t]", text), text.casefold().count("entrop")
    if len(cells) > 1 and np.isfinite(parse_column(cells).values).all():
        return max(entropies, 1)
    named = (valued and len(text.split()) == 1) or measured_numbers(text)
    return entropies if named else 0


def missed_records(split: splitting.Split, whole: Run, table: Table) -> BoolArray:
    """The records without a step or label that hold a value or cannot be read."""
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
    return missed & np.isin(np.arange(len(missed)), split.unowned)


def doubled_columns(whole: Run) -> Iterator[str]:
    """Say which metrics occur twice, with other values."""
    for column, values in whole.columns.items():
        # The suffix of a name's second occurrence: ``#2`` of ours, ``.1`` of pandas.
        name = re.sub(r"(?:#|\.)\d+\Z", "", column)
        first = whole.columns.get(name)
        if first is not None and first is not values and is_metric(name):
            both = np.isfinite(first) & np.isfinite(values)
            if both.sum() >= _SHORTEST_RUN and (first != values)[both].any():
                where = quoted_path(whole.source.path)
                yield f"column {shown(name)} occurs twice in {where}, with other values"


def texts_of(
    words: Mapping[str, tuple[list[str], FloatArray]], rows: IntArray, life: splitting.Life, step: FloatArray
) -> dict[str, tuple[str, ...]]:
    """The texts of a start at each of its steps, without columns that are empty at every step."""
    if not words:
        return {}
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
    words: Mapping[str, tuple[list[str], FloatArray]],
    table: Table,
) -> Iterator[Run]:
    """Yield a run for each start that the records of one label hold.

    ``records`` are by column those that hold no number, by what they hold.
    ``words`` are columns as :func:`coded` gives them.
    """
    step, columns, name = whole.step, whole.columns, group.label or whole.name
    where = quoted_path(whole.source.path)
    # A run that has all records of a large log does not copy them.
    if len(group.rows) < len(step):
        step = step[group.rows]
        columns = {column: values[group.rows] for column, values in columns.items()}
    watched = frozenset(filter(is_metric, columns))
    curves = [values for column, values in columns.items() if not splitting.is_bookkeeping(column)]
    for start, life in enumerate(splitting.lives(step, curves), start=1):
        label = name if start == 1 else f"{name}#{start}"
        merged = splitting.merge(life, step, columns, watched)
        steps = len(merged.step)
        many = merged.contested * 2 >= steps >= _FEWEST_STEPS or merged.conflicts * 2 >= len(life.rows)
        if len(life.rows) >= _SHORTEST_RUN and many:
            require_one_run(table, group.rows[life.rows], step[life.rows], f"run {shown(label)} in {where}")
            merged = splitting.averaged(life, step, columns)
        superseded = life.superseded + merged.redone
        yield replace(
            whole,
            name=label,
            step=merged.step,
            columns=merged.columns,
            words=texts_of(words, group.rows, life, step),
            dropped=added({splitting.SUPERSEDED: superseded, splitting.OVERWRITTEN: merged.overwritten}),
            notes=(*whole.notes, *life.notes, *merged.notes),
            spoiled=spoiled_steps(records, whole.step, group.rows[life.rows], merged),
        )


def require_one_run(table: Table, rows: IntArray, step: FloatArray, where: str) -> None:
    """Raise ``several-rows-a-step`` for rows of one step that may be of several runs, or of several steps."""
    steps = len(np.unique(step))
    message = f"{where} has several rows per step with different values of the same columns "
    message += f"({counted(len(rows), 'row')} for {counted(steps, 'step')})"
    if steps < _FEWEST_STEPS:
        raise InputError("several-rows-a-step", message, f"add --step {ROW} ({ROW}: the rows are counted)")
    for column, cells in table.columns.items():
        if _PARTS_OF_A_STEP.intersection(re.findall("[a-z]+", column.casefold())):
            continue
        _, codes = np.unique(np.array([str(cells[row]) for row in rows.tolist()]), return_inverse=True)
        number = int(codes.max()) + 1
        alone = len(np.unique(np.column_stack((codes, step)), axis=0)) == len(rows)
        if alone and 1 < number <= _MOST_RUNS and number * _SHORTEST_RUN <= len(rows):
            message += f", which {shown(column)} separates"
            raise InputError("several-rows-a-step", message, f"add --run {in_shell(column)}")


def spoiled_steps(
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
