"""Tables of samples: every format against counts by hand, what is refused, numbers by enumeration."""

import gzip
import itertools
import json
import pickle
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from math import comb, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw.errors import EntropyLawError
from entropylaw.samples import numbers
from entropylaw.samples.numbers import Counts
from entropylaw.samples.options import SampleOptions
from entropylaw.samples.run import Sampled, column_lines, summarise_samples
from tests.conftest import ROOT

ANSWERS = ROOT.parent / "shared" / "answers"
LAB = ROOT / "data" / "lab2"

Rows = list[dict[str, Any]]

# A problem with 2 of 4 right and a repeated wrong answer, one never solved, one always solved.
TRUTH = {
    "a": [(True, "7"), (False, "8"), (True, "7"), (False, "8")],
    "b": [(False, "1"), (False, "2"), (False, "3"), (False, "1")],
    "c": [(True, "5"), (True, "5"), (True, "5"), (True, "5")],
}
PASS = {1: (2 / 4 + 0 + 1) / 3, 2: ((1 - 1 / 6) + 0 + 1) / 3, 4: 2 / 3}


def by_sample() -> list[tuple[str, int, bool, str]]:
    """Problem, number, verdict and answer of all samples."""
    return [(key, i, *sample) for key, samples in TRUTH.items() for i, sample in enumerate(samples)]


def write(path: Path, rows: Rows) -> Path:
    """Rows in the format of the suffix."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        names = list(rows[0])
        lines = [",".join("" if row[name] is None else str(row[name]) for name in names) for row in rows]
        path.write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    else:
        content = "".join(json.dumps(row) + "\n" for row in rows)
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(content.encode()))
        else:
            path.write_text(content, encoding="utf-8")
    return path


def read(*paths: Path | str, **options: Any) -> Sampled:
    return summarise_samples([str(path) for path in paths], SampleOptions(**options))


def plain(**more: Any) -> Rows:
    """A row per sample with usual names."""
    return [
        {"problem_id": key, "sample": i, "correct": right, "answer": answer, **more}
        for key, i, right, answer in by_sample()
    ]


def verl(step: int | None) -> Rows:
    """A dump of verl: prompts with their chat template, no ids."""
    prompt = "system\nYou are helpful.\nuser\nWhat is {}?\nassistant\n"
    return [
        {
            "input": prompt.format(key),
            "output": f"it is {answer}",
            "gts": f"gold {key}",
            "score": 1.0 if right else -1.0,
            "acc": right,
            "pred": answer,
            **({} if step is None else {"step": step}),
        }
        for key, _, right, answer in by_sample()
    ]


def trl() -> Rows:
    return [
        {
            "step": 3,
            "prompt": f"Q {key}",
            "completion": answer,
            "correctness_reward": float(right),
            "advantage": 0.0,
        }
        for key, _, right, answer in by_sample()
    ]


def verifiers(**more: Any) -> Rows:
    return [
        {
            "example_id": key,
            "prompt": [{"role": "user", "content": key}],
            "completion": answer,
            "reward": float(right),
            "answer": f"gold {key}",
            "error": None,
            "is_truncated": False,
            "metrics": {"correct_answer": float(right)},
            "token_usage": {"output_tokens": 5.0},
            **more,
        }
        for key, _, right, answer in by_sample()
    ]


def lm_eval() -> Rows:
    """A file per repeat would be another filter: here a row per document and filter."""
    return [
        {
            "doc_id": number,
            "doc": {"q": key},
            "target": key,
            "filter": name,
            "resps": [["x"]],
            "filtered_resps": [answer],
            "exact_match": float(right),
        }
        for name in ("strict-match", "flexible-extract")
        for number, (key, ((right, answer), *_)) in enumerate(TRUTH.items())
    ]


def human_eval() -> Rows:
    words = {True: "passed", False: "failed: wrong"}
    return [
        {"task_id": f"HumanEval/{key}", "completion": answer, "result": words[right], "passed": right}
        for key, _, right, answer in by_sample()
    ]


def qwen() -> Rows:
    return [
        {
            "idx": number,
            "question": key,
            "gt": key,
            "answer": f"gold {key}",
            "pred": [answer for _, answer in samples],
            "score": [right for right, _ in samples],
        }
        for number, (key, samples) in enumerate(TRUTH.items())
    ]


def counted() -> Rows:
    counts: dict[tuple[str, str, bool], int] = defaultdict(int)
    for key, _, right, answer in by_sample():
        counts[key, answer, right] += 1
    return [
        {"prompt": ord(key), "answer": answer, "correct": right, "n": n}
        for (key, answer, right), n in counts.items()
    ]


def documents() -> dict[str, Any]:
    """Documents of other tools with these samples."""
    crux = {
        "raw_generations": {key: [answer for _, answer in samples] for key, samples in TRUTH.items()},
        "raw_scored_generations": {key: [right for right, _ in samples] for key, samples in TRUTH.items()},
        "pass_at_1": 50.0,
    }
    words = {True: "pass", False: "fail"}
    evalplus = {
        "eval": {
            key: [
                {"solution": answer, "base_status": "pass", "plus_status": words[right]}
                for right, answer in all_
            ]
            for key, all_ in TRUTH.items()
        }
    }
    return {"crux": crux, "evalplus": evalplus, "inspect": inspected()}


def inspected(scorers: tuple[str, ...] = ("match",)) -> dict[str, Any]:
    """A log of inspect."""
    samples = [
        {
            "id": key,
            "epoch": i + 1,
            "output": {"usage": {"output_tokens": 4}},
            "scores": {name: {"value": "C" if right else "I", "answer": answer} for name in scorers},
        }
        for key, i, right, answer in by_sample()
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m"},
        "plan": {},
        "samples": samples,
    }


FORMATS: dict[str, tuple[str, Callable[[], Rows], dict[str, Any]]] = {
    "named columns": ("a.jsonl", plain, {}),
    "Parquet": ("a.parquet", plain, {}),
    "CSV": ("a.csv", plain, {}),
    "gzip": ("a.jsonl.gz", plain, {}),
    "verl": ("7.jsonl", lambda: verl(7), {}),
    "verl, by its score": ("7.jsonl", lambda: verl(None), {"right": "score"}),
    "TRL": ("completions_00003.parquet", trl, {"answer": "completion"}),
    "verifiers": ("results.jsonl", verifiers, {"answer": "completion"}),
    "verifiers, by a metric": (
        "r.jsonl",
        verifiers,
        {"right": "metrics.correct_answer", "answer": "completion"},
    ),
    "human-eval": ("x_results.jsonl", human_eval, {"answer": "completion"}),
    "human-eval, by its words": (
        "x.jsonl",
        human_eval,
        {"right_when": "result=passed", "answer": "completion"},
    ),
    "Qwen2.5-Math": ("math.jsonl", qwen, {}),
    "counts": ("counts.parquet", counted, {}),
    "counts in CSV": ("counts.csv", counted, {}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_numbers_of_its_samples(tmp_path: Path, name: str) -> None:
    file, rows, options = FORMATS[name]
    sampled = read(write(tmp_path / file, rows()), **options)
    check(sampled)


@pytest.mark.parametrize("name", ["crux", "evalplus", "inspect"])
def test_documents_of_other_tools(tmp_path: Path, name: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(documents()[name]), encoding="utf-8")
    check(read(path, answer="solution") if name == "evalplus" else read(path))


def check(sampled: Sampled) -> None:
    """The numbers of :data:`TRUTH`, counted by hand."""
    (row,) = sampled.rows
    assert (row["problems"], row["samples"], row["n"], row["missing"]) == (3, 12, 4, 0)
    assert {k: row[f"pass@{k}"] for k in PASS} == pytest.approx(PASS, abs=1e-12)
    assert row["pass^2"] == pytest.approx((1 / 6 + 0 + 1) / 3)
    assert row["distinct"] == pytest.approx((2 + 3 + 1) / 3)
    assert row["distinct_right"] == pytest.approx((1 + 0 + 1) / 3)
    assert row["distinct_wrong"] == pytest.approx((1 + 3 + 0) / 3)
    assert row["maj@4"] == pytest.approx((1 / 2 + 0 + 1) / 3)
    plug_in = (log(2) + (log(2) / 2 + log(4) / 2) + 0) / 3
    assert row["answer_entropy_plugin"] == pytest.approx(plug_in)
    values = np.array([0.5, 0.0, 1.0])
    assert row["pass@1_se"] == pytest.approx(values.std(ddof=1) / 3**0.5)
    assert row["pass@1_se_fixed"] == pytest.approx((0.25 / 3) ** 0.5 / 3)
    assert (row["none_right"], row["some_right"], row["all_right"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_an_archive_of_inspect(tmp_path: Path) -> None:
    log = inspected()
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    check(read(path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/bomb.json", b" " * (1 << 25), zipfile.ZIP_DEFLATED)
    with pytest.raises(EntropyLawError, match="the limit is 200 times"):
        read(path)
    torn = tmp_path / "torn.eval"
    torn.write_bytes(path.read_bytes()[:300])
    with pytest.raises(EntropyLawError, match="cannot be read as a log of inspect"):
        read(torn)


def other_filter() -> Rows:
    return [{**row, "filter": name} for name in ("a", "b") for row in plain()]


REFUSED: dict[str, tuple[str, Callable[[], Any], dict[str, Any], str, str]] = {
    "a sample twice": ("a.jsonl", lambda: plain() + plain()[:1], {}, "repeated-samples", "such as 'a'"),
    "an answer counted twice": ("a.csv", lambda: counted() + counted()[:1], {}, "repeated-samples", "again"),
    "two filters": ("a.jsonl", other_filter, {}, "rows-are-not-samples", "'filter' (2 values"),
    "two filters of lm-eval": ("a.jsonl", lm_eval, {}, "rows-are-not-samples", "strict-match"),
    "two scorers": ("a.json", lambda: inspected(("match", "model")), {}, "rows-are-not-samples", "scorer"),
    "per cent": (
        "a.csv",
        lambda: [{"problem": i, "score": 34.2} for i in range(3)],
        {},
        "not-a-verdict",
        "per cent",
    ),
    "a score": (
        "a.csv",
        lambda: [{"problem": i, "score": i / 3} for i in range(3)],
        {},
        "not-a-verdict",
        "is a score",
    ),
    "other words": ("a.csv", lambda: [{"problem": 1, "right": "P"}], {}, "not-a-verdict", "'p'"),
    "0 and -1": (
        "a.csv",
        lambda: [{"problem": i, "score": i - 1} for i in (0, 1)],
        {},
        "not-a-verdict",
        "0 and -1",
    ),
    "an object": (
        "a.jsonl",
        lambda: [{"problem": 1, "score": {"x": 1}}],
        {},
        "not-a-verdict",
        "a list or an object",
    ),
    "lists of verdicts": (
        "a.jsonl",
        lambda: [{"problem": 1, "score": [1, 0]}],
        {},
        "list-of-verdicts",
        "--right",
    ),
    "lists of other lengths": (
        "a.jsonl",
        lambda: [{"idx": 1, "score": [1, 0], "pred": ["a"], "gt": "a"}],
        *({}, "file-corrupt", "lists of other lengths"),
    ),
    "k beyond n": ("a.jsonl", plain, {"k": (8,)}, "k-too-large", "at most 4"),
    "no verdict": ("a.csv", lambda: [{"problem": 1, "text": "x"}], {}, "no-verdict-column", "'text'"),
    "an unknown column": ("a.jsonl", plain, {"right": "corect"}, "column-not-found", "'correct'"),
    "two ways to say right": ("a.jsonl", plain, {"right": "x", "right_when": "x>1"}, "two-verdicts", "both"),
    "no comparison": ("a.jsonl", plain, {"right_when": "correct"}, "bad-condition", "not a comparison"),
    "several rewards": (
        "a.jsonl",
        lambda: [{**row, "format_reward": 1.0} for row in trl()],
        *({}, "several-verdicts", "'correctness_reward', 'format_reward'"),
    ),
    "one id for two problems": (
        "a.jsonl",
        lambda: [{"idx": 0, "correct": True, "gt": answer} for answer in "xy"],
        *({}, "shared-ids", "other reference answers"),
    ),
    "nothing that was graded": (
        "a.jsonl",
        lambda: [{"problem": 1, "right": None, "score": None}],
        *({"right": "right"}, "no-verdicts", "has a verdict"),
    ),
    "results without samples": (
        "a.json",
        lambda: {**inspected(), "samples": []},
        {},
        "no-samples",
        "only results",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_in_clear_words(tmp_path: Path, name: str) -> None:
    file, content, options, slug, words = REFUSED[name]
    path = tmp_path / file
    if path.suffix == ".json":
        path.write_text(json.dumps(content()), encoding="utf-8")
    else:
        write(path, content())
    with pytest.raises(EntropyLawError) as caught:
        read(path, **options)
    assert caught.value.slug == slug
    assert words in f"{caught.value.message} {caught.value.hint}"


DAMAGED: dict[str, tuple[str, bytes, str]] = {
    "a pickle by its name": ("a.pt", b"PK\x03\x04", "pickle-not-opened"),
    "a pickle by its bytes": ("a.jsonl", pickle.dumps([1]), "pickle-not-opened"),
    "an archive with a pickle": ("a.eval", b"", "pickle-not-opened"),
    "any other archive": ("b.eval", b"", "file-corrupt"),
    "an empty file": ("a.jsonl", b"", "file-empty"),
    "Parquet without its end": ("a.parquet", b"PAR1" + b"x" * 40, "file-corrupt"),
    "text named Parquet": ("a.parquet", b"problem,right\n1,1\n", "file-corrupt"),
    "half a document": ("a.json", b'{"eval": {"x": [', "file-corrupt"),
    "a list of numbers": ("a.json", b"[1, 2]", "file-corrupt"),
    "a damaged line": (
        "a.jsonl",
        b'{"problem": 1, "right": true}\nnonsense\n{"problem": 1, "right": true}\n',
        "file-corrupt",
    ),
}


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_file_of_gzip_is_unpacked_up_to_a_limit(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 25)))
    with pytest.raises(EntropyLawError, match="more than 16 MiB unpacked: the limit is 200 times") as caught:
        read(path)
    assert caught.value.slug == "archive-too-large"
    path.write_bytes(gzip.compress(json.dumps(plain()[0]).encode())[:-9])
    with pytest.raises(EntropyLawError, match="cannot be unpacked"):
        read(path)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    file, content, slug = DAMAGED[name]
    path = tmp_path / file
    if content:
        path.write_bytes(content)
    elif path.suffix == ".eval":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl" if name == "an archive with a pickle" else "x.txt", "x")
    else:
        path.touch()
    with pytest.raises(EntropyLawError) as caught:
        read(path)
    assert caught.value.slug == slug


def test_a_half_written_last_line_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", plain())
    path.write_bytes(path.read_bytes() + b'{"problem_id": "a", "sam')
    sampled = read(path)
    check(sampled)
    assert "the last line of 'a.jsonl' is half-written, and is not read" in sampled.notes


def test_missing_is_not_wrong(tmp_path: Path) -> None:
    rows = verifiers()
    rows += [{**rows[0], "error": "timeout", "reward": 0.0}, {**rows[0], "reward": None}]
    rows[1] |= {"is_truncated": True}
    path = write(tmp_path / "r.jsonl", rows)
    (row,) = (sampled := read(path)).rows
    assert (row["samples"], row["missing"], row["errors"], row["truncated"]) == (12, 2, 1, 1)
    assert row["pass@1"] == pytest.approx(PASS[1])
    assert any(
        note.startswith("2 samples without a verdict (1 with an error): left out") for note in sampled.notes
    )
    (row,) = read(path, missing="wrong").rows
    assert (row["samples"], row["n"], row["n_most"], row["missing"]) == (14, 4, 6, 2)
    assert row["pass@1"] == pytest.approx((2 / 6 + 0 + 1) / 3)


def test_unequal_numbers_of_samples_are_said(tmp_path: Path) -> None:
    sampled = read(write(tmp_path / "a.jsonl", plain()[:-3]))
    (row,) = sampled.rows
    assert (row["n"], row["n_most"]) == (1, 4)
    assert "problems have 1 to 4 samples: pass@k is given for k up to the fewest" in sampled.notes
    assert "pass@2" not in row


def test_the_same_text_twice_is_legal_and_order_does_not_matter(tmp_path: Path) -> None:
    rows = [{name: cell for name, cell in row.items() if name != "sample"} for row in plain()]
    first = read(write(tmp_path / "a.jsonl", rows)).rows
    second = read(write(tmp_path / "b.jsonl", rows[::-1])).rows
    assert first == second
    shards = [write(tmp_path / f"s{i}.parquet", rows[i::2]) for i in range(2)]
    assert read(*shards).rows == first


@pytest.mark.parametrize("template", [
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n",
    "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "<s>[INST] {} [/INST]",
    "<｜User｜>{}<｜Assistant｜><think>",
    "user\n{}\nassistant\n",
    "{}",
])  # fmt: skip
def test_a_chat_template_is_not_part_of_the_problem(tmp_path: Path, template: str) -> None:
    question = "How many primes are there below one hundred and one? " * 2
    rows = [{"prompt": text, "correct": True} for text in (template.format(question), question)]
    (row,) = read(write(tmp_path / "a.jsonl", rows)).rows
    assert (row["problems"], row["samples"]) == (1, 2)


def test_positions_identify_problems_where_all_files_have_as_many_rows(tmp_path: Path) -> None:
    rows = [[{"correct": right} for right in column] for column in ((1, 0, 1), (0, 0, 1))]
    files = [write(tmp_path / f"x{i}.jsonl", r) for i, r in enumerate(rows)]
    sampled = read(*files)
    assert sampled.rows[0]["pass@1"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert "no column identifies problems: the position of a row does" in sampled.notes
    write(files[0], rows[0][:2])
    with pytest.raises(EntropyLawError, match="no column identifies problems"):
        read(*files)


def test_lm_eval_by_one_filter_and_one_row_of_a_document(tmp_path: Path) -> None:
    rows = lm_eval()
    assert read(write(tmp_path / "a.jsonl", rows), only=("filter=strict-match",)).rows[0]["samples"] == 3
    unnamed = [{name: cell for name, cell in row.items() if name != "filter"} for row in rows]
    path = write(tmp_path / "samples_gsm_2025-03-04T16-36-09.8.jsonl", unnamed)
    with pytest.raises(EntropyLawError, match="one for each filter, which no column names"):
        read(path)
    (row,) = read(path, only=("occurrence=1",)).rows
    assert (row["domain"], row["samples"], row["pass@1"]) == ("gsm", 3, pytest.approx(2 / 3))


def test_steps_and_runs_by_the_names_of_files(tmp_path: Path) -> None:
    for run, step in itertools.product(("r0", "r1"), (5, 40)):
        (tmp_path / run / f"step_{step}").mkdir(parents=True)
        write(tmp_path / run / f"step_{step}" / "rollouts.jsonl", verifiers())
    sampled = read(tmp_path / "r0")
    assert [row["step"] for row in sampled.rows] == [5, 40]
    for step in (5, 40):
        (tmp_path / "r0" / f"step_{step}" / "rollouts.jsonl").rename(tmp_path / "r0" / f"{step}.jsonl")
        (tmp_path / "r1" / f"step_{step}" / "rollouts.jsonl").rename(tmp_path / "r1" / f"{step}.jsonl")
    assert [row["step"] for row in read(tmp_path / "r1" / "*.jsonl").rows] == [5, 40]
    write(tmp_path / "r1" / "last.jsonl", verifiers())
    with_and_without = read(tmp_path / "r1" / "5.jsonl", tmp_path / "r1" / "last.jsonl")
    assert [row["step"] for row in with_and_without.rows] == [None, 5]
    runs = [{"run": run, **row} for run in ("x", "y") for row in plain()]
    assert [row["run"] for row in read(write(tmp_path / "a.jsonl", runs)).rows] == ["x", "y"]


def test_a_row_per_problem_has_its_right_samples(tmp_path: Path) -> None:
    rows = [
        {"task": "x", "task_id": key, "n": 4, "c": sum(right for right, _ in samples)}
        for key, samples in TRUTH.items()
    ]
    (row,) = read(write(tmp_path / "a.csv", rows)).rows
    assert (row["domain"], row["samples"], row["n"]) == ("x", 12, 4)
    assert {k: row[f"pass@{k}"] for k in PASS} == pytest.approx(PASS)
    rows[0]["c"] = 5
    with pytest.raises(EntropyLawError, match="c is above n"):
        read(write(tmp_path / "a.csv", rows))


def test_labels_tokens_and_budgets(tmp_path: Path) -> None:
    rows = [
        {**row, "label": "code" if i % 4 else "text", "tokens": 10 * (i % 2), "budget": budget}
        for budget in (512, 1024)
        for i, row in enumerate(plain())
    ]
    first, second = read(write(tmp_path / "a.jsonl", rows), label="label").rows
    assert (first["budget"], second["budget"]) == ("512", "1024")
    assert (first["leading_label"], first["leading_label_share"], first["tokens"]) == ("code", 0.75, 5.0)


def test_columns_say_what_would_be_read(tmp_path: Path) -> None:
    def lines(rows: Rows) -> dict[str, str]:
        path = write(tmp_path / "a.jsonl", rows)
        return {line[:16].strip(): line[18:] for line in column_lines([str(path)], SampleOptions())}

    found = lines(plain(format="x"))
    assert (found["problem"], found["right"], found["samples of each"]) == ("problem_id", "correct", "4 to 4")
    assert found["not used"] == "'format'"
    scores = lines([{**row, "correct": 0.5} for row in plain()])
    assert scores["refused"].startswith("'correct' is a score")


def enumerated(answers: list[tuple[bool, str]], k: int) -> dict[str, float]:
    """The numbers of one problem over all sets of k samples."""
    sets = list(itertools.combinations(answers, k))
    values = {
        "pass": [any(right for right, _ in chosen) for chosen in sets],
        "all": [all(right for right, _ in chosen) for chosen in sets],
        "majority": [sum(right for right, _ in chosen) > k / 2 for chosen in sets],
        "distinct": [len({answer for _, answer in chosen}) for chosen in sets],
    }
    return {name: float(np.mean(value)) for name, value in values.items()}


def counts_of(samples: Mapping[str, list[tuple[bool, str]]]) -> Counts:
    """The counts of some samples, without any query."""
    rows = []
    for place, answers in enumerate(samples.values()):
        multiplicity: dict[tuple[bool, str], int] = defaultdict(int)
        for right, answer in answers:
            multiplicity[right, answer] += 1
        rows += [(place, int(right), n, 1) for (right, _), n in multiplicity.items()]
    n = np.array([len(answers) for answers in samples.values()])
    right = np.array([sum(right for right, _ in answers) for answers in samples.values()])
    return Counts(problem=list(samples), n=n, right=right, answers=np.array(rows, dtype=np.int64))


@pytest.mark.parametrize("k", range(1, 8))
def test_the_formulas_are_means_over_all_sets_of_samples(k: int) -> None:
    random = np.random.default_rng(k)
    answers = [(bool(x < 3), str(x)) for x in random.integers(0, 7, 7)]
    counts = counts_of({"one": answers})
    expected = enumerated(answers, k)
    n, right = counts.n, counts.right
    assert numbers.pass_at(n, right, k)[0] == pytest.approx(expected["pass"], abs=1e-12)
    assert numbers.all_right(n, right, k)[0] == pytest.approx(expected["all"], abs=1e-12)
    assert numbers.majority(n, right, k)[0] == pytest.approx(expected["majority"], abs=1e-12)
    assert numbers.distinct(counts, k)[0] == pytest.approx(expected["distinct"], abs=1e-12)


def test_the_commonest_answer_among_k_samples_by_all_sets_of_them() -> None:
    random = np.random.default_rng(0)
    problems = {str(i): [(bool(x < 1), str(x)) for x in random.integers(0, 3, 6)] for i in range(400)}
    expected = dict.fromkeys((2, 3, 6), 0.0)
    for k, answers in itertools.product(expected, problems.values()):
        sets = list(itertools.combinations(answers, k))
        for chosen in sets:
            most = max(chosen.count(answer) for answer in chosen)
            leaders = {answer for answer in chosen if chosen.count(answer) == most}
            expected[k] += sum(right for right, _ in leaders) / len(leaders) / len(sets) / len(problems)
    values = numbers.pluralities(counts_of(problems), [*expected])
    assert {k: values[f"maj@{k}"].mean() for k in expected} == pytest.approx(expected, abs=0.01)
    assert values["maj@6"].mean() == pytest.approx(expected[6], abs=1e-12)
    few = counts_of({"a": [(True, "1"), (False, "2"), (False, "2"), (True, "1")], "b": [(True, "3")] * 2})
    unanswered = Counts(problem=few.problem, n=few.n + 2, right=few.right, answers=few.answers[:1])
    assert numbers.pluralities(unanswered, [4])["maj@4"].tolist() == [1.0, 0.0]


def test_human_evals_estimator_to_12_digits() -> None:
    # Chen et al. 2021, figure 3: 1 - prod(1 - k / arange(n - c + 1, n + 1)).
    for n, k in itertools.product((1, 10, 200), (1, 5, 10, 100)):
        for c in range(0, n + 1, max(n // 10, 1)):
            if k <= n:
                theirs = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
                ours = numbers.pass_at(np.array([n]), np.array([c]), k)[0]
                assert ours == pytest.approx(theirs, abs=1e-12)
                assert ours == pytest.approx(1 - comb(n - c, k) / comb(n, k), abs=1e-12)


def test_the_entropy_of_few_answers_is_less_biased_by_coverage() -> None:
    random, share = np.random.default_rng(0), np.ones(16) / 16
    samples = {str(i): [(False, str(x)) for x in random.choice(16, 8, p=share)] for i in range(400)}
    found = {name: values.mean() for name, values in numbers.entropies(counts_of(samples)).items()}
    truth = log(16)
    assert abs(found[""] - truth) < abs(found["_mm"] - truth) < abs(found["_plugin"] - truth)


def test_the_jackknife_is_the_spread_of_further_samples() -> None:
    random = np.random.default_rng(1)
    right = random.binomial(16, 0.3, 4000)
    n = np.full(4000, 16)
    for k in (1, 4):
        spread = numbers.pass_at(n, right, k).var(ddof=1)
        assert numbers.jackknife_variance(n, right, k).mean() == pytest.approx(spread, rel=0.2)


needs_answers = pytest.mark.skipif(not ANSWERS.is_dir(), reason="the answers of other projects are absent")

KNOWN: dict[str, tuple[str, dict[str, Any], dict[str, float]]] = {
    "CRUXEval's own numbers": (
        *("cruxeval/*.json", {"k": (1, 5, 10)}),
        {"pass@1": 0.342125, "pass@5": 0.40286706349206355},
    ),
    "Qwen2.5-Math": (
        *("qwen-math-rm/*.jsonl", {}),
        {"pass@1": 0.91, "pass@2": 0.93285714, "pass@4": 0.951, "pass@8": 0.96, "distinct_right": 0.96},
    ),
    "human-eval": ("human-eval-results/qwen2.5*.jsonl", {}, {"pass@1": 0.731707317}),
    "EvalPlus": ("evalplus/70B*.json", {}, {"pass@1": 0.707317073}),
    "EvalPlus, base tests": ("evalplus/70B*.json", {"right": "base"}, {"pass@1": 0.774390244}),
    "wide": ("gsm8k*/*.jsonl", {"right": "175b_finetuning.is_correct"}, {"pass@1": 0.347232752}),
    "inspect": ("inspect-tests/log_streaming.eval", {}, {"pass@1": 0.75, "pass@2": 1.0}),
    "one problem": (
        "scorio/*.json",
        {"right": "correct", "answer": "answers"},
        {"pass@1": 0.4, "maj@80": 0.0},
    ),
    "prime-rl": ("prime-rl-fixture/step_*.jsonl", {"right_when": "reward>=1"}, {"pass@1": 0.5}),
}


@needs_answers
@pytest.mark.parametrize("name", KNOWN)
def test_the_known_numbers_of_real_files(name: str) -> None:
    pattern, options, expected = KNOWN[name]
    row = read(ANSWERS / pattern, **options).rows[-1]
    assert {column: row[column] for column in expected} == pytest.approx(expected, abs=1e-8)


@needs_answers
def test_rollouts_of_trl_have_one_problem_a_step() -> None:
    rows = read(ANSWERS / "trl-completions").rows
    assert len(rows) == 60
    assert np.mean([row["pass@1"] for row in rows[:50]]) == pytest.approx(0.493, abs=5e-4)
    assert all(row["problems"] == 1 and row.get("pass@1_se") is None for row in rows)


@needs_answers
def test_scorio_agrees() -> None:
    scorio = pytest.importorskip("scorio.eval")
    verdicts = np.load(ANSWERS / "scorio" / "R_top_p.npz")["aime24"][0]
    n, right = np.full(len(verdicts), verdicts.shape[1]), verdicts.sum(axis=1).astype(np.int64)
    for k in (1, 2, 5, 16, 64, 80):
        assert numbers.pass_at(n, right, k).mean() == pytest.approx(scorio.pass_at_k(verdicts, k), abs=1e-12)
        assert numbers.all_right(n, right, k).mean() == pytest.approx(
            scorio.pass_hat_k(verdicts, k), abs=1e-12
        )
        assert numbers.majority(n, right, k).mean() == pytest.approx(scorio.maj_at_k(verdicts, k), abs=1e-12)


def test_the_labs_counts_have_the_numbers_that_the_lab_counts() -> None:
    table = pq.read_table(LAB / "grpo_s0" / "counts.parquet").to_pandas()
    rows = {row["step"]: row for row in read(LAB / "grpo_s0" / "counts.parquet").rows}
    for step, cells in table.groupby("step"):
        n = cells.groupby("prompt").n.sum()
        right = cells[cells.correct].groupby("prompt").n.sum().reindex(n.index, fill_value=0)
        expected = [1 - comb(total - c, 16) / comb(total, 16) for total, c in zip(n, right, strict=True)]
        assert rows[step]["pass@16"] == pytest.approx(np.mean(expected), abs=1e-12)
        assert rows[step]["pass@16_se"] == pytest.approx(np.std(expected, ddof=1) / len(n) ** 0.5, abs=1e-12)
        found = cells[cells.correct].groupby("prompt").answer.nunique().reindex(n.index, fill_value=0)
        assert rows[step]["distinct_right"] == pytest.approx(found.mean(), abs=1e-12)
        assert rows[step]["tokens"] == pytest.approx((cells.tokens * cells.n).sum() / cells.n.sum())


def test_samples_need_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(EntropyLawError, match="tables of tokens and samples need duckdb"):
        read(LAB / "grpo_s0" / "counts.parquet")
