"""The entropies of tokens over training: a heat map of their histogram, and two shares below it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from entropylaw.report import plotting as p
from entropylaw.report.palette import PALETTE
from entropylaw.results.tokens import FORK, LOW, TokenHistogram

HEAT = LinearSegmentedColormap.from_list("tokens", ["#ffffff", "#c7b3d6", PALETTE["purple"].light, "#24102f"])
"""White to nearly black through the colour of entropy: read by lightness alone."""


def token_figure(tokens: TokenHistogram) -> Figure:
    """A column per step, a row per band of entropy; below, shares of the fork and of tokens below 0.01 nats.

    The axis of entropies is that of their fourth root, in which the bands are equally high, so that a
    colour is the same density everywhere. Dashed are the two thresholds of arXiv:2506.01939.
    """
    step, most = tokens.step, float(tokens.share.max())
    highest = int(np.flatnonzero(tokens.share.max(axis=0))[-1]) + 1
    top = float(tokens.edges[highest])
    # Steps are as wide as they are apart; the first and the last end where they are.
    sides = np.concatenate([step[:1], 0.5 * (step[1:] + step[:-1]), step[-1:]])
    if step.size == 1:
        sides = np.array([step[0] - 0.5, step[0] + 0.5])
    # 0 and as many as have room for their labels, from above.
    ticks: list[float] = []
    for tick in (8.0, 4.0, 2.0, 1.0, 0.5, 0.1, 0.01, 0.001, 0.0001):
        low, above = tick**0.25, ticks[-1] ** 0.25 if ticks else top**0.25 * 1.1
        if tick < top and min(low, above - low) > 0.07 * top**0.25:
            ticks.append(tick)
    with p.panels([1.82, 0.78], head=0.44, right=0.1, gap=0.4) as (figure, (heat, shares)):
        look: dict[str, Any] = {"cmap": HEAT, "norm": PowerNorm(0.5, 0.0, most), "rasterized": True}
        bands = tokens.edges[: highest + 1] ** 0.25
        drawn = heat.pcolormesh(sides, bands, tokens.share[:, :highest].T, linewidth=0, **look)
        for edge in (LOW, FORK):
            if edge < top:
                heat.axhline(edge**0.25, color=p.colour("ink"), linewidth=0.6, linestyle=(0, (3, 2)))
        heat.set_yticks([0.0, *(tick**0.25 for tick in ticks)], ["0", *(f"{tick:g}" for tick in ticks)])
        heat.grid(visible=False)
        heat.set_xlim(*p.padded(sides[0], sides[-1], 0.025, 0.025))
        heat.set_ylim(0.0, top**0.25)
        heat.set_ylabel("entropy of a token (nats)")
        # What the colours and the dashes mean.
        p.write(figure, 0.06, 0.06, "share of a step's tokens in a band")
        p.write(figure, 0.06, 0.34, f"dashed: {LOW:g} and {FORK:g} nats, the thresholds of arXiv:2506.01939")
        width, height = figure.get_size_inches()
        box = figure.add_axes((1.95 / width, 1 - 0.17 / height, 1.2 / width, 0.09 / height))
        bar: Any = figure.colorbar(drawn, cax=box, orientation="horizontal")
        bar.set_ticks([0.0, most / 4, most], labels=["0", f"{25 * most:.2g} %", f"{100 * most:.2g} %"])
        bar.outline.set_linewidth(0.5)
        box.tick_params(size=2, pad=1.5)
        # Two shares, each named in its colour above the panel.
        look = {"linewidth": 1.1, "marker": "o" if step.size <= 60 else "", "markersize": 2.5}
        for y, values, name, text in (
            (1.33, tokens.top20, "vermilion", "of all entropy, in the fifth of tokens with most of it"),
            (1.17, tokens.low, "blue", "of tokens, below 0.01 nats"),
        ):
            shares.plot(step, 100 * values, color=p.colour(name), **look)
            words = p.colour(name, words=True)
            shares.text(0.02, y, text, transform=shares.transAxes, va="center", color=words)
        shares.set_ylim(0, 103)
        shares.set_yticks([0, 25, 50, 75, 100])
        shares.set_ylabel("share (%)")
    return figure
