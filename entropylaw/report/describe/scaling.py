"""Arms by size and by stage: slopes and sizes, changes per stage, and rewards on domains after stages."""

from __future__ import annotations

from collections.abc import Iterable

from entropylaw.report import blocks as b
from entropylaw.report.figures import figures_of
from entropylaw.report.numbers import MISSING, format_interval
from entropylaw.results import Estimate
from entropylaw.results.arms import QUANTITIES, ArmComparison, Scaling, Transfer

OTHER = {"entropy_first": "first entropy"}
"""Quantities that move with size, or change over a stage, and are no key of :data:`QUANTITIES`."""


def scalings(result: ArmComparison) -> list[b.Block]:
    """The change per tenfold size, and every size with what is predicted and published."""
    if not result.scaling:
        return []
    keys = ", ".join(dict.fromkeys(one.key for one in result.scaling))
    slopes = [
        (label(one.quantity, one.unit), one.slope, _p(one.p_value), one.between, direction(one.slope))
        for one in result.scaling
    ]
    heads = [
        b.Column("quantity", "quantity"),
        b.Column("slope", f"change per tenfold {keys}"),
        b.Column("p_value", "p"),
        b.Column("between", "sd between sizes"),
        b.Column("direction", "direction"),
    ]
    sizes = [row for one in result.scaling for row in _sizes(one)]
    return [
        b.Heading(f"By {keys}", name="sizes"),
        *figures_of("sizes", result),
        b.Table(heads, slopes),
        b.Table(
            [
                b.Column("quantity", "quantity"),
                b.Column("what", "what"),
                b.Column("arm", "arm"),
                b.Column("size", keys),
                b.Column("seeds", "seeds"),
                b.Column("value", "value"),
            ],
            sizes,
            words=4,
        ),
        *_methods([one.slope for one in result.scaling]),
    ]


def _methods(estimates: Iterable[Estimate]) -> list[b.Block]:
    """How the intervals were made."""
    return [b.Notes([b.Note("method", "; ".join(dict.fromkeys(one.method for one in estimates)))])]


def _p(p: float | None) -> str:
    return MISSING if p is None else f"{p:.2g}"


def _sizes(one: Scaling) -> list[tuple[b.Cell, ...]]:
    kinds = (("measured", one.points), ("predicted", one.predicted), ("published", one.reference))
    return [
        (label(one.quantity, one.unit), what, point.arm, f"{point.size:g}", point.seeds or None, point.value)
        for what, points in kinds
        for point in points
    ]


def stages(result: ArmComparison) -> list[b.Block]:
    """A row per arm, stage and quantity: its change over the stage."""
    if not result.stages:
        return []
    heads = [
        b.Column("arm", "arm"),
        b.Column("place", "place"),
        b.Column("stage", "stage"),
        b.Column("quantity", "quantity"),
        b.Column("domain", "domain"),
        b.Column("change", "change"),
        b.Column("direction", "direction"),
        b.Column("seeds", "seeds"),
    ]
    rows = [
        (
            *(one.arm, one.place, one.stage, label(one.quantity, one.unit), one.domain),
            *(one.change, direction(one.change), one.seeds),
        )
        for one in result.stages
    ]
    methods = _methods([one.change for one in result.stages])
    return [b.Heading("By stage", name="stages"), b.Table(heads, rows), *methods]


def transfers(result: ArmComparison) -> list[b.Block]:
    """Per arm the backward transfer, and the reward on every domain after every stage."""
    blocks: list[b.Block] = [b.Heading("Transfer between domains", name="transfer")] * bool(result.transfers)
    for one in result.transfers:
        blocks += [b.Notes([b.Note("transfer", _backward(one))]), _matrix(one)]
    return blocks


def _backward(one: Transfer) -> str:
    seeds = f"{one.seeds} seed" + "s" * (one.seeds != 1)
    return (
        f"{one.arm} ({seeds}): backward transfer {format_interval(one.backward)}, "
        f"{direction(one.backward)} ({one.backward.method})"
    )


def _matrix(one: Transfer) -> b.Table:
    heads = [b.Column("stage", "reward after stage"), *(b.Column(name, name) for name in one.domains)]
    return b.Table(heads, [(stage, *row) for stage, row in zip(one.stages, one.reward, strict=True)])


def label(quantity: str, unit: str) -> str:
    """A quantity in words, with a unit other than that of the reward."""
    words = OTHER.get(quantity) or QUANTITIES.get(quantity, (quantity,))[0]
    return words if unit in ("reward", "") or quantity == unit else f"{words}, {unit}"


def direction(change: Estimate) -> str:
    """``rises``, ``falls``, or ``not decided`` where the interval contains 0 or is unknown."""
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "not decided"
    return "rises" if change.low > 0 else "falls"
