"""What a report over many runs costs: processor time, memory, and the size of its pages.

python -m benchmarks.report                       print the table, of a thousand runs
python -m benchmarks.report --runs 100            of fewer
python -m benchmarks.report --write               and put it into docs/benchmarks/report.md
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.docs import write_block
from benchmarks.readers import machine
from benchmarks.startup import AGAINST, processor_time
from entropylaw.arrays import FloatArray
from entropylaw.pipeline.cache import VARIABLE

ROOT = Path(__file__).parent.parent
LAB = ROOT / "data" / "lab"
LATER = ROOT / "data" / "lab2"
"""Runs with all that a trainer logs and entropies of planning and execution tokens, of plans, and of
all tokens."""

REPORTED = (1, 10, 60)
"""Numbers of lab runs in a report."""

RUNS, EVALUATIONS, LAST_STEP = 1_000, 200, 400
JOBS = 2
SAMPLED = 0.25
"""Seconds between two looks at the processes."""

SHARE = "val_acc"
"""A share of correct answers, which noise must leave between 0 and 1."""

COLUMNS = ("entropy", SHARE)
CURVES = ("entropy_planning", "entropy_execution")
WINDOW = 5
"""Logged values in the moving average of a lab run, before noise is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one command: processor time in seconds and memory in bytes, of all its processes."""

    cpu: float
    peak: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of the report [{RUNS}]")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"processes [{JOBS}]")
    parser.add_argument("--curves", type=int, default=None, help="runs with curves of classes [a tenth]")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/report.md")
    options = parser.parse_args()
    curves = max(1, options.runs // 10) if options.curves is None else options.curves
    with tempfile.TemporaryDirectory() as scratch:
        text = measured(Path(scratch), options.runs, curves, options.jobs)
    print(text)
    if options.write:
        write_block("report", text)


def measured(scratch: Path, runs: int, curves: int, jobs: int) -> str:
    """Write logs, report them again and again, and say what it cost."""
    logs, out = scratch / "logs", scratch / "out"
    generate(logs, range(runs), COLUMNS)
    rows = [("all anew", runs, report(logs, out, jobs))]
    made = sizes(out)
    rows.append(("nothing changed", runs, report(logs, out, jobs)))
    changed = max(1, runs // 100)
    generate(logs, range(changed), COLUMNS, version=1)
    rows.append((f"{changed} changed", runs, report(logs, out, jobs)))
    some = max(1, runs // 10)
    generate(scratch / "some", range(some), COLUMNS)
    every = report(scratch / "some", scratch / "all", jobs, "--figures", "svg,png,pdf")
    rows.append(("all anew, `--figures svg,png,pdf`", some, every))
    generate(scratch / "curves", range(curves), (*COLUMNS, *CURVES))
    phases = report(scratch / "curves", scratch / "phases", jobs, "--figures", "svg")
    rows.append(("all anew, with the entropy of planning and execution tokens", curves, phases))
    generate(scratch / "one", range(1), (*COLUMNS, *CURVES))
    alone = report(scratch / "one", scratch / "alone", 1, "--figures", "svg,png,pdf")
    rows.append(("one run with everything, `--figures svg,png,pdf --jobs 1`", 1, alone))
    lab = lab_table(scratch, REPORTED)
    scaled = f"At the rate of {curves:,} runs, {runs:,} with planning and execution tokens take "
    scaled += f"{phases.cpu * runs / curves / 60:.1f} min of processor time."
    return f"{table(rows, made, jobs)}\n\n{scaled}\n\n{lab}"


def lab_table(scratch: Path, numbers: Sequence[int]) -> str:
    """What reports over runs of the lab take, and the same again with nothing changed."""
    lines = [
        "`entropylaw report --figures svg --jobs 1` over runs of `data/lab2` as they are. An import is the "
        f"processor time of {AGAINST[1]} in a process of its own, the mean of one before and one after.",
        "",
        "| runs | processor, s | imports per run | nothing changed, s | imports | memory, MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    every = sorted(path for path in LATER.iterdir() if (path / "metrics.parquet").is_file())
    for number in numbers:
        logs = scratch / f"lab-{number}"
        logs.mkdir()
        for place in np.linspace(0, len(every) - 1, number).astype(int):
            (logs / every[place].name).symlink_to(every[place])
        before = import_time()
        first, again = (report(logs, scratch / f"of-{number}", 1, "--figures", "svg") for _ in range(2))
        unit = 0.5 * (before + import_time())
        lines.append(
            f"| {number} | {first.cpu:.1f} | {first.cpu / number / unit:.2f} | {again.cpu:.2f} | "
            f"{again.cpu / unit:.1f} | {first.peak / 1e6:.0f} |"
        )
    return "\n".join(lines)


def import_time() -> float:
    """Processor seconds of a process that only imports what a fit cannot do without."""
    before = processor_time()
    subprocess.run([sys.executable, "-c", AGAINST[1].strip("`")], check=True)
    return processor_time() - before


def table(rows: Sequence[tuple[str, int, Cost]], made: dict[str, int], jobs: int) -> str:
    """The figures as a page has them."""
    lines = [
        f"`entropylaw report` over generated logs of {EVALUATIONS} evaluations, `--jobs {jobs}`, on "
        f"{machine()}. Memory is that of all processes together, sampled every {SAMPLED:g} s; "
        "shared pages count once.",
        "",
        "| what | runs | processor, s | per run, s | memory, MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for what, runs, cost in rows:
        each = cost.cpu / runs
        lines.append(f"| {what} | {runs:,} | {cost.cpu:.1f} | {each:.2f} | {cost.peak / 1e6:.0f} |")
    lines += ["", "| size | kB |", "| --- | ---: |"]
    lines += [f"| {what} | {size / 1e3:.0f} |" for what, size in made.items()]
    return "\n".join(lines)


def sizes(out: Path) -> dict[str, int]:
    """Bytes of what people open, and of everything."""
    pages = [path.stat().st_size for path in (out / "runs").glob("*.html")]
    return {
        "largest page of a run": max(pages),
        "median page of a run": int(np.median(pages)),
        "`index.html`": (out / "index.html").stat().st_size,
        "`report.md`": (out / "report.md").stat().st_size,
        "the whole folder": sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
    }


def generate(folder: Path, numbers: range, columns: Sequence[str], version: int = 0) -> None:
    """Logs like the lab's, each one smoothed run with noise of that run's own size.

    Parameters
    ----------
    folder
        Where the logs go: one Parquet file a run.
    numbers
        Of the runs; a run's numbers depend on its own, and on nothing else.
    columns
        What is logged beside the step.
    version
        Another one has other noise on the same smoothed run.
    """
    folder.mkdir(exist_ok=True)
    sources = sorted(path for path in LAB.iterdir() if (path / "metrics.parquet").is_file())
    runs_smoothed = [read_smoothed(source, columns) for source in sources]
    step = np.round(np.linspace(0, LAST_STEP, EVALUATIONS)).astype(np.int64)
    for number in numbers:
        random = np.random.default_rng([number, version])
        data: dict[str, object] = {"step": step}
        for name, (smooth, noise) in runs_smoothed[number % len(runs_smoothed)].items():
            drawn = np.interp(np.linspace(0, 1, step.size), np.linspace(0, 1, smooth.size), smooth)
            data[name] = unscaled(name, drawn + noise * random.standard_normal(step.size))
        pq.write_table(pa.table(data), folder / f"{sources[number % len(sources)].name}-{number:04d}.parquet")


def read_smoothed(source: Path, columns: Sequence[str]) -> dict[str, tuple[FloatArray, float]]:
    """Each column of a lab run, smoothed, and its noise; entropies by their logarithm."""
    logged = pq.read_table(source / "metrics.parquet", columns=list(columns))
    found: dict[str, tuple[FloatArray, float]] = {}
    for name in columns:
        values = logged[name].to_numpy(zero_copy_only=False).astype(float)
        values = values[np.isfinite(values)]
        scaled = values if name == SHARE else np.log(np.maximum(values, 1e-6))
        # Second differences remove a smooth curve; of white noise they have six times the variance.
        noise = float(np.median(np.abs(np.diff(scaled, 2))) / 0.6745 / np.sqrt(6.0))
        padded = np.pad(scaled, WINDOW // 2, mode="edge")
        found[name] = (np.convolve(padded, np.full(WINDOW, 1 / WINDOW), mode="valid"), noise)
    return found


def unscaled(name: str, values: FloatArray) -> FloatArray:
    """A column as it is logged."""
    return np.clip(values, 0.0, 1.0) if name == SHARE else np.exp(values)


def report(logs: Path, out: Path, jobs: int, *options: str) -> Cost:
    """What a report costs, as a process of its own with everything that it starts."""
    command = [sys.executable, "-m", "entropylaw", "report", str(logs), "-o", str(out)]
    process = subprocess.Popen(
        [*command, "--jobs", str(jobs), "--quiet", *options],
        cwd=ROOT,
        # With the results of earlier calls that made the same report alone.
        env=os.environ | {"PYTHONPATH": str(ROOT), VARIABLE: f"{out.resolve()}.results"},
        stdout=subprocess.DEVNULL,
    )
    peak, cpu = 0, dict[int, float]()
    while process.poll() is None:
        family = descendants(process.pid)
        peak = max(peak, sum(memory(pid) for pid in family))
        cpu.update({pid: used for pid, used in family.items() if used >= cpu.get(pid, 0.0)})
        time.sleep(SAMPLED)
    if process.returncode:
        raise SystemExit(f"exit {process.returncode} of {' '.join(command)}")
    return Cost(cpu=sum(cpu.values()), peak=peak)


def descendants(ancestor: int) -> dict[int, float]:
    """A process and all that came of it, with the processor time of each in seconds; Linux only."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of the program, in brackets, may hold blanks.
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    found = {ancestor} & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: used[pid] for pid in found}


def memory(pid: int) -> int:
    """Bytes of a process, of shared pages its part; 0 where it has just ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
