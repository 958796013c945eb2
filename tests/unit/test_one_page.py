"""``entropylaw report LOGS -o out.html``: one file that needs no other."""

import pytest

from tests.pages import Page
from tests.typed import assert_error, write_csv

pytestmark = pytest.mark.usefixtures("one_cache")

FAST = ("--jobs", "1")


def page(folder, name="out.html"):
    found = Page((folder / name).read_text("utf-8"))
    assert len(found.ids) == len(set(found.ids))
    described: set[str] = set()
    for key, value in found.attributes:
        if key in ("aria-describedby", "aria-labelledby"):
            described.update(value.split())
    assert {*found.references, *described} <= set(found.ids)
    links = {value for key, value in found.attributes if key in ("href", "src", "xlink:href")}
    assert {link.removeprefix("#") for link in links} <= set(found.ids)
    return links


def test_one_run_is_its_page(run, tmp_path):
    write_csv(tmp_path / "a.csv")
    done = run("report", "a.csv", "-o", "new/out.html", *FAST)
    assert (done.returncode, done.stderr) == (0, "1 run, 1 fitted\nwrote new/out.html\n")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.csv", "out.html"]
    page(tmp_path / "new")
    text = (tmp_path / "new" / "out.html").read_text("utf-8")
    assert "<h1>a</h1>" in text
    assert text.count("<svg") == 3
    assert run("report", "a.csv", "-o", "new/out.html", *FAST).returncode == 0
    assert (tmp_path / "new" / "out.html").read_text("utf-8") == text


def test_several_runs_are_an_index_with_their_pages_below(run, tmp_path):
    """Runs of names that ids of the page have, and one that cannot be fitted."""
    for name, n in (("main", 40), ("run", 30), ("short", 3)):
        write_csv(tmp_path / f"{name}.csv", n=n)
    run("report", "main.csv", "run.csv", "short.csv", "-o", "out.html", *FAST, code=0)
    assert not (tmp_path / "runs").exists()
    assert {"#run:main", "#run:run", "#run:short"} <= page(tmp_path)
    text = (tmp_path / "out.html").read_text("utf-8")
    assert [f"<h1>{name}</h1>" in text for name in ("3 runs", "main", "run", "short")] == [True] * 4
    assert "report.csv" not in text
    assert text.count("<main") == text.count("<style>") == 1


def test_what_one_file_cannot_hold_is_refused(run, tmp_path):
    log = write_csv(tmp_path / "a.csv")
    assert_error(run("report", "a.csv", "-o", "out.html", "--figures", "pdf"), "bad-figures", 2)
    assert_error(run("report", log, "-o", "a.csv/out.html", *FAST), "cannot-write", 3)
    log.rename(tmp_path / "a.html")
    assert_error(run("report", "a.html:csv", "-o", "a.html", *FAST), "output-is-input", 2)
    assert run("report", "none.csv", "-o", "out.html").returncode == 3
    assert not (tmp_path / "out.html").exists()
    # A folder that is there is a folder.
    (tmp_path / "pages.html").mkdir()
    assert run("report", "a.html:csv", "-o", "pages.html", "--figures", "none", *FAST).returncode == 0
    assert (tmp_path / "pages.html" / "index.html").exists()
