"""Figures of one run at a paper's column width: the law, the series, the residuals.

Matplotlib's object interface only: nothing here touches pyplot or leaves a setting behind. Text becomes
paths in SVG, so that a figure looks the same on a machine without our font. What is drawn is what the
document holds; the arithmetic here is layout.
"""

from __future__ import annotations

import io
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from PIL import Image

from entropylaw.analysis.residual_models import residual_model
from entropylaw.documents.fit import RunFit
from entropylaw.report import law_figure as law_drawing
from entropylaw.report import plotting as p
from entropylaw.report.numbers import format_number, format_step
from entropylaw.report.svg import minify
from entropylaw.report.words import drop_words, headline
from entropylaw.results.law import LawFit

_MixedModeRenderer: Any = MixedModeRenderer
_RendererSVG: Any = RendererSVG

Kind = Literal["svg", "png", "pdf"]

_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
MOST_JOINED = 500
"""Points of a longer run are not joined: the line would hide them."""

_LINE = 0.135
_DPI = {"svg": 180, "png": 300, "pdf": 300}
_LEFT, _RIGHT = 0.56, 0.36


def law_figure(run: RunFit) -> Figure:
    """Reward against entropy with the law, both bands, the rivals, the ceiling and where the run stands."""
    with p.style():
        return law_drawing.draw(_law(run), reward_label(run))


def series_figure(run: RunFit) -> Figure:
    """Entropy and reward over the steps, the law's reward, the leading evaluation and what was dropped."""
    law = _law(run)
    with p.style():
        notes = p.wrapped(f"dropped: {drop_words(run)}", 62, 2)
        title = _title(law)
        bottom, top = 0.4 + _LINE * len(notes), 0.08 + _LINE * len(title)
        figure = p.new_figure(2.42 + bottom + top)
        upper = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=bottom + 1.26, top=top)
        lower = p.add_axes(figure, left=_LEFT, right=_RIGHT, bottom=bottom, top=top + 1.26)
        _write_title(figure, title)
        _trace(upper, law, law.entropy, p.ENTROPY)
        _trace(lower, law, law.reward, p.REWARD)
        if law.entropy_noise is not None:
            upper.plot(law.step, law.course, color=p.INK, linewidth=0.9, alpha=0.85, zorder=5)
            _at_right(upper, float(law.course[-1]), "course", p.INK)
        dashed: Any = "-" if law.validity.ok else (0, (4, 2))
        lower.plot(law.step, law.fitted, color=p.INK, linewidth=0.9, linestyle=dashed, alpha=0.85, zorder=5)
        upper.set_ylim(*p.padded(min(0.0, float(law.entropy.min())), float(law.entropy.max()), 0.0, 0.08))
        lower.set_ylim(*p.padded(float(law.reward.min()), float(law.reward.max()), 0.1, 0.1))
        _at_right(lower, float(law.fitted[-1]), "law", p.INK)
        _leading(upper, lower, law)
        upper.tick_params(labelbottom=False)
        upper.set_ylabel("entropy (nats)")
        lower.set_ylabel(reward_label(run))
        lower.set_xlabel("step", labelpad=2)
        _write_notes(figure, notes)
        p.make_room(figure)
        return figure


def residual_figure(run: RunFit) -> Figure:
    """What the law leaves over, by step, between plus and minus one standard deviation."""
    law = _law(run)
    with p.style():
        title, notes = _title(law), [_residual_note(law)]
        bottom, top = 0.4 + _LINE, 0.16 + _LINE * len(title)
        figure = p.new_figure(1.35 + bottom + top)
        axes = p.add_axes(figure, left=_LEFT + 0.06, right=_RIGHT, bottom=bottom, top=top)
        _write_title(figure, title)
        left = law.reward - law.fitted
        sd = law.residuals.sd
        axes.axhspan(-sd, sd, color=p.REWARD, alpha=0.12, linewidth=0)
        axes.axhline(0.0, color=p.INK, linewidth=0.8, alpha=0.7, zorder=6)
        for y in (-sd, sd):
            axes.axhline(y, color=p.MUTED, linewidth=0.5, linestyle=(0, (4, 2)), zorder=6)
        _trace(axes, law, left, p.REWARD)
        reach = max(float(abs(left).max()), sd) or 1.0
        axes.set_ylim(-1.15 * reach, 1.15 * reach)
        _at_right(axes, sd, "+1 sd", p.MUTED)
        _at_right(axes, -sd, "−1 sd", p.MUTED)
        axes.set_ylabel("reward − law")
        axes.set_xlabel("step", labelpad=2)
        _write_notes(figure, notes)
        p.make_room(figure)
        return figure


def figure_bytes(figure: Figure, kind: Kind, salt: str) -> bytes:
    """The figure as a file; ``salt`` makes the ids in an SVG its own, and they stay so.

    The same figure and salt give the same bytes: no date, no software, no random ids.
    """
    with p.style():
        before, mpl.rcParams["svg.hashsalt"] = mpl.rcParams["svg.hashsalt"], salt
        try:
            return _WRITERS[kind](figure)
        finally:
            mpl.rcParams["svg.hashsalt"] = before


def _svg(figure: Figure) -> bytes:
    """As ``figure.savefig`` writes it, with the layouts of texts that other figures have had too."""
    text, dpi = io.StringIO(), figure.dpi
    width, height = figure.get_size_inches()
    renderer: Any = _RendererSVG(
        72 * width, 72 * height, text, image_dpi=_DPI["svg"], metadata=_METADATA["svg"]
    )
    known = p.letters()
    if known is not None:
        renderer._text2path = known
    figure.set_dpi(72)
    try:
        mixed: Any = _MixedModeRenderer(figure, width, height, _DPI["svg"], renderer)
        figure.draw(mixed)
        mixed.finalize()
    finally:
        figure.set_dpi(dpi)
    return minify(text.getvalue()).encode("utf-8")


def _png(figure: Figure) -> bytes:
    """Without an alpha channel where nothing shines through: a fifth less to compress and to store."""
    buffer, dpi = io.BytesIO(), figure.dpi
    figure.set_dpi(_DPI["png"])
    try:
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        image = Image.fromarray(np.asarray(canvas.buffer_rgba()))
    finally:
        figure.set_dpi(dpi)
    if image.getchannel("A").getextrema() == (255, 255):
        image = image.convert("RGB")
    image.save(buffer, "png", dpi=(_DPI["png"], _DPI["png"]))
    return buffer.getvalue()


def _pdf(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf", dpi=_DPI["pdf"], metadata=_METADATA["pdf"])
    return buffer.getvalue()


_WRITERS = {"svg": _svg, "png": _png, "pdf": _pdf}


def reward_label(run: RunFit) -> str:
    """Which reward the axis shows, as far as the document knows."""
    kind = run.reward_column.meaning.kind if run.reward_column is not None else None
    return f"{kind} reward" if kind in ("validation", "training") else "reward"


def _law(run: RunFit) -> LawFit:
    if run.law is None:
        raise ValueError("a run without a law has no figures")
    return run.law


def _title(law: LawFit) -> list[str]:
    return [] if law.validity.ok else p.wrapped(headline(law).removesuffix("."), 58, 2)


def _write_title(figure: Figure, lines: list[str]) -> None:
    for i, line in enumerate(lines):
        p.write(figure, 0.06, 0.05 + i * _LINE, line, color=p.WARNING, weight="bold", size=7.5)


def _write_notes(figure: Figure, lines: list[str]) -> None:
    """Small lines at the foot of the figure."""
    height = figure.get_size_inches()[1]
    for i, line in enumerate(lines):
        p.write(figure, 0.06, height - 0.04 - _LINE * (len(lines) - i), line, size=7.0, color=p.MUTED)


def _trace(axes: Axes, law: LawFit, values: p.FloatArray, colour: str) -> None:
    """The evaluations as points, joined by a thin line where they are few enough to be told apart."""
    many = law.n > 120
    if law.n <= MOST_JOINED:
        axes.plot(law.step, values, color=colour, linewidth=0.5, alpha=0.45, zorder=3)
    size, alpha = (1.7, 0.45) if many else (2.8, 1.0)
    p.dots(axes, law.step, values, size=size, color=colour, alpha=alpha, zorder=4)
    axes.set_xlim(*p.padded(float(law.step[0]), float(law.step[-1]), 0.025, 0.025))


def _at_right(axes: Axes, y: float, text: str, colour: str) -> None:
    """A label beside the axes at height ``y``."""
    at = (axes.get_xlim()[1], y)
    axes.annotate(
        text, at, (2, 0), textcoords="offset points", va="center", color=colour, annotation_clip=False
    )


def _leading(upper: Axes, lower: Axes, law: LawFit) -> None:
    """A ring around the evaluation that moves the fit most."""
    step = law.influence.step
    here = law.step == step
    for axes, values in ((upper, law.entropy), (lower, law.reward)):
        axes.scatter(
            law.step[here],
            values[here],
            s=34,
            facecolors="none",
            edgecolors=p.WARNING,
            linewidths=1.0,
            zorder=6,
        )
    if not here.any():
        return
    late = step > (law.step[0] + law.step[-1]) / 2
    upper.annotate(
        f"step {format_step(step)} moves the fit most",
        (step, float(law.entropy[here][0])),
        (-6 if late else 6, 0),
        textcoords="offset points",
        ha="right" if late else "left",
        va="center",
        color=p.WARNING,
        zorder=7,
    )


def _residual_note(law: LawFit) -> str:
    residuals = law.residuals
    lag1 = "unknown" if residuals.lag1 is None else f"{residuals.lag1:.2f}"
    sd = f"sd {format_number(residuals.sd, 2)}"
    if residual_model(law.interval).assumed is not None:
        return f"{sd} · lag-1 {lag1}".replace("-0", "−0")
    effective = f"effective n {format_number(residuals.effective_n, 2)} of {law.n}"
    return f"{sd} · lag-1 {lag1} · drift share {residuals.drift_share:.2f} · {effective}".replace(
        " -0", " −0"
    )
