"""The figures, one entry each.

Every entry of :data:`FIGURES` is drawn for every run that has the part it needs: on its page, in the
Markdown, as files with the pages, and by the command line. What draws them is in ``drawings``, which imports
matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from entropylaw.report.blocks import Block
from entropylaw.report.blocks import Figure as FigureBlock
from entropylaw.report.figures.palette import ARM_COLOURS
from entropylaw.report.numbers import format_percent, p_words
from entropylaw.results import FormAnswer, Why
from entropylaw.results.axis import STEP, on_axis
from entropylaw.results.fit import Fit
from entropylaw.results.forecast import Forecast
from entropylaw.results.law import LawFit

if TYPE_CHECKING:
    from entropylaw.documents.document import Entry, RunReport
    from entropylaw.results.arms import ArmComparison, Pair

Need = Literal["fit", "law", "rewards", "phases", "across", "arms", "samples", "samples_pair"]
"""The part that a figure is drawn from: the entry of a fit, or of one with a law, those of several rewards of
a run, the entry of phases, the ``PhasesAcross`` of several runs, an ``ArmComparison``, a ``SamplesDocument``,
or its ``PairedSamples``."""


MOST_ROWS = 40
"""Comparisons of arms that fit a page."""


@dataclass(frozen=True, slots=True)
class FigureEntry:
    """One figure.

    Attributes
    ----------
    name
        As a user types it; also the end of its files' names, and the beginning of its ids on a page.
    needs
        The part.
    about, title, label
        Its content, for a list of the figures; its title on a page, before the name of the run; and its link,
        where that is not the name.
    """

    name: str
    needs: Need
    about: str
    title: str
    label: str = ""

    def caption(self, part: Any) -> str:
        """The sentence below it, from the part."""
        words = CAPTIONS[self.name]
        caption = words(part) if callable(words) else words
        first = part[0] if isinstance(part, Sequence) else part
        return on_axis(caption, getattr(getattr(first, "result", first), "axis", STEP))


def answer_of(part: Entry[Fit] | Fit) -> Fit:
    """The answer for a run; a run without one has no figures."""
    fit = part if isinstance(part, Fit) else part.result
    if fit is None:
        raise ValueError("a run without a fit has no figures")
    return fit


def reward_label(part: Entry[Fit] | Fit) -> str:
    """The kind of reward on the axis, as far as it is known."""
    column = None if isinstance(part, Fit) else part.columns.get("reward")
    kind = column.meaning.kind if column is not None else None
    return f"{kind} reward" if kind in ("validation", "training") else "reward"


def is_overlay(result: ArmComparison) -> bool:
    """Whether the curves of all arms are drawn: each has a colour; of more their differences are."""
    return len(result.arms) <= len(ARM_COLOURS)


def drawn_pairs(result: ArmComparison) -> Sequence[Pair]:
    """The comparisons that have a row in a figure of many arms: of more than a page the smallest p-values."""
    if len(result.pairs) <= MOST_ROWS:
        return result.pairs
    p_values = {
        (pair.arm, pair.baseline): [row.p_value for row in pair.differences if row.headline and row.p_value]
        for pair in result.pairs
    }
    by_p = sorted(result.pairs, key=lambda pair: min(p_values[pair.arm, pair.baseline], default=1.0))
    return by_p[:MOST_ROWS]


def _law_caption(part: Entry[Fit] | Fit) -> str:
    """What is drawn of a law: evaluations, the law, a better curve, the average, the reward at H = 0."""
    # A check of stored fits, which has figures for nothing, does without numpy.
    from entropylaw.analysis.forms import form_label

    fit = answer_of(part)
    law = fit.lawful()
    text = f"{reward_label(part).capitalize()} against entropy; points are evaluations, coloured by step. "
    text += "The line is the law"
    better = better_form(law)
    if not fit.is_broken:
        if better is not None:
            text += f"; dashed is {form_label(better.form)}, more probable ({p_words(better.probability)})"
        text += f". The band is the {format_percent(fit.level)} interval of the average over all forms"
    if draws_zero(fit):
        text += "; the square is the law's value at H = 0"
    return f"{text}. Below are its residuals."


def better_form(law: LawFit) -> FormAnswer | None:
    """The most probable functional form, where it is not the law and is drawn.

    Where the step explains the reward as well, a constant is not drawn: it is one beside a drift over steps.
    """
    from entropylaw.analysis.forms import FORMS

    best = law.best
    if best.form == "constant" and law.why in (Why.step, Why.neither):
        return None
    is_drawn = best.form in FORMS and FORMS[best.form].colour is not None
    return best if best.form != "law" and is_drawn else None


def draws_zero(fit: Fit) -> bool:
    """Whether the reward at H = 0 is drawn: where it is known, but not of a broken run.

    Nor of one whose entropy hardly moved: H = 0 is so far off that the evaluations would be one dot.
    """
    law = fit.law
    if law is None or fit.is_broken or law.why is Why.narrow:
        return False
    return law.ceiling.value is not None


def _forecast_caption(part: Entry[Fit] | Fit | Forecast) -> str:
    """What is drawn of the series: a bare forecast is of a run that may go on."""
    if isinstance(part, Forecast):
        return f"The reward ahead with its {format_percent(part.level)} interval."
    fit = answer_of(part)
    text = "The reward" if fit.law is None else "The reward and the entropy"
    if fit.keep is not None:
        text += ", with the step to keep (diamond)"
    if fit.is_broken:
        return f"{text}; what is lost is shaded."
    if fit.forecast is None:
        return f"{text}."
    return f"{text}. Dashed is the forecast with its {format_percent(fit.forecast.level)} interval."


def _arms_caption(part: ArmComparison) -> str:
    """What is drawn of arms: their curves, or of many the differences."""
    level = format_percent(part.level)
    if not is_overlay(part):
        text = (
            f"Differences with {level} intervals, not adjusted: green higher, red lower, blue the same, "
            "open not decided"
        )
        if any(arm.failed for arm in part.arms):
            text += ". † has failed runs"
        rows = len(drawn_pairs(part))
        if rows < len(part.pairs):
            text += f". {rows} of {len(part.pairs)} comparisons, those with the smallest p-values"
        return f"{text}."
    text = f"Reward against {part.along.column}. Thin lines are runs, thick ones the means of the arms"
    if any(pair.band is not None for pair in part.pairs):
        text += f". Below, the differences with the simultaneous {level} band"
    return f"{text}; an arrow marks a run that goes beyond the axes."


CAPTIONS: Mapping[str, str | Callable[[Any], str]] = {
    "law": _law_caption,
    "forecast": _forecast_caption,
    "rewards": "The rewards and the entropy, with the step to keep (diamond). Dashed is the forecast.",
    "phases": lambda part: (
        "The curves, each in a band that holds all of it. Below, the steps of rising and settling with "
        f"{format_percent(part.result.level)} intervals, and sharp rises (triangles)."
    ),
    "turns": "Curves are thin lines; of three runs or more the means have pointwise intervals.",
    "arms_by_step": "Reward by step. Thin lines are runs, thick ones means over the runs that did not "
    "fail or end early.",
    "arms": _arms_caption,
    "pass_pair": lambda pair: (
        f"pass@k of {pair.base} (grey) and {pair.now} (blue), and their difference with the "
        f"{format_percent(pair.level)} band over all k."
    ),
    "pass_at_k": lambda part: (
        f"pass@k over the number of samples, with {format_percent(part.level)} intervals over problems."
    ),
    "distinct_right": lambda part: (
        f"Distinct right answers among {part.rarefied} samples of a problem against pass@1, one per step; "
        "the square is the last."
    ),
}
"""Name of a figure → its caption, or the function that makes it from the part."""

FIGURES = (
    FigureEntry("forecast", "fit", "reward and entropy by step, the step to keep, and ahead", "Forecast of"),
    FigureEntry("law", "law", "reward against entropy", "The law on", "the law"),
    FigureEntry("rewards", "rewards", "several rewards over the steps", "Rewards of"),
    FigureEntry(
        "phases", "phases", "entropies of planning and execution, and when they rise and settle", "Phases of"
    ),
    FigureEntry("turns", "across", "mean entropies of several runs", "Mean entropies of", "mean entropies"),
    FigureEntry("arms_by_step", "arms", "reward by step of the arms", "Arms by step:", "the arms by step"),
    FigureEntry("arms", "arms", "reward against entropy of the arms", "Arms:", "the arms"),
    FigureEntry(
        "pass_pair", "samples_pair", "pass@k of two tables, and their difference", "pass@k:", "pass@k"
    ),
    FigureEntry("pass_at_k", "samples", "pass@k of the first step and the last", "pass@k:", "pass@k by step"),
    FigureEntry(
        "distinct_right",
        "samples",
        "distinct right answers at equal pass@1",
        "Right answers:",
        "right answers",
    ),
)
"""In the order in which they are listed, drawn and linked."""

NAMED = {entry.name: entry for entry in FIGURES}


def figures_of(needs: Need, part: Any, described: str = "") -> list[Block]:
    """The figures that are drawn from a part; ``described`` as in a block, of the first one."""
    names = [entry.name for entry in FIGURES if entry.needs == needs]
    return [FigureBlock(name, part, "" if i else described) for i, name in enumerate(names)]


def parts(report: RunReport) -> dict[Need, Any]:
    """The parts of a run that figures can be drawn from."""
    drawable: dict[Need, Any] = {"fit": report.fit, "law": report.fit, "phases": report.phases}
    if report.fit.result is None or report.fit.result.law is None:
        del drawable["law"]
    return {need: entry for need, entry in drawable.items() if entry is not None and entry.result is not None}
