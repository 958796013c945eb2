"""``entropylaw schema``: the JSON Schema of a document."""

from __future__ import annotations

from dataclasses import dataclass

from entropylaw.cli.command import takes
from entropylaw.documents.kinds import KINDS
from entropylaw.options import Command, one_of, option


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SchemaCommand(Command):
    """``entropylaw schema``."""

    kind: str = option("KIND", f"{', '.join(KINDS)}.", one_of(*KINDS), required=True)


@takes(SchemaCommand, example="entropylaw schema fit > fit.schema.json")
def schema(options: SchemaCommand) -> None:
    """Print the JSON Schema of a document, as `--format json` and `-o FILE.json` write it.

    `report` is the document of one run, in runs/, `index` that of all runs, report.json. A document names its
    schema and the version of entropylaw that wrote it. Fields may be added to a schema; a change that a
    reader would feel makes a new one.
    """
    from entropylaw.cli.output import print_result

    print_result(schema_text(options.kind))


def schema_text(kind: str) -> str:
    """The JSON Schema of a kind of document, as it is shipped."""
    from importlib.resources import files

    return (files("entropylaw.documents") / "schemas" / f"{kind}-{KINDS[kind].version}.json").read_text(
        encoding="utf-8"
    )
