"""The JSON Schemas: what they print, demand and refuse; documents of the golden cases follow them."""

from __future__ import annotations

import json
from functools import reduce
from operator import getitem
from typing import Any

import jsonschema
import pytest

from entropylaw.documents.codec import dumps
from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import load_document
from entropylaw.documents.schema import json_schema
from tests.hostile import refused
from tests.unit.test_report_samples import document, synthetic


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_printed(run, kind):
    done = run("schema", kind)
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert done.stdout == dumps(json_schema(KINDS[kind]))
    jsonschema.Draft202012Validator.check_schema(body)
    assert body["title"] == KINDS[kind].schema
    assert body["properties"]["schema"] == {"const": KINDS[kind].schema}
    assert {"schema", "version"} <= set(body["required"])


def required_places(
    schema: dict[str, Any], body: Any, whole: dict[str, Any], where: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """The places in a document whose absence its schema forbids; one each of the first list items."""
    if "anyOf" in schema:
        schema = next((option for option in schema["anyOf"] if "$ref" in option), {})
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    found = []
    if isinstance(body, dict):
        found += [(*where, key) for key in schema.get("required", ()) if key in body]
        for key, inner in schema.get("properties", {}).items():
            if key in body:
                found += required_places(inner, body[key], whole, (*where, key))
    if isinstance(body, list) and body and isinstance(schema.get("items"), dict):
        found += required_places(schema["items"], body[0], whole, (*where, 0))
    return found


def test_nothing_that_is_required_can_be_left_out():
    """Every one of them, one by one: a schema that demands nothing would let all pass."""
    body = json.loads(dumps(document(synthetic()).to_json()))
    schema = json_schema(KINDS["fit"])
    places = required_places(schema, body, schema)
    assert len(places) > 30
    assert ("settings", "level") in places
    validator = jsonschema.Draft202012Validator(schema)
    for *path, name in places:
        inner = reduce(getitem, path, body)
        value = inner.pop(name)
        assert not validator.is_valid(body), (*path, name)
        inner[name] = value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", ["0", "10", "1.1"])
def test_another_version_is_refused_by_name(tmp_path, kind, number):
    schema = KINDS[kind].schema
    if schema.endswith(f"/{number}"):
        number = "1" if KINDS[kind].version > 1 else "5"
    other = f"{schema.rpartition('/')[0]}/{number}"
    (tmp_path / "x.json").write_text(json.dumps({"schema": other, "version": "9.8.7"}))
    error = refused("other-document-version", load_document, kind, tmp_path / "x.json")
    for named in (repr(other), "'9.8.7'", repr(schema)):
        assert named in error.message
