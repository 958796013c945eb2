"""The options and the help of ``entropylaw schema``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from entropylaw.documents.kinds import KINDS
from entropylaw.kinds import one_of
from entropylaw.option import option
from entropylaw.options import Command


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SchemaCommand(Command):
    """Print the JSON Schema of a document.

    Documents are what `--format json` and `-o FILE.json` write. `report` is the document of one run, in
    runs/, `index` that of all runs, report.json. A document names its schema and the version of
    entropylaw that wrote it. Fields may be added to a schema; a change that breaks readers makes a new
    one.
    """

    example: ClassVar[str] = "entropylaw schema fit > fit.schema.json"

    kind: str = option("KIND", f"{', '.join(KINDS)}.", one_of(*KINDS), required=True)
