"""What divides samples and what identifies problems is found by counts, on tables made for this."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.test_samples import Rows, read, write

CONDITIONS: dict[str, tuple[Any, ...]] = {
    "temperature": (0.6, 0.7, 0.8),
    "seed": (1234, 42),
    "checkpoint": ("global_step_100", "global_step_200"),
    "benchmark": ("aime24", "aime25"),
    "method": ("best-of-n", "beam"),
    "strategy": ("cot", "direct", "pot"),
    "policy": ("base", "rl"),
    "effort": ("low", "medium", "high"),
    "top_p": (0.9, 0.95, 1.0),
    "prompt_type": ("qwen-boxed", "abel"),
    "split": ("test", "validation"),
    "language": ("en", "de", "zh"),
    "model": ("a", "b"),
    "thinking": (True, False),
    "max_tokens": (512, 1024),
    "num_shots": (0, 4, 8),
    "quantization": ("none", "int8"),
    "engine": ("vllm", "hf"),
    "top_k": (-1, 20),
    "system_prompt": ("", "You are helpful."),
    "lora_rank": (8, 64),
    "alpha": (0.1, 1.0),
    "filter": ("strict-match", "flexible-extract"),
    "grader": ("sympy", "llm"),
    "tool_use": ("yes", "no"),
    "version": ("v1", "v3"),
    "beta": (0, 1),
    "decoder": ("greedy-ish", "min_p"),
    "hint": (None, "given"),
    "x": ("p", "q", "r", "s"),
    "num_fewshot": (0, 1, 2, 3),
    "budget": (1, 2, 3),
    "mode": ("m1", "m2", "m3"),
    "port": (8000, 8001, 8002),
}
"""A column that makes other samples → its values."""


def crossed(name: str, *, problems: int, n: int, lost: float, partial: bool = False) -> Rows:
    """n samples of every problem at each value, of which a share is ``lost``; and how each of them ended.

    Where ``partial``, the last value is of half of the problems only.
    """
    random = np.random.default_rng(problems)
    rows: Rows = []
    values = CONDITIONS[name]
    for problem, (place, value), _ in product(range(problems), enumerate(values), range(n)):
        if partial and place == len(values) - 1 and problem >= problems // 2:
            continue
        chance = (problem + 0.5) / problems
        rows.append({
            "problem_id": problem,
            name: value,
            "correct": bool(random.random() < chance / (1 + place)),
            "finish": "stop" if random.random() < 0.9 - 0.4 * chance else "length",
            "level": problem % 4,
            "length": int(random.integers(10, 900)),
        })  # fmt: skip
    kept = random.random(len(rows)) >= lost
    return [row for row, stays in zip(rows, kept, strict=True) if stays]


DESIGNS = {
    "one sample each": {"problems": 30, "n": 1, "lost": 0.0},
    "some samples": {"problems": 12, "n": 4, "lost": 0.0},
    "some are lost": {"problems": 40, "n": 8, "lost": 0.03},
    "half of the problems": {"problems": 30, "n": 4, "lost": 0.0, "partial": True},
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_divide(tmp_path: Path, name: str, design: str) -> None:
    rows = crossed(name, **DESIGNS[design])
    sampled = read(write(tmp_path / "a.jsonl", rows))
    if name == "seed" and design == "one sample each":
        # Each problem has each once: these number its samples.
        assert not sampled.groups
        return
    assert sampled.groups == (name,)
    assert len(sampled.rows) == len(CONDITIONS[name])
    assert any(f"'{name}'" in note for note in sampled.notes)


DRAWS: dict[str, list[Any]] = {
    "seed": [42, 1234, 7, 99],
    "epoch": [1, 2, 3, 4],
    "sample": [0, 1, 2, 3],
    "sample_id": [0, 1, 2, 3],
    "attempt": [1, 2, 3, 4],
    "generation_idx": [0, 1, 2, 3],
    "id": [0, 1, 2, 3],
    "rollout": ["r0", "r1", "r2", "r3"],
    "try": [1, 2, 3, 4],
    "throw": [0, 1, 2, 3],
    "nth": [4, 3, 2, 1],
    "lane": [0, 1, 2, 3],
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("more", [{}, {"temperature": (0.6, 1.0)}])
def test_numbers_of_draws_do_not_divide(tmp_path: Path, name: str, more: dict[str, tuple[Any, ...]]) -> None:
    random = np.random.default_rng(1)
    rows = [
        {"question": f"What is {problem}?", **cells, name: value, "correct": bool(random.random() < 0.5)}
        for cells in ([{"temperature": x} for x in more["temperature"]] if more else [{}])
        for problem, value in product(range(12), DRAWS[name])
    ]
    sampled = read(write(tmp_path / "a.jsonl", rows))
    assert sampled.groups == tuple(more)
    assert {(row["problems"], row["n"]) for row in sampled.rows} == {(12, 4)}


KEYS = (
    *("id", "index", "uid", "qid", "instance_id", "key", "data_id", "item", "question", "prompt"),
    *("sample_id", "idx", "task_name", "problem_idx", "example_id", "query_id", "doc_hash", "title"),
    *("question_text", "puzzle", "unique_id", "number"),
)


@pytest.mark.parametrize("design", ["alone", "with a text", "with a draw", "with a level and a run"])
@pytest.mark.parametrize("name", KEYS)
def test_keys_are_found(tmp_path: Path, name: str, design: str) -> None:
    random = np.random.default_rng(2)
    rows: Rows = []
    for problem, draw in product(range(20), range(4)):
        row: dict[str, Any] = {"row_id": len(rows), "uuid": f"{random.integers(1 << 60):x}"}
        if design == "with a text":
            row |= {"input": f"Compute {problem} + 1", "draw_id": draw}
        if design == "with a draw":
            row |= {"index" if name != "index" else "idx": draw}
        if design == "with a level and a run":
            row |= {"level": problem % 3, "run_id": "r7", "subject": "algebra" if problem % 2 else "geometry"}
        row |= {name: f"text of {problem}" if name in ("question", "prompt") else f"k{problem}"}
        rows.append({**row, "correct": bool(random.random() < problem / 20)})
    (row,) = read(write(tmp_path / "a.jsonl", rows)).rows
    assert (row["problems"], row["n"]) == (20, 4)


def test_columns_of_the_problem_and_of_what_came_of_a_sample_do_not_divide(tmp_path: Path) -> None:
    rows = crossed("temperature", problems=40, n=8, lost=0.0)
    sampled = read(write(tmp_path / "a.jsonl", rows), only=("temperature=0.6",))
    assert not sampled.groups
    expected = "problems differ in 'level' ('0', '1', '2', '3'), all together: --by level divides them"
    assert expected in sampled.notes


def test_several_conditions_and_their_other_names_divide_once(tmp_path: Path) -> None:
    rows = [
        {"problem_id": i, "model": model, "provider": f"of {model}", "effort": effort, "seed": s, "right": 1}
        for i, model, effort, s in product(range(9), "ab", ("low", "high"), range(3))
    ]
    sampled = read(write(tmp_path / "a.csv", rows))
    assert (len(sampled.groups), len(sampled.rows)) == (2, 4)
    assert {(row["problems"], row["n"]) for row in sampled.rows} == {(9, 3)}
    (together,) = read(tmp_path / "a.csv", by=("",)).rows
    assert together["n"] == 12


def test_files_of_several_models_are_not_pooled(tmp_path: Path) -> None:
    rows = [{"task_id": f"HumanEval/{i}", "passed": i % 3 == 0} for i in range(30)]
    (tmp_path / "models").mkdir()
    for name in ("llama3.1-8b", "llama3.1-70b", "qwen2.5-7b"):
        write(
            tmp_path / "models" / f"{name}_results.jsonl",
            [{**row, "completion": f"{name} {row}"} for row in rows],
        )
    sampled = read(tmp_path / "models")
    assert [row["run"] for row in sampled.rows] == [
        f"{name}_results" for name in ("llama3.1-70b", "llama3.1-8b", "qwen2.5-7b")
    ]
