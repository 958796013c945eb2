"""Results that were computed before: the same bytes, never an old one; without a cache nothing is lost."""

import hashlib
import json
import os
from pathlib import Path

import msgspec
import numpy as np
import pytest

from entropylaw import read_runs
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.pipeline import answers, cache, steps
from entropylaw.pipeline.cache import Cache
from entropylaw.results.result import replace
from tests.conftest import processor_time
from tests.typed import RUN, write_csv


@pytest.fixture
def one_run(tmp_path):
    write_csv(tmp_path / "x.csv")
    return read_runs(tmp_path / "x.csv")[0]


def entries(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("command", [("fit", "-o", "x.json"), ("phases", "-o", "x.json")])
def test_cached_or_not_the_bytes_are_the_same(run, lab, tmp_path, command):
    kept = tmp_path.with_name(f"{tmp_path.name}.kept")
    place = {"ENTROPYLAW_CACHE": str(kept)}
    outputs = []
    for environment in ({}, place, place):
        done = run(command[0], RUN, *command[1:], **environment)
        outputs.append((done.returncode, done.stdout, done.stderr, (tmp_path / "x.json").read_bytes()))
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(entries(kept)) == 1


def test_a_gate_trusts_no_earlier_result(run, lab, tmp_path):
    kept = tmp_path.with_name(f"{tmp_path.name}.kept")
    place, gate = {"ENTROPYLAW_CACHE": str(kept)}, ("check", RUN, "--fail-if", "now>0.01")
    run("fit", RUN, "-o", "x.json", **place)
    (entry,) = entries(kept)
    result = msgspec.msgpack.decode(entry.read_bytes().partition(b"\n")[2])
    result[0]["result"]["state"]["now"] |= {"value": 0.0, "low": 0.0, "high": 0.0}
    content = cache.packed(result)
    entry.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    run("fit", RUN, "-o", "x.json", **place)
    assert json.loads((tmp_path / "x.json").read_text())["runs"][0]["result"]["state"]["now"]["value"] == 0
    assert run(*gate, **place).returncode == 5


@pytest.mark.parametrize("made", ["link", "link to a device", "pipe", "folder", "long"])
def test_what_is_no_entry_is_not_read(tmp_path, monkeypatch, made):
    monkeypatch.setattr(cache, "LONGEST", 500)
    kept, place = Cache(tmp_path / "kept"), tmp_path / "kept" / "aa" / "b"
    kept.put("aab", ["x"] * (600 if made == "long" else 1))
    if made != "long":
        whole = place.rename(tmp_path / "whole")
        if made == "pipe":
            os.mkfifo(place)
        elif made == "folder":
            place.mkdir()
        else:
            place.symlink_to(whole if made == "link" else "/dev/zero")
    with processor_time(5):
        assert kept.get("aab", list) is None
    kept.put("aab", ["y"])
    assert kept.get("aab", list) == (None if made == "folder" else ["y"])


def test_a_known_result_is_not_computed_again(one_run, tmp_path, monkeypatch):
    kept = Cache(tmp_path / "kept")
    step = steps.Fit(FitOptions())
    first = steps.answer(step, one_run, kept)
    monkeypatch.setitem(answers.COMPUTED, "fit", lambda *_: pytest.fail("computed again"))
    assert cache.packed(steps.answer(step, one_run, kept)) == cache.packed(first)


def test_a_key_is_of_all_that_a_result_depends_on(one_run, tmp_path, monkeypatch):
    kept, options = Cache(tmp_path), FitOptions()
    keys = {kept.key("fit", options, one_run)}
    column = next(iter(one_run.columns))
    others = [
        replace(one_run, name="other"),
        replace(one_run, step=one_run.step + 1),
        replace(one_run, columns=one_run.columns | {column: np.nextafter(one_run.columns[column], 9)}),
        replace(one_run, texts={"judge": "gpt"}),
        replace(one_run, settings={"kl": 0.1}),
        replace(one_run, notes=("a note",)),
        replace(one_run, source=replace(one_run.source, path="elsewhere.csv")),
    ]
    keys |= {kept.key("fit", options, other) for other in others}
    keys |= {kept.key("law", options, one_run), kept.key("fit", FitOptions(level=0.5), one_run)}
    keys.add(kept.key("phases", PhaseOptions(), one_run))
    # The path as it is shown is in the result.
    monkeypatch.chdir(tmp_path)
    keys.add(kept.key("fit", options, one_run))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    keys.add(kept.key("fit", options, one_run))
    monkeypatch.setattr(cache, "_program", lambda: "changed code")
    keys.add(kept.key("fit", options, one_run))
    assert len(keys) == len(others) + 7


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:70] + b"\x00" + data[71:]]
)
def test_a_damaged_entry_is_none(one_run, tmp_path, damage):
    kept, step = Cache(tmp_path / "kept"), steps.Fit(FitOptions())
    first = steps.answer(step, one_run, kept)
    (entry,) = entries(tmp_path / "kept")
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert steps.answer(step, one_run, kept).result.law.ceiling == first.result.law.ceiling
    assert entry.read_bytes() == whole


def test_a_refusal_is_not_kept(tmp_path):
    write_csv(tmp_path / "short.csv", n=4)
    (short,) = read_runs(tmp_path / "short.csv")
    found = steps.answer(steps.Fit(FitOptions()), short, Cache(tmp_path / "kept"))
    assert found.refusal is not None
    assert not (tmp_path / "kept").exists()


def test_old_entries_go(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 3000)
    kept = Cache(tmp_path)
    for i in range(8):
        kept.put(f"aa{i}", ["x" * 900])
        os.utime(tmp_path / "aa" / str(i), (i, i))
    assert [path.name for path in entries(tmp_path)] == ["5", "6", "7"]
    assert kept.get("aa7", list) == ["x" * 900]
    assert kept.get("aa0", list) is None


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found = []
    for value in ("", "off", "relative/folder", str(tmp_path / "named"), "~/mine"):
        monkeypatch.setenv(cache.VARIABLE, value)
        found.append(cache.user_cache().folder)
    home = tmp_path / "home"
    assert found == [home / ".cache" / "entropylaw", None, None, tmp_path / "named", home / "mine"]
    monkeypatch.setenv(cache.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.user_cache().folder == tmp_path / "xdg" / "entropylaw"
    # A relative one is none by its specification, and may be a stranger's.
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache.user_cache() == cache.OFF
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    assert cache.user_cache() == cache.OFF


def test_no_cache_of_a_working_copy(tmp_path, monkeypatch):
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(tmp_path / "clone")
    for place in ("work/kept", "work", "clone/kept", "linked/kept"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / "work")
        monkeypatch.setenv(cache.VARIABLE, str(tmp_path / place))
        assert cache.user_cache() == cache.OFF, place
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "work" / "kept"))
    assert cache.user_cache() == Cache(tmp_path / "work" / "kept")


@pytest.mark.parametrize("named", ["", "xdg"])
@pytest.mark.parametrize("where", ["home", "above", "/"])
def test_who_works_in_a_home_folder_or_above_has_the_cache(run, tmp_path, where, named):
    home = tmp_path / "above" / "home"
    home.mkdir(parents=True)
    log = write_csv(home / "x.csv")
    caches = home / (named or ".cache")
    place = {"HOME": str(home), "ENTROPYLAW_CACHE": "", "XDG_CACHE_HOME": str(caches)}
    working = {"home": home, "above": home.parent, "/": Path("/")}[where]
    for _ in range(2):
        run("fit", str(log), "-o", str(tmp_path / "x.json"), cwd=working, **place, code=0)
        assert len(entries(caches / "entropylaw")) == 1


def test_a_project_in_a_home_folder_has_no_cache_of_its_own(tmp_path, monkeypatch):
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv(cache.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "cache"))
    monkeypatch.chdir(project)
    for home in (project.parent, tmp_path / "other", "relative"):
        monkeypatch.setenv("HOME", str(home))
        assert cache.user_cache() == cache.OFF, home
    # A home folder that is a repository may hold what others committed.
    monkeypatch.setenv("HOME", str(project))
    assert cache.user_cache().folder == project / "cache" / "entropylaw"
    (project / ".git").mkdir()
    assert cache.user_cache() == cache.OFF


def test_a_folder_that_cannot_be_written_is_no_error(one_run, tmp_path):
    (tmp_path / "taken").write_text("")
    kept = Cache(tmp_path / "taken")
    assert steps.answer(steps.Fit(FitOptions()), one_run, kept).result is not None
    assert kept.get(kept.key("fit", FitOptions(), one_run), list) is None
