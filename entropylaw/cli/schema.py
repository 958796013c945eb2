"""``entropylaw schema``: the JSON Schema of a document."""

from __future__ import annotations

from entropylaw.cli.commands import SchemaCommand
from entropylaw.cli.streams import print_result
from entropylaw.documents.codec import dumps
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.schema import json_schema


def schema(options: SchemaCommand) -> None:
    """Run ``entropylaw schema``."""
    print_result(dumps(json_schema(KINDS[options.kind])))
