"""What results can do by other packages: they are drawn by ``report``, and predict by ``analysis``.

Results import neither. They call what :data:`methods` has, and the package's root binds both there, so that
every result has its methods, however its module was imported. A package that is bound is imported when its
first method is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Rendering(Protocol):
    """The functions of a result that draw and print it, and the sentence of a finding."""

    def plot(self, result: Any, ax: Any, /) -> Any:
        """Draw it on axes, or on new ones of pyplot; returns them."""

    def frame(self, result: Any, /) -> Any:
        """Its table as a frame of pandas."""

    def html(self, result: Any, /) -> str:
        """Its description in a notebook."""

    def rendered(self, result: Any, medium: str, /) -> str:
        """Its description in one of the media of texts."""

    def encode(self, result: Any, /) -> Any:
        """Its values as in JSON."""

    def sentence(self, finding: Any, /) -> str:
        """The sentence of a finding."""


class Predicting(Protocol):
    """The functions of a fit and of its law that compute more from their table."""

    def curve(self, fit: Any, /) -> Any:
        """The averaged curve of a fit with its bands."""

    def predict(self, fit: Any, entropy: Any, level: float | None, /) -> Any:
        """Reward at an entropy, or at each of several, averaged over the forms or by the law."""

    def entropy_for(self, fit: Any, reward: float, level: float | None, /) -> Any:
        """The entropies at which its reward is compatible with a target."""

    def reads_of(self, law: Any, /) -> Any:
        """The table of candidates of a law's run, with the questions to it."""


class Methods:
    """The modules that have these functions, each from the function that imports it."""

    rendering: Callable[[], Rendering]
    predicting: Callable[[], Predicting]


methods = Methods()
"""What is bound; filled by the package's root."""
