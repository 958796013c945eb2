"""``entropylaw check`` as a user starts it."""

import json

import pytest

from entropylaw import fit_logs, load
from entropylaw.documents.codec import dumps
from entropylaw.documents.kinds import KINDS
from tests.conftest import LAB
from tests.typed import assert_error, assert_says, imported

pytestmark = pytest.mark.usefixtures("one_cache")

FIT, OTHER = "width_96_s1.fit.json", "grpo_s0.fit.json"

RUN = "data/lab/width_96_s1/metrics.parquet"


@pytest.fixture(scope="module")
def documents():
    """Stored fits of two runs, as texts."""
    names = ("width_96_s1", "grpo_s0")
    return {f"{name}.fit.json": dumps(fit_logs([LAB / name / "metrics.parquet"]).to_json()) for name in names}


@pytest.fixture
def fits(documents, tmp_path):
    for name, text in documents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def check(run):
    """Check sources against gates; ``more`` are other arguments."""

    def start(sources, gates, *more, **environment):
        flags = [part for gate in gates.split() for part in ("--fail-if", gate)]
        return run("check", *str(sources).split(), *flags, *more, **environment)

    return start


def outcomes(done):
    """Run and gate → the outcome, of a check whose output is JSON."""
    return {(case["run"], case["gate"]): case["outcome"] for case in json.loads(done.stdout)["cases"]}


JSON = ("--format", "json")


def test_every_format_on_standard_output_and_in_a_file(check, fits):
    files = {"a.json": "json", "a.md": "markdown", "a.txt": "text"}
    done = check(FIT, "ceiling<0.99", *(part for name in (*files, "-") for part in ("-o", name)))
    assert done.stderr.splitlines() == [f"wrote {name}" for name in files]
    assert (fits / "a.txt").read_text() == done.stdout
    for name, kind in files.items():
        assert check(FIT, "ceiling<0.99", "--format", kind).stdout == (fits / name).read_text()
    assert check(FIT, "ceiling<0.99", "--junit", "a.xml").stdout == done.stdout
    assert (fits / "a.xml").read_text() == check(FIT, "ceiling<0.99", "--junit", "-").stdout


def test_without_a_condition_no_run_is_broken_and_none_is_worse_than_the_baseline(check, run, fits):
    passed = check(FIT, "", "--baseline", FIT, *JSON)
    assert passed.returncode == 0
    gates = ["state==broken", f"regression({FIT})>0%"]
    assert json.loads(passed.stdout)["gates"] == gates
    # This run ends at about half of the other's reward.
    worse, better = sorted((FIT, OTHER), key=lambda name: load(fits / name, "fit").fitted[0].state.now.value)
    fallen = check(worse, "", "--baseline", better, *JSON)
    assert fallen.returncode == 5
    assert list(outcomes(fallen).values()) == ["passed", "tripped"]
    assert check(better, "", "--baseline", worse).returncode == 0
    for missing in ("none.json", "."):
        unknown = check(FIT, "", "--baseline", missing, *JSON)
        assert (unknown.returncode, [*outcomes(unknown).values()]) == (5, ["passed", "unknown"])
    # With conditions it is one more.
    both = check(FIT, "now>2", "--baseline", FIT, *JSON)
    assert json.loads(both.stdout)["gates"] == ["now>2", gates[1]]


def test_a_log_is_fitted_and_gives_what_its_stored_fit_gives(check, lab, fits):
    gates = "ceiling<0.5 p_gain>1% state==broken flat_steps>1 fails"
    stored, fresh = check(FIT, gates, *JSON), check(RUN, gates, *JSON)
    assert stored.returncode == fresh.returncode == 5
    for one, other in zip(json.loads(stored.stdout)["cases"], json.loads(fresh.stdout)["cases"], strict=True):
        assert one | {"sources": []} == other | {"sources": []}


def test_logs_are_forecast_and_tested_for_phases_where_a_gate_needs_it(check, lab):
    done = check(RUN, "saturation_step<401 settled_execution<0", *JSON)
    assert "no document given" not in done.stdout
    assert outcomes(done)["width_96_s1", "saturation_step<401"] == "passed"


def test_the_document_names_what_was_read_and_nothing_of_the_machine(check, fits):
    (fits / "elsewhere").mkdir()
    done = check(fits / FIT, f"regression({fits / FIT})>1%", *JSON, cwd=fits / "elsewhere")
    body = json.loads(done.stdout)
    assert body["schema"] == "entropylaw/check/2"
    assert str(fits) not in done.stdout
    (file,) = body["inputs"]
    assert (file["format"], file["path"]) == (KINDS["fit"].schema, f"{fits.name}/{FIT}")
    assert body["gates"] == [f"regression({fits.name}/{FIT})>1%"]


def test_a_baseline_is_read_from_a_document(check, fits):
    assert check(FIT, f"regression({FIT})>40%").returncode == 0
    other = check(FIT, f"regression({OTHER})>40%")
    assert (other.returncode, "fall of now -" in other.stdout) == (0, True)
    (fits / "broken.json").write_text("{")
    assert_error(check(FIT, "regression(none.json)>1%"), "file-not-found", 5)
    for path in (fits / "broken.json", LAB / "width_96_s1" / "metrics.parquet"):
        done = assert_error(check(FIT, f"regression({path})>1%"), "not-a-document", 5)
        assert_says(
            done.stderr,
            f"{path.name} is not a JSON document",
            "  give a file that `entropylaw fit` or `entropylaw report` wrote\n",
        )


@pytest.fixture
def pages(run, fits):
    """A report of both fits."""
    assert run("report", FIT, OTHER, "-o", "pages", "--figures", "none", "--jobs", "1").returncode == 0
    return fits / "pages"


def test_a_report_is_read_by_its_folder_and_by_its_index(check, pages):
    gates = "ceiling<0.1 now>50% saturation_step<1"
    folder, index, both = (check(f"pages{end}", gates) for end in ("", "/report.json", " pages/report.json"))
    assert (folder.returncode, folder.stderr) == (5, "")
    assert (index.returncode, index.stdout, index.stderr) == (5, folder.stdout, "")
    assert both.stdout == folder.stdout
    for baseline in ("pages", "pages/", "pages/report.json", "pages/runs/width_96_s1.json"):
        assert check(FIT, f"regression({baseline})>90%").returncode == 0
    (pages / "runs" / "grpo_s0.json").write_text("{")
    broken = check("pages/report.json", "ceiling<0.1", *JSON)
    assert (broken.returncode, outcomes(broken)["pages/runs/grpo_s0.json", "ceiling<0.1"]) == (5, "unknown")


def test_a_table_of_a_report_names_what_to_give(check, pages):
    done = assert_error(check("pages/report.csv", "fails"), "not-a-document", 5)
    assert "the folder of the report" in done.stderr


def test_the_steps_summary_is_appended_to(check, fits):
    summary = fits / "summary.md"
    summary.write_text("before\n")
    flag = "--github-summary"
    assert_error(check(FIT, "fails", flag), "no-step-summary", 2)
    assert check(FIT, "ceiling<0.99", flag, GITHUB_STEP_SUMMARY=str(summary)).returncode == 5
    markdown = check(FIT, "ceiling<0.99", "--format", "markdown").stdout
    assert summary.read_text() == "before\n" + markdown
    # The exit code of a gate that failed does not change where something could not be written.
    for gate, code in (("ceiling<0.99", 5), ("ceiling<0.1", 3)):
        assert_error(check(FIT, gate, flag, GITHUB_STEP_SUMMARY=str(fits)), "cannot-write", code)


@pytest.mark.parametrize("text", ["level = 0.9", "gain = 0.3", '[columns]\npair = "next"'])
def test_a_setting_that_a_stored_fit_was_not_made_with_is_refused(check, fits, text):
    (fits / "entropylaw.toml").write_text(f"{text}\n")
    assert_error(check(FIT, "p_gain<0.5"), "fit-is-fixed", 2)


def test_the_gain_of_settings_and_of_the_command_line_is_that_of_the_fit(check, lab, tmp_path):
    said = "(0.03 or more by step "
    assert said in check(RUN, "p_gain<0.5", "--gain", "0.03").stdout
    (tmp_path / "entropylaw.toml").write_text("gain = 0.03\n")
    assert said in check(RUN, "p_gain<0.5").stdout


def test_stored_fits_need_neither_numpy_nor_pydantic(fits):
    """Nor any other dependency but typer and msgspec; for every format."""
    heavy = ("numpy", "scipy", "pyarrow", "matplotlib", "rich", "jinja2", "yaml", "lmfit", "ibis", "pydantic")
    document = json.loads((fits / FIT).read_text("utf-8"))
    document["runs"][0]["result"]["unpaired"] = [[900.0], [0.5]]
    (fits / FIT).write_text(dumps(document), encoding="utf-8")
    gates = ["--fail-if", "ceiling<0.1", "--fail-if", f"regression({FIT})>90%", "--fail-if", "p_gain<1e-9"]
    outputs = ["-o", "a.json", "-o", "a.md", "--junit", "a.xml", "--quiet"]
    assert imported(["check", FIT, *gates, *outputs], heavy, fits) == []


def test_settings_that_differ_from_the_defaults_are_printed_with_the_outcomes(check, fits):
    (fits / "entropylaw.toml").write_text("level = 0.8\nfrom-step = 20\n")
    log = str(LAB / "grpo_s0" / "metrics.parquet")
    for kind in (("--format", "text"), ("--format", "markdown"), ("--junit", "-")):
        done = check(log, "refused", "--gain", "0.5", "-q", *kind)
        assert all(setting in done.stdout for setting in ("gain 0.5", "level 0.8", "from-step 20", "(logs)"))
    document = json.loads(check(log, "refused", "--gain", "0.5", *JSON).stdout)
    assert document["settings"] == [{"of": "logs", "values": {"gain": 0.5, "level": 0.8, "from-step": 20.0}}]


def test_the_settings_of_a_stored_fit_are_printed_with_its_outcomes(check, run, fits):
    log = str(LAB / "grpo_s0" / "metrics.parquet")
    run("fit", log, "--from-step", "20", "-q", "-o", "late.fit.json")
    done = check(f"late.fit.json {FIT}", "refused", *JSON)
    assert json.loads(done.stdout)["settings"] == [{"of": "late.fit.json", "values": {"from-step": 20.0}}]
    assert "settings" not in check(FIT, "refused").stdout
