"""What a process has taken: for a measurement that imports nothing else of the project."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path


def peak() -> int:
    """The largest that this process has been, in bytes.

    Linux counts the process that started this one into ``ru_maxrss``, hence its own account first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"))
        if found:
            return int(found[1]) * 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
