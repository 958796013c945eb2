"""Several rewards of a run over the steps, as small panels below one another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.documents.document import Entry
from entropylaw.report.figures import plotting as p
from entropylaw.report.figures.forecast import draw_entropy, draw_reward, steps_of
from entropylaw.results.fit import Fit


def rewards_figure(entries: Sequence[Entry[Fit]]) -> Figure:
    """The rewards over the steps with their forecasts, and every entropy that they have."""
    pairs = _fitted(entries)
    entropies = {entry.columns["entropy"].column: fit for entry, fit in pairs if fit.law is not None}
    with _panels(len(pairs) + len(entropies)) as (figure, panels):
        panels[-1].set_xlim(*_union([steps_of(fit) for _, fit in pairs]))
        panels[-1].set_xlabel(pairs[0][1].axis, labelpad=2)
        for axes, (entry, fit) in zip(panels, pairs, strict=False):
            draw_reward(axes, fit, named=False)
            _title(axes, entry.reward)
        for axes, (column, fit) in zip(panels[len(pairs) :], entropies.items(), strict=True):
            draw_entropy(axes, fit, fit.lawful())
            _title(axes, f"{column} (nats)")
    return figure


def _union(limits: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The limits of an axis that holds those of all panels."""
    return min(low for low, _ in limits), max(high for _, high in limits)


def _fitted(entries: Sequence[Entry[Fit]]) -> list[tuple[Entry[Fit], Fit]]:
    pairs = [(entry, entry.result) for entry in entries if entry.result is not None]
    if not pairs:
        raise ValueError("no reward has a fit")
    return pairs


def _panels(number: int) -> AbstractContextManager[tuple[Figure, list[Axes]]]:
    """A figure of so many small panels."""
    return p.panels([0.62] * number, head=0.12, right=0.1, gap=0.2)


def _title(axes: Axes, text: str) -> None:
    """The name of a panel above its left corner."""
    axes.text(
        0.0,
        1.03,
        p.shown(text),
        color=p.colour("ink"),
        transform=axes.transAxes,
        va="bottom",
        weight="bold",
    )
