"""Tasks in several processes: a process that dies affects only its own task."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from entropylaw.paths import INPUTS, Inputs

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]
"""Called for a task that is done: how many are done, and of how many."""

_METHODS = multiprocessing.get_all_start_methods()
# A fork of a process with threads, such as Arrow's, may hang for ever.
_CONTEXT = multiprocessing.get_context("forkserver" if "forkserver" in _METHODS else "spawn")
_STARTED: list[bool] = []


def cores() -> int:
    """Cores that this process may use."""
    with contextlib.suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start(module: str) -> None:
    """Start the process from which workers are forked; it imports ``module`` and the analysis in parallel.

    Nothing happens where there is no such process, as on Windows.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if "forkserver" not in _METHODS or _STARTED:
        return
    from multiprocessing import forkserver

    _CONTEXT.set_forkserver_preload(["entropylaw.pipeline.answers", module])
    # Only the main process handles Ctrl-C; its children inherit the mask.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
        _STARTED.append(True)
    except OSError:
        pass
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def results(
    work: Callable[[T], R], tasks: Sequence[T], *, jobs: int, died: Callable[[T], R], few: int = 3
) -> Iterator[tuple[T, R]]:
    """Do every task; yields results as they are ready.

    ``work`` is a function of a module, which ``jobs`` processes look up by name. Tasks are independent of one
    another, so that their order and the number of processes do not matter. ``died`` makes the result of a
    task whose process was killed twice. A single task is done in this process, and up to ``few`` if no other
    was started yet.
    """
    if jobs <= 1 or len(tasks) <= (1 if _STARTED else few):
        for task in tasks:
            yield task, work(task)
        return
    suspects: list[T] = []
    waiting = list(reversed(tasks))
    while waiting:
        yield from _until_broken(work, waiting, jobs, suspects)
    for task in suspects:
        alone: list[T] = []
        yield from _until_broken(work, [task], 1, alone)
        for dead in alone:
            yield dead, died(dead)


def _until_broken(
    work: Callable[[T], R], waiting: list[T], jobs: int, suspects: list[T]
) -> Iterator[tuple[T, R]]:
    """Do the ``waiting`` tasks, from the end; if a process dies, its tasks and others become ``suspects``."""
    start(work.__module__)
    running: dict[Future[R], T] = {}
    count = min(jobs, len(waiting))
    with ProcessPoolExecutor(count, _CONTEXT, initializer=_prepare_worker, initargs=(dict(INPUTS),)) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < 2 * jobs:
                    # A pool whose process has died accepts none: the task waits for the next pool.
                    running[pool.submit(work, waiting[-1])] = waiting[-1]
                    waiting.pop()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    yield running.pop(future), result
        except BrokenProcessPool:
            suspects += running.values()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _prepare_worker(read: Inputs) -> None:
    """Ignore Ctrl-C, which the main process handles, and end when it ends for any reason."""
    # What was imported before the fork stays: no search for garbage goes through it.
    gc.freeze()
    INPUTS.update(read)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
