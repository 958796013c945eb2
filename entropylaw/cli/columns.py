"""``entropylaw columns``: which columns of a log would be used, and why."""

from __future__ import annotations

from entropylaw.cli.commands import ColumnsCommand
from entropylaw.cli.output import gather, say_skipped, shown
from entropylaw.cli.streams import print_result, show_error
from entropylaw.documents.document import columns_document
from entropylaw.logs.load import read_all
from entropylaw.logs.runs.step_column import ROW
from entropylaw.results.result import replace
from entropylaw.roles.explain import explain

_SHOWN = ("no-step-column", "supervised-training")
"""Errors of logs that are read none the less, with the error beside their columns."""


def columns(options: ColumnsCommand) -> None:
    """Run ``entropylaw columns``."""
    inputs = gather(options.logs, options, options)
    # Standard input cannot be read again; of a folder, files that lack a step are hardly logs.
    named = {*options.logs} - {"-"}
    problems = {
        entry.path: entry.error
        for entry in inputs.entries
        if entry.path in named and entry.error and entry.error.slug in _SHOWN
    }
    runs = inputs.runs
    for path, error in problems.items():
        step = ROW if error.slug == "no-step-column" else options.step
        runs += read_all([path], step=step, run=options.run, supervised=True).runs
    if not runs:
        raise inputs.errors[0]
    for error in inputs.errors:
        if error not in problems.values():
            show_error(error)
    chosen = {name: getattr(options, name) for name in ("entropy", "reward", "pair")}
    say_skipped(inputs.warnings, quiet=False)
    reports = [explain(run, **chosen, problem=problems.get(run.source.path)) for run in runs]
    document = replace(columns_document(reports), config=options.config)
    print_result(shown(document, options.format))
