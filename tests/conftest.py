"""What the tests share: where the data are, and the command line as a user starts it."""

import contextlib
import datetime
import os
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from entropylaw.reproducible import fix_arithmetic

# What the tests compute in this process has the digits of the command, if numpy is not imported yet.
fix_arithmetic()

# On a new machine Matplotlib looks for fonts, and says so after five seconds: not in a test's output.
if "PYTEST_XDIST_WORKER" not in os.environ:
    import matplotlib.font_manager  # noqa: F401

from entropylaw.documents.document import FitDocument  # noqa: E402
from entropylaw.options import FitOptions  # noqa: E402
from entropylaw.pipeline import pool  # noqa: E402
from entropylaw.pipeline.cache import Cache  # noqa: E402
from entropylaw.pipeline.inputs import gather  # noqa: E402
from entropylaw.pipeline.steps import Fit, answers  # noqa: E402

ROOT = Path(__file__).parent.parent
LAB = ROOT / "data" / "lab"
PUBLIC_LOGS = ROOT.parent / "shared" / "logs"

HANGS = 1800.0
"""Seconds after which a process hangs; no test fails for being slow."""

# Two workers with a thread per core each would spend most of their time waiting for one another. Processes
# that the tests start inherit it; NumPy is not imported yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# W&B waits 30 seconds for its service, which takes longer to start on a busy machine.
os.environ["WANDB__SERVICE_WAIT"] = str(HANGS)

# No test meets what an earlier one, or the person who tests, left in a cache.
os.environ["ENTROPYLAW_CACHE"] = "off"

NIGHTLY = bool(os.environ.get("ENTROPYLAW_NIGHTLY"))
"""Whether all is tested that a call of the tests draws from: `nox -s nightly`."""

nightly = pytest.mark.skipif(not NIGHTLY, reason="nightly: ENTROPYLAW_NIGHTLY is not set")

# Neither an example nor the making of its data has a limit of time.
settings.register_profile(
    "tests", max_examples=100 if NIGHTLY else 8, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")

few = settings(max_examples=100 if NIGHTLY else 3)
rare = settings(max_examples=100 if NIGHTLY else 1)
"""For properties whose every example takes a good part of a second, and seconds."""


# Workers inherit the day on which the tests began: a call that goes on past midnight has one draw.
DAY = os.environ.setdefault("ENTROPYLAW_TESTS_DAY", str(datetime.datetime.now(datetime.UTC).date()))


def drawn(names, n):
    """All names nightly; else some of them, others every day, and the same in all processes."""
    names = sorted(names)
    return names if NIGHTLY else sorted(random.Random(DAY).sample(names, min(n, len(names))))


if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    # A shell starts what runs in the background deaf to Ctrl-C, and what that starts would be deaf too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def processor_time(seconds):
    """End what uses more of this process's time than that: a slow or a busy machine changes nothing."""

    def ended(*_):
        raise AssertionError(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def clean_environment() -> dict[str, str]:
    """The environment without what forces colour or width, and with the checkout on the path."""
    forced = ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "ENTROPYLAW_DEBUG")
    kept = {key: value for key, value in os.environ.items() if key not in forced}
    return kept | {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"}


def checked(done, code):
    """A command that has ended; with an exit code, if one is expected."""
    assert code in (None, done.returncode), done.stderr
    return done


def ended(arguments, stdin) -> subprocess.CompletedProcess:
    """``python -m entropylaw ARGUMENTS`` in this process, with files as descriptors 0 to 2."""
    names, code = ("stdin", "stdout", "stderr"), 0
    # As in a new process: what no folder of logs has started yet is done here, where a test may change it.
    pool._STARTED.clear()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in names]
        files[0].write((stdin or "").encode())
        files[0].seek(0)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for number, (name, file) in enumerate(zip(names, files, strict=True)):
            kept = os.dup(number)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, number)
            os.dup2(file.fileno(), number)
            errors = getattr(sys, f"__{name}__").errors
            stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", errors=errors, closefd=False)
            patch.setattr(sys, name, stack.enter_context(stream))
        patch.setattr(sys, "argv", ["entropylaw", *arguments])
        try:
            runpy.run_module("entropylaw", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code or 0
        except Exception:  # as the interpreter shows what nobody caught
            traceback.print_exc()
            code = 1
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for file in files:
            file.seek(0)
        _, stdout, stderr = (file.read().decode().replace("\r\n", "\n") for file in files)
    return subprocess.CompletedProcess(arguments, code, stdout, stderr)


@pytest.fixture(scope="session")
def kept(tmp_path_factory) -> Path:
    """A folder for results that the tests of all processes have in common."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "kept"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def one_cache(kept):
    """A cache for the tests of a module that are about how a result is shown, and not how it is computed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENTROPYLAW_CACHE", str(kept))
        yield


OF_EVERY_KIND = {"grpo_s0", "entropy_bonus_0.1_s0", "too_hard", "width_96_s1"}
"""Runs of the lab of every verdict, and those that are there in other formats."""


@pytest.fixture(scope="session")
def lab_fits(kept) -> FitDocument:
    """Runs of the lab as they are fitted by default, all nightly, and a file that is not there."""
    step = Fit(FitOptions())
    names = {path.parent.name for path in LAB.glob("*/metrics.parquet")}
    chosen = sorted(OF_EVERY_KIND.union(drawn(names - OF_EVERY_KIND, 3)))
    with contextlib.chdir(ROOT):
        logs = [f"data/lab/{name}/metrics.parquet" for name in chosen]
        inputs = gather([*logs, "nowhere.csv"], step.options)
        results = answers(step, inputs.entries, cache=Cache(kept))
        return step.document(inputs, chain.from_iterable(results))


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without figures, in this process: they take most of a report's time."""
    monkeypatch.setattr("entropylaw.pipeline.pages.FIGURES", ())


@pytest.fixture
def run(tmp_path):
    """Run ``entropylaw ARGUMENTS`` in an empty folder, in this process; returns what a process would.

    ``code`` is the exit code that is expected.
    """

    def start(*arguments, stdin=None, cwd=tmp_path, code=None, **environment):
        wanted = clean_environment() | environment
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(cwd)
            for name in os.environ.keys() - wanted.keys():
                patch.delenv(name)
            for name, value in wanted.items():
                patch.setenv(name, value)
            return checked(ended(list(map(str, arguments)), stdin), code)

    return start


@pytest.fixture
def run_process(tmp_path):
    """The same in a process of its own, for what only a process shows."""

    def start(*arguments, stdin=None, cwd=tmp_path, code=None, **environment):
        done = subprocess.run(
            [sys.executable, "-m", "entropylaw", *map(str, arguments)],
            cwd=cwd,
            env=clean_environment() | environment,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=HANGS,
        )
        return checked(done, code)

    return start


@pytest.fixture
def lab(tmp_path):
    """The lab's data under ``data/lab`` of the empty folder, as a newcomer's clone has them."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path / "data" / "lab"
