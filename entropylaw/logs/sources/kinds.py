"""Records of several kinds in one log, such as training and evaluation, and metrics with a row each.

A value of one kind never replaces one of another: a metric that two kinds have becomes a column for each,
``reward [train]`` and ``reward [eval]``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, quoted_path, shown
from entropylaw.logs import catalog
from entropylaw.logs.catalog import is_evaluation, is_kind, is_training
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import Column, classify, is_missing, parse_column, parse_step
from entropylaw.logs.runs.splitting import METRIC_NAMES, RUN_NAMES, SECOND_NAMES, VALUE_NAMES, is_bookkeeping
from entropylaw.logs.runs.step_column import COUNTERS, STEP_NAMES, StepColumn, folded
from entropylaw.logs.suggest import KINDS, is_evident, measured
from entropylaw.units import is_token_accuracy

#: The column in which a reader itself writes the kind of a record.
KIND = "record kind"

# Columns of text that say of which kind a record is, the best first; any other one does with every text.
_KIND_NAMES = ("type", "split", "mode", "phase", "stage", "kind", "event", "subset", "prefix")
_KIND_RANKS = {name: rank for rank, name in enumerate((folded(KIND), *_KIND_NAMES))}
# Switches; True says that a record is of the kind that the name says.
_SWITCHES = ("is_eval", "is_validation", "is_val", "is_test", "is_train", "is_training", "eval", "evaluation")
# Data sets that are evaluated at one step.
_SETS = ("dataset", "data_source", "benchmark", "eval_set", "eval_dataset", "task", "env", "environment")
# What only evaluations have, and what they never have.
_OF_EVALUATIONS = ("loss", "runtime", "samples_per_second", "steps_per_second", "time", "duration", "samples")
_OF_UPDATES = frozenset(("loss", "train_loss", "policy_loss", "learning_rate", "lr", "grad_norm", "kl"))
# What a record of supervised training is called, in a column that names kinds.
_SUPERVISED = re.compile(r"(?:.*[^a-z])?(?:sft|supervised)(?:[^a-z].*)?", re.IGNORECASE | re.DOTALL)
Kinds = NDArray[np.object_]
#: As :func:`coded` gives it.
Coded = tuple[list[str], FloatArray]

_MOST_KINDS, _MOST_METRICS = 64, 4096


def one_column_per_metric(table: Table) -> Table:
    """Give each metric of a table with the columns ``metric`` and ``value`` a column of its own.

    Rows are put together by step and by their texts, the nth value of a metric at a step with the nth of
    others. Other tables are unchanged.
    """
    table = _with_whole_names(table)
    names = {folded(name): name for name in table.columns}
    named: list[str] = []
    for candidates in (METRIC_NAMES, VALUE_NAMES, (*STEP_NAMES, *COUNTERS)):
        named += [names[fold] for fold in map(folded, candidates) if fold in names][:1]
    if len(named) < 3:
        return table
    key, value, counter = named
    metrics, at = coded(table.columns[key])
    if not 1 < len(metrics) <= _MOST_METRICS or np.isnan(at).any() or not measured(metrics):
        return table
    others = {name: list(cells) for name, cells in table.columns.items() if name not in (key, value)}
    values = parse_column(table.columns[value]).values
    records = _joined_records(others, counter, [metrics[int(code)] for code in at], values)
    columns: dict[str, Column] = {
        name: [record.get(name) for record in records] for name in (*others, *metrics)
    }
    note = (
        f"{shown(key)} names the metric of each row: {counted(len(metrics), 'column')} are made of "
        f"{shown(value)}"
    )
    return replace(table, columns=columns, notes=(*table.notes, note), first_line=None, hidden={})


def _with_whole_names(table: Table) -> Table:
    """A table with the title and the series of each value in one name, unless they are equal."""
    names = {folded(name): name for name in table.columns}
    for parts in SECOND_NAMES.items():
        if names.keys() >= {*parts, *VALUE_NAMES[:1]}:
            columns = dict(table.columns)
            titles, series = (columns.pop(names[part]) for part in parts)
            pairs = zip(titles, series, strict=True)
            metrics = [title if title == one else f"{title}/{one}" for title, one in pairs]
            return replace(table, columns={METRIC_NAMES[0]: metrics, **columns})
    return table


def _joined_records(
    others: Mapping[str, Sequence[object]], counter: str, metrics: Sequence[str], values: FloatArray
) -> list[dict[str, object]]:
    """Put together the rows (m,) that have the same step and texts, by their steps.

    ``metrics`` and ``values`` are one of each row; none of the new rows has two of one metric.
    """
    identifying = [cells for name, cells in others.items() if name == counter or folded(name) in RUN_NAMES]
    identifying += [cells for cells in others.values() if coded(cells)[0]]
    records: dict[tuple[object, ...], dict[str, object]] = {}
    written = Counter[tuple[object, ...]]()
    for row, metric in enumerate(metrics):
        same = tuple(cells[row] for cells in identifying)
        written[same, metric] += 1
        cells_of_row = {name: cells[row] for name, cells in others.items()}
        record = records.setdefault((*same, written[same, metric]), cells_of_row)
        record.setdefault(metric, float(values[row]))
    rows = list(records.values())
    order = np.argsort([parse_step(record[counter]) for record in rows], kind="stable")
    return [rows[index] for index in order]


def without_supervised(table: Table, path: str, named: Collection[str]) -> Table:
    """A table without its records of supervised training: those with an accuracy of tokens and no reward.

    So are those that a column calls supervised, unless it is one of the columns that the user has ``named``.
    Raises ``supervised-training`` where no record has a reward.
    """
    supervised, sign = _supervised(table, named)
    if not supervised.any():
        return table
    _, rewards = entropies_and_rewards(table)
    number = int((supervised & ~rewards).sum())
    if not rewards.any():
        raise InputError(
            "supervised-training",
            f"{quoted_path(path)} is a log of supervised training: {counted(number, 'record')} with "
            f"{shown(sign)}, none with a reward",
            "name the log of a training with rewards",
        )
    if not number:
        return table
    note = f"{counted(number, 'record')} of supervised training ({shown(sign)}, no reward) set aside"
    rest = table.of_rows(~supervised | rewards, note)
    empty = [name for name, cells in rest.columns.items() if all(map(is_missing, cells))]
    return replace(rest, columns={name: cells for name, cells in rest.columns.items() if name not in empty})


def _supervised(table: Table, named: Collection[str]) -> tuple[BoolArray, str]:
    """The records (m,) of supervised training, and the column that shows it."""
    for name, cells in table.columns.items():
        if is_token_accuracy(name):
            return np.isfinite(parse_column(cells).values), name
    for name, cells in table.columns.items():
        if folded(name) in _KIND_RANKS and name not in named:
            texts, at = coded(cells)
            codes = [code for code, text in enumerate(texts) if _SUPERVISED.fullmatch(text[:200])]
            if codes and len(codes) < len(texts):
                return np.isin(at, codes), name
    return np.zeros(0, dtype=bool), ""


def by_kind(table: Table, step: StepColumn) -> Table:
    """Give the metrics of each kind of record columns of their own; the note says which are split."""
    kinds, sign = _kinds(table, step)
    labels = list(dict.fromkeys(filter(None, kinds.tolist())))
    evaluates = any(map(is_evaluation, labels))
    columns: dict[str, Column] = {}
    split: list[str] = []
    for name, cells in table.columns.items():
        if name == KIND:
            continue
        columns_of_metric = {name: cells}
        if evaluates and name != step.name and not is_bookkeeping(name) and folded(name) not in RUN_NAMES:
            columns_of_metric = _columns_by_kind(name, cells, kinds, labels)
        columns |= columns_of_metric
        split += [column for column in columns_of_metric if column != name]
    if not split:
        return replace(table, columns=columns)
    split.sort(key=lambda name: (not catalog.is_metric(name), name))
    numbers = [f"{shown(label)} ({np.sum(kinds == label)})" for label in labels]
    note = (
        f"records of {counted(len(labels), 'kind')} by {sign}: {', '.join(numbers)}; "
        f"what several have, or evaluations alone, is split: {listing(split, 8)}"
    )
    return replace(table, columns=columns, notes=(*table.notes, note))


def _columns_by_kind(name: str, cells: Column, kinds: Kinds, labels: Sequence[str]) -> dict[str, Column]:
    """A metric in a column for each kind; in its own where one kind has it, unless that is an evaluation."""
    filled = np.isfinite(parse_column(cells).values)
    having = [label for label in labels if (filled & (kinds == label)).any()]
    evaluations = sum(map(is_evaluation, having))
    if (len(having) < 2 and not evaluations) or (is_evaluation(name) and evaluations < 2):
        return {name: cells}
    columns = {f"{name} [{label}]": _cells_in(cells, kinds == label) for label in having}
    if (filled & (kinds == "")).any():
        columns[name] = _cells_in(cells, kinds == "")
    return columns


def coded(cells: Column) -> Coded:
    """The texts of a column, each once, and the place of each cell's among them; nan for any other cell."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        return [], np.full(len(cells), np.nan)
    # A word of a column is there again and again.
    texts = [_text_of_string(cell) if isinstance(cell, str) else _text_of(cell) for cell in cells]
    codes = {text: code for code, text in enumerate(dict.fromkeys(filter(None, texts)))}
    return list(codes), np.array([codes.get(text, np.nan) for text in texts], dtype=float)


def _text_of(cell: object) -> str:
    """The text of a cell; empty for any other."""
    return str(cell).strip() if classify(cell)[1] else ""


_text_of_string = lru_cache(maxsize=1024)(_text_of)


def _cells_in(cells: Column, rows: BoolArray) -> Column:
    """A column that is empty in all rows but some."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        return np.where(rows, cells, np.nan)
    return [cell if here else None for cell, here in zip(cells, rows.tolist(), strict=True)]


def _kinds(table: Table, step: StepColumn) -> tuple[Kinds, str]:
    """The kind of every record, empty where it has none, and what shows it; all empty where nothing does."""
    entropies, _ = entropies_and_rewards(table)
    words = {name: coded(cells) for name, cells in table.columns.items()}
    words = {name: texts for name, texts in words.items() if 0 < len(texts[0]) <= _MOST_KINDS}
    kinds, sign = _by_text(words, entropies)
    if not sign:
        evaluations = _evaluations(table, step, entropies)
        if evaluations.any():
            kinds[:] = np.where(evaluations, "eval", "train")
            sign = "the metrics that they have"
    sets = next((name for name in words if folded(name) in _SETS), None)
    if sets is not None and _split_by_set(kinds, words[sets], entropies, unknown=not sign):
        sign = f"{sign} and {shown(sets)}" if sign else f"column {shown(sets)}"
    return kinds, sign


def _by_text(words: Mapping[str, Coded], entropies: BoolArray) -> tuple[Kinds, str]:
    """The kinds that a column of text names, and that column."""
    kinds = np.full(len(entropies), "", dtype=object)
    for name in sorted(words, key=lambda name: _KIND_RANKS.get(folded(name), len(_KIND_RANKS))):
        texts, at = words[name]
        labels = _kinds_named(name, texts)
        if not labels:
            continue
        # Where no text names the training, the records with an entropy are of it.
        unnamed = not any(map(is_training, labels))
        updating = {labels[int(code)] for code in np.unique(at[entropies & np.isfinite(at)])}
        for code, label in enumerate(labels):
            trains = unnamed and label in updating and not is_evaluation(label)
            kinds[at == code] = "train" if trains else label
        kinds[np.isnan(at)] = "train" if (entropies & np.isnan(at)).any() else ""
        return kinds, "what the lines say" if name == KIND else f"column {shown(name)}"
    return kinds, ""


def _kinds_named(name: str, texts: Sequence[str]) -> Sequence[str]:
    """The kinds that the texts of a column name, of a switch those for on and off; none for other columns."""
    name = folded(name)
    if name in _SWITCHES:
        on = name.removeprefix("is_")
        labels = {"true": on, "false": "eval" if is_training(on) else "train"}
        named = [labels.get(text.casefold(), "") for text in texts]
        if all(named):
            return named
    if name in _SETS or not any(map(is_evaluation, texts)):
        return ()
    if name in _KIND_RANKS or (len(texts) > 1 and all(map(is_kind, texts))):
        return texts
    return ()


def _split_by_set(kinds: Kinds, texts: Coded, entropies: BoolArray, *, unknown: bool) -> bool:
    """Add the data set to the kind of evaluations, where there are several; whether it was added.

    Where every kind is ``unknown``, records with a data set and without an entropy are evaluations.
    """
    labels, at = texts
    of_sets = np.isfinite(at)
    if unknown:
        if (entropies & of_sets).any() or not (entropies & ~of_sets).any():
            return False
    else:
        of_sets &= np.array([is_evaluation(kind) for kind in kinds.tolist()], dtype=bool)
    codes = np.unique(at[of_sets]).tolist()
    if not codes or (len(codes) == 1 and not unknown):
        return False
    kinds[~of_sets & (kinds == "")] = "train"
    for code in codes:
        of_set = of_sets & (at == code)
        kinds[of_set] = [f"{kind or 'eval'} {labels[int(code)]}" for kind in kinds[of_set].tolist()]
    return True


def entropies_and_rewards(table: Table) -> tuple[BoolArray, BoolArray]:
    """The records with an entropy, and those with a reward."""
    names = tuple(table.columns)
    trainer = catalog.detect(names).trainer
    rows = len(next(iter(table.columns.values()), ()))
    logged = {role: np.zeros(rows, dtype=bool) for role in KINDS}
    for role, kinds in KINDS.items():
        columns = {match.column for kind in kinds for match in catalog.found_in(kind, names, names)}
        if not columns and trainer is catalog.trainers()[-1]:
            columns = {name for name in names if is_evident(role, name)}
        for column in columns:
            logged[role] |= np.isfinite(parse_column(table.columns[column]).values)
    return logged["entropy"], logged["reward"]


def _evaluations(table: Table, step: StepColumn, entropies: BoolArray) -> BoolArray:
    """The records that are evaluations by the metrics that they have and lack."""
    marked, losing, shared = _filled_by_use(table, len(entropies))
    updating = entropies | losing
    if (marked & ~updating).any() and updating.any():
        return marked & ~updating
    # Evaluations may log the entropy, too, and then they lack a loss.
    if losing.sum() * 2 >= entropies.sum():
        updating = losing
    # A column that labels runs explains other values at the same steps.
    if any(folded(name) in RUN_NAMES for name in table.columns):
        return np.zeros_like(marked)
    for values in shared:
        filled = np.isfinite(values) & np.isfinite(step.values)
        trained = filled & updating
        rest = filled & ~updating
        common, mine, theirs = np.intersect1d(step.values[trained], step.values[rest], return_indices=True)
        differ = values[trained][mine] != values[rest][theirs]
        # The fewer records that are not updates mostly have other values than updates at their steps.
        if len(common) > 1 and differ.sum() * 2 >= len(common) and rest.sum() < trained.sum():
            return ~updating
    return np.zeros_like(marked)


def _filled_by_use(table: Table, rows: int) -> tuple[BoolArray, BoolArray, list[FloatArray]]:
    """The records (m,) with what only evaluations have, those with a loss, and metrics that both may have."""
    marked, losing = np.zeros((2, rows), dtype=bool)
    shared: list[FloatArray] = []
    for name, cells in table.columns.items():
        metric = folded(name)
        # A path says it at its start: actor/valid_samples is of an update.
        group, _, _ = name.partition("/")
        if is_evaluation(re.split("[_.-]", group)[0]) and metric.endswith(_OF_EVALUATIONS):
            marked |= np.isfinite(parse_column(cells).values)
        elif metric in _OF_UPDATES or (group != name and is_training(group) and not is_bookkeeping(name)):
            losing |= np.isfinite(parse_column(cells).values)
        elif catalog.is_metric(name) and not is_evaluation(name) and not name.casefold().startswith("train"):
            shared.append(parse_column(cells).values)
    return marked, losing, shared


# --- Log calls ---------------------------------------------------------------------------------------------


def with_log_calls(table: Table, step: StepColumn) -> tuple[Table, StepColumn]:
    """Give a step to metrics that W&B has logged by calls of their own.

    Without any other step, calls with entropies and calls with rewards become one step. Records that lack the
    trainer's step get that of the record before, where W&B's count of calls goes on.
    """
    counter = next((name for name in table.columns if name.casefold() in COUNTERS), None)
    if counter is None or table.partial:
        return table, step
    if step.name != counter:
        calls, lacking = _carried(table, step.values)
        if not lacking:
            return table, step
        note = (
            f"{counted(lacking, 'record')} without {shown(step.name)} have metrics, and get the step of the "
            "record before"
        )
    else:
        entropies, rewards = entropies_and_rewards(table)
        if not entropies.any() or not rewards.any() or (entropies & rewards).any():
            return table, step
        calls, joined = _joined(table, step.values)
        note = (
            "entropy and reward are logged by calls of their own: "
            f"{counted(joined, 'call is', 'calls are')} joined with the one before"
        )
    return replace(table, notes=(*table.notes, note)), step._replace(values=calls)


def _carried(table: Table, steps: FloatArray) -> tuple[FloatArray, int]:
    """Give the step of the record before, or else the first, to records of metrics that never have a step.

    Returns the steps, and how many records got one.
    """
    stepped = np.isfinite(steps)
    if not stepped.any():
        return steps, 0
    lacking = np.zeros_like(stepped)
    for name, cells in table.columns.items():
        if catalog.is_metric(name) or is_evident("entropy", name) or is_evident("reward", name):
            filled = np.isfinite(parse_column(cells).values)
            if not (filled & stepped).any():
                lacking |= filled
    last = np.maximum.accumulate(np.where(stepped, np.arange(len(stepped)), -1))
    last[last < 0] = int(np.argmax(stepped))
    return np.where(lacking, steps[last], steps), int(lacking.sum())


def _joined(table: Table, calls: FloatArray) -> tuple[FloatArray, int]:
    """Give a call whose columns are all empty since a step began that step; how many calls that are."""
    named = {name: cells for name, cells in table.columns.items() if not is_bookkeeping(name)}
    filled = np.array([np.isfinite(parse_column(cells).values) for cells in named.values()])
    joined = calls.copy()
    number = 0
    seen = np.zeros(len(filled), dtype=bool)
    start = np.nan
    for row in range(len(calls)):
        if np.isnan(start) or (seen & filled[:, row]).any():
            start = calls[row]
            seen = filled[:, row]
        else:
            joined[row] = start
            seen = seen | filled[:, row]
            number += 1
    return joined, number
