"""How often intervals of pass@k and bands over all k hold the truth, and how often a fate is mistaken.

    python -m benchmarks.samples --write

Worlds are distributions of the chance that a sample is right. Those of *correlated* come in clusters of
four that are alike. The truth is the mean of the same estimator over a million problems.
Shapes of no family that is fitted: *log-uniform*, *four points*, and shares of right samples of the lab. The
constants of the fates were chosen on the worlds before *set aside*, and judged once on those after it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.docs import write_block
from entropylaw.documents.samples import with_both
from entropylaw.samples.against import chances, critical, student
from entropylaw.samples.numbers import Counts, pass_at
from entropylaw.samples.options import SampleOptions
from entropylaw.samples.query import answers, problems
from entropylaw.samples.run import MEMORY, opened, summarise_tables
from entropylaw.tokens.on_duckdb import duckdb_backend

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N, KS, SIZES = 128, (1, 8, 64), (30, 100, 500)
ALL = (1, 2, 4, 8, 16, 32, 64, 128)
FATES = ((16, 100, 0.06), (128, 100, 0.01), (128, 500, 0.01))
"""Samples, problems, and the chance above which a problem is solved."""
LAB = Path(__file__).parent.parent / "data" / "lab2"
LEVEL = 0.95
MOST_LINES = 1_000_000
"""Rows up to which a table is also timed as JSON lines."""


def never(random: Generator, size: int) -> Floats:
    """Four of ten problems are never solved."""
    return np.where(random.random(size) < 0.4, 0.0, random.beta(1.0, 2.0, size))


def hard(random: Generator, size: int) -> Floats:
    """Most problems are hard."""
    return random.beta(0.3, 2.0, size)


WORLDS: dict[str, tuple[Callable[[Generator, int], Floats], int]] = {
    "Beta(0.5, 1)": (lambda random, size: random.beta(0.5, 1.0, size), 1),
    "never solved": (never, 1),
    "hard": (hard, 1),
    "correlated": (lambda random, size: random.beta(0.5, 1.0, size), 4),
}
"""Name → chances, and how many samples are alike."""


def drawn(random: Generator, chance: Floats, alike: int, n: int = N) -> Ints:
    """Right samples of n to each problem."""
    return alike * random.binomial(n // alike, chance)


def single(draws: int) -> list[list[str]]:
    """Coverage of the interval of pass@k."""
    rows = []
    for name, (chances_of, alike) in WORLDS.items():
        random = np.random.default_rng(1)
        many = drawn(random, chances_of(random, 1_000_000), alike)
        for k in KS:
            truth = pass_at(np.full(len(many), N), many, k).mean()
            cells = []
            for size in SIZES:
                right = drawn(random, chances_of(random, draws * size), alike)
                values = pass_at(np.full(right.size, N), right, k).reshape(draws, size)
                means, errors = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(size)
                wide = student(size, LEVEL)
                inside = 0
                for mean, error in zip(means.tolist(), errors.tolist(), strict=True):
                    centre, spread = with_both(mean, error, size)
                    inside += abs(centre - truth) <= wide * spread
                cells.append(f"{100 * inside / draws:.1f}")
            rows.append([name, f"pass@{k}", *cells])
    return rows


def moved(random: Generator, chance: Floats) -> Floats:
    """The other side: sharper, with some problems lost and some gained."""
    other = np.clip(chance**0.5 * random.beta(8.0, 2.0, chance.size), 0.0, 1.0)
    other = np.where(random.random(chance.size) < 0.1, 0.0, other)
    gained = (chance == 0) & (random.random(chance.size) < 0.2)
    return np.where(gained, random.beta(1.0, 3.0, chance.size), other)


def together(draws: int) -> list[list[str]]:
    """Coverage of the band of differences over all k at once."""
    rows = []
    for name, (chances_of, alike) in WORLDS.items():
        random = np.random.default_rng(2)

        def differences(size: int) -> Floats:
            chance = chances_of(random, size)  # noqa: B023
            sides = [drawn(random, side, alike) for side in (moved(random, chance), chance)]  # noqa: B023
            n = np.full(size, N)
            return np.column_stack([pass_at(n, sides[0], k) - pass_at(n, sides[1], k) for k in ALL])

        truth = differences(1_000_000).mean(axis=0)
        cells = []
        for size in SIZES:
            inside = 0
            for _ in range(draws):
                values = differences(size)
                error = values.std(axis=0, ddof=1) / np.sqrt(size)
                inside += bool(
                    (np.abs(values.mean(axis=0) - truth) <= critical(values, LEVEL) * error + 1e-12).all()
                )
            cells.append(f"{100 * inside / draws:.1f}")
        rows.append([name, *cells])
    return rows


Sides = tuple[Floats, Floats]
"""Chances of the same problems now and before."""


def beta(random: Generator, size: int) -> Sides:
    base = random.beta(0.5, 1.0, size)
    return moved(random, base), base


def some_never(random: Generator, size: int) -> Sides:
    base = never(random, size)
    return moved(random, base), base


def mostly_hard(random: Generator, size: int) -> Sides:
    base = hard(random, size)
    return moved(random, base), base


def log_uniform(random: Generator, size: int) -> Sides:
    """Chances from 1e-4 to 1, a factor of three up or down."""
    base = 10 ** random.uniform(-4.0, 0.0, size)
    return np.clip(base * 10 ** random.normal(0.0, 0.5, size), 0.0, 1.0), base


def four_points(random: Generator, size: int) -> Sides:
    """One of four chances on either side, two of them near the threshold."""
    now, base = random.choice([0.003, 0.02, 0.4, 0.95], (2, size))
    return now, base


def mixture(*parts: tuple[float, float, float]) -> Callable[[Generator, int], Sides]:
    """Shares of problems with a beta distribution each; later 15 % are drawn again, the others gain."""
    shares, alpha, beta_of = np.array(parts).T

    def chances_of(random: Generator, size: int) -> Floats:
        kind = random.choice(len(parts), size, p=shares)
        return random.beta(alpha[kind], beta_of[kind])

    def drawn_of_mixture(random: Generator, size: int) -> Sides:
        base = chances_of(random, size)
        gained = base**0.8
        return np.where(random.random(size) < 0.15, chances_of(random, size), gained), base

    return drawn_of_mixture


def of_run(name: str, now: int, base: int) -> Callable[[Generator, int], Sides]:
    """Shares of right samples of a run's problems at two steps, 64 samples each, as chances."""
    table = pq.read_table(LAB / name / "counts.parquet", columns=["step", "prompt", "n", "correct"])
    rows = table.to_pandas()
    rows["right"] = rows.n * rows.correct
    sums = rows.groupby(["step", "prompt"])[["right", "n"]].sum()
    share = sums.right / sums.n

    def drawn_of_run(random: Generator, size: int) -> Sides:
        chosen = random.integers(0, len(share[now]), size)
        return share[now].to_numpy()[chosen], share[base].to_numpy()[chosen]

    return drawn_of_run


PAIRED: dict[str, Callable[[Generator, int], Sides]] = {
    "Beta(0.5, 1)": beta,
    "never solved": some_never,
    "log-uniform": log_uniform,
    "two betas": mixture((0.5, 0.3, 8.0), (0.5, 4.0, 2.0)),
    "three betas": mixture((0.3, 0.5, 40.0), (0.4, 1.0, 3.0), (0.3, 8.0, 2.0)),
    "lab, chain_s0": of_run("chain_s0", 400, 0),
    "lab, chain_collapse_s0": of_run("chain_collapse_s0", 400, 0),
    "set aside: hard": mostly_hard,
    "set aside: four points": four_points,
    "set aside: two betas": mixture((0.4, 2.0, 150.0), (0.6, 1.0, 2.0)),
    "set aside: three betas": mixture((0.25, 5.0, 600.0), (0.5, 0.5, 4.0), (0.25, 9.0, 1.0)),
    "set aside: lab, chain_s2": of_run("chain_s2", 400, 0),
    "set aside: lab, chain_collapse_s1": of_run("chain_collapse_s1", 300, 0),
    "set aside: lab, chain_collapse_s2": of_run("chain_collapse_s2", 400, 40),
}


def fates_of(now: Floats, base: Floats, solved: float) -> Ints:
    """The position of each problem's fate in the classes."""
    above = now > solved
    before = base > solved
    return np.select([above & before, above, before], [0, 1, 2], default=3)


def by_shares(now: Counts, base: Counts, solved: float) -> tuple[Floats, Ints]:
    """The peer: the share of right samples is the chance, and how far it varies is binomial."""
    random = np.random.default_rng(0)
    shares = [side.right / side.n for side in (now, base)]
    again = (
        random.binomial(side.n, share) / side.n
        for _ in range(40)
        for side, share in zip((now, base), shares, strict=True)
    )
    draws = [np.bincount(fates_of(next(again), next(again), solved), minlength=4) for _ in range(40)]
    return np.eye(4)[fates_of(shares[0], shares[1], solved)], np.array(draws)


METHODS = {"grid": chances, "shares": by_shares}


def fates(draws: int) -> list[list[str]]:
    """How often intervals of the number of problems with a fate hold it: the mean over fates, and the least.

    Last, of the grid, how many problems' fates are mistaken, as stated and as they are.
    """
    rows = []
    empty = np.empty((0, 4), dtype=np.int64)
    for name, sides_of in PAIRED.items():
        row = [name]
        mistaken = []
        for (n, size, solved), (method, estimate) in product(FATES, METHODS.items()):
            random = np.random.default_rng(3)
            inside = np.zeros(4)
            stated, actual = 0.0, 0
            for _ in range(draws):
                now, base = sides_of(random, size)
                counts = [
                    Counts(problem=[], n=np.full(size, n), right=random.binomial(n, side), answers=empty)
                    for side in (now, base)
                ]
                found, numbers = estimate(counts[0], counts[1], solved)
                truth = fates_of(now, base, solved)
                low, high = np.quantile(numbers, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
                true_numbers = np.bincount(truth, minlength=4)
                inside += (low <= true_numbers) & (true_numbers <= high)
                stated += (1.0 - found.max(axis=1)).sum()
                actual += int((truth != found.argmax(axis=1)).sum())
            held = 100 * inside / draws
            row.append(f"{held.mean():.0f} ({held.min():.0f})")
            if method == "grid":
                mistaken.append((100 * stated / draws / size, 100 * actual / draws / size))
        as_stated, as_are = np.mean(mistaken, axis=0)
        rows.append([*row, f"{as_stated:.1f} · {as_are:.1f}"])
    return rows


def bare(path: Path) -> None:
    """The peer: the counts of problems and of their answers, as DuckDB reads the columns."""
    read = "read_parquet" if path.suffix == ".parquet" else "read_json"
    with duckdb.connect() as connection:
        connection.execute(
            f"SET threads = {min(os.cpu_count() or 1, 8)}; SET preserve_insertion_order = false"
        )
        connection.execute(
            "CREATE TEMP TABLE counted AS SELECT step, problem_id, correct, answer, COUNT(*) AS times "
            f"FROM {read}('{path}') GROUP BY ALL"
        )
        for query in (
            "SELECT step, problem_id, SUM(times), SUM(times) FILTER (correct)",
            "SELECT step, problem_id, correct, times, COUNT(*)",
        ):
            connection.sql(f"{query} FROM counted GROUP BY ALL ORDER BY ALL").to_arrow_table()


def counts(path: Path) -> None:
    """The same counts of the command: files and columns are found, and their contents checked."""
    with opened([str(path)], SampleOptions(), duckdb_backend(memory=MEMORY)) as source:
        for query in (
            problems(source.judged, source.groups, source.roles),
            answers(source.judged, source.groups),
        ):
            source.engine.run(query)


def seconds(call: Callable[[Path], object], path: Path) -> float:
    """Processor time of a call, the least of three."""
    times = []
    for _ in range(3):
        before = process_time()
        call(path)
        times.append(process_time() - before)
    return min(times)


def speed(rows: int) -> list[list[str]]:
    """Processor time of the counts and of all numbers by format, of the peer, and memory of the command."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.parquet"
        write_samples(path, rows)
        paths = [path]
        if rows <= MOST_LINES:
            paths.append(path.with_suffix(".jsonl"))
            duckdb.sql(f"COPY (FROM '{path}') TO '{paths[1]}' (FORMAT json)")
        lines = []
        for path in paths:
            peer, counting = (seconds(call, path) for call in (bare, counts))
            whole = seconds(lambda path: summarise_tables([str(path)], SampleOptions()), path)
            command = [
                sys.executable,
                "-m",
                "entropylaw",
                "samples",
                str(path),
                "-q",
                "-o",
                f"{folder}/x.json",
            ]
            subprocess.run(command, check=True)
            # The largest memory of all tables so far, which come in ascending order.
            memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
            times = (f"{peer:.2f}", f"{counting:.2f}", f"{counting / peer:.1f}", f"{whole:.2f}")
            lines.append([f"{rows:,}", path.suffix[1:], *times, f"{memory}"])
        return lines


def write_samples(path: Path, rows: int) -> None:
    """A thousand problems with 32 samples each at every step, of which the wrong ones have 30 answers."""
    random = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, 1_000_000):
        size = min(1_000_000, rows - start)
        problem = (np.arange(start, start + size) // 32) % 1000
        right = random.random(size) < random.beta(0.5, 0.5, 1000)[problem]
        answer = np.where(right, problem, problem * 100 + random.integers(0, 30, size))
        table = pa.table(
            {
                "step": np.arange(start, start + size) // 32_000,
                "problem_id": problem,
                "correct": right,
                "answer": answer,
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def table(head: str, rows: list[list[str]]) -> str:
    """Markdown."""
    names = head.split("|")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cell.strip() for cell in line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put them into docs/benchmarks/samples.md")
    parser.add_argument("--draws", type=int, default=1000, help="draws of an interval; a fifth of a band")
    parser.add_argument(
        "--rows",
        type=int,
        nargs="*",
        default=[1_000_000, 10_000_000],
        help="rows of the tables that are timed",
    )
    arguments = parser.parse_args()
    draws = arguments.draws
    sizes = " | ".join(f"{size} problems" for size in SIZES)
    error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / draws)
    fate_columns = " | ".join(
        f"n {n}, {size} problems, p > {solved:g}: {method}"
        for (n, size, solved), method in product(FATES, METHODS)
    )
    parts = [
        f"Coverage of 95 % intervals of one step, {N} samples per problem, in per cent "
        f"(standard error {error:.1f}):",
        table(f"world | | {sizes}", single(draws)),
        f"Coverage of the 95 % band of differences over all k = {', '.join(map(str, ALL))} at once "
        f"(standard error {error * np.sqrt(5):.1f}):",
        table(f"world | {sizes}", together(draws // 5)),
        "How often 95 % intervals hold how many problems were kept, gained, lost, or solved on neither side, "
        "in per cent: the mean over these fates, in brackets the least. *shares* is the peer: the share of "
        "right samples as the chance. Last, fates that are mistaken, in per cent, as stated · as they are.",
        table(f"world | {fate_columns} | mistaken", fates(draws // 40)),
        "Processor time in seconds, the least of three calls in one process. *Bare* is DuckDB alone, which "
        "counts the samples and the answers of every problem; *counts* are the same of the command, whose "
        "columns are found and checked; *all* has the numbers of each step as well. Memory is that of the "
        "command, in MiB.",
        table(
            "rows | format | bare | counts | counts / bare | all | memory",
            [line for rows in sorted(arguments.rows) for line in speed(rows)],
        ),
    ]
    text = "\n\n".join(parts)
    print(text)
    if arguments.write:
        write_block("samples", text)


if __name__ == "__main__":
    main()
