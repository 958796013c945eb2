"""Runs a command, waits for all that it started, and prints the processor time of every process.

``times`` lacks processes that their parent did not wait for, such as the one from which workers are forked.
"""

import ctypes
import os
import resource
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 30.0
"""Seconds after the command for what it left behind."""


def main() -> int:
    """Run the arguments; returns their exit code."""
    if sys.platform == "linux":
        # A process whose parent ends becomes a child of this one, which can then wait for it.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    code = subprocess.call(sys.argv[1:])
    end = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.1)
        print("a process that was started is still running, and is not counted")
    except ChildProcessError:
        pass
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time of all processes: {spent.ru_utime:.0f} s user, {spent.ru_stime:.0f} s system")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
