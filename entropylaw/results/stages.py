"""What an analysis of stages takes of a run: its stages in order, and curves that were measured in them."""

import math

from msgspec import Struct

from entropylaw.arrays import FloatArray


class StageCurve(Struct, frozen=True, kw_only=True, eq=False):
    """A number of the policy at some steps: ``step`` and ``value`` of shape (n,), finite.

    ``quantity`` is ``reward``, ``entropy``, ``planning``, ``execution`` or ``semantic``; ``domain`` is that
    of a reward, empty for all. ``evaluated`` says that it is of fixed problems, and not of those that a stage
    trains on. ``max_reward`` is the largest reward that is possible, infinite where it is not known.
    """

    quantity: str
    column: str
    unit: str
    step: FloatArray
    value: FloatArray
    domain: str = ""
    evaluated: bool = False
    max_reward: float = math.inf


class StageRows(Struct, frozen=True, kw_only=True, eq=False):
    """The stages of a run.

    Attributes
    ----------
    run, stages
        Its name, and the names of its stages in order.
    trained
        The domains that each stage trains on; empty where unknown.
    first, last
        First and last step of each stage.
    before_update
        Whether an evaluation is of the policy before the update of its row; else it is of that after it.
    curves
        What was measured.
    """

    run: str
    stages: tuple[str, ...]
    trained: tuple[tuple[str, ...], ...]
    first: tuple[float, ...]
    last: tuple[float, ...]
    before_update: bool
    curves: tuple[StageCurve, ...]

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains with a reward of their own."""
        return tuple(dict.fromkeys(curve.domain for curve in self.curves if curve.domain))

    def curve(self, quantity: str, domain: str = "") -> StageCurve | None:
        """A curve; None where the run has none."""
        matching = (curve for curve in self.curves if (curve.quantity, curve.domain) == (quantity, domain))
        return next(matching, None)
