"""JSON as a transcript keeps it: its shape, a dozen headline numbers, and sums that change with any value."""

import hashlib
import json
import math
import textwrap
from collections.abc import Iterator
from typing import Any

SHORT = 30
"""Lines of JSON up to which it is kept as it is: errors, and what a reader takes in at a glance."""

WIDEST = 180
"""Characters of a line up to which an object's shape stands in one."""

HEADLINES = 12

HEADS = (
    *("word", "now", "p_gain", "n", "verdict", "code", "exit_code", "outcome", "ceiling"),
    *("r_squared", "effective_n", "probability", "odds", "step", "difference", "coverage", "turning_step"),
    *("value", "reward", "entropy"),
)
"""Keys of headline values: of a number, a text, or an interval with a ``value``."""


def kept_json(text: str) -> str | None:
    """What a transcript keeps of a text; None where that is no JSON, or short."""
    if text.count("\n") <= SHORT or text[:1] not in "[{":
        return None
    try:
        body = json.loads(text)
    except ValueError:
        return None
    heads = sorted(_headlines(body, ""), key=lambda head: (_depth(head[1]), HEADS.index(head[0])))
    floats: list[float] = []
    # Null stands for each decimal number.
    rest = json.loads(text, parse_float=lambda number: floats.append(float(number)))
    lines = [
        "JSON of this shape:",
        *_lines(_shape([body]), ""),
        *(f"{path} = {json.dumps(value, ensure_ascii=False)}" for _, path, value in heads[:HEADLINES]),
        f"{len(floats)} decimal numbers: {_sum(floats):.12f}",
        f"all else: SHA-256 {hashlib.sha256(json.dumps(rest).encode()).hexdigest()[:16]}",
    ]
    return "\n".join(lines) + "\n"


def _shape(values: list[Any]) -> Any:
    """The shape that values at one place have in common: of dicts, of lists, or the names of their types."""
    objects = [value for value in values if isinstance(value, dict)]
    lists = [value for value in values if isinstance(value, list)]
    names = sorted({_TYPES[type(value)] for value in values if type(value) in _TYPES})
    shapes: list[Any] = ["|".join(names)] if names else []
    if objects:
        keys = dict.fromkeys(key for value in objects for key in value)
        shapes.append(
            {
                key if all(key in value for value in objects) else f"{key}?": _shape(
                    [value[key] for value in objects if key in value]
                )
                for key in keys
            }
        )
    if lists:
        lengths = sorted({len(value) for value in lists})
        counts = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]}–{lengths[-1]}"
        items = [item for value in lists for item in value]
        shapes.append((counts, _shape(items) if items else "nothing"))
    return shapes[0] if len(shapes) == 1 else shapes


ESTIMATE = dict.fromkeys(("high", "level", "low", "std_error", "value"), "number")
ESTIMATE |= {"method": "text", "note": "null"}
"""The usual shape of an estimate: of another one, what differs is shown."""

_TYPES = {str: "text", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _lines(shape: Any, start: str) -> list[str]:
    """A shape in lines: an object in one line where that is not too wide."""
    line = start + _line(shape)
    indent = " " * (len(start) - len(start.lstrip(" ")) + 1)
    if len(line) <= WIDEST or isinstance(shape, str):
        return [line]
    if isinstance(shape, tuple):
        return _lines(shape[1], f"{start}{shape[0]} × ")
    if isinstance(shape, list):
        return [
            *_lines(shape[0], start),
            *(line for kind in shape[1:] for line in _lines(kind, f"{indent}or ")),
        ]
    lines = [] if start.strip() == "" else [start.rstrip()]
    for name, keys in _plain(shape).items():
        text = f"{indent}{name}: {keys}"
        lines += textwrap.wrap(text, WIDEST, subsequent_indent=f"{indent}  ")
    for key, inner in shape.items():
        if not _is_plain(inner):
            lines += _lines(inner, f"{indent}{key}: ")
    return lines


def _line(shape: Any) -> str:
    if isinstance(shape, str):
        return shape
    if isinstance(shape, tuple):
        return f"{shape[0]} × {_line(shape[1])}"
    if isinstance(shape, list):
        return " or ".join(map(_line, shape))
    if shape.keys() == ESTIMATE.keys():
        other = {key: kind for key, kind in shape.items() if kind != ESTIMATE[key]}
        return f"estimate{_line(other) if other else ''}"
    plain = [f"{name}: {keys}" for name, keys in _plain(shape).items()]
    inner = [f"{key}: {_line(kind)}" for key, kind in shape.items() if not _is_plain(kind)]
    return f"{{{'; '.join(plain + inner)}}}"


def _is_plain(shape: Any) -> bool:
    """Whether it is a value, a list of values, or an estimate."""
    if isinstance(shape, tuple):
        return _is_plain(shape[1])
    return isinstance(shape, str) or (isinstance(shape, dict) and shape.keys() == ESTIMATE.keys())


def _plain(shape: dict[str, Any]) -> dict[str, str]:
    """The keys of plain values by their type, which is shorter than the type of each."""
    keys: dict[str, list[str]] = {}
    for key, kind in shape.items():
        if _is_plain(kind):
            keys.setdefault(_line(kind), []).append(key)
    return {kind: ", ".join(names) for kind, names in keys.items()}


def _depth(path: str) -> int:
    return path.removesuffix(".value").count(".") + path.count("[")


def _headlines(value: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """Key, path and value of each headline."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        place = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}".lstrip(".")
        if isinstance(inner, dict) and key in HEADS and "value" in inner:
            yield key, f"{place}.value", inner["value"]
        elif isinstance(inner, dict | list):
            yield from _headlines(inner, place)
        elif key in HEADS and inner is not None:
            yield key, place, inner


def _sum(values: list[float]) -> float:
    """A mean that a change in the sixth digit of any number changes in its ninth, and no change beyond does.

    A hash of rounded numbers would change where a number lies at the border between two, with the version of
    NumPy; this does not. The weight of each number differs with its place, so that none can change places.
    """
    weighted = (math.asinh(1e6 * value) * (1 + place % 97 / 97) for place, value in enumerate(values))
    return math.fsum(weighted) / max(1, len(values))
