"""The figures of ``docs/lab.md``."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from entropylaw.report.figures.palette import minify
from entropylaw.report.figures.plotting import WIDTH, colour, style
from lab.findings import FloatArray, Made, groups

COLOURS = {
    "grpo": "#0072b2",
    "rloo": "#d55e00",
    "reinforce": "#009e73",
    "kl_penalty": "#7b4b94",
    "entropy_bonus_0.1": "#8a6d3b",
    "sft_instead": "#56606a",
    "clean_start": "#cc79a7",
    "steady": "#e69f00",
}


def pictures(runs: Mapping[str, Made], cooling: Mapping[str, Mapping[str, FloatArray]]) -> dict[str, str]:
    """Every figure as SVG, by file name."""
    drawn = {"lab_law.svg": law_picture(runs, cooling)}
    return drawn | {"lab_phases.svg": phases_picture(runs["grpo_s0"])} if "grpo_s0" in runs else drawn


def law_picture(runs: Mapping[str, Made], cooling: Mapping[str, Mapping[str, FloatArray]]) -> str:
    """Reward against exp(entropy), in which the law is linear: some arms, and cooled starts."""
    with style():
        figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
        axes = figure.add_subplot()
        by_group = groups(runs)
        for name, shade in COLOURS.items():
            for i, run in enumerate(by_group.get(name, [])):
                label = None if i else name
                where = np.exp(run.law.smoothed_entropy), run.law.reward
                axes.plot(*where, color=shade, linewidth=0.9, alpha=0.85, label=label)
        for i, start in enumerate(cooling.values()):
            label = None if i else "a start, only cooled"
            where = np.exp(start["entropy"]), start["val_acc"]
            axes.plot(*where, color=colour("ink"), linewidth=0.8, linestyle="--", label=label)
        axes.set_xlabel("exp(entropy): the law is a straight line here")
        axes.set_ylabel("validation accuracy")
        axes.legend(fontsize=6, frameon=False, labelcolor=colour("ink"))
        return _svg(figure)


def phases_picture(run: Made) -> str:
    """Planning, execution and semantic entropy of a run by step, each divided by its first value."""
    with style():
        figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
        axes = figure.add_subplot()
        columns = {"planning": "#7b4b94", "execution": "#0072b2", "semantic": "#d55e00"}
        for column, shade in columns.items():
            _relative(axes, run, column, shade)
        axes.set_xlabel("step")
        axes.set_ylabel("entropy / its start")
        axes.set_ylim(0, 1.1)
        axes.legend(fontsize=6.5, frameon=False, labelcolor=colour("ink"))
        axes.axhline(0.5, color=colour("muted"), linewidth=0.5, linestyle=":")
        return _svg(figure)


def _relative(axes: Axes, run: Made, column: str, shade: str) -> None:
    values = run.columns[f"entropy_{column}"]
    axes.plot(run.columns["step"], values / values[0], color=shade, linewidth=0.8, label=column)


def _svg(figure: Figure) -> str:
    text = StringIO()
    with mpl.rc_context({"svg.hashsalt": "lab"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return minify(text.getvalue())
