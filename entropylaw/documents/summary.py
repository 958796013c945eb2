"""One run and reward in numbers: its row in tables, CSV, frames, and the index of a report; and that index.

A column is a field of :class:`RunRow`, and its value a line of :func:`summary_of`. Texts are made of these
where they are shown; :mod:`entropylaw.report.describe.run_table` has the columns of tables for people.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from entropylaw.documents.document import AnyDocument, InputFile, RunReport
from entropylaw.documents.kinds import KINDS
from entropylaw.escaping import one_line
from entropylaw.options import FitOptions
from entropylaw.results import Estimate, Why
from entropylaw.results.columns import Choice, factor_to
from entropylaw.results.fit import Fit, LevelShift
from entropylaw.results.phases import PhasesAcross
from entropylaw.results.result import replace
from entropylaw.results.stop import StopLine

LONGEST_NAME = 120
"""Letters of a run's name where runs are listed; its page has all."""


class Headed(Struct, frozen=True):
    """That a field is also a column of tables for people, under a title, and of the page of an index."""

    title: str
    unit: str = ""
    in_index: bool = True


class RunRow(Struct, frozen=True, kw_only=True):
    """A row of the table of runs: one run and reward, or a level shift of it (``part``).

    The fields are the columns of CSV and frames, in their order; an estimate has three. None is what is not
    known, or not of this part. ``jump`` and ``p_value`` are those of level shifts, ``unit`` is the reward's,
    ``lost`` is True or None, and ``refusal`` is the slug of the error that left the run without a fit.
    """

    run: str
    path: str
    part: str = "run"
    verdict: str | None = None
    why: Why | None = None
    lost: bool | None = None
    n: int | None = None
    now: float | None = None
    reward_now: Estimate | None = None
    ceiling: Estimate | None = None
    headroom: Estimate | None = None
    no_ceiling: str | None = None
    p_headroom: float | None = None
    gain: float | None = None
    r_squared: Annotated[float | None, Headed("R²", "r_squared", in_index=False)] = None
    effective_n: float | None = None
    long_memory: float | None = None
    drop_per_100_steps: Estimate | None = None
    best_form: str | None = None
    best_probability: float | None = None
    a: Estimate | None = None
    b: Estimate | None = None
    p_law: float | None = None
    law_ceiling: Estimate | None = None
    law_headroom: Estimate | None = None
    level: float | None = None
    method: str | None = None
    first_step: float | None = None
    last_step: float | None = None
    jump: Estimate | None = None
    p_value: float | None = None
    forecast_step: float | None = None
    forecast: Estimate | None = None
    p_gain: float | None = None
    best_step: float | None = None
    p_better: float | None = None
    spent_by_step: Estimate | None = None
    phases: str | None = None
    label: str | None = None
    refusal: str | None = None
    reward_column: str | None = None
    unit: str | None = None

    @property
    def name(self) -> str:
        """The name of the run, with that of the reward behind it where there are several."""
        return f"{self.run} · {self.label}" if self.label else self.run


class Series(Struct, frozen=True, kw_only=True):
    """The lines of entropy and reward: means of neighbouring evaluations, and of their steps.

    ``entropy_ends`` and ``reward_ends`` are the first and the last evaluation as logged.
    """

    step: tuple[float, ...]
    entropy: tuple[float, ...]
    reward: tuple[float, ...]
    entropy_ends: tuple[float, float]
    reward_ends: tuple[float, float]


class RunSummary(RunRow, frozen=True, kw_only=True):
    """One run and reward: its row in the table of runs, and what else a page over a thousand runs needs.

    Attributes
    ----------
    verdict
        On the law, in a word, or ``refused``.
    slug
        The name of its page.
    rewarded
        The column of the reward with its unit, by which it is decided what it may be compared with; None
        where that is not known.
    level_shifts, stop_line
        Those of the fit.
    no_forecast, not_ahead
        Why there is no forecast, in a sentence; and why a table has no number ahead: ``cannot tell``,
        ``finished`` or ``not known``.
    cautions
        Their number.
    series
        Of an index: the lines of entropy and reward; None where there is no fit.
    headline, no_phases, phases_words
        Of an index, in words: why the verdict is what it is, or why the run was refused; why there are no
        phases, or what they say.
    """

    verdict: str
    slug: str = ""
    rewarded: Choice | None = None
    level_shifts: tuple[LevelShift, ...] = ()
    stop_line: StopLine | None = None
    no_forecast: str | None = "the run has no fit"
    not_ahead: str | None = None
    cautions: int = 0
    series: Series | None = None
    headline: str = ""
    no_phases: str | None = None
    phases_words: str = ""

    @property
    def fitted(self) -> bool:
        """Whether the run has a fit."""
        return self.n is not None

    @property
    def readable(self) -> bool:
        """Whether its ceiling is to be used."""
        return self.fitted and self.no_ceiling is None

    @property
    def shown(self) -> str:
        """The name on one line, of the run's at most :data:`LONGEST_NAME` letters."""
        name = one_line(self.run)
        if len(name) > LONGEST_NAME:
            name = f"{name[: LONGEST_NAME - 1]}…"
        return f"{name} · {one_line(self.label)}" if self.label else name

    @property
    def parts(self) -> list[RunRow]:
        """The rows of its level shifts."""
        return [
            RunRow(
                run=self.name,
                path=self.path,
                part=f"jump of {shift.series}",
                first_step=shift.after,
                last_step=shift.step,
                jump=shift.jump,
                p_value=shift.p_value,
            )
            for shift in self.level_shifts
        ]


class IndexDocument(AnyDocument, frozen=True, kw_only=True):
    """One row per run and reward; ``runs/SLUG.json`` has the whole document of each.

    ``across`` has the phases of two runs or more that have some. ``unfinished`` runs
    were left by an interrupt: writing the report again makes them, and only them.
    """

    inputs: tuple[InputFile, ...]
    settings: FitOptions
    rows: tuple[RunSummary, ...]
    unfinished: int
    warnings: tuple[str, ...]
    across: PhasesAcross | None = None
    schema: str = KINDS["index"].schema


def summary_of(report: RunReport) -> RunSummary:
    """The summary of a run and reward, without what only an index has."""
    entry = report.fit
    summary = RunSummary(run=entry.run, path=entry.path, verdict=entry.verdict, label=entry.reward or None)
    if entry.refusal is not None:
        summary = replace(summary, refusal=entry.refusal.slug)
    if report.phases is not None and report.phases.result is not None:
        summary = replace(summary, phases=report.phases.result.answer)
    rewarded = entry.columns.get("reward")
    if rewarded is not None:
        unit = rewarded.unit or None
        summary = replace(summary, rewarded=rewarded, reward_column=rewarded.column, unit=unit)
    return summary if entry.result is None else _with_fit(summary, entry.result)


def _with_fit(summary: RunSummary, fit: Fit) -> RunSummary:
    """A summary with the numbers of the fit."""
    law = fit.law
    # Why a table has no number ahead for a run that may go on, in two words.
    not_ahead: str | None = None
    if fit.forecast is not None:
        rewards = fit.evaluations[2]
        if (fit.forecast.rewards[-1].width or 0.0) > max(rewards) - min(rewards):
            not_ahead = "cannot tell"
    elif fit.stop_line is not None and fit.stop_line.says in ("finished", "not known"):
        not_ahead = fit.stop_line.says
    summary = replace(
        summary,
        why=fit.why,
        lost=fit.lost or None,
        n=fit.n,
        now=fit.now,
        reward_now=fit.reward_now,
        ceiling=fit.ceiling,
        headroom=fit.headroom,
        no_ceiling=fit.no_ceiling or None,
        p_headroom=fit.p_headroom,
        gain=fit.gain,
        r_squared=law.r_squared,
        effective_n=law.residuals.effective_n,
        long_memory=law.residuals.long_memory,
        drop_per_100_steps=fit.drop_per_100_steps,
        best_form=fit.best.form,
        best_probability=fit.best.probability,
        a=fit.a,
        b=fit.b,
        p_law=fit.p_law,
        law_ceiling=law.ceiling,
        law_headroom=law.headroom,
        level=fit.level,
        method=fit.ceiling.method,
        first_step=float(law.step[0]),
        last_step=float(law.step[-1]),
        level_shifts=fit.level_shifts,
        stop_line=fit.stop_line,
        no_forecast=fit.no_forecast,
        not_ahead=not_ahead,
        cautions=len(fit.cautions),
    )
    best = fit.best_so_far
    if best is not None:
        summary = replace(summary, best_step=best.step, p_better=best.p_better)
    ahead = fit.forecast
    if ahead is not None:
        summary = replace(
            summary,
            forecast_step=ahead.step[-1],
            forecast=ahead.rewards[-1],
            p_gain=ahead.p_gains[-1],
            spent_by_step=ahead.spent,
        )
    return summary


def in_unit_of(leader: RunSummary, summary: RunSummary) -> RunSummary:
    """A summary with what is compared over runs in the unit of the reward of another.

    Raises InputError as :func:`~entropylaw.results.columns.factor_to`: the two may not be compared.
    """
    assert leader.rewarded is not None
    assert summary.rewarded is not None
    factor = factor_to(leader.rewarded, summary.rewarded)
    if factor == 1.0:
        return summary
    return replace(
        summary,
        rewarded=leader.rewarded,
        unit=leader.unit,
        now=None if summary.now is None else factor * summary.now,
        reward_now=_times(summary.reward_now, factor),
        ceiling=_times(summary.ceiling, factor),
        headroom=_times(summary.headroom, factor),
        forecast=_times(summary.forecast, factor),
    )


def _times(estimate: Estimate | None, factor: float) -> Estimate | None:
    """An estimate in a unit of which ``factor`` are one of its own."""
    return None if estimate is None else estimate.times(factor)
