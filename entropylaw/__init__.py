"""entropylaw: the entropy law of reinforcement learning for language models, with calibrated intervals.

>>> import entropylaw
>>> fit = entropylaw.fit("demo/grpo_s0.csv")  # doctest: +SKIP
>>> fit.verdict, fit.why, f"{fit.ceiling:.3f}", fit.p_headroom  # doctest: +SKIP

Every public name is imported on first use: ``import entropylaw`` takes almost no time. What results do by
other packages is bound here (:mod:`entropylaw.binding`).
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from entropylaw.binding import methods
from entropylaw.version import __version__ as __version__

# The stub has every public name with its module, for type checkers, too; pathlib would be slow to import.
with open(__file__.removesuffix("c") + "i", encoding="utf-8") as stub:  # noqa: PTH123
    _MODULES = {words[5]: (words[1], words[3]) for words in map(str.split, stub) if words[:1] == ["from"]}

__all__ = sorted([*_MODULES, "__version__"])


methods.rendering = partial(import_module, "entropylaw.report.binding")
methods.predicting = partial(import_module, "entropylaw.analysis.binding")


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'entropylaw' has no attribute {name!r}")
    module, home = _MODULES[name]
    value = getattr(import_module(module), home)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public API and nothing else."""
    return __all__
