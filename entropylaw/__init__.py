"""entropylaw: the entropy law of reinforcement learning for language models, with intervals that hold.

>>> import entropylaw
>>> run, = entropylaw.read_runs("data/lab/grpo_s0/metrics.parquet")       # doctest: +SKIP
>>> fit = entropylaw.fit_run(run)                                          # doctest: +SKIP
>>> fit.validity.ok, fit.ceiling.value, fit.ceiling.low, fit.ceiling.high  # doctest: +SKIP

Everything here is imported on first use, so that ``import entropylaw`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The stub has every public name with its home, for type checkers, too; pathlib would be slow to import.
with open(__file__.removesuffix("c") + "i", encoding="utf-8") as stub:  # noqa: PTH123
    _HOMES = {words[3]: words[1] for words in map(str.split, stub) if words[:1] == ["from"]}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'entropylaw' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public API and nothing else."""
    return __all__
