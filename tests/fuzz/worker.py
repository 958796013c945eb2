"""Checks cases, in a process that a hang ends: ``python -m tests.fuzz.worker flip/verl/17``."""

import faulthandler
import functools
import gc
import signal
import sys
import tempfile
import traceback
import tracemalloc
import warnings
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from entropylaw import EntropyLawError, Run
from entropylaw.logs.load import read_all
from entropylaw.roles.explain import explain
from entropylaw.roles.select import select
from tests.fuzz.corpus import samples
from tests.fuzz.damage import damaged
from tests.slugs import slugs, words

#: Seconds of processor time after which a case counts as hanging. Cases take milliseconds.
LIMIT = 10.0
#: Seconds after which a case hangs that waits and uses no processor.
WAITING = 1800.0
#: Memory that reading may take whatever the file's size, and then per byte of it.
ALLOWANCE, PER_BYTE = 64 << 20, 10
# What is taken outside of Python, by libraries, is known as the process's peak only.
_PROCESS_ALLOWANCE = 256 << 20
_TRACED = 16


@functools.cache
def _known_slugs() -> set[str]:
    return (slugs() | words()) - {"bug", "out-of-memory"}


def check(path: str) -> None:
    """Read a path and look at all that comes of it; raises where something is wrong."""
    reading = read_all([path])
    for failure in reading.failures:
        _check_error(failure.error)
    for ignored in reading.ignored:
        assert ignored.why.isprintable(), ignored.why
    for run in reading.runs:
        _check_run(run)
        explain(run)
        try:
            series = select(run)
        except EntropyLawError as error:
            _check_error(error)
            continue
        assert len(series.step) == len(series.entropy) == len(series.reward)
        assert series.count > 0
        assert np.isfinite([series.step, series.entropy, series.reward]).all()
        steps, _, rewards = series.evaluations
        assert np.isfinite(rewards).all()
        assert (np.diff(steps) > 0).all()
        assert series.entropy.min(initial=0.0) >= -1e-6
        assert series.entropy.max(initial=0.0) <= 12
        assert all(text.isprintable() for text in (*series.notes, *series.cautions))


def _check_error(error: EntropyLawError) -> None:
    assert error.slug in _known_slugs(), error.slug
    assert error.message.isprintable(), repr(error.message)
    assert error.hint.isprintable(), repr(error.hint)


def _check_run(run: Run) -> None:
    assert len(run.step) > 0
    assert np.isfinite(run.step).all()
    assert (np.diff(run.step) > 0).all()
    for name, values in run.columns.items():
        assert values.dtype == np.float64, name
        assert values.shape == run.step.shape, name
    assert all(number > 0 for number in run.dropped.values()), run.dropped
    assert all(text.isprintable() for text in run.notes), run.notes


def check_files(files: Iterable[tuple[str, bytes]], *, traced: bool = False) -> None:
    """Write files into an empty folder, and check the folder, or the file where it is one."""
    with tempfile.TemporaryDirectory() as folder:
        paths, size = [], 0
        for name, data in files:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            paths.append(path)
            size += len(data)
        target = str(paths[0] if len(paths) == 1 else folder)
        peak, before = 0, _process_peak()
        if traced:
            tracemalloc.start()
        try:
            check(target)
        finally:
            if traced:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
        most = max(ALLOWANCE, PER_BYTE * size)
        assert peak <= most, f"{peak >> 20} MiB for a file of {size} bytes"
        grown = _process_peak() - before
        assert grown <= max(_PROCESS_ALLOWANCE, most), f"{grown >> 20} MiB for a file of {size} bytes"


def check_case(case: str) -> None:
    """Make a case and check it."""
    sample, data = damaged(case)
    files = [(name, data if name == sample.damaged else whole) for name, whole in sample.files.items()]
    check_files(files, traced=zlib.crc32(case.encode()) % _TRACED == 0)


def _process_peak() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


@functools.cache
def _unraisable() -> list[str]:
    """What a process of cases needs once; returns what will be noted of problems that nothing raises."""
    noted: list[str] = []

    def note(problem: Any) -> None:
        noted.append(f"{problem.exc_type.__name__}: {problem.exc_value} in {problem.object!r}")

    sys.unraisablehook = note
    # Its own handler prints the traceback, whatever runs; then the signal's default ends the process.
    faulthandler.register(signal.SIGPROF, file=sys.__stderr__, chain=True)
    for sample in samples().values():  # what is imported on first use is imported here
        check_files(sample.files.items())
    warnings.simplefilter("error")
    return noted


def outcome(case: str) -> str:
    """What went wrong in a case; empty where nothing did. A hang ends the process."""
    unraisable = _unraisable()
    faulthandler.dump_traceback_later(WAITING, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        check_case(case)
    except Exception as problem:  # what a user must never see is looked for here
        return "".join(traceback.format_exception(problem, limit=-6))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        faulthandler.cancel_dump_traceback_later()
    if unraisable:
        gc.collect()
        return f"could not be raised: {unraisable.pop()}"
    return ""


def died(case: str) -> str:
    """What is said of a case that ended its process, twice."""
    return f"its process ended; python -m tests.fuzz.worker {case} says how"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, outcome(name) or "ok", sep="\n")
