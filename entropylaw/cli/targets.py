"""Targets on the command line: numbers and ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence

from entropylaw.errors import UsageError

_MOST = 10_000


def parse_entropies(texts: Sequence[str]) -> list[float]:
    """Entropies from ``"0.1"`` or ``"0:0.5:0.05"`` (both ends included); every value once, as given."""
    values: list[float] = []
    for text in texts:
        values += _range(text) if ":" in text else [_number(text, text)]
    return list(dict.fromkeys(values))


def _range(text: str) -> list[float]:
    parts = [_number(part, text) for part in text.split(":")]
    if len(parts) != 3:
        raise _bad(text, "START:STOP:STEP")
    start, stop, step = parts
    if step <= 0 or stop < start:
        raise _bad(text, "START ≤ STOP and STEP > 0")
    count = math.floor((stop - start) / step + 1e-9) + 1
    if count > _MOST:
        raise _bad(text, f"at most {_MOST} values")
    # start + i·step accumulates no error; rounding takes off the last bit's noise (0.15000000000000002).
    return [float(f"{start + i * step:.12g}") for i in range(count)]


def _number(part: str, text: str) -> float:
    try:
        value = float(part)
    except ValueError:
        raise _bad(text, "a number, or START:STOP:STEP") from None
    if not math.isfinite(value):
        raise _bad(text, "a finite number")
    return value


def _bad(text: str, expected: str) -> UsageError:
    return UsageError(
        "bad-target",
        f"--target-entropy {text!r}, expected {expected}",
        "for example --target-entropy 0:0.5:0.05",
    )
