"""The figure of ``docs/evidence.md``: how well the law describes runs that others made."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.evidence.logs import Fitted
from entropylaw.report.figures.palette import minify
from entropylaw.report.figures.plotting import WIDTH, colour, style

MARKS = {"holds": ("#009e73", "D"), "undecided": ("#8a9199", "o"), "fails": ("#d55e00", "X")}


def law_picture(public: Sequence[Fitted]) -> str:
    """R² of the law for every reward, a row per repository, by verdict."""
    places = sorted({reward.repository for reward in public}, key=lambda place: median_of(public, place))
    with style(), mpl.rc_context({"svg.hashsalt": "evidence"}):
        figure = Figure(figsize=(1.5 * WIDTH, 0.9 + 0.24 * len(places)), layout="constrained")
        axes = figure.add_subplot()
        for verdict, (shade, mark) in MARKS.items():
            members = [reward for reward in public if reward.law.verdict.value == verdict]
            axes.scatter(
                [reward.law.r_squared for reward in members],
                [places.index(reward.repository) for reward in members],
                c=shade,
                marker=mark,
                s=22,
                alpha=0.75,
                linewidths=0,
                label=f"{verdict}: {len(members)}",
                zorder=3 if verdict == "holds" else 2,
            )
        axes.set_yticks(range(len(places)), places, fontsize=7)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("R² of R = −a·exp(H) + b")
        axes.grid(axis="y", visible=False)
        figure.legend(loc="outside upper right", ncols=3, frameon=False, fontsize=7, labelcolor=colour("ink"))
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return minify(text.getvalue())


def median_of(public: Sequence[Fitted], place: str) -> float:
    """The median R² of a repository's rewards."""
    return float(np.median([reward.law.r_squared for reward in public if reward.repository == place]))
