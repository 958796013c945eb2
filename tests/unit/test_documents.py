"""Documents: round trip to the last bit, schema, canonical bytes."""

import json

import jsonschema
import numpy as np
import pytest

from entropylaw.documents.codec import DocumentMismatchError, decode, encode
from entropylaw.documents.fit import FitDocument, load_fit
from entropylaw.documents.store import dumps
from entropylaw.errors import InputError
from entropylaw.paths import shown_path
from entropylaw.pipeline.documents import fit_logs
from entropylaw.pipeline.prediction import predict_runs
from entropylaw.results import Estimate
from tests.conftest import LAB, ROOT

SCHEMAS = ROOT / "entropylaw" / "documents" / "schemas"


@pytest.fixture(scope="module")
def document():
    return fit_logs([LAB / "grpo_s0" / "metrics.parquet", "nowhere.csv"])


def test_round_trip_to_the_last_bit(document, tmp_path):
    text = dumps(document.to_json())
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    back = load_fit(tmp_path / "x.json")
    assert dumps(back.to_json()) == text
    (law,), (stored,) = document.fitted, back.fitted
    assert stored.predict(0.07) == law.predict(0.07)
    assert stored.entropy_for(0.5) == law.entropy_for(0.5)
    np.testing.assert_array_equal(stored.posterior.weight, law.posterior.weight)


def test_documents_are_valid_by_the_shipped_schemas(document):
    schema = json.loads((SCHEMAS / "fit-2.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document.to_json(), schema)
    predictions = predict_runs(document, entropies=[0.1], rewards=[0.5, 0.9], saturation=True)
    jsonschema.validate(predictions.to_json(), json.loads((SCHEMAS / "prediction-2.json").read_text()))


def test_the_schema_can_fail(document):
    schema = json.loads((SCHEMAS / "fit-2.json").read_text(encoding="utf-8"))
    body = document.to_json()
    body["runs"][0]["law"]["n"] = "many"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema)


def test_canonical_text(document):
    text = dumps(document.to_json())
    assert text.endswith("}\n")
    assert "NaN" not in text
    assert "Infinity" not in text
    body = json.loads(text)
    assert list(body) == sorted(body)
    assert dumps(body) == text


def test_a_refused_file_stands_in_the_document(document):
    fitted, refused = document.runs
    assert fitted.law is not None
    assert refused.law is None
    assert refused.refusal.slug == "file-not-found"


def test_a_number_that_is_not_one_never_gets_into_a_document():
    with pytest.raises(ValueError, match="nan"):
        encode(Estimate(value=float("nan"), low=None, high=None, level=0.95, method="x"))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"level": "0.95"}, r"\$\.level"),
        ({"value": True}, r"\$\.value"),
        ({"method": None}, r"\$\.method"),
    ],
)
def test_a_wrong_type_names_its_place(change, place):
    good = {"value": 1.0, "low": None, "high": None, "level": 0.95, "method": "x"}
    assert decode(Estimate, good).value == 1.0
    with pytest.raises(DocumentMismatchError, match=place):
        decode(Estimate, good | change)
    with pytest.raises(DocumentMismatchError, match="`level`"):
        decode(Estimate, {key: value for key, value in good.items() if key != "level"})


def test_unknown_fields_are_additions_and_are_ignored(document, tmp_path):
    body = document.to_json() | {"later": 1}
    (tmp_path / "x.json").write_text(json.dumps(body), encoding="utf-8")
    assert isinstance(load_fit(tmp_path / "x.json"), FitDocument)


@pytest.mark.parametrize("content", ["", "[1, 2]", "{" * 5000, "\x00\xff"])
def test_rubbish_is_no_document(tmp_path, content):
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_fit(tmp_path / "x.json")
    assert caught.value.slug == "not-a-document"


def test_paths_are_shown_without_the_machine(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert shown_path("logs/x.csv") == "logs/x.csv"
    assert shown_path(str(tmp_path / "logs" / "x.csv")) == "logs/x.csv"
    assert shown_path("/somewhere/else/run/x.csv") == "run/x.csv"
