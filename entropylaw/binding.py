"""What results can do by other packages: they are drawn by ``report``, and predict by ``analysis``.

Results import neither. They call what :data:`methods` has, and the package's root binds both there, so that
every result has its methods, however its module was imported. A package that is bound is imported when its
first method is called.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType


class Methods:
    """Functions that import the modules with the methods.

    Attributes
    ----------
    rendering
        ``report/binding.py``: what draws and prints a result, and the sentence of a finding.
    predicting
        ``analysis/binding.py``: what a fit and its law compute from their table.
    """

    rendering: Callable[[], ModuleType]
    predicting: Callable[[], ModuleType]


methods = Methods()
"""What is bound; filled by the package's root."""
