"""Readers: what each format yields, written by hand and read back."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import InputError, UsageError, read_runs
from entropylaw.logs.load import UnreadFileWarning, read_all
from entropylaw.logs.sources.registry import READERS
from tests.hostile import refused, write

CSV = "step,entropy,reward\n1,0.5,0.1\n2,0.4,0.2\n3,0.3,0.4\n"


def only(path, **options):
    (run,) = read_runs(path, **options)
    return run


def assert_three_steps(run):
    assert run.step.tolist() == [1, 2, 3]
    assert run.columns["entropy"].tolist() == [0.5, 0.4, 0.3]
    assert run.columns["reward"].tolist() == [0.1, 0.2, 0.4]


def test_source_holds_the_path_as_given_and_the_sum_of_the_bytes(tmp_path, monkeypatch):
    write(tmp_path, "x.csv", b"step,entropy\n1,1\n")
    monkeypatch.chdir(tmp_path)
    run = only("x.csv")
    assert run.source.path == "x.csv"
    # printf 'step,entropy\n1,1\n' | sha256sum
    assert run.source.sha256 == "49e24647733b808831b2cceda805963d6b2dd2144f82cf70aa4759608afbd52a"


def records():
    return [
        {"step": 1, "entropy": 0.5, "reward": 0.1},
        {"step": 2, "entropy": 0.4, "reward": 0.2},
        {"step": 3, "entropy": 0.3, "reward": 0.4},
    ]


def lines(values):
    return "".join(json.dumps(value) + "\n" for value in values)


CONSOLE = (
    "downloading...\n"
    "\x1b[36m(TaskRunner pid=12)\x1b[0m step:1 - actor/entropy:0.500 - critic/score/mean:np.float64(0.1)"
    " - timing_s/x(1e-4):-0.000\n"
    "Training:  10%|#   | 1/10\rstep:2 - actor/entropy:tensor(0.4, device='cuda:0') - critic/score/mean:nan\n"
    "training/global_step:7 - no start of a line\n"
    "step:2 - val-core/a b/acc/mean@1:0.25 - nonsense - text:hello\n"
)


def parquet(path, table, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def test_parquet_types(tmp_path):
    table = pa.table(
        {
            "step": pa.array([1, 2, 3], pa.int32()),
            "entropy": pa.array([0.5, None, 0.3], pa.float32()),
            "reward": pa.array(["0.1", "NaN", "0.4"]),
            "flag": [True, False, True],
            "critic": [{"score": {"mean": 1.0}}, {"score": {"mean": 2.0}}, {"score": {"mean": 3.0}}],
            "coded": pa.array(["7", "8", "7"]).dictionary_encode(),
            "list": [[1], [2], [3]],
        }
    )
    run = only(parquet(tmp_path / "x.parquet", table))
    np.testing.assert_allclose(run.columns["entropy"], [0.5, np.nan, 0.3], rtol=1e-7)
    np.testing.assert_array_equal(run.columns["reward"], [0.1, np.nan, 0.4])
    assert run.columns["critic.score.mean"].tolist() == [1, 2, 3]
    assert run.columns["coded"].tolist() == [7, 8, 7]
    assert "flag" not in run.columns
    assert "list" not in run.columns


def test_parquet_parts_are_one_data_set_and_other_files_are_runs(tmp_path):
    first = pa.table({"step": [1, 2], "entropy": [0.5, 0.4], "reward": [0.1, 0.2]})
    second = pa.table({"step": [3], "entropy": [0.3], "reward": [0.4]})
    parquet(tmp_path / "set/part-0.parquet", first)
    parquet(tmp_path / "set/part-1.parquet", second)
    parquet(tmp_path / "runs/a.parquet", first)
    parquet(tmp_path / "runs/b.parquet", second)
    assert_three_steps(only(tmp_path / "set"))
    assert [run.name for run in read_runs(tmp_path / "runs")] == ["a", "b"]


def test_tokens_are_refused(tmp_path):
    table = pa.table(
        {"step": [1] * 50, "token": ["a"] * 50, "position": list(range(50)), "entropy": [0.5] * 50}
    )
    error = refused("token-level-table", read_runs, parquet(tmp_path / "tokens.parquet", table))
    assert "50 rows for 1 step" in error.message


@pytest.mark.parametrize("name", ["x.dat", "x.jsonl", "x.parquet", "x"])
def test_content_decides_before_the_name(tmp_path, name):
    run = only(write(tmp_path, name, CSV))
    assert_three_steps(run)
    assert bool(run.notes) == (name in ("x.jsonl", "x.parquet"))


def test_a_forced_format_wins_and_a_real_colon_stays(tmp_path):
    odd = "step,entropy\n1,0.5\n"
    assert only(f"{write(tmp_path, 'x.dat', odd)}:csv").columns["entropy"].tolist() == [0.5]
    assert only(write(tmp_path, "a:csv", odd)).name == "a:csv"
    with pytest.raises(InputError, match="no JSON object"):
        read_runs(f"{tmp_path / 'x.dat'}:jsonl")
    with pytest.raises(UsageError, match="'jsnl' is not a known format") as caught:
        read_runs(f"{tmp_path / 'x.dat'}:jsnl")
    assert caught.value.slug == "format-unknown"
    refused = {reader.name for reader in READERS if reader.refuses}
    assert refused
    assert not refused & {*caught.value.message.rpartition(" are ")[2].split(", ")}
    assert "x.dat:jsonl" in caught.value.hint


def test_frames():
    pandas = pytest.importorskip("pandas")
    columns = {"step": [1, 2, 3], "entropy": [0.5, 0.4, 0.3], "reward": [0.1, 0.2, 0.4]}
    frame = pandas.DataFrame(columns)
    for table in (frame, frame.set_index("step"), frame.convert_dtypes(), pa.table(columns), columns):
        run = only(table)
        assert_three_steps(run)
        assert run.source.format == "frame"
    assert only(frame).source.sha256 == only(columns).source.sha256
    dated = frame.assign(when=pandas.to_datetime(["2026-01-01"] * 3))
    assert "when" in only(dated).texts
    with pytest.raises(UsageError, match="1 to 2 rows"):
        read_runs({"step": [1, 2], "entropy": [0.5]})


RUBBISH = bytes((37 * i * i + 11 * i) % 256 for i in range(4000))
BAD = {
    "empty.csv": ("", "file-empty"),
    "blank.csv": (" \n\n", "file-empty"),
    **{f"rubbish{suffix}": (RUBBISH, "not-a-log") for suffix in ("", ".csv", ".jsonl", ".parquet")},
    "prose.txt": ("Dear all,\nthe run is done, I think.\n", "not-a-log"),
    "header.csv": ("step,entropy,reward\n", "no-records"),
    "cut.parquet": (b"PAR1" + RUBBISH, "file-corrupt"),
    "x.swanlab": (b":SWL\xd6\xe1\x02rest", "format-not-read"),
    "x.zip": (b"PK\x03\x04rest", "format-not-read"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    data, slug = BAD[name]
    error = refused(slug, read_runs, write(tmp_path, name, data))
    assert error.exit_code == 3
    assert error.hint
    assert "\n" not in str(error)


def test_files_that_are_not_there(tmp_path):
    write(tmp_path, "metrics.csv", CSV)
    assert "'metrics.csv'" in refused("file-not-found", read_runs, tmp_path / "metric.csv").hint
    for path in ("", "nul\0byte"):
        refused("file-not-found", read_runs, path)


def test_a_folder_reads_logs_and_leaves_the_rest(tmp_path):
    refused("no-logs-in-folder", read_runs, tmp_path)
    write(tmp_path, "a/config.json", '{"lr": 1e-6, "steps": 5}')
    refused("no-logs-in-folder", read_runs, tmp_path)
    write(tmp_path, "b/metrics.csv", CSV)
    write(tmp_path, "b/log.jsonl", lines(records()))
    write(tmp_path, "a/log.jsonl", lines(records()))
    write(tmp_path, "README.md", "# runs\n")
    write(tmp_path, "model.safetensors", b"\0" * 100)
    write(tmp_path, ".hidden/metrics.csv", CSV)
    bad = write(tmp_path, "logs.zip", b"PK\x03\x04rest")
    reading = read_all([tmp_path])
    assert [run.name for run in reading.runs] == ["a", "b (log.jsonl)", "b (metrics.csv)"]
    assert [item.path for item in reading.ignored] == [str(tmp_path / "a/config.json")]
    (failure,) = reading.failures
    assert (failure.path, failure.error.slug) == (str(bad), "format-not-read")
    with pytest.warns(UnreadFileWarning, match="format-not-read"):
        assert len(read_runs(tmp_path)) == 3


@pytest.mark.parametrize("kind", ["halffloat", "float", "double", "int8", "uint16", "uint64", "int64"])
def test_numbers_of_any_width_with_nulls_in_slices(kind):
    parts = [pa.array([9, None, 1, 2, None, 3], pa.float32()).cast(kind), pa.nulls(2, kind)]
    held = pa.chunked_array(parts)
    if kind == "int64":
        held = held.cast(pa.decimal128(20, 1))
    run = only(pa.table({"step": range(8), "entropy": held}).slice(1))
    np.testing.assert_array_equal(run.columns["entropy"], [np.nan, 1, 2, np.nan, 3, np.nan, np.nan])


def nested(step):
    return {
        "step": step,
        "actor": {"entropy_loss": 0.5},
        "critic": {"score": {"mean": 0.1 * step}},
        "samples": {"_type": "table", "rows": 3},
        "gradients": {"_type": "histogram", "values": [1, 2], "bins": [0, 1, 2]},
        "list": [1, 2],
    }


TABLES = {
    "unix": CSV,
    "line ends of Windows": CSV.replace("\n", "\r\n"),
    "carriage returns": CSV.replace("\n", "\r"),
    "semicolons": CSV.replace(",", ";"),
    "tabs": CSV.replace(",", "\t"),
    "a byte order mark": "\ufeff" + CSV,
    "utf-16": CSV.encode("utf-16"),
    "no line end at the end": CSV.rstrip("\n"),
    "zeros at the end": CSV.encode() + b"\0" * 40,
    "quotes": CSV.replace("0.4,", '"0.4",'),
    "rows that do not fit": CSV + "4,0.2,0.5,9\n5,0.2\n6,0.1,0.6,,\n7,0.",
    "names that are empty or occur again": ",step,entropy,entropy\n0,1,0.5,9\n1,2,0.4,8\n",
    "a cell longer than the limit of csv": "step,entropy,text\n1,0.5," + "x" * 200_000 + "\n2,0.4,y\n",
}
TAILS = ('{"step": 4, "entr', "Traceback (most recent call last):", "42", "[1, 2]")
LOGGED = [{"step": 1, "data": {"actor/entropy": 0.5}}, {"step": 2, "data": {"actor/entropy": None}}]
JSONS = {
    "lines": lines(records()),
    "no line end": lines(records()).rstrip("\n"),
    "blank lines": "\n\n" + lines(records()),
    "an array": json.dumps(records()),
    "a pretty array": json.dumps(records(), indent=2),
    "pretty objects": "\n".join(json.dumps(value, indent=2) for value in records()),
    "columns": json.dumps({name: [row[name] for row in records()] for name in records()[0]}),
    **{f"a line that is no record: {tail}": lines(records()) + tail for tail in TAILS},
    "an array that was cut off": json.dumps(records())[:-20],
    "nested records and media": lines(map(nested, (1, 2))),
    "verl's file logger": lines(LOGGED),
    "objects in objects": '{"a":' * 50_000,
    "lists in lists": "[" * 100_000,
    "a long integer": '{"a": ' + "1" * 5000 + "}",
    "an integer beyond a double": '{"step": 1, "entropy": 1' + "0" * 400 + '}\n{"step": 2, "entropy": 1}\n',
}
SAMPLES = {
    **{title: ("csv", "x.csv", text) for title, text in TABLES.items()},
    **{title: ("jsonl", "x.jsonl", text) for title, text in JSONS.items()},
    "verl": ("verl", "job.log", CONSOLE),
}
