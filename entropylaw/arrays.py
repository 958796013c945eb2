"""How results are annotated that are read and written without numpy, and how they get their arrays."""

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, Any, TypeVar, get_args

T = TypeVar("T")

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]
    BoolArray = NDArray[np.bool_]
    Unbounded = float
    OneOrMany = Any
else:
    FloatArray = list[float]  # as a document holds it; see on_access
    IntArray = BoolArray = Any  # in no document
    OneOrMany = float  # a number for each problem of a batch, but then never in a document

    class _Opaque(type):
        """Of a type that says how a document's value is read, and not what it then is."""

        def __instancecheck__(cls, value: Any) -> bool:
            return True

    class Unbounded(metaclass=_Opaque):
        """A number that may be infinite; ``null`` in a document is infinity."""


class _OnAccess:
    """A field of arrays, which are lists, as a document holds them, until the field is first read."""

    def __init__(self, field: Any) -> None:
        self.field = field

    def __get__(self, result: Any, kind: type[Any] | None = None) -> Any:
        if result is None:
            return self
        value = self.field.__get__(result)
        if isinstance(value, list):
            value = _array_of(value)
        elif isinstance(value, tuple):
            value = tuple(map(_array_of, value))
        else:
            return value
        self.field.__set__(result, value)
        return value


def _array_of(numbers: Sequence[float]) -> "FloatArray":
    """A list of numbers as an array; an array as it is."""
    import numpy as np

    return np.asarray(numbers, dtype=float)


def _has_arrays(annotation: Any) -> bool:
    """Whether values of a type are arrays, or hold some."""
    return annotation == FloatArray or any(map(_has_arrays, get_args(annotation)))


def on_access(kind: type[T]) -> type[T]:
    """Of a class of results: arrays, which a document holds as lists, are made when a field is first read.

    So what reads none of them, such as a gate, needs no numpy.
    """
    for name, annotation in kind.__annotations__.items():
        if _has_arrays(annotation):
            setattr(kind, name, _OnAccess(vars(kind)[name]))
    return kind


def held(result: Any, name: str) -> Any:
    """A field of a result; its arrays are lists, as a document holds them, if it was not read before."""
    field = getattr(type(result), name, None)
    return field.field.__get__(result) if isinstance(field, _OnAccess) else getattr(result, name)


def lengths_flaw(first: Sized, *others: Sized) -> str:
    """What lists that belong together should be and are not; empty where they are."""
    fits = len(first) > 0 and all(len(other) == len(first) for other in others)
    return "" if fits else "lists of one length"
