"""Stored documents whose values do not agree: refused by name, whatever asks for them."""

import copy
import json
import math

import numpy as np
import pytest

import entropylaw
from entropylaw.documents.finding import find_document
from entropylaw.documents.loading import load_json
from entropylaw.documents.store import dumps
from entropylaw.errors import EntropyLawError
from entropylaw.gates.baseline import share_fallen
from entropylaw.gates.documents import subjects_in
from entropylaw.gates.quantities import Unknown
from entropylaw.results import Estimate

N = 30
STEP = np.arange(1.0, N + 1)
ENTROPY = np.linspace(1.0, 0.2, N) + 0.02 * np.cos(STEP)
TABLE = {"step": STEP, "entropy": ENTROPY, "val_acc": 0.6 - 0.2 * np.exp(ENTROPY) + 0.01 * np.sin(3 * STEP)}


@pytest.fixture(scope="module")
def document():
    return entropylaw.fit_logs([TABLE]).to_json()


def at(data, path):
    for part in path[:-1]:
        data = data[part]
    return data, path[-1]


LAW = ("runs", 0, "law")
CHANGES = {
    "a short list": ((*LAW, "reward"), lambda old: old[:-1]),
    "no list": ((*LAW, "step"), lambda old: []),
    "a missing array": ((*LAW, "course"), lambda old: None),
    "text in an array": ((*LAW, "entropy"), lambda old: [str(value) for value in old]),
    "a number beyond a double": ((*LAW, "entropy"), lambda old: [10**400, *old[1:]]),
    "a ragged array": ((*LAW, "entropy"), lambda old: [[1.0], *old[1:]]),
    "steps that fall": ((*LAW, "step"), lambda old: old[::-1]),
    "another n": ((*LAW, "n"), lambda old: old + 1),
    "another shape": ((*LAW, "posterior", "covariance"), lambda old: old[:-1]),
    "one coefficient": ((*LAW, "posterior", "coefficient"), lambda old: [row[:1] for row in old]),
    "weights": ((*LAW, "posterior", "weight"), lambda old: [2 * value for value in old]),
    "a band": ((*LAW, "curve", "low"), lambda old: old[1:]),
    "a rival's curve": ((*LAW, "curve", "rivals", "line"), lambda old: old[1:]),
    "an interval upside down": ((*LAW, "ceiling", "low"), lambda old: 9.0),
    "a value outside": ((*LAW, "ceiling", "value"), lambda old: -9.0),
    "a level": ((*LAW, "a", "level"), lambda old: 1.5),
    "an infinite number": ((*LAW, "r_squared"), lambda old: math.inf),
    "not a number": ((*LAW, "r_squared"), lambda old: math.nan),
    "not a number in an array": ((*LAW, "reward"), lambda old: [math.nan, *old[1:]]),
    "a huge number": ((*LAW, "r_squared"), lambda old: 10**400),
    "law and refusal": (("runs", 0, "refusal"), lambda old: {"slug": "x", "message": "x", "hint": "x"}),
    "neither": (LAW, lambda old: None),
}
OF_ARRAYS = (
    *("text in an array", "a number beyond a double", "a ragged array"),
    *("steps that fall", "another shape", "one coefficient", "weights"),
)
"""What gates do not look at: of arrays they know the length alone."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_document_whose_values_do_not_agree(document, tmp_path, change):
    path, changed = CHANGES[change]
    data = copy.deepcopy(document)
    place, last = at(data, path)
    place[last] = changed(place[last])
    (tmp_path / "a.fit.json").write_text(json.dumps(data))
    with pytest.raises(EntropyLawError) as caught:
        entropylaw.load_fit(tmp_path / "a.fit.json")
    assert caught.value.slug == "damaged-document"
    assert "a.fit.json is damaged at $.runs[0]" in caught.value.message
    stored = find_document(str(tmp_path / "a.fit.json"))
    (subject,) = subjects_in(stored)
    if change in OF_ARRAYS:
        assert subject.refusal is None
    else:
        assert subject.refusal.message == caught.value.message


def test_a_key_that_occurs_twice_is_named_with_its_place(document, tmp_path):
    text = dumps(document).replace('"r_squared"', '"n": 30,\n   "r_squared"')
    (tmp_path / "a.fit.json").write_text(text)
    with pytest.raises(EntropyLawError) as caught:
        entropylaw.load_fit(tmp_path / "a.fit.json")
    assert caught.value.slug == "damaged-document"
    assert "damaged at $.runs[0].law: expected each key once" in caught.value.message


def test_a_number_beyond_a_double_is_named_with_its_place(document, tmp_path):
    data = copy.deepcopy(document)
    data["runs"][0]["law"]["r_squared"] = 0.123456789
    (tmp_path / "a.fit.json").write_text(dumps(data).replace("0.123456789", "1e999"))
    with pytest.raises(EntropyLawError) as caught:
        entropylaw.load_fit(tmp_path / "a.fit.json")
    assert caught.value.slug == "damaged-document"
    assert "damaged at $.runs[0].law.r_squared: expected a finite number" in caught.value.message


def test_a_text_with_a_colon_after_a_quote_is_no_key(document, tmp_path):
    data = copy.deepcopy(document)
    data["runs"][0]["read_notes"] = ['a "key": and another\\": one', '":']
    (tmp_path / "a.fit.json").write_text(dumps(data))
    assert entropylaw.load_fit(tmp_path / "a.fit.json").to_json() == data


def test_the_document_itself_is_read(document, tmp_path):
    (tmp_path / "a.fit.json").write_text(dumps(document))
    assert entropylaw.load_fit(tmp_path / "a.fit.json").fitted[0].n == N


@pytest.mark.parametrize("place", ["/dev/zero", ".", "a\0b", "x" * 5000])
def test_what_is_no_file_is_not_waited_for(place):
    with pytest.raises(EntropyLawError) as caught:
        load_json(place)
    assert caught.value.slug in ("file-unreadable", "file-not-found", "not-a-document")


def estimate(value, low, high):
    return Estimate(value=value, low=low, high=high, level=0.95, method="")


@pytest.mark.parametrize(
    ("now", "before"),
    [
        ((0.5, 0.4, 0.6), (1e200, 1e199, 1e201)),
        ((1e200, 1e199, 1e201), (0.5, 0.4, 0.6)),
        ((1e300, 1e299, 1e301), (1e-300, 1e-301, 1e-299)),
        ((0.5, 0.4, 0.6), (0.0, 0.0, 0.0)),
        ((0.0, 0.0, 0.0), (0.5, 1e-320, 0.6)),
        ((0.5, 0.4, 0.6), (1.0, 1e-20, 2.0)),
        ((-1e200, -1e201, 1e200), (1e200, 1e-200, 1e201)),
    ],
)
def test_regressions_between_numbers_of_any_size(now, before):
    found = share_fallen(estimate(*now), estimate(*before), "ceiling")
    if not isinstance(found, Unknown):
        assert found.low <= found.value <= found.high
