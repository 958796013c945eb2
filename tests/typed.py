"""A command line typed in this process: what a user gets, without the cost of starting Python."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from unittest import mock

from entropylaw.cli import main


def typed(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``entropylaw ARGUMENTS`` in the folder ``cwd``."""
    stdout, stderr = io.StringIO(), io.StringIO()
    words = ["entropylaw", *map(str, arguments)]
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        mock.patch.object(sys, "argv", words),
    ):
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess(words, code, stdout.getvalue(), stderr.getvalue())
