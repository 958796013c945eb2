"""The same input gives the same bytes on any processor: fixed arithmetic, and twelve digits.

Imports nothing: the command line fixes the arithmetic before anything heavy is imported.
"""

from __future__ import annotations

import os

EXACT = 1e16
"""Below this, whole numbers keep all their digits: every step up to 2^53 as logged."""

ARITHMETIC = {
    "OPENBLAS_CORETYPE": "Nehalem",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # An empty list of instruction sets: numpy uses those that every processor of its kind has. An empty value
    # would be ignored.
    "NPY_ENABLE_CPU_FEATURES": ",",
}
"""Environment in which numpy, OpenBLAS and MKL compute alike on every x86-64 processor.

By default each chooses its loops by the processor's instructions, and with them the order of sums, fused
multiplications, and exponentials that differ in their last bit. Other architectures ignore the two kernels.
"""


def fix_arithmetic() -> None:
    """Make numpy's libraries compute alike on every processor; only before numpy is imported."""
    os.environ.update(ARITHMETIC)
    # numpy accepts one of the two lists.
    os.environ.pop("NPY_DISABLE_CPU_FEATURES", None)


def rounded(number: float) -> float:
    """``number`` to 12 significant digits; to a whole number where that is finer, and never −0.

    The order of numbers is kept, so that a value stays within its interval.
    """
    if 1e12 <= abs(number) < EXACT:
        return float(round(number))
    return float(f"{number:.12g}") + 0.0
