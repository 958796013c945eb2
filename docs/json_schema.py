"""The JSON Schemas of documents, made from their types."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from entropylaw.documents.kinds import Kind
from entropylaw.options import CompareOptions, FitOptions, PhaseOptions


def json_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of a kind of document, with the name of its schema pinned."""
    body = msgspec.json.schema(kind.type, schema_hook=number_schema)
    whole = body["$defs"].pop(body.pop("$ref").removeprefix("#/$defs/"))
    for described in (whole, *body["$defs"].values()):
        described["description"] = inspect.cleandoc(described.get("description", ""))
    for options in (CompareOptions, FitOptions, PhaseOptions):
        if options.__name__ in body["$defs"]:
            body["$defs"][options.__name__]["required"] = sorted(options.ALWAYS)
    whole["properties"] |= {"schema": {"const": kind.schema}, "version": {"type": "string"}}
    whole["required"] += ["schema", "version"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, **whole, "title": kind.schema}


def number_schema(_: type) -> dict[str, Any]:
    """Schema of numbers that may be infinite: null is infinity."""
    return {"type": ["number", "null"]}
