"""What draws each figure, and writes it. It imports matplotlib: what draws none does without this module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from matplotlib import axes, figure

from entropylaw.files import write_atomically
from entropylaw.report.blocks import Block, Figure
from entropylaw.report.figures import (
    FIGURES,
    Need,
    arms,
    ceilings,
    forecast,
    law,
    phases,
    rewards,
    samples,
)
from entropylaw.report.figures.plotting import Kind, figure_bytes, style

DRAWINGS: Mapping[str, Callable[[Any], figure.Figure]] = {
    "law": law.law_figure,
    "curves": rewards.curves_figure,
    "rewards": rewards.rewards_figure,
    "forecast": forecast.forecast_figure,
    "phases": phases.phase_figure,
    "turns": phases.across_figure,
    "ceilings": ceilings.ceilings_figure,
    "arms": arms.arms_figure,
    "pass_pair": samples.pair_figure,
    "flow": samples.flow_figure,
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
"""The same on given axes, for figures with one pair of them."""


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


def write(parts: Mapping[Need, Any], target: str, picture: str = "", stem: str = "") -> Iterator[str]:
    """Write the figures of some parts into a folder, or the first as one ``picture`` of that kind.

    The files in a folder are called ``STEM-NAME.svg`` and ``STEM-NAME.png``. Yields the paths. Raises
    ValueError: the picture has nothing to draw.
    """
    kinds: tuple[Any, ...] = (picture,) if picture else ("svg", "png")
    entries = [entry for entry in FIGURES if entry.needs in parts]
    for entry in entries[:1] if picture else entries:
        name = f"{stem}-{entry.name}" if stem else entry.name
        try:
            with style():
                contents = files(entry.name, parts[entry.needs], kinds, name)
        except ValueError:
            if picture:
                raise
            continue
        for kind, content in contents.items():
            path = target if picture else str(Path(target) / f"{name}.{kind}")
            write_atomically(path, content)
            yield path
