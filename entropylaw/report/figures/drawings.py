"""What draws each figure, and writes it. It imports matplotlib: what draws none does without this module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

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


class Drawing(NamedTuple):
    """How a figure is drawn from its part.

    ``draw`` raises ValueError with the reason where the part is not enough. ``onto`` draws it on given axes;
    None where it takes more than one pair of them.
    """

    draw: Callable[[Any], figure.Figure]
    onto: Callable[[axes.Axes, Any], None] | None = None


DRAWINGS = {
    "law": Drawing(law.law_figure, law.draw_on),
    "series": Drawing(law.series_figure),
    "curves": Drawing(rewards.curves_figure),
    "rewards": Drawing(rewards.rewards_figure),
    "forecast": Drawing(forecast.forecast_figure, forecast.draw_on),
    "phases": Drawing(phases.phase_figure, phases.draw_on),
    "tokens": Drawing(phases.token_figure),
    "turns": Drawing(phases.across_figure),
    "ceilings": Drawing(ceilings.ceilings_figure),
    "arms": Drawing(arms.arms_figure, arms.draw_on),
    "pass_pair": Drawing(samples.pair_figure),
    "flow": Drawing(samples.flow_figure),
    "pass_at_k": Drawing(samples.pass_figure),
    "distinct_right": Drawing(samples.distinct_figure),
}
"""Name of a figure → how it is drawn."""


def files(name: str, part: Any, kinds: Iterable[Kind], stem: str = "") -> dict[Kind, bytes]:
    """A figure as the content of files; the ids in an SVG follow from its ``stem``, by default its name.

    Raises ValueError: there is nothing to draw.
    """
    made = DRAWINGS[name].draw(part)
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
