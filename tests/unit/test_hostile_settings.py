"""A ``config.yaml`` beside a log: whatever stands in it, the log is read, and at most a note says more."""

from pathlib import Path

import pytest
import yaml

from entropylaw.logs.configuration import read_yaml, settings_beside
from entropylaw.logs.load import read_runs

LOG = "step,entropy,reward\n1,0.5,0.1\n2,0.4,0.2\n"
MERGES = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 9)}]\n  k{i}: 1\n" for i in range(1, 12)
)
UNREADABLE = {
    "cut off": "a: [",
    "nested": "[" * 100_000,
    "alias alone": "a: *b",
    "binary": "\x00",
    "many": "a: [" + "1," * 200_000 + "1]",
    "long": "a: " + "x" * (1 << 20),
}
READABLE = {
    "merges": MERGES,
    "contains itself": f"a: &a {{{', '.join(f'k{i}: *a' for i in range(2000))}}}",
    "merges itself": "a: &a\n  <<: *a\n  b: 1",
    "bool": "a: !!bool foo",
    "int": 'a: !!int ""',
    "float": 'a: !!float ""',
    "timestamp": "a: !!timestamp foo",
    "bytes": "a: !!binary é",
    "object": "a: !!python/object/apply:os.system [exit]",
    "key": "? {a: b}\n: c",
    "set": "a: !!set {b, c}",
    "huge": f"a: {'9' * 5000}",
}


@pytest.fixture(params=["libyaml", "python"])
def parser(request, monkeypatch):
    if request.param == "python":
        monkeypatch.delattr(yaml, "CBaseLoader", raising=False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("name", [*UNREADABLE, *READABLE])
def test_the_log_is_read_and_a_note_says_what_was_not(tmp_path, name):
    (tmp_path / "metrics.csv").write_text(LOG)
    (tmp_path / "config.yaml").write_text((UNREADABLE | READABLE)[name])
    (run,) = read_runs(tmp_path)
    assert run.settings == {}
    assert sum("was not read" in note for note in run.notes) == (name in UNREADABLE)
    assert not any("xxx" in note for note in run.notes)


@pytest.mark.usefixtures("parser")
def test_plain_scalars_and_references_are_read():
    text = """
defaults: &base {temperature: 0.6, use_kl_loss: no, steps: 1_000, path: ~}
actor: {temperature: 1.0, coefficient: 1e-3, name: "0.5"}
critic: {other: *base}
list: [1, two]
"""
    base = {"temperature": 0.6, "use_kl_loss": False, "steps": 1000, "path": None}
    assert read_yaml(text.encode()) == {
        "defaults": base,
        "actor": {"temperature": 1.0, "coefficient": 0.001, "name": "0.5"},
        "critic": {"other": base},
        "list": [1, "two"],
    }


def test_a_configuration_that_may_not_be_read_is_noted(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("temperature: 0.6\n")

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    settings, (note,) = settings_beside(str(tmp_path / "metrics.csv"))
    assert settings == {}
    assert "Permission denied" in note


def test_a_long_honest_configuration_is_read(tmp_path):
    lines = [
        f"group{i}: {{{', '.join(f'option_{j}: {{value: 0.{j}}}' for j in range(20))}}}" for i in range(900)
    ]
    (tmp_path / "config.yaml").write_text("\n".join([*lines, "temperature: {value: 0.6}", ""]))
    settings, _ = settings_beside(str(tmp_path / "metrics.csv"))
    assert len(settings) == 18_001
    assert settings["temperature"] == 0.6
