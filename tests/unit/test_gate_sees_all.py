"""No gate passes on what it did not see: every way of losing a run, typed as a user would."""

import json
import math
import os
from itertools import product

import pytest

from entropylaw import read_runs
from entropylaw.documents.codec import dumps
from entropylaw.documents.samples import SamplesDocument
from tests.fuzz.hiding import comma, console, jsonl, records
from tests.fuzz.sets import stored
from tests.typed import assert_says

# The subject is which runs a gate sees: the few that it sees are fitted once.
pytestmark = pytest.mark.usefixtures("undrawn", "one_cache")

GOOD, BAD = records(True, 0), records(False, 7)


def labelled(rows, name):
    return [{"run": name, **row} for row in rows]


def outcomes(done):
    """Run → outcome of the gate, from the JSON on standard output."""
    return {case["run"]: case["outcome"] for case in json.loads(done.stdout)["cases"]}


@pytest.fixture
def check(run, tmp_path):
    def start(*sources, **environment):
        return run(
            "--no-config",
            "check",
            *sources,
            "-q",
            "--fail-if",
            "ceiling<0.5",
            "--format",
            "json",
            **environment,
        )

    return start


@pytest.fixture
def put(tmp_path):
    def start(name, data):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return start


def test_the_gate_distinguishes_the_two_runs(check, put):
    put("a.jsonl", jsonl(labelled(GOOD, "A") + labelled(BAD, "B")))
    done = check("a.jsonl")
    assert (done.returncode, outcomes(done)) == (5, {"A": "passed", "B": "tripped"})
    put("good/a.jsonl", jsonl(GOOD))
    assert check("good").returncode == 0


@pytest.mark.parametrize("step", [None, math.nan, "abc", "", [1], 1e300])
def test_a_run_that_lost_its_steps_is_refused(check, put, step):
    bad = [{**row, "step": step} for row in labelled(BAD, "B")]
    put("a.jsonl", jsonl(labelled(GOOD, "A") + bad))
    done = check("a.jsonl")
    assert (done.returncode, outcomes(done)) == (5, {"A": "passed", "B": "unknown"})
    assert "error[run-without-steps]" in done.stderr
    put("a.csv", comma(labelled(GOOD, "A") + bad))
    assert outcomes(check("a.csv")) == {"A": "passed", "B": "unknown"}


def test_no_gate_passes_where_the_records_of_a_run_are_broken(check, put):
    broken = b"".join(line[:-3] + b"\n" for line in jsonl(labelled(BAD, "B")).splitlines())
    put("a.jsonl", jsonl(labelled(GOOD, "A")) + broken)
    assert outcomes(check("a.jsonl")) == {"A": "unknown"}
    put("b.jsonl", jsonl(GOOD) + b"".join(line[:9] + b"\n" for line in broken.splitlines()))
    done = check("b.jsonl")
    assert (done.returncode, outcomes(done)) == (5, {"b": "unknown"})
    assert (
        "50 % of the log could not be read or has no step" in json.loads(done.stdout)["cases"][0]["sentence"]
    )


@pytest.mark.parametrize(("number", "code"), [(3, 0), (4, 5)])
def test_a_gate_is_unknown_where_more_than_a_hundredth_of_a_log_was_not_read(check, put, number, code):
    broken = [line[:-3] for line in jsonl(BAD).splitlines()[:number]]
    many = [{**row, "step": 8 * row["step"] + part} for row in GOOD for part in range(8)]
    put("a.jsonl", b"\n".join([*broken, *jsonl(many).splitlines()]) + b"\n")
    done = check("a.jsonl")
    assert (done.returncode, outcomes(done)) == (code, {"a": "unknown" if code else "passed"})


NO_STEP = {
    "one level down": lambda row: {"data": row},
    "two levels down": lambda row: {"runs": {"B": row}},
    "an empty key": lambda row: {"": row},
    "a prefix": lambda row: {f"clip_cov/{name}": cell for name, cell in row.items()},
    "a suffix": lambda row: {f"{name}@B": cell for name, cell in row.items()},
    "one metric": lambda row: {"B.acc": row["reward"]},
    "short names": lambda row: {"t": row["step"], "ent": row["entropy"], "ret": row["reward"]},
    "a list": lambda row: {"B": [row]},
    "a medium": lambda row: {"B": {"_type": "run", **row}},
    "a text": lambda row: {"message": f"step {row['step']}: entropy={row['entropy']}"},
    "a long name": lambda row: {"x" * 1200: row},
    "names as values": lambda row: {"metric": "entropy", "value": row["entropy"]},
}


@pytest.mark.parametrize("shape", NO_STEP)
@pytest.mark.parametrize("label", [{}, {"run": "A"}])
def test_evaluations_without_a_step_are_not_read_in_every_shape(put, tmp_path, shape, label):
    """Wherever they are among the others, and whatever run the record says that it belongs to."""
    bad = [{**label, **NO_STEP[shape](row)} for row in BAD]
    many = [{**GOOD[0], **label, "step": step} for step in range(1000)]
    for good in ([*many[:500], *bad, *many[500:]], [*bad, *many]):
        put("a.jsonl", jsonl(good))
        (only,) = read_runs(tmp_path / "a.jsonl")
        assert only.source.unread > 0.01


def test_configurations_and_clocks_without_a_step_are_no_run(check, put):
    others = [
        {"config": {"lr": 1e-6, "entropy_coef": 0.01}},
        *({"system/gpu.0.memory": 3.5, "_timestamp": float(i), "timing_s/reward": 0.1} for i in range(40)),
        *({"message": f"saved checkpoint {i}", "seconds": 3.0} for i in range(40)),
    ]
    put("a.jsonl", jsonl([*GOOD[:20], *others, *GOOD[20:]]))
    done = check("a.jsonl")
    assert (done.returncode, outcomes(done)) == (0, {"a": "passed"})


def test_every_command_says_that_a_log_is_incomplete(check, run, put):
    put("a.jsonl", jsonl(GOOD + [{"runs": {"B": row}} for row in BAD]))
    put("b.jsonl", jsonl(BAD))
    done = check("a.jsonl")
    assert (done.returncode, outcomes(done)) == (5, {"a": "unknown"})
    said = "50 % of the log could not be read or has no step"
    shown = run("--no-config", "fit", "a.jsonl", "--details", "-o", "-", "-o", "a.fit.json").stdout
    assert said in " ".join(shown.split())
    assert outcomes(check("a.fit.json")) == {"a": "unknown"}
    run("--no-config", "report", "a.jsonl", "-o", "r")
    assert outcomes(check("r")) == {"a": "unknown"}
    assert said in run("--no-config", "compare", "a=a.jsonl", "b=b.jsonl").stderr
    assert "50 % not read" in run("--no-config", "columns", "a.jsonl").stdout


def test_a_history_in_one_cell_is_a_run_that_was_not_read(check, put, tmp_path):
    put("logs/a.jsonl", jsonl(GOOD))
    put("logs/b.csv", comma([{"B": json.dumps(BAD)}]))
    assert outcomes(check("logs")) == {"a": "passed", "logs/b.csv": "unknown"}


def test_a_last_record_that_is_cut_off_is_no_run(check, put):
    put("a.jsonl", jsonl(GOOD)[:-9])
    done = check("a.jsonl")
    said = f"a.jsonl: the last line ({len(GOOD)}) is half-written, and is not read\n"
    assert (done.returncode, done.stderr) == (0, said)


def test_no_gate_passes_where_rows_are_within_a_quote_or_too_long(check, put):
    text = comma(labelled(GOOD, "A") + labelled(BAD, "B")).decode()
    lines = text.splitlines()
    lines[41] = '"' + lines[41]
    put("quote.csv", "\n".join(lines).encode())
    assert set(outcomes(check("quote.csv")).values()) == {"unknown"}
    longer = [line + (",1,2" if i > 40 else "") for i, line in enumerate(text.splitlines())]
    put("long.csv", "\n".join(longer).encode())
    assert outcomes(check("long.csv")) == {"A": "unknown"}


def test_rows_that_are_too_long_are_not_read(check, put):
    longer = [f"{row['step']},{row['entropy']},{row['reward']},7" for row in BAD[:12]]
    many = [{**GOOD[place * len(GOOD) // 1000], "step": place} for place in range(1000)]
    put("long.csv", comma(many) + "\n".join(longer).encode())
    assert outcomes(check("long.csv")) == {"long": "unknown"}


def test_a_copy_is_a_copy_only_with_the_same_rewards(check, put):
    twin = [{**row, "reward": bad["reward"]} for row, bad in zip(GOOD, BAD, strict=True)]
    put("logs/a.csv", comma(GOOD))
    put("logs/b.csv", comma(twin))
    assert check("logs").returncode == 5
    put("logs/b.csv", comma(GOOD))
    done = check("logs")
    assert (done.returncode, outcomes(done)) == (0, {"a": "passed"})
    assert done.stderr == "Skipped 1 duplicate: b.csv of a.csv\n"  # with --quiet, too


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *product(
            ("b.csv", "b.jsonl", "b.parquet", "train.log", "events.out.tfevents.1.x"),
            (b"", bytes(3000), bytes(range(128, 256)) * 20),
        ),
        ("b.csv", b"step,entropy,reward\n"),
        ("b.csv", comma(BAD).replace(b"step", b"when")),
        ("b.csv", comma(BAD).replace(b"entropy", b"ent").replace(b"reward", b"acc")),
        ("b.csv", comma(BAD).split(b"\n", 1)[1]),
        ("b.jsonl", jsonl(BAD[:1])),
        ("b/train.log", b"Traceback (most recent call last):\nRuntimeError: out of memory\n"),
        ("b/console.log", b"actor entropy: 0.31 at the end\n"),
        ("b.dat", comma(BAD)),
        ("B.CSV", comma(BAD)),
        ("b.json", b"[\n {\n"),
        ("b.tsv", comma(BAD, "\t").replace(b"entropy", b"ent").replace(b"reward", b"acc")),
        ("b.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
        ("metrics.dat", bytes(range(256)) * 9),
        ("b.db", bytes(range(256)) * 9),
        ("b.out", bytes(3000)),
        ("b.json", b""),
        ("b.log", console(BAD).replace(b"step", b"when").replace(b"entropy", b"ent")),
        ("metrics.jsonl.1", jsonl(BAD)),
        ("b.jsonl", jsonl([{"runs": {"B": row}} for row in BAD])),
        ("b.jsonl", jsonl([{"runs": [[row]]} for row in BAD])),
        ("b.csv.lz4", bytes(range(255, -1, -1)) * 3),
        ("b.tsv.7z", b""),
        ("b.jsonl.br", b"\x8b\x07" + bytes(range(256))),
        ("b.csv.unheard", b"\x8b\x07" + bytes(range(256))),
        ("b.feather", b"ARROW1"),
        ("B.ORC", b"ORC" + bytes(30)),
        ("b.arrow", b""),
    ],
)
def test_a_log_of_which_nothing_can_be_used_fails_in_a_folder(check, put, name, data):
    put("logs/a.csv", comma(GOOD))
    put(f"logs/{name}", data)
    done = check("logs")
    assert (done.returncode, outcomes(done)["a"], len(outcomes(done))) == (5, "passed", 2)


UNKNOWN_NAMES = comma(BAD).replace(b"step", b"tick").replace(b"entropy", b"h").replace(b"reward", b"y")


@pytest.mark.parametrize("good", ["good.jsonl", "good.csv", None])
@pytest.mark.parametrize(
    "data", [UNKNOWN_NAMES, b"\n".join(UNKNOWN_NAMES.split(b"\n")[:5])], ids=["whole", "short"]
)
def test_a_table_of_numbers_without_known_columns_is_a_run_whatever_is_beside_it(check, run, put, good, data):
    if good is not None:
        put(f"logs/{good}", (jsonl if good.endswith("jsonl") else comma)(GOOD))
    put("logs/bad.csv", data)
    done = check("logs")
    assert done.returncode == 5
    assert (
        outcomes(done) == {"good": "passed"} | {"logs/bad.csv": "unknown"}
        if good
        else {"logs/bad.csv": "unknown"}
    )
    assert_says(done.stderr, "error[no-step-column]", "--step tick --entropy h")
    if good == "good.jsonl":
        assert "not a training log: bad.csv" in run("fit", "logs", "--no-save").stderr


def test_tables_of_prompts_and_summaries_are_no_runs(check, put):
    put("logs/a.jsonl", jsonl(GOOD))
    rows = "".join(f'{i},"what is {i}?",text,{i % 7}\n' for i in range(30))
    put("logs/prompts.csv", f"id,prompt,source,level\n{rows}".encode())
    put("logs/best.csv", b"lr,batch\n0.1,32\n")
    done = check("logs")
    assert (done.returncode, outcomes(done)) == (0, {"a": "passed"})
    assert "2 files that are not training logs: best.csv, prompts.csv" in done.stderr


def test_what_is_plainly_no_log_is_skipped_and_named(check, put):
    put("logs/a.csv", comma(GOOD))
    others = {
        "config.json": b'{"lr": 1e-6}',
        "notes.txt": b"think of the seeds\n",
        "prompts.csv": b"prompt,answer\n1 + 1,2\n",
        "err.txt": b"",
        "debug.log": b"INFO started\n",
    }
    for name, data in others.items():
        put(f"logs/{name}", data)
    done = check("logs")
    assert (done.returncode, outcomes(done)) == (0, {"a": "passed"})
    # The configuration beside a log is not named with --quiet.
    named = [name for name in others if name != "config.json"]
    assert f"Skipped {len(named)} files that are not training logs: " in done.stderr
    assert all(name in done.stderr for name in named)
    assert "config.json" not in done.stderr
    assert len(json.loads(done.stdout)["warnings"]) == len(others)


def test_a_folder_without_runs_fails_beside_what_has_some(check, put, tmp_path):
    put("good.fit.json", json.dumps(stored(True)).encode())
    put("prompts/a.csv", b"prompt,answer\nx,y\n")
    put("checks/a.json", b'{"schema": "entropylaw/check/2", "cases": []}')
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "prompts", "checks"):
        done = check("good.fit.json", folder)
        assert (done.returncode, outcomes(done)["good"], len(outcomes(done))) == (5, "passed", 2)
        alone = check(folder)
        assert (alone.returncode, json.loads(alone.stdout)["failed"]) == (5, True)


def test_what_entropylaw_wrote_itself_is_no_run(run, check, put):
    """Tables of many runs, too, whose columns rise as steps do."""
    longer = [[{**row, "step": row["step"] * times} for row in GOOD] for times in range(1, 7)]
    names = [f"many/{number}.csv" for number in range(len(longer))]
    for name, rows in zip(names, longer, strict=True):
        put(name, comma(rows))
    put("logs/good.csv", comma(GOOD))
    commands = {
        "fit": ("fit", *names, "--no-save"),
        "predict": ("predict", "reports/many.fit.json"),
        "check": ("check", *names, "--fail-if", "n<9"),
        "compare": ("compare", *(f"arm{number}={name}" for number, name in enumerate(names))),
    }
    assert run("fit", *names, "-o", "reports/many.fit.json").returncode == 0
    for name, command in commands.items():
        for suffix in ("csv", "md", "tex"):
            done = run("--no-config", *command, "-o", f"logs/{name}.{suffix}", code=0)
    put("logs/columns.json", run("columns", "logs/good.csv", "--format", "json").stdout.encode())
    put("logs/columns.csv", run("columns", "logs/good.csv", "--format", "csv").stdout.encode())
    done = check("logs")
    assert (done.returncode, outcomes(done)) == (0, {"good": "passed"})


def test_charts_whose_names_hold_a_plus_are_joined(run, put):
    for name, column in (("a + e", "entropy"), ("a + r", "reward")):
        rows = [{"Step": row["step"], f"one - {column}": row[column]} for row in GOOD]
        put(f"{name}.csv", comma(rows))
    done = run("fit", "a + e.csv", "a + r.csv", "--format", "json")
    assert (done.returncode, len(json.loads(done.stdout)["runs"])) == (0, 1), done.stderr


def test_links_are_followed_and_a_dangling_one_fails(check, put, tmp_path):
    put("logs/a.csv", comma(GOOD))
    put("elsewhere/b/metrics.csv", comma(BAD))
    (tmp_path / "logs" / "linked").symlink_to(tmp_path / "elsewhere" / "b")
    (tmp_path / "logs" / "loop").symlink_to(tmp_path / "logs")
    assert outcomes(check("logs")) == {"a": "passed", "linked": "tripped"}
    (tmp_path / "logs" / "linked").unlink()
    (tmp_path / "logs" / "b.csv").symlink_to(tmp_path / "nowhere.csv")
    done = check("logs")
    assert (done.returncode, len(outcomes(done))) == (5, 2)
    assert "error[file-not-found]" in done.stderr


def test_a_folder_that_cannot_be_entered_fails(check, put, monkeypatch):
    put("logs/a.csv", comma(GOOD))
    put("logs/closed/b.csv", comma(BAD))
    enter = os.scandir

    def refuse(path=".", *rest):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return enter(path, *rest)

    monkeypatch.setattr(os, "scandir", refuse)  # whoever runs the tests may be allowed to do anything
    done = check("logs")
    assert (done.returncode, outcomes(done)["a"]) == (5, "passed")
    assert "error[file-unreadable]" in done.stderr


@pytest.mark.parametrize("name", ["bad.fit.json", "a/b/bad.fit.json", "X.FIT.JSON"])
def test_stored_fits_in_a_folder_are_checked(check, put, name):
    put("logs/good.csv", comma(GOOD))
    put(f"logs/{name}", json.dumps(stored(False)).encode())
    assert outcomes(check("logs")) == {"good": "passed", "bad": "tripped"}
    put(f"logs/{name}", json.dumps(stored(False)).encode()[:-200])
    assert check("logs").returncode == 5


@pytest.mark.parametrize("without", ["runs", "answer"])
def test_a_document_without_runs_or_without_an_answer_is_refused_and_stops_no_other(check, put, without):
    """What else contradicts itself is refused alike: test_documents.py."""
    runs = [] if without == "runs" else [{**stored(True)["runs"][0], "result": None}]
    put("good.csv", comma(GOOD))
    put("x.fit.json", json.dumps({**stored(True), "runs": runs}).encode())
    assert check("x.fit.json").returncode == 5
    done = check("x.fit.json", "good.csv")
    assert (done.returncode, outcomes(done)) == (5, {"x.fit.json": "unknown", "good": "passed"})
    assert "error[damaged-document]" in done.stderr


def test_a_document_of_samples_without_a_row_is_refused(check, put):
    empty = SamplesDocument(
        tables=(),
        format="table",
        columns={},
        groups=(),
        missing="wrong",
        rarefied=1,
        level=0.95,
        rows=(),
        t=(),
    )
    put("x.json", dumps(empty.to_json()).encode())
    done = check("x.json")
    assert done.returncode == 5
    assert "x.json is damaged at $.rows: expected one row or more" in done.stdout + done.stderr


def test_labels_of_many_digits_are_different_runs(check, put):
    ids = (12345678901234567, 12345678901234568)
    rows = [{"run": one, **row} for one, part in zip(ids, (BAD, GOOD), strict=True) for row in part]
    put("a.jsonl", jsonl(rows))
    assert sorted(outcomes(check("a.jsonl")).values()) == ["passed", "tripped"]


def test_a_column_that_stands_twice_may_be_another_run(check, put):
    lines = zip(comma(GOOD).decode().splitlines(), comma(BAD).decode().splitlines(), strict=True)
    put("a.csv", "\n".join(map(",".join, lines)).encode())
    done = check("a.csv")
    assert (done.returncode, outcomes(done)["a"]) == (5, "unknown")


def test_a_page_that_is_missing_from_a_report_is_a_run(run, check, put, tmp_path):
    put("good.jsonl", jsonl(GOOD))
    put("few.jsonl", jsonl(BAD[:2]))
    run("report", "good.jsonl", "few.jsonl", "-o", "pages", "--figures", "none")
    (tmp_path / "pages" / "runs" / "few.json").unlink()
    done = check("pages")
    assert (done.returncode, outcomes(done)["good"]) == (5, "passed")


def test_a_file_in_a_format_that_is_not_read_says_what_to_do(check, put):
    put("b.csv.lz4", b"\x04\x22\x4d\x18" + bytes(range(256)))
    put("b.csv.sha256", b"0123  b.csv\n")
    put("good.csv", comma(GOOD))
    for source in ("b.csv.lz4", "."):
        done = check(source)
        assert done.returncode == 5
        assert_says(done.stderr, "error[format-not-read]", "write it as CSV, JSONL or Parquet, or unpack it")
        assert len(outcomes(done)) == (1 if source != "." else 2)


def test_a_report_whose_runs_are_not_those_of_its_index_is_refused(check, run, put, tmp_path):
    for name, rows in (("lo_0", BAD), ("hi_0", GOOD)):
        put(f"{name}.jsonl", jsonl(rows))
    assert run("--no-config", "report", "lo_0.jsonl", "hi_0.jsonl", "-o", "r").returncode == 0
    assert outcomes(check("r")) == {"hi_0": "passed", "lo_0": "tripped"}
    pages = tmp_path / "r" / "runs"
    low, high = ((pages / f"{name}.json").read_bytes() for name in ("lo_0", "hi_0"))
    other = json.loads(high)
    other["runs"][0] |= {"run": "lo_0", "path": "lo_0.jsonl"}
    for content in (high, json.dumps(other).encode()):
        (pages / "lo_0.json").write_bytes(content)
        for source in ("r", "r/report.json"):
            done = check(source)
            assert (done.returncode, outcomes(done)["r/runs/lo_0.json"]) == (5, "unknown")
            assert "not the one in the index of the report" in done.stderr
    (pages / "lo_0.json").write_bytes(low)
    index = json.loads((tmp_path / "r/report.json").read_text())
    (tmp_path / "r/report.json").write_text(json.dumps(index | {"unfinished": 1}))
    assert outcomes(check("r"))["r/report.json"] == "unknown"


def test_a_document_with_one_run_twice_is_refused(check, put):
    body = stored(True)
    put("x.fit.json", json.dumps(body | {"runs": body["runs"] * 2}).encode())
    done = check("x.fit.json")
    assert (done.returncode, "each run once" in done.stderr) == (5, True)


def test_an_entropy_that_ends_early_is_not_that_of_now(run, put):
    """Where the last fifth of the rewards has no entropy, the last one known is of another step."""
    late = [{**row, "entropy": None} if number >= 0.8 * len(GOOD) else row for number, row in enumerate(GOOD)]
    put("a.jsonl", jsonl(late))
    gates = ("entropy_now<9", "now<0.99", "p_gain<1")
    done = run("check", "a.jsonl", "-q", "--format", "json", *(f"--fail-if={gate}" for gate in gates))
    named = {case["gate"]: case["outcome"] for case in json.loads(done.stdout)["cases"]}
    assert named == {gates[0]: "unknown", gates[1]: "tripped", gates[2]: "tripped"}
