"""Documents: round trip to the last bit, canonical bytes, schemas, and what is refused with its place."""

import copy
import json
import math
import re
from functools import reduce
from operator import getitem
from typing import Any

import jsonschema
import numpy as np
import pytest

import entropylaw
from entropylaw import EntropyLawError, Estimate, FitError, load
from entropylaw.analysis.phases import combine_phases
from entropylaw.documents.codec import DocumentMismatchError, as_stored, decode, dumps, encode
from entropylaw.documents.document import Entry, FitDocument
from entropylaw.documents.kinds import KINDS
from entropylaw.gates.decide import relative_decrease
from entropylaw.paths import shown_path
from tests.conftest import ROOT
from tests.hostile import refused
from tests.unit.test_phase_report import ordered
from tests.unit.test_report_samples import document as fit_document
from tests.unit.test_report_samples import synthetic

SCHEMAS = ROOT / "docs" / "schemas"

N = 30
STEP = np.arange(1.0, N + 1)
ENTROPY = np.linspace(1.0, 0.2, N) + 0.02 * np.cos(STEP)
TABLE = {"step": STEP, "entropy": ENTROPY, "val_acc": 0.6 - 0.2 * np.exp(ENTROPY) + 0.01 * np.sin(3 * STEP)}


@pytest.fixture(scope="module")
def fits():
    return entropylaw.fit_logs([TABLE])


@pytest.fixture(scope="module")
def document(fits):
    return fits.to_json()


@pytest.fixture
def read_back(tmp_path):
    """A function: the document of some text, or of JSON values."""

    def loaded(content):
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "a.fit.json").write_text(text, encoding="utf-8")
        return load(tmp_path / "a.fit.json", "fit")

    return loaded


def test_round_trip_to_the_last_bit(fits, read_back):
    text = dumps(fits.to_json())
    back = read_back(text)
    assert dumps(back.to_json()) == text
    (fit,), (stored,) = fits.fitted, back.fitted
    assert stored.n_rewards == N
    assert stored.law.predict(0.07) == fit.law.predict(0.07)
    assert stored.law.entropy_for(0.5) == fit.law.entropy_for(0.5)
    assert stored.predict(0.07).mean.value == pytest.approx(fit.predict(0.07).mean.value, rel=1e-9)


def test_canonical_text(document):
    text = dumps(document)
    assert text.endswith("}\n")
    assert "NaN" not in text
    assert "Infinity" not in text
    body = json.loads(text)
    assert list(body) == sorted(body)
    assert dumps(body) == text


FIT = ("runs", 0, "result")
LAW = (*FIT, "law")
CHANGES = {
    "a short list": ((*LAW, "reward"), lambda old: old[:-1]),
    "no list": ((*LAW, "step"), lambda old: []),
    "a missing array": ((*LAW, "smoothed_entropy"), lambda old: None),
    "text in an array": ((*LAW, "entropy"), lambda old: [str(value) for value in old]),
    "a number beyond a double": ((*LAW, "entropy"), lambda old: [10**400, *old[1:]]),
    "a ragged array": ((*LAW, "entropy"), lambda old: [[1.0], *old[1:]]),
    "steps that fall": ((*LAW, "step"), lambda old: old[::-1]),
    "another n": ((*LAW, "n"), lambda old: old + 1),
    "an interval upside down": ((*LAW, "ceiling", "low"), lambda old: 9.0),
    "a level upside down": ((*FIT, "state", "now", "low"), lambda old: 9.0),
    "a reason beside a law that holds": ((*LAW, "why"), lambda old: None if old else "no clear slope"),
    "a reason that is none": ((*LAW, "why"), lambda old: "bad luck"),
    "a verdict that is none": ((*LAW, "verdict"), lambda old: "valid"),
    "a word that is none": ((*FIT, "state", "word"), lambda old: "lost"),
    "a value outside": ((*LAW, "ceiling", "value"), lambda old: -9.0),
    "a level": ((*LAW, "a", "level"), lambda old: 1.5),
    "an infinite number": ((*LAW, "r_squared"), lambda old: math.inf),
    "not a number": ((*LAW, "r_squared"), lambda old: math.nan),
    "not a number in an array": ((*LAW, "reward"), lambda old: [math.nan, *old[1:]]),
    "a huge number": ((*LAW, "r_squared"), lambda old: 10**400),
    "answer and refusal": (("runs", 0, "refusal"), lambda old: {"slug": "x", "message": "x", "hint": "x"}),
    "neither": (FIT, lambda old: None),
    "a finding": ((*FIT, "findings"), lambda old: [3]),
    "no findings": ((*FIT, "findings"), lambda old: "bad"),
    "a number for an answer": (FIT, lambda old: 3),
    "a number for a name": (("runs", 0, "run"), lambda old: 7),
    "no law": (LAW, lambda old: None),
    "no level": ((*FIT, "state", "now"), lambda old: None),
    "a text for a number": ((*FIT, "state", "now", "low"), lambda old: "0.5"),
    "a switch for a number": ((*LAW, "ceiling", "low"), lambda old: True),
    "a list for a number": ((*LAW, "n"), lambda old: []),
}
NOT_FINITE = ("an infinite number", "not a number", "not a number in an array")


@pytest.mark.parametrize("change", CHANGES)
def test_a_document_whose_values_do_not_agree(document, read_back, run, change):
    (*path, last), changed = CHANGES[change]
    data = copy.deepcopy(document)
    place = reduce(getitem, path, data)
    place[last] = changed(place[last])
    error = refused("damaged-document", read_back, data, kind=EntropyLawError)
    place = "$:" if change in NOT_FINITE else "$.runs[0]"
    assert f"a.fit.json is damaged at {place}" in error.message
    checked = run("check", "a.fit.json", "--fail-if", "refused", "--format", "json")
    (case,) = json.loads(checked.stdout)["cases"]
    # Without the folder, in which the command runs.
    message = error.message[error.message.index("a.fit.json") :]
    assert case["sentence"] == f"the run was refused: {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"r_squared"',
            '"n": 30,\n   "r_squared"',
            "damaged at $: expected each key once",
        ),
        ("0.123456789", "1e999", "damaged at $: expected a finite number"),
    ],
)
def test_what_json_allows_and_a_document_does_not(document, read_back, old, new, message):
    data = copy.deepcopy(document)
    data["runs"][0]["result"]["law"]["r_squared"] = 0.123456789
    with pytest.raises(EntropyLawError, match=re.escape(message)) as caught:
        read_back(dumps(data).replace(old, new))
    assert caught.value.slug == "damaged-document"


@pytest.mark.parametrize("place", ["/dev/zero", ".", "a\0b", "x" * 5000])
def test_what_is_no_file_is_not_waited_for(place):
    with pytest.raises(EntropyLawError) as caught:
        load(place, "fit")
    assert caught.value.slug in ("file-unreadable", "file-not-found", "not-a-document")


def estimate(value, low, high):
    return Estimate(value=value, low=low, high=high, level=0.95, method="")


@pytest.mark.parametrize(
    ("now", "before", "why"),
    [
        ((0.5, 0.4, 0.6), (1e200, 1e199, 1e201), ""),
        ((1e200, 1e199, 1e201), (0.5, 0.4, 0.6), "not finite"),
        ((1e300, 1e299, 1e301), (1e-300, 1e-301, 1e-299), "not finite"),
        ((0.5, 0.4, 0.6), (0.0, 0.0, 0.0), "may be 0 or less"),
        ((0.0, 0.0, 0.0), (0.5, 1e-320, 0.6), ""),
        ((0.5, 0.4, 0.6), (1.0, 1e-20, 2.0), "not finite"),
        ((-1e200, -1e201, 1e200), (1e200, 1e-200, 1e201), "not finite"),
    ],
)
def test_regressions_between_numbers_of_any_size(now, before, why):
    found = relative_decrease(estimate(*now), estimate(*before), "ceiling")
    if why:
        assert why in found.reason
    else:
        assert found.low <= found.value <= found.high


def test_a_number_that_is_not_one_never_gets_into_a_document():
    with pytest.raises(ValueError, match="nan"):
        encode(Estimate(value=float("nan"), low=None, high=None, level=0.95, method="x"))


@pytest.mark.parametrize(
    ("change", "place"),
    [({"level": "0.95"}, r"\$\.level"), ({"value": True}, r"\$\.value"), ({"method": None}, r"\$\.method")],
)
def test_a_wrong_type_names_its_place(change, place):
    good = {"value": 1.0, "low": None, "high": None, "level": 0.95, "method": "x"}
    assert decode(Estimate, good).value == 1.0
    with pytest.raises(DocumentMismatchError, match=place):
        decode(Estimate, good | change)
    with pytest.raises(DocumentMismatchError, match="`level`"):
        decode(Estimate, {key: value for key, value in good.items() if key != "level"})


def test_unknown_fields_are_additions_and_are_ignored(document, read_back):
    assert isinstance(read_back(document | {"later": 1}), FitDocument)


@pytest.mark.parametrize("content", ["", "[1, 2]", "{" * 5000, "\x00\xff"])
def test_rubbish_is_no_document(tmp_path, content):
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    refused("not-a-document", load, tmp_path / "x.json", "fit", kind=EntropyLawError)


def test_a_reason_names_no_absolute_path():
    log = "/home/somebody/logs/x.csv"
    refused = Entry.of(log, None, "short", error=FitError("x", f"{log} is short", ""))
    assert refused.refusal.message == "logs/x.csv is short"


def test_paths_are_shown_without_the_machine(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert shown_path("logs/x.csv") == "logs/x.csv"
    assert shown_path(str(tmp_path / "logs" / "x.csv")) == "logs/x.csv"
    assert shown_path("/somewhere/else/run/x.csv") == "run/x.csv"
    assert shown_path("/x.csv") == "/x.csv"


def schema_of(kind: str) -> Any:
    """The JSON Schema of a kind of document; ``test_docs.py`` holds that it is fresh."""
    return json.loads((SCHEMAS / f"{kind}.json").read_text("utf-8"))


def test_every_kind_has_a_schema():
    assert {path.stem for path in SCHEMAS.glob("*")} == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_valid_and_names_its_kind(kind):
    body = schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(body)
    assert body["title"] == KINDS[kind].schema
    assert body["properties"]["schema"] == {"const": KINDS[kind].schema}
    assert {"schema", "version"} <= set(body["required"])


def required_places(
    schema: dict[str, Any], body: Any, whole: dict[str, Any], where: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """The places in a fit_document whose absence its schema forbids; one each of the first list items."""
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
    body = json.loads(dumps(fit_document(synthetic()).to_json()))
    schema = schema_of("fit")
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
    error = refused("other-document-version", load, tmp_path / "x.json", kind)
    for named in (repr(other), "'9.8.7'", repr(schema)):
        assert named in error.message


def test_a_list_of_numbers_is_an_array_where_it_is_read(fits, read_back):
    data = fits.to_json()
    data["runs"][0]["result"]["unpaired"] = [[900, 901.5], [0.5, 0.25]]
    (fit,) = read_back(data).fitted
    phases = as_stored(ordered().result)
    across = as_stored(combine_phases([phases] * 3))
    curves = [phases.planning.low, across.curves[0].mean, across.each[0].curves[0].error]
    arrays = [fit.law.step, fit.law.fitted, *fit.unpaired, *curves]
    assert {(type(array), array.dtype.name) for array in arrays} == {(np.ndarray, "float64")}
    assert fit.unpaired[0].tolist() == [900.0, 901.5]
