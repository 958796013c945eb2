"""Tables of samples: every format against counts by hand, and what is refused."""

import gzip
import itertools
import json
import pickle
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropylaw import EntropyLawError, summarise_samples
from entropylaw.samples.options import SampleOptions
from entropylaw.samples.run import column_lines
from tests.conftest import ROOT

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
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(*paths: Path | str, **options: Any) -> Any:
    return summarise_samples(*paths, **options)


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


def trl(**more: Any) -> Rows:
    other = {"step": 3, "advantage": 0.0, **more}
    return [
        {"prompt": f"Q {key}", "completion": answer, "correctness_reward": float(right), **other}
        for key, _, right, answer in by_sample()
    ]


def verifiers(**more: Any) -> Rows:
    other = {"error": None, "is_truncated": False, "token_usage": {"output_tokens": 5.0}, **more}
    return [
        {
            "example_id": key,
            "prompt": [{"role": "user", "content": key}],
            "completion": answer,
            "reward": float(right),
            "answer": f"gold {key}",
            "metrics": {"correct_answer": float(right)},
            **other,
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
    about = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "plan": {}}
    return {**about, "samples": samples}


def of_lists() -> Rows:
    """Verdicts of a problem in a list, without answers."""
    return [
        {"question_id": key, "question_title": "T", "graded_list": [right for right, _ in samples]}
        for key, samples in TRUTH.items()
    ]


def lighteval() -> Rows:
    """Details of lighteval: shares of right samples."""
    rows = []
    for key, samples in TRUTH.items():
        share = sum(right for right, _ in samples) / 4
        metric = {"extractive_match": float(samples[0][0]), "math_pass@1:4_samples": share}
        text = [answer for _, answer in samples]
        rows.append({"doc": {"id": key, "query": "Q"}, "model_response": {"text": text}, "metric": metric})
    return rows


def of_k() -> Rows:
    return [
        {"name": key, "k": 4, "n_correct": sum(right for right, _ in samples)}
        for key, samples in TRUTH.items()
    ]


WITHOUT_ANSWERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "lists of verdicts": ("a.jsonl", of_lists),
    "lists of verdicts in Parquet": ("a.parquet", of_lists),
    "lists of verdicts in a document": ("a.json", of_lists),
    "lighteval": ("details.jsonl", lighteval),
    "lighteval in Parquet": ("details.parquet", lighteval),
    "right ones of k": ("a.csv", of_k),
    "a document of right ones of k": (
        "a.json",
        lambda: {"model": "m", "k": 4, "results": [{"n_correct": row["n_correct"]} for row in of_k()]},
    ),
}


@pytest.mark.parametrize("name", WITHOUT_ANSWERS)
def test_formats_without_answers(tmp_path: Path, name: str) -> None:
    file, content = WITHOUT_ANSWERS[name]
    path = tmp_path / file
    if path.suffix == ".json":
        path.write_text(json.dumps(content(), indent=1), encoding="utf-8")
    else:
        write(path, content())
    (row,) = read(path).rows
    assert (row["problems"], row["samples"], row["n"], row["missing"]) == (3, 12, 4, 0)
    assert {k: row[f"pass@{k}"] for k in PASS} == pytest.approx(PASS, abs=1e-12)
    # Of two right and two wrong ones half counts.
    assert row["maj@4"] == pytest.approx((1 / 2 + 0 + 1) / 3)
    assert "distinct" not in row


def test_a_list_without_verdicts_is_a_problem_without_one(tmp_path: Path) -> None:
    rows = [*of_lists(), {"question_id": "d", "graded_list": []}, {"question_id": "e", "graded_list": None}]
    (row,) = read(write(tmp_path / "a.jsonl", rows)).rows
    assert (row["problems"], row["missing"], row["unscored_problems"]) == (3, 2, 2)


def test_a_share_that_is_none_of_its_samples_is_refused(tmp_path: Path) -> None:
    rows = lighteval()
    rows[0]["metric"]["math_pass@1:4_samples"] = 0.3
    assert_refused(write(tmp_path / "a.jsonl", rows), "bad-count", "whole number")


def test_a_verdict_on_one_of_several_responses_is_said(tmp_path: Path) -> None:
    rows = [{**row, "resps": [["7", "8", "7"]]} for row in lm_eval()]
    sampled = read(write(tmp_path / "a.jsonl", rows))
    assert any(
        note.startswith("a row of 'a.jsonl' has 3 responses: each verdict is") for note in sampled.notes
    )
    assert not any("responses" in note for note in read(write(tmp_path / "b.jsonl", lm_eval())).notes)


BY_METRIC = {"right": "metrics.correct_answer", "answer": "completion"}
BY_WORDS = {"right_when": "result=passed", "answer": "completion"}
FORMATS: dict[str, tuple[str, Callable[[], Rows], dict[str, Any]]] = {
    "named columns": ("a.jsonl", plain, {}),
    "Parquet": ("a.parquet", plain, {}),
    "CSV": ("a.csv", plain, {}),
    "gzip": ("a.jsonl.gz", plain, {}),
    "verl": ("7.jsonl", lambda: verl(7), {}),
    "verl, by its score": ("7.jsonl", lambda: verl(None), {"right": "score"}),
    "TRL": ("completions_00003.parquet", trl, {"answer": "completion"}),
    "verifiers": ("results.jsonl", verifiers, {"answer": "completion"}),
    "verifiers, by a metric": ("r.jsonl", verifiers, BY_METRIC),
    "human-eval": ("x_results.jsonl", human_eval, {"answer": "completion"}),
    "human-eval, by its words": ("x.jsonl", human_eval, BY_WORDS),
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


def check(sampled: Any) -> None:
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
    assert row["pass@1_se"] == pytest.approx(np.array([0.5, 0.0, 1.0]).std(ddof=1) / 3**0.5)
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
    data, torn = path.read_bytes(), tmp_path / "torn.eval"
    begins = data.index(b"samples/") + 60
    for damaged in (data[:300], data[:begins] + b"\xff" * 20 + data[begins + 20 :]):
        torn.write_bytes(damaged)
        with pytest.raises(EntropyLawError, match="cannot be read as a log of inspect"):
            read(torn)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/bomb.json", b" " * (1 << 25), zipfile.ZIP_DEFLATED)
    with pytest.raises(EntropyLawError, match="the limit is 200 times"):
        read(path)


GIVEN_OTHER_ANSWERS = [{"idx": 0, "correct": True, "gt": answer} for answer in "xy"]
OTHER_LENGTHS = [{"idx": 1, "score": [1, 0], "pred": ["a"], "gt": "a"}]
# Name of the file, rows or a document, the error's slug, words of the error.
REFUSED: dict[str, tuple[str, Any, str, str]] = {
    "a sample twice": ("a.jsonl", plain() + plain()[:1], "repeated-samples", "such as 'a'"),
    "an answer counted twice": ("a.csv", counted() + counted()[:1], "repeated-samples", "again"),
    "per cent": ("a.csv", [{"problem": i, "score": 34.2} for i in range(3)], "not-a-verdict", "per cent"),
    "a score": ("a.csv", [{"problem": i, "score": i / 3} for i in range(3)], "not-a-verdict", "is a score"),
    "other words": ("a.csv", [{"problem": 1, "right": "P"}], "not-a-verdict", "'p'"),
    "0 and -1": ("a.csv", [{"problem": i, "score": i - 1} for i in (0, 1)], "not-a-verdict", "0 and -1"),
    "an object": ("a.jsonl", [{"problem": 1, "score": {"x": 1}}], "not-a-verdict", "a list or an object"),
    "lists of scores": ("a.jsonl", [{"problem": 1, "score": [1, 0]}], "list-of-verdicts", "--right"),
    "results that are none of k": ("a.json", {"k": 4, "results": [1]}, "no-sample-files", "single record"),
    "a key twice": ("a.csv", [{"problem": 1, "Problem": 2, "right": 1}], "columns-repeat", "'problem'"),
    "lists of other lengths": ("a.jsonl", OTHER_LENGTHS, "file-corrupt", "lists of other lengths"),
    "no verdict": ("a.csv", [{"problem": 1, "text": "x"}], "no-verdict-column", "'text'"),
    "several rewards": ("a.jsonl", trl(format_reward=1.0), "several-verdicts", "'correctness_reward', 'for"),
    "one id for two problems": ("a.jsonl", GIVEN_OTHER_ANSWERS, "shared-ids", "other reference answers"),
    "results without samples": ("a.json", {**inspected(), "samples": []}, "no-samples", "only results"),
}
# Options, the error's slug, words of the error.
REFUSED_OPTIONS: dict[str, tuple[dict[str, Any], str, str]] = {
    "k beyond n": ({"k": (8,)}, "k-too-large", "at most 4"),
    "an unknown column": ({"right": "corect"}, "column-not-found", "'correct'"),
    "two ways to say right": ({"right": "x", "right_when": "x>1"}, "two-verdicts", "both"),
    "a cluster without Spark": ({"master": "local"}, "master-needs-spark", "--backend spark"),
    "no comparison": ({"right_when": "correct"}, "bad-condition", "not a comparison"),
    "nothing that was graded": ({"right": "error"}, "no-verdicts", "has a verdict"),
}


def assert_refused(path: Path, slug: str, words: str, **options: Any) -> None:
    with pytest.raises(EntropyLawError) as caught:
        read(path, **options)
    assert caught.value.slug == slug
    assert words in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_in_clear_words(tmp_path: Path, name: str) -> None:
    file, content, slug, words = REFUSED[name]
    path = tmp_path / file
    if path.suffix == ".json":
        path.write_text(json.dumps(content), encoding="utf-8")
    else:
        write(path, content)
    assert_refused(path, slug, words)


@pytest.mark.parametrize("name", REFUSED_OPTIONS)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, name: str) -> None:
    options, slug, words = REFUSED_OPTIONS[name]
    assert_refused(write(tmp_path / "a.jsonl", plain(error=None)), slug, words, **options)


LINE = b'{"problem": 1, "right": true}\n'
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
    "a damaged line": ("a.jsonl", LINE + b"nonsense\n" + LINE, "file-corrupt"),
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


def test_rows_of_several_filters_and_scorers_are_not_samples_of_one_problem(tmp_path: Path) -> None:
    rows = lm_eval()
    filters = read(write(tmp_path / "a.jsonl", rows))
    assert [(row["filter"], row["samples"]) for row in filters.rows] == [
        ("flexible-extract", 3),
        ("strict-match", 3),
    ]
    assert any(note.startswith("rows differ in 'filter' ('flexible-extract', 's") for note in filters.notes)
    assert read(tmp_path / "a.jsonl", only=("filter=strict-match",)).rows[0]["samples"] == 3
    unnamed = [{name: cell for name, cell in row.items() if name != "filter"} for row in rows]
    path = write(tmp_path / "samples_gsm_2025-03-04T16-36-09.8.jsonl", unnamed)
    assert [(row["occurrence"], row["samples"]) for row in read(path).rows] == [("1", 3), ("2", 3)]
    (row,) = read(path, only=("occurrence=1",)).rows
    assert (row["samples"], row["pass@1"]) == (3, pytest.approx(2 / 3))
    write(tmp_path / "samples_aime_2025-03-04T16-36-09.8.jsonl", unnamed[:2])
    tasks = read(str(tmp_path / "samples_*"), only=("occurrence=1",))
    assert [(row["task"], row["samples"]) for row in tasks.rows] == [("aime", 2), ("gsm", 3)]
    scored = tmp_path / "log.json"
    scored.write_text(json.dumps(inspected(("match", "model"))), encoding="utf-8")
    assert [(row["scorer"], row["n"]) for row in read(scored).rows] == [("match", 4), ("model", 4)]


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
    # What has one value divides nothing.
    assert "task" not in row
    assert (row["samples"], row["n"]) == (12, 4)
    assert {k: row[f"pass@{k}"] for k in PASS} == pytest.approx(PASS)
    rows[0]["c"] = 5
    with pytest.raises(EntropyLawError, match="c above n"):
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


def test_samples_need_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(EntropyLawError, match="tables of tokens and samples need duckdb"):
        read(LAB / "grpo_s0" / "counts.parquet")
