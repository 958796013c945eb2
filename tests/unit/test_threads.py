"""Threads of BLAS: one in the library's calls, as many as before after them."""

import sys

from tests.conftest import ROOT
from tests.typed import started

PROGRAM = """
import numpy as np, threadpoolctl, entropylaw
from entropylaw.engine import reads
def threads():
    return {library["num_threads"] for library in threadpoolctl.threadpool_info()}
entropylaw.fit_law
threadpoolctl.threadpool_limits(3)
seen, real = [], reads.np.exp
reads.np.exp = lambda *given, **more: seen.append(threads()) or real(*given, **more)
step = np.arange(20.0)
entropy = real(-step / 9)
entropylaw.fit_law(entropy, 0.6 - 0.2 * real(entropy) + 0.01 * np.sin(3 * step), step)
print(threads(), set.union(*seen))
"""


def test_a_call_uses_one_thread(tmp_path):
    done = started(sys.executable, "-c", PROGRAM, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""})
    assert (done.stdout, done.stderr) == ("{3} {1}\n", "")
