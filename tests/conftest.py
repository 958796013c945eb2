"""What the tests share: where the data are, and the command line as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from entropylaw.reproducible import fix_arithmetic

# What the tests compute in this process has the digits of the command, if numpy is not imported yet.
fix_arithmetic()

ROOT = Path(__file__).parent.parent
LAB = ROOT / "data" / "lab"
PUBLIC_LOGS = ROOT.parent / "shared" / "logs"


if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    # A shell starts what runs in the background deaf to Ctrl-C, and what that starts would be deaf too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def clean_environment() -> dict[str, str]:
    """The environment without what forces colour or width, and with the checkout on the path."""
    forced = ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "ENTROPYLAW_DEBUG", "ENTROPYLAW_CONFIG")
    kept = {key: value for key, value in os.environ.items() if key not in forced}
    return kept | {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"}


@pytest.fixture
def run(tmp_path):
    """Run ``entropylaw ARGUMENTS`` in an empty folder; returns the finished process."""

    def start(*arguments, stdin=None, cwd=tmp_path, **environment):
        return subprocess.run(
            [sys.executable, "-m", "entropylaw", *map(str, arguments)],
            cwd=cwd,
            env=clean_environment() | environment,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )

    return start


@pytest.fixture
def lab(tmp_path):
    """The lab's data under ``data/lab`` of the empty folder, as a newcomer's clone has them."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path / "data" / "lab"
