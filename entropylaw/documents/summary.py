"""One run and reward in numbers: its row in tables, CSV, frames, and the index of a report; and that index.

A column is a field of :class:`RunRow`, and its value a line of :func:`summary_of`. Texts are made of these
where they are shown; :mod:`entropylaw.report.describe.run_table` has the columns of tables for people.
"""

from __future__ import annotations

from msgspec import Struct

from entropylaw.documents.document import AnyDocument, InputFile, RunReport
from entropylaw.documents.kinds import KINDS
from entropylaw.escaping import one_line
from entropylaw.options import FitOptions
from entropylaw.results import Estimate
from entropylaw.results.fit import Fit
from entropylaw.results.phases import PhasesAcross
from entropylaw.results.result import replace
from entropylaw.results.stop import StopLine

LONGEST_NAME = 120
"""Letters of a run's name where runs are listed; its page has all."""


class RunRow(Struct, frozen=True, kw_only=True):
    """A row of the table of runs: one run and reward.

    The fields are the columns of CSV and frames, in their order; an estimate has three. None is what is not
    known. ``unit`` is the reward's, and ``refusal`` is the slug of the error that left the run without a fit.
    """

    run: str
    path: str
    state: str | None = None
    since: float | None = None
    now: Estimate | None = None
    gained: Estimate | None = None
    change: Estimate | None = None
    gain: float | None = None
    noise: float | None = None
    keep_step: float | None = None
    keep_level: float | None = None
    p_better: float | None = None
    forecast_step: float | None = None
    forecast: Estimate | None = None
    p_gain: float | None = None
    p_ever: float | None = None
    stop: str | None = None
    first_step: float | None = None
    last_step: float | None = None
    evaluations: int | None = None
    law: str | None = None
    why: str | None = None
    n: int | None = None
    a: Estimate | None = None
    b: Estimate | None = None
    ceiling: Estimate | None = None
    r_squared: float | None = None
    odds_entropy: float | None = None
    odds_law: float | None = None
    odds_line: float | None = None
    effective_n: float | None = None
    long_memory: float | None = None
    drop_per_100_steps: Estimate | None = None
    spent_by_step: Estimate | None = None
    level: float | None = None
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
    """The line of the reward: means of neighbouring evaluations, and of their steps."""

    step: tuple[float, ...]
    reward: tuple[float, ...]


class RunSummary(RunRow, frozen=True, kw_only=True):
    """One run and reward: its row in the table of runs, and what else a page over a thousand runs needs.

    Attributes
    ----------
    law
        The word about the law, ``none`` without one, or ``refused``.
    slug
        The name of its page.
    stop_line
        That of the fit.
    no_forecast
        Why there is no forecast, in a sentence.
    cautions
        Their number.
    series
        Of an index: the line of the reward; None where there is no fit.
    headline
        Of an index, in words: the answers about the run, or why it was refused.
    """

    law: str
    slug: str = ""
    stop_line: StopLine | None = None
    no_forecast: str | None = "the run has no fit"
    cautions: int = 0
    series: Series | None = None
    headline: str = ""

    @property
    def fitted(self) -> bool:
        """Whether the run has a fit."""
        return self.evaluations is not None

    @property
    def shown(self) -> str:
        """The name on one line, of the run's at most :data:`LONGEST_NAME` letters."""
        name = one_line(self.run)
        if len(name) > LONGEST_NAME:
            name = f"{name[: LONGEST_NAME - 1]}…"
        return f"{name} · {one_line(self.label)}" if self.label else name


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
    summary = RunSummary(run=entry.run, path=entry.path, law=entry.verdict, label=entry.reward or None)
    if entry.refusal is not None:
        summary = replace(summary, refusal=entry.refusal.slug)
    if report.phases is not None and report.phases.result is not None:
        summary = replace(summary, phases=report.phases.result.answer)
    rewarded = entry.columns.get("reward")
    if rewarded is not None:
        summary = replace(summary, reward_column=rewarded.column, unit=rewarded.unit or None)
    return summary if entry.result is None else _with_fit(summary, entry.result)


def _with_fit(summary: RunSummary, fit: Fit) -> RunSummary:
    """A summary with the numbers of the fit: of state, step to keep, forecast and law."""
    step = fit.evaluations[0]
    summary = replace(
        summary,
        evaluations=fit.n_rewards,
        first_step=float(step[0]),
        last_step=float(step[-1]),
        gain=fit.gain,
        level=fit.level,
        drop_per_100_steps=fit.drop_per_100_steps,
        stop=None if fit.stop_line is None else fit.stop_line.says,
        stop_line=fit.stop_line,
        no_forecast=fit.no_forecast,
        cautions=len(fit.cautions),
    )
    state = fit.state
    if state is not None:
        summary = replace(
            summary,
            state=state.word,
            since=state.since,
            now=state.now,
            gained=state.gained,
            change=state.change,
            noise=state.noise,
        )
    keep = fit.keep
    if keep is not None:
        summary = replace(summary, keep_step=keep.step, keep_level=keep.level, p_better=keep.p_better)
    ahead = fit.forecast
    if ahead is not None and not fit.is_broken:
        summary = replace(
            summary,
            forecast_step=ahead.step[-1],
            forecast=ahead.rewards[-1],
            p_gain=ahead.p_gains[-1],
            p_ever=ahead.p_ever,
            spent_by_step=ahead.spent,
        )
    law = fit.law
    if law is not None:
        summary = replace(
            summary,
            why=None if law.why is None else law.why.value,
            n=law.n,
            a=law.a,
            b=law.b,
            ceiling=law.ceiling,
            r_squared=law.r_squared,
            odds_entropy=law.tests.odds_entropy,
            odds_law=law.tests.odds_law,
            odds_line=law.tests.odds_line,
            effective_n=law.residuals.effective_n,
            long_memory=law.residuals.long_memory,
        )
    return summary
