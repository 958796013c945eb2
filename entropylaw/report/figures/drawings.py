"""What draws each figure. It imports matplotlib: what draws none does without this module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from matplotlib import axes, figure

from entropylaw.report.blocks import Block, Figure
from entropylaw.report.figures import arms, forecast, law, phases, rewards, samples
from entropylaw.report.figures.plotting import Kind, figure_bytes, style

DRAWINGS: Mapping[str, Callable[[Any], figure.Figure]] = {
    "law": law.law_figure,
    "rewards": rewards.rewards_figure,
    "forecast": forecast.forecast_figure,
    "phases": phases.phase_figure,
    "turns": phases.across_figure,
    "arms_by_step": arms.by_step_figure,
    "arms": arms.arms_figure,
    "pass_pair": samples.pair_figure,
    "pass_at_k": samples.pass_figure,
    "distinct_right": samples.distinct_figure,
}
"""Name of a figure → what draws it from its part, or raises ValueError with the reason why it cannot."""

ONTO: Mapping[str, Callable[[axes.Axes, Any], None]] = {
    "law": law.draw_on,
    "forecast": forecast.draw_on,
    "phases": phases.draw_on,
    "arms": arms.draw_on,
}
"""The same on given axes, for figures with one pair of them; of several figures of a result the first one."""


def files(name: str, part: Any, kinds: Iterable[Kind], stem: str = "") -> dict[Kind, bytes]:
    """A figure as the content of files; the ids in an SVG follow from its ``stem``, by default its name.

    Raises ValueError: there is nothing to draw.
    """
    made = DRAWINGS[name](part)
    return {kind: figure_bytes(made, kind, stem or name) for kind in kinds}


def drawn(blocks: Iterable[Block], name: str = "") -> dict[str, str]:
    """The figures of a description that have something to draw, as SVG by name."""
    svgs = {}
    with style():
        for block in blocks:
            if isinstance(block, Figure):
                with suppress(ValueError):
                    svgs[block.name] = files(block.name, block.part, ["svg"], name)["svg"].decode()
    return svgs
