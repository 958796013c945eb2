"""Making runs: one, or all that are left, and how long that takes. Importing this needs no PyTorch."""

from __future__ import annotations

import csv
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from lab.config import Config, read_config, write_config
from lab.task import PROMPT, RESPONSE

Say = Callable[[str], None]


def require_torch() -> None:
    """Exit with an instruction if PyTorch is missing."""
    if importlib.util.find_spec("torch") is None:
        sys.exit('training needs PyTorch: python -m pip install ".[lab]"')


def make(config: Config, out: Path, cache: Path, say: Say) -> float:
    """Train a run and write its tables and its config to ``out / config.run``; returns processor seconds.

    The folder appears when the run is finished, in place of one that is already there.
    """
    import torch

    from lab.tables import write_log
    from lab.train import train

    began = time.process_time()
    folder, unfinished = out / config.run, out / f".{config.run}.{os.getpid()}"
    shutil.rmtree(unfinished, ignore_errors=True)
    write_log(train(config, cache, say), unfinished)
    write_config(config, {"torch": torch.__version__}, unfinished / "config.json")
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.replace(folder)
    return time.process_time() - began


def is_finished(config: Config, out: Path) -> bool:
    """Whether a run lies below ``out`` with these settings."""
    kept = out / config.run / "config.json"
    return kept.exists() and read_config(kept) == config


def left_of(configs: Sequence[Config], out: Path) -> list[Config]:
    """The runs that are not finished."""
    return [config for config in configs if not is_finished(config, out)]


def record(run: str, seconds: float, file: Path) -> None:
    """Keep the minutes of processor time of a run in a table: the runs' own files have no clock."""
    kept = recorded(file) | {run: round(seconds / 60, 1)}
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerows([("run", "minutes"), *sorted(kept.items())])


def recorded(file: Path) -> dict[str, float]:
    """Minutes of processor time by run, as :func:`record` kept them."""
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as opened:
        return {row["run"]: float(row["minutes"]) for row in csv.DictReader(opened)}


def make_all(
    configs: Sequence[Config], out: Path, cache: Path, jobs: int, say: Say, times: Path | None = None
) -> list[str]:
    """Make the runs that are not finished, ``jobs`` at a time in their order; returns those that failed.

    Runs that share a start wait until the first of them has made it. ``times`` is a file for :func:`record`.
    """
    waiting, failed, began, done = left_of(configs, out), [], time.monotonic(), 0.0
    say(status(configs, out))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running: dict[Future[float], Config] = {}
        while waiting or running:
            while len(running) < jobs and (config := _next(waiting, running.values(), cache)):
                waiting.remove(config)
                running[pool.submit(make, config, out, cache, _quiet)] = config
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                config = running.pop(future)
                if error := future.exception():
                    failed.append(config.run)
                    say(f"{config.run} failed: {error!r}")
                    continue
                if times:
                    record(config.run, future.result(), times)
                done += minutes(config)
                ahead = sum(map(minutes, [*waiting, *running.values()]))
                hours = (time.monotonic() - began) / done * ahead / 3600
                say(
                    f"{config.run}: {future.result() / 60:.1f} min of processor time; "
                    f"{len(waiting) + len(running)} left, about {hours:.1f} h at this speed"
                )
    return failed


def _next(waiting: Sequence[Config], running: Collection[Config], cache: Path) -> Config | None:
    from lab.train import start_file

    making = {start_file(config, cache) for config in running}
    return next(
        (
            config
            for config in waiting
            if (start := start_file(config, cache)).exists() or start not in making
        ),
        None,
    )


def _quiet(line: str) -> None:
    """Print nothing."""


def minutes(config: Config) -> float:
    """Estimated minutes of processor time of a run without its start, from those at width 48, 19 tokens.

    0.4 s per update of eight minibatches with its batch, 1.4 s per evaluation of 400 prompts.
    """
    evaluations = (config.steps / config.val_every + 1) * len(config.domains)
    counted = len(config.counts.at) * len(config.domains) if config.counts else 0
    return (config.steps * 0.4 + (evaluations + counted) * 1.4) * _longer(config) / 60


def start_minutes(config: Config) -> float:
    """Estimated minutes of processor time of a run's start."""
    return config.start.steps * 0.045 * _longer(config) / 60


def _longer(config: Config) -> float:
    tokens = (PROMPT + (config.size.response or RESPONSE)) / (PROMPT + RESPONSE)
    factor: float = (max(1.0, config.size.width / 48) * tokens) ** 1.5
    return factor


def status(configs: Sequence[Config], out: Path) -> str:
    """How many runs are finished, and how long the others take."""
    left = left_of(configs, out)
    starts = {(config.start, config.size): start_minutes(config) for config in left}
    hours = (sum(map(minutes, left)) + sum(starts.values())) / 60
    return (
        f"{len(configs) - len(left)} of {len(configs)} runs are finished; {len(left)} are left, "
        f"about {hours:.1f} h of processor time, starts included"
    )
