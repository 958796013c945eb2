"""The sample report in the repository is what the command writes today, byte for byte.

``python docs/sample.py`` writes it anew; read the difference before you keep it.
"""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT

LARGEST = 2_500_000
"""Bytes of the whole folder: it is in every clone."""


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SAMPLE = loaded(ROOT / "docs" / "sample.py")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report made again in another folder, in two processes, with another order of sets."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "data").symlink_to(ROOT / "data")
    folder = elsewhere / "again"
    SAMPLE.make(folder, "--jobs", "2", cwd=elsewhere, environment={"PYTHONHASHSEED": "7"})
    return folder


def test_every_file_is_the_one_in_the_repository(fresh: Path) -> None:
    assert set(SAMPLE.files(fresh)) == set(SAMPLE.files(SAMPLE.SAMPLE))
    recorded = json.loads((SAMPLE.SAMPLE / SAMPLE.VERSIONS).read_text("utf-8"))
    if recorded == SAMPLE.versions():
        assert not SAMPLE.different(fresh, SAMPLE.SAMPLE)
    else:
        # Other releases of numpy and scipy may compute another last digit, of matplotlib draw other paths.
        index = [json.loads((folder / "report.json").read_text("utf-8")) for folder in (fresh, SAMPLE.SAMPLE)]
        assert numbers(index[0]) == pytest.approx(numbers(index[1]), rel=1e-7)


def numbers(value: object) -> list[float]:
    """Every number of a JSON document, in its order."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [number for item in items for number in numbers(item)]
    return [float(value)] if isinstance(value, int | float) else []


def test_the_sample_is_small_and_has_a_page_for_every_run() -> None:
    names = set(SAMPLE.files(SAMPLE.SAMPLE))
    assert sum((SAMPLE.SAMPLE / name).stat().st_size for name in names) < LARGEST
    pages = {f"runs/{run}.{kind}" for run in SAMPLE.RUNS for kind in ("html", "json")}
    over_all = {"index.html", "report.csv", "report.json", "report.md", SAMPLE.VERSIONS}
    assert names == pages | over_all
