"""How results are annotated that are read and written without numpy."""

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
    BoolArray = NDArray[np.bool_]
    Unbounded = float
    OneOrMany = Any
else:
    IntArray = BoolArray = Any  # in no document
    OneOrMany = float  # a number for each problem of a batch, but then never in a document

    class _Opaque(type):
        """Of types that say how a document's value is read, and not what it then is."""

        def __instancecheck__(cls, value: Any) -> bool:
            return True

    class FloatArray(metaclass=_Opaque):
        """Numbers; in a document lists, and lists of lists, of them."""

    class Unbounded(metaclass=_Opaque):
        """A number that may be infinite; ``null`` in a document is infinity."""


def lengths_flaw(first: Sized, *others: Sized) -> str:
    """What lists that belong together should be and are not; empty where they are."""
    fits = len(first) > 0 and all(len(other) == len(first) for other in others)
    return "" if fits else "lists of one length"
