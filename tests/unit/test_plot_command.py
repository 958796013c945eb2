"""``entropylaw plot`` as a user starts it: every figure from every source, and what it refuses."""

from pathlib import Path

import pytest
from PIL import Image

from entropylaw.documents.codec import dumps
from entropylaw.documents.document import PhasesDocument
from entropylaw.options import PhaseOptions
from entropylaw.report.figures.law import law_figure
from entropylaw.report.figures.plotting import figure_bytes
from entropylaw.results.result import replace
from tests.made import of_reports, run_report
from tests.typed import assert_error
from tests.unit.test_phase_report import ordered
from tests.unit.test_report_samples import HOSTILE, document, refused, synthetic

pytestmark = pytest.mark.usefixtures("one_cache")

LOG = "data/lab/grpo_s0/metrics.parquet"
HEADS = {"pdf": b"%PDF", "svg": b"<svg", "png": b"\x89PNG"}


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, str]:
    """A fit document of one run, one of three, a report and a phases document."""
    one, three = document(synthetic()), document(synthetic(), synthetic("other"), refused(HOSTILE))
    phases = ordered()
    documents = {
        "one.fit.json": one,
        "three.fit.json": three,
        "report.json": of_reports(three, [run_report(run) for run in three.runs]),
        "phases.json": PhasesDocument(inputs=(), settings=PhaseOptions(), runs=(phases,)),
    }
    for name, content in documents.items():
        (tmp_path / name).write_text(dumps(content.to_json()))
    return {name.partition(".")[0]: name for name in documents}


@pytest.mark.parametrize("figure", ["law", "forecast", "phases"])
def test_every_figure_of_a_log(run, lab, tmp_path, figure):
    done = run("plot", figure, LOG, "-o", "out/drawn.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote out/drawn.svg\n")
    assert "DejaVuSans" in (tmp_path / "out" / "drawn.svg").read_text()


@pytest.mark.parametrize("kind", HEADS)
def test_the_suffix_decides_and_the_bytes_are_the_same_again(run, stored, tmp_path, kind):
    for name in ("a", "b"):
        assert run("plot", "forecast", stored["one"], "-o", f"{name}.{kind}").returncode == 0
    first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
    assert first.startswith(HEADS[kind])
    assert first == second


def test_the_reward_of_several_is_named_of_the_log(run, tmp_path):
    rewards = [replace(synthetic(), reward=label) for label in ("gsm8k", "math")]
    (tmp_path / "two.json").write_text(dumps(document(*rewards).to_json()))
    done = run("plot", "law", "two.json", "-o", "law.svg")
    assert done.stderr == "gsm8k is drawn; `entropylaw fit --reward` names another: 'math'\nwrote law.svg\n"


def test_a_stored_fit_gives_the_figure_of_the_fresh_one(run, stored, tmp_path):
    assert run("plot", "law", stored["three"], "--run", "other", "-o", "law.svg").returncode == 0
    fresh = figure_bytes(law_figure(synthetic("other")), "svg", "other-law")
    assert (tmp_path / "law.svg").read_bytes() == fresh


def test_figures_of_a_report_and_of_phases(run, stored):
    assert run("plot", "forecast", stored["report"], "--run", "sample", "-o", "a.pdf").returncode == 0
    assert run("plot", "phases", stored["phases"], "-o", "b.pdf").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "slug", "said"),
    [
        (("law", "one", "-o", "a"), 2, "unknown-suffix", "(none)"),
        (("law", "three", "--run", "simple", "-o", "a.svg"), 2, "unknown-run", "did you mean sample?"),
        (
            ("phases", "one", "-o", "a.svg"),
            3,
            "not-a-document",
            "expected entropylaw/phases/",
        ),
        (("law", "phases", "-o", "a.svg"), 3, "not-a-document", "or the log itself"),
        (("law", "three", "--run", HOSTILE, "-o", "a.svg"), 4, "nothing-to-draw", "3 usable evaluations"),
        (
            ("phases", "report", "--run", "sample", "-o", "a.svg"),
            4,
            "nothing-to-draw",
            "planning or execution",
        ),
        (("law", "missing", "-o", "a.svg"), 3, "file-not-found", "missing"),
    ],
)
def test_what_cannot_be_drawn_is_refused(run, stored, tmp_path, arguments, code, slug, said):
    figure, source, *rest = arguments
    done = assert_error(run("plot", figure, stored.get(source, source), *rest), slug, code)
    assert said in " ".join(done.stderr.split())
    assert not list(tmp_path.glob("a*"))


@pytest.mark.parametrize(("width", "pixels"), [("single", 1020), ("double", 2070), ("5.5", 1650)])
def test_a_figure_is_as_wide_as_a_paper_s_column(run, stored, tmp_path, width, pixels):
    for figure, source in (("law", "one"), ("forecast", "one"), ("phases", "phases")):
        run("plot", figure, stored[source], "-o", "a.png", "--width", width, "-q", code=0)
        with Image.open(tmp_path / "a.png") as image:
            assert image.width == pixels


def test_a_title_can_be_left_out(run, lab, tmp_path):
    """A law that fails says so in the title; without it the figure is lower by its lines."""
    sizes = {}
    for flag in ("--title", "--no-title"):
        assert run("plot", "law", LOG, flag, "-o", "law.png").returncode == 0
        with Image.open(tmp_path / "law.png") as image:
            sizes[flag] = image.size
    assert sizes["--title"][0] == sizes["--no-title"][0]
    assert sizes["--title"][1] > sizes["--no-title"][1]


@pytest.mark.parametrize("width", ["wide", "1", "nan", "-3", "1e9"])
def test_a_width_that_is_none_is_refused(run, lab, width):
    done = run("plot", "law", LOG, f"--width={width}", "-o", "law.png", code=2)
    assert done.stderr.startswith("error[bad-option]: --width ")
