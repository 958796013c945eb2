"""``entropylaw schema``: the JSON Schema of a document."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLE = "Example:  entropylaw schema fit > fit.schema.json"


class Kind(StrEnum):
    """The documents that have a schema."""

    fit = "fit"
    prediction = "prediction"
    phases = "phases"
    report = "report"
    many = "index"
    check = "check"
    backtest = "backtest"


VERSION = 1
"""Of every document; the name of its schema ends in it."""


def schema(
    kind: Annotated[
        Kind, typer.Argument(metavar="KIND", help="fit, prediction, phases, report, index, check, backtest.")
    ],
) -> None:
    """Print the JSON Schema of a document, as `--format json` and `-o FILE.json` write it.

    `report` is the document of one run, in runs/, `index` that of all runs, report.json. A document names its
    schema and the version of entropylaw that wrote it. Fields may be added to a schema; a change that a
    reader would feel makes a new one.
    """
    from entropylaw.cli.output import print_result

    print_result(schema_text(kind.value))


def schema_text(kind: str) -> str:
    """The JSON Schema of a kind of document, as it is shipped."""
    from importlib.resources import files

    return (files("entropylaw.documents") / "schemas" / f"{kind}-{VERSION}.json").read_text(encoding="utf-8")
