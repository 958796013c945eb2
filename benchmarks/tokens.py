"""`entropylaw tokens` against the bare DuckDB query for the same numbers: time in turns, memory alone.

python -m benchmarks.tokens            20 million rows
python -m benchmarks.tokens --full     and 100 million rows
python -m benchmarks.tokens --write    and put the table into docs/benchmarks/tokens.md
python -m benchmarks.tokens --grams    --grams on 5 million rows of text: seconds and memory
python -m benchmarks.tokens --lab      percentiles of the lab's few tokens per step against numpy's
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.docs import write_block
from benchmarks.tokens_alone import THREADS

FILES, STEPS, CHUNK = 8, 400, 1_000_000
ROWS, ALL_ROWS, TURNS = 20_000_000, 100_000_000, 3
GRAM_ROWS, RESPONSE = 5_000_000, 500
WORDS = ("let's", "try", "another", "way", "so", "we", "add", "x", "=", "4", ".", "the", "sum", "is", "not")
LAB = Path(__file__).parent.parent / "data" / "lab"

NAMES = {
    "ours": "`entropylaw tokens`: all columns, by class and correctness",
    "same": "bare DuckDB: mean, variance, `quantile_cont`, by class",
    "moments": "bare DuckDB: mean and variance only, by class",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/tokens.md")
    parser.add_argument("--full", action="store_true", help=f"{ALL_ROWS:,} rows in addition to {ROWS:,}")
    parser.add_argument("--rows", type=int, help="another number of rows")
    parser.add_argument("--grams", action="store_true", help="time --grams in place of the summary alone")
    parser.add_argument("--lab", action="store_true", help="compare the percentiles of small steps")
    arguments = parser.parse_args()
    if arguments.grams:
        print(with_grams(arguments.rows or GRAM_ROWS))
        return
    if arguments.lab:
        print(small_steps())
        return
    sizes = [arguments.rows or ROWS, *[ALL_ROWS] * arguments.full]
    text = "\n\n".join(map(table, sizes))
    print(text)
    if arguments.write:
        write_block("tokens", text)


def table(rows: int) -> str:
    """Generate, measure in turns, compare the numbers, and say it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "tokens", rows)
        size = sum(path.stat().st_size for path in (folder / "tokens").iterdir())
        found: dict[str, list[dict[str, float]]] = {who: [] for who in NAMES}
        for _ in range(TURNS):
            for who in NAMES:
                found[who].append(measured(who, folder))
        worst = differences(folder)
    lines = [
        f"{rows:,} tokens in {FILES} Parquet files ({size / 1e6:.0f} MB), {STEPS} steps, {THREADS} threads; "
        f"{TURNS} turns, each in a new process, start-up included; medians. Memory is the process's peak.",
        "",
        "| what | seconds | `entropylaw tokens` takes | of the processor | it takes | peak MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for who, name in NAMES.items():
        cells = [name]
        for kind in ("seconds", "processor"):
            pairs = zip(found["ours"], found[who], strict=True)
            ratio = statistics.median(one[kind] / other[kind] for one, other in pairs)
            seconds = statistics.median(turn[kind] for turn in found[who])
            cells += [f"{seconds:.2f}", f"{ratio:.2f}×" if who != "ours" else ""]
        most = max(turn["peak"] for turn in found[who])
        lines.append(f"| {' | '.join(cells)} | {most / 1e6:.0f} |")
    lines += [
        "",
        f"Largest difference to the bare query over all steps and classes: mean {worst['mean']:.1g} nats, "
        f"standard deviation {worst['sd']:.1g} nats, a percentile {100 * worst['quantile']:.2g} % of its "
        f"value (median {100 * worst['median']:.2g} %).",
    ]
    return "\n".join(lines)


def generate(folder: Path, rows: int) -> None:
    """Write tokens as eight ranks would: every file has every step, in order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    each = rows // FILES
    for number in range(FILES):
        rng = np.random.default_rng(number)
        writer = None
        for start in range(0, each, CHUNK):
            count = min(CHUNK, each - start)
            step = (np.arange(start, start + count) * STEPS // each).astype(np.int32)
            planning = rng.random(count) < 0.2
            centre = np.where(planning, -1.0, -3.5) - step / STEPS
            entropy = np.exp(centre + 1.8 * rng.standard_normal(count, dtype=np.float32)).clip(0, 7)
            part = pa.table(
                {
                    "step": step,
                    "is_planning": planning,
                    "entropy": entropy.astype(np.float32),
                    "correct": np.repeat(rng.random(count // 500 + 1) < 0.5, 500)[:count],
                }
            )
            writer = writer or pq.ParquetWriter(
                folder / f"part-{number}-of-{FILES}.parquet", part.schema, compression="zstd"
            )
            writer.write_table(part)
        assert writer is not None
        writer.close()


def with_grams(rows: int) -> str:
    """Seconds and peak memory of ``--grams default`` on made-up text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = np.array([f" {word}" for word in WORDS])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tokens").mkdir()
        writer = None
        for start in range(0, rows, CHUNK):
            at = np.arange(start, min(start + CHUNK, rows))
            rng = np.random.default_rng(start)
            columns = {
                "step": (at // RESPONSE * RESPONSE * STEPS // rows).astype(np.int32),
                "sequence": at // RESPONSE,
                "position": (at % RESPONSE).astype(np.int32),
                "token": pa.array(words[rng.integers(0, len(words), len(at))]),
                "entropy": rng.exponential(0.3, len(at)).astype(np.float32).clip(0, 7),
            }
            part = pa.table(columns)
            writer = writer or pq.ParquetWriter(folder / "tokens" / "t.parquet", part.schema)
            writer.write_table(part)
        assert writer is not None
        writer.close()
        took = measured("grams", folder)
    return f"--grams on {rows:,} tokens: {took['seconds']:.1f} s, {took['peak'] / 1e6:.0f} MB at most"


def small_steps() -> str:
    """Percentiles of the lab's tokens, hundreds to thousands per step, against the order statistics."""
    import pyarrow.parquet as pq

    from entropylaw.tokens.options import TokenOptions
    from entropylaw.tokens.run import summarise_tokens
    from entropylaw.tokens.summary import PERCENTS

    off: dict[int, list[float]] = {percent: [] for percent in PERCENTS}
    sizes = []
    for path in sorted(LAB.glob("*/tokens.parquet")):
        raw = pq.read_table(path, columns=["step", "entropy"])
        step, entropy = (raw.column(name).to_numpy() for name in raw.column_names)
        for row in summarise_tokens([str(path)], TokenOptions()).steps.to_pylist():
            ordered = np.sort(entropy[step == row["step"]].astype(float))
            sizes.append(len(ordered))
            for percent in PERCENTS:
                exact = ordered[max(1, -(-percent * len(ordered) // 100)) - 1]
                if exact > 0:
                    off[percent].append(abs(row[f"entropy_p{percent:02d}"] / exact - 1))
    lines = [f"{len(sizes)} steps of {min(sizes):,} to {max(sizes):,} tokens; off by, median and most:"]
    for percent, values in off.items():
        lines.append(f"p{percent:02d}  {100 * statistics.median(values):.2g} %  {100 * max(values):.2g} %")
    return "\n".join(lines)


def measured(who: str, folder: Path) -> dict[str, float]:
    """Seconds of a process from its start to its end, of the processor, and its peak memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.tokens_alone", who, str(folder)]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    seconds = time.perf_counter() - start
    most, processor = map(float, done.stdout.splitlines()[-1].split())
    return {"seconds": seconds, "processor": processor, "peak": most}


def differences(folder: Path) -> dict[str, float]:
    """Compare every number with the bare query's."""
    import pyarrow.parquet as pq

    ours = {row["step"]: row for row in pq.read_table(folder / "ours.parquet").to_pylist()}
    means, sds, quantiles = [], [], []
    for step, planning, tokens, mean, sd, values in json.loads((folder / "same.json").read_text()):
        row, suffix = ours[step], "_planning" if planning else "_execution"
        if row[f"tokens{suffix}"] != tokens:
            raise SystemExit(f"step {step}: {row[f'tokens{suffix}']} tokens, the bare query has {tokens}")
        means.append(abs(row[f"entropy{suffix}"] - mean))
        sds.append(abs(row[f"entropy_sd{suffix}"] - sd))
        names = ("p05", "p10", "p20", "p50", "p80", "p90", "p95", "p99")
        quantiles += [
            abs(row[f"entropy_{p}{suffix}"] / value - 1) for p, value in zip(names, values, strict=True)
        ]
    return {
        "mean": max(means),
        "sd": max(sds),
        "quantile": max(quantiles),
        "median": statistics.median(quantiles),
    }


if __name__ == "__main__":
    main()
