"""Golden cases of reading: what each reader makes of its samples, and what becomes of tables as runs."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from entropylaw import EntropyLawError, Run, read_runs
from entropylaw.logs import catalog
from entropylaw.logs.runs import Table
from entropylaw.logs.runs.number_parsing import parse_column
from entropylaw.logs.source import Source
from entropylaw.logs.sources.assemble import assemble
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from entropylaw.roles.select import select

MOST = 8
"""Values of a column that are shown."""

WIDEST = 300
"""Characters of a line that are shown."""


def read_samples(module: str) -> Callable[[], str]:
    """What becomes of the samples of a test module: title → a text of its reader, or columns of a table.

    ``SAMPLES`` has for a text the name of its reader, of its file, and the text; for a table its columns, and
    the options of :func:`entropylaw.read_runs` if there are any.
    """

    def text() -> str:
        samples: Mapping[str, tuple[Any, ...]] = import_module(f"tests.unit.{module}").SAMPLES
        shown: dict[tuple[str, ...], str] = {}
        parts = []
        for title, sample in samples.items():
            rows, *more = _told(sample, title, shown)
            parts += [f"# {title}: {rows}", *more]
        return "\n".join(parts)

    return text


def _told(sample: tuple[Any, ...], title: str, shown: dict[tuple[str, ...], str]) -> Iterator[str]:
    known = isinstance(sample[0], Mapping) or reader_of(sample[0]).recognises(_content(*sample[1:]))
    first, *more = told(lambda: _read(sample), title, shown)
    yield first if known else f"not recognised; {first}"
    yield from more


def told(
    read: Callable[[], tuple[Iterable[Run], str]], title: str, shown: dict[tuple[str, ...], str]
) -> Iterator[str]:
    """What is read, as lines; columns that were shown under another title are not shown again."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            runs, rows = read()
    except EntropyLawError as error:
        yield f"error[{error.slug}]"
        yield _cut(f"  {error.message}; {error.hint}")
        return
    yield rows
    yield from (_cut(f"  warning: {warning.message}") for warning in caught)
    said: tuple[str, ...] = ()
    for run in runs:
        table = tuple(_table(run))
        where = shown.setdefault(table, title)
        yield _cut(f"{run.name}: {run.step_column} {_values(run.step)}; {_chosen(run)}")
        yield from table if where == title else (f"  columns as in {where!r}",)
        if run.dropped:
            yield f"  dropped: {'; '.join(f'{reason} ({n})' for reason, n in run.dropped.items())}"
        yield from (_cut(f"  {note}") for note in run.notes if note not in said)
        said = run.notes


def _content(name: str, data: str | bytes) -> Content:
    return Content(name, data if isinstance(data, bytes) else data.encode())


def _read(sample: tuple[Any, ...]) -> tuple[Iterable[Run], str]:
    if isinstance(sample[0], Mapping):
        columns, *options = sample
        return read_runs(columns, **dict(*options)), "a table"
    reader, name, data = sample
    return assembled(reader_of(reader).read(_content(name, data)), reader, name)


def assembled(table: Table, reader: str, name: str) -> tuple[Iterable[Run], str]:
    """The runs of a table, and how many rows it has."""
    source = Source(path=name, format=reader, sha256="", rows=table.rows)
    return assemble(table, source, name)[
        0
    ], f"{table.rows} rows{'; a part of a run' if table.partial else ''}"


def _table(run: Run) -> Iterator[str]:
    """The columns, as many side by side as a line holds."""
    columns = [f"{name} {_values(values)}" for name, values in run.columns.items()]
    line = ""
    for column in (*columns, *(f"{name} is text" for name in run.texts)):
        if line and len(line) + len(column) > WIDEST // 2:
            yield line
            line = ""
        line = f"{line}; {column}" if line else _cut(f"  {column}")
    if line:
        yield line


def _chosen(run: Run) -> str:
    """The trainer, and the columns that a fit takes."""
    trainer = catalog.detect((*run.columns, run.step_column)).trainer.name
    try:
        series = select(run)
    except EntropyLawError as error:
        return f"{trainer}: {error.slug}"
    reward = series.reward_choice.column
    if series.no_entropy is not None:
        return f"{trainer}: {reward}, {series.count} evaluations; {series.no_entropy.slug}"
    entropy = series.columns["entropy"].column
    return f"{trainer}: {entropy} × {reward}, pair {series.pair}, {series.count} evaluations"


def _values(values: Iterable[Any]) -> str:
    numbers = parse_column(np.asarray(values)).values
    shown = [f"{number:.6g}" for number in numbers]
    if len(set(shown)) == 1 and len(shown) > 1:
        return f"{shown[0]} × {len(shown)}"
    finite = numbers[np.isfinite(numbers)]
    if len(shown) > MOST:
        shown = [*shown[: MOST - 2], "…", shown[-1], f"({len(numbers)}, mean {finite.mean():.6g})"]
    return " ".join(shown)


def _cut(line: str) -> str:
    """A line without control characters, and not too long."""
    line = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}… ({len(line)} characters)"
