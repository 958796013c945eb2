"""entropylaw: the entropy law of reinforcement learning for language models, with calibrated intervals.

>>> import entropylaw
>>> fit = entropylaw.fit("demo/grpo_s0.csv")  # doctest: +SKIP
>>> fit.verdict, fit.why, f"{fit.ceiling:.3f}", fit.p_headroom  # doctest: +SKIP

Every public name is imported on first use: ``import entropylaw`` takes almost no time. What results do by
other packages is bound here (:mod:`entropylaw.binding`).
"""

from importlib import import_module

import lazy_loader

from entropylaw.binding import methods

methods.rendering = lambda: import_module("entropylaw.report.binding")
methods.predicting = lambda: import_module("entropylaw.analysis.binding")

# Scientific Python's SPEC 1: the stub beside this file has every public name with its module.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
