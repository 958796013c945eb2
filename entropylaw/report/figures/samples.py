"""pass@k over k, and right answers at equal pass@1."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.samples import PairedSamples, SamplesDocument
from entropylaw.report.figures import plotting as p


def passes(document: SamplesDocument, row: int) -> list[tuple[int, float, float, float]]:
    """k, pass@k and its interval of a step."""
    curve = []
    for name in document.rows[row]:
        estimate = document.estimate(row, name) if re.fullmatch(r"pass@\d+", name) else None
        if estimate is not None:
            curve.append((int(name[5:]), float(estimate), *p.ends(estimate, float(estimate))))
    return sorted(curve)


def pass_figure(document: SamplesDocument) -> Figure:
    """pass@k of the first step and the last, with intervals over problems.

    Raises ValueError: there is only one number of samples.
    """
    rows = dict.fromkeys((0, len(document.rows) - 1))
    curves = [passes(document, row) for row in rows]
    if max(map(len, curves)) < 2:
        raise ValueError("a problem has one sample")
    steps = [document.rows[row]["step"] for row in rows]
    names = ["all" if step is None else f"step {step:g}" for step in steps]
    colours = ("grey", "blue")[-len(rows) :]
    keys = [(colour, name, {"linewidth": 1.4}) for colour, name in zip(colours, names, strict=True)]
    with p.panels([1.5], keys=keys) as (figure, (axes,)):
        for curve, colour in zip(curves, colours, strict=True):
            k, value, low, high = np.array(curve).T
            _curve(axes, k, value, low, high, p.colour(colour))
        axes.set_ylabel("pass@k")
        _over_k(axes)
    return figure


def pair_figure(pair: PairedSamples) -> Figure:
    """pass@k of two tables, and below their difference with the band over all k."""
    k = np.array([row.k for row in pair.at_k], dtype=float)
    keys = [("grey", pair.base, {"linewidth": 1.4}), ("blue", pair.now, {"linewidth": 1.4})]
    with p.panels([1.1, 0.9], keys=keys) as (figure, (above, below)):
        for side, colour in (("base", "grey"), ("now", "blue")):
            heights = [getattr(row, side) for row in pair.at_k]
            above.plot(k, heights, "o-", color=p.colour(colour), linewidth=1.4, markersize=2.5)
        above.set_ylabel("pass@k")
        ends = [(row.difference.value, row.band_low, row.band_high) for row in pair.at_k]
        values, low, high = np.array(ends, dtype=float).T
        below.axhline(0.0, color=p.colour("muted"), linewidth=0.7)
        _curve(below, k, values, low, high, p.colour("ink"))
        below.set_ylabel("difference")
        _over_k(below)
    return figure


def distinct_figure(document: SamplesDocument) -> Figure:
    """Distinct right answers against pass@1, a point per step; lines follow the steps of a group.

    Raises ValueError: there are fewer than two steps, or no answers.
    """
    groups: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for row in document.rows:
        if row.get("distinct_right") is not None and row.get("pass@1") is not None:
            point = (float(row["pass@1"]), float(row["distinct_right"]))  # type: ignore[arg-type]
            groups.setdefault(tuple(row[name] for name in document.groups), []).append(point)
    if max(map(len, groups.values()), default=0) < 2:
        raise ValueError("there are fewer than two steps with answers")
    first_groups = list(groups.items())[:4]
    colours = ("ink", "blue", "vermilion", "green")
    named = [
        (colour, " ".join(map(str, key)), {"linewidth": 1.4})
        for colour, (key, _) in zip(colours, first_groups, strict=False)
    ]
    with p.panels([1.5], keys=named if len(first_groups) > 1 else ()) as (figure, (axes,)):
        for colour, (_, points) in zip(colours, first_groups, strict=False):
            x, y = np.array(points).T
            axes.plot(x, y, "o-", color=p.colour(colour), linewidth=1.0, markersize=3)
            axes.plot(x[-1:], y[-1:], "s", color=p.colour(colour), markersize=4.5)
        axes.set_xlabel("pass@1", labelpad=2)
        axes.set_ylabel(f"distinct right answers in {document.rarefied}")
    return figure


def _curve(axes: Axes, x: Any, y: Any, low: Any, high: Any, colour: str) -> None:
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, y, "o-", color=colour, linewidth=1.4, markersize=2.5)


def _over_k(axes: Axes) -> None:
    """An axis of numbers of samples, logarithmic to base 2."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("samples k", labelpad=2)
