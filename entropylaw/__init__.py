"""entropylaw: what the reward of a reinforcement learning run did, what comes next, and the entropy law.

>>> import entropylaw
>>> fit = entropylaw.fit("demo/grpo_s0.csv")  # doctest: +SKIP
>>> fit.state.word, fit.forecast.reward, fit.keep.step, fit.verdict  # doctest: +SKIP

Every public name is imported on first use: ``import entropylaw`` takes almost no time. What results do by
other packages is bound here (:mod:`entropylaw.binding`).
"""

from importlib import import_module

from entropylaw.binding import methods

methods.rendering = lambda: import_module("entropylaw.report.binding")
methods.predicting = lambda: import_module("entropylaw.analysis.binding")


def __getattr__(name: str) -> object:
    """A public name; the first one attaches the stub beside this file, as SPEC 1 of Scientific Python has it.

    Not when the package is imported: to parse the stub takes half as long as Python's own start.
    """
    import lazy_loader

    attached = lazy_loader.attach_stub(__name__, __file__)
    names = dict(zip(("__getattr__", "__dir__", "__all__"), attached, strict=True))
    globals().update(names)
    return names[name] if name in names else attached[0](name)


def __dir__() -> list[str]:
    names: list[str] = import_module("entropylaw").__all__
    return names
