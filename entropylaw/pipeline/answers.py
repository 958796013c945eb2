"""What is computed of one run: its law, phases, backtest, forecast and predictions. Imports scipy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entropylaw.analysis.backtest import backtest_run
from entropylaw.analysis.changepoint import FEWEST
from entropylaw.analysis.forecast import entropy_drop, forecast, saturation_forecast, used_share
from entropylaw.analysis.law.fitting import fit_law
from entropylaw.analysis.level_shift import find_level_shifts, fit_segments, level_shift_steps
from entropylaw.analysis.phases import fit_phases
from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import (
    FitDocument,
    PredictionDocument,
    RunFit,
    RunPhases,
    RunPrediction,
    RunReport,
    fitted_run,
    phased_run,
)
from entropylaw.errors import FitError
from entropylaw.ingest import select
from entropylaw.ingest.runs import PhaseSeries, Run, Series
from entropylaw.ingest.select import NO_SHARE
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.results.forecast import RunBacktest
from entropylaw.results.law import LawFit
from entropylaw.results.result import caution, note, replace

SPAN_AHEAD = 0.5
"""How far a report forecasts, in spans of the run."""


def fit_series(series: Series, **options: Any) -> LawFit:
    """Fit a paired series; findings about its columns join the cautions.

    ``options`` are ``level``, ``interval``, ``eval_size``, ``keep_outliers`` of :func:`entropylaw.fit_law`.

    Raises FitError and UsageError: as :func:`entropylaw.fit_law`.
    """
    values = (series.entropy, series.reward, series.step)
    try:
        law = fit_law(*values, entropy_sd=series.entropy_sd, run=series.run, **options)
    except FitError as error:
        if error.slug != "too-few-evaluations" or not series.offer:
            raise
        raise FitError(error.slug, error.message, series.offer.sentence) from error
    findings = [*law.validity.findings, *series.findings]
    choice, entropy = series.reward_choice, series.entropy_choice
    if choice.meaning.kind == "training":
        findings.append(caution("training-reward", column=choice.column))
    if entropy.meaning.estimator == "sampled":
        findings.append(caution("entropy-sampled", column=entropy.column))
    if series.offer:
        few = next((i for i, found in enumerate(findings) if found.code == "too-few-evaluations"), None)
        if few is None:
            findings.append(series.offer)
        else:
            # The longer column is the remedy for that reason, and is named in it.
            findings[few] = replace(findings[few], values={**findings[few].values, **series.offer.values})
    return replace(law, validity=replace(law.validity, findings=tuple(findings)))


def fit_run(
    run: Run,
    *,
    entropy: str | None = None,
    reward: str | None = None,
    pair: str | None = None,
    level: float = 0.95,
    interval: str = "drift",
    eval_size: int | None = None,
    entropy_sd: float | str | None = None,
    keep_outliers: bool = False,
) -> LawFit:
    """Choose the columns of a run by the catalog (or as given), pair them, and fit the law.

    ``entropy_sd`` is a number of nats, or the column that holds one for each entropy.

    Raises
    ------
    InputError
        The columns are missing or are not what they are taken for.
    FitError, UsageError
        As :func:`entropylaw.fit_law`.
    """
    known = None if entropy_sd is None else str(entropy_sd)
    series = select(run, entropy=entropy, reward=reward, pair=pair, entropy_sd=known)
    return fit_series(
        series, level=level, interval=interval, eval_size=eval_size, keep_outliers=keep_outliers
    )


def fit(run: Run, series: Series, options: FitOptions) -> RunFit:
    """A run with its law and, where the options say so, its level shifts and the law between them."""
    how: dict[str, Any] = {name: getattr(options, name) for name in ("level", "interval", "eval_size")}
    law = fit_series(series, keep_outliers=options.keep_outliers, **how)
    drop = entropy_drop(law.step, law.entropy, level=law.level)
    entry = fitted_run(run, series, law, used=used_share(law), drop_per_100_steps=drop)
    if not (options.seams or options.find_seams):
        return as_stored(entry)
    values = (series.step, series.entropy, series.reward)
    shifts = find_level_shifts(*values) if options.find_seams else ()
    more: dict[str, Any] = {"level_shifts": shifts}
    if steps := options.seams or level_shift_steps(shifts, series.step):
        try:
            how |= {"entropy_sd": series.entropy_sd, "run": series.run}
            more["segments"] = fit_segments(*values, seams=steps, **how)
        except FitError as error:
            more["findings"] = (note("segments-refused", message=error.message),)
    elif not shifts:
        more["findings"] = (note("no-level-shift"),)
    return as_stored(replace(entry, **more))


def phases(run: Run, series: PhaseSeries, options: PhaseOptions) -> RunPhases:
    """A run with its phases."""
    try:
        more = {name: getattr(series, name) for name in ("aggregate", "planning_share", "length")}
        curves = (series.step, series.planning, series.execution)
        fitted = fit_phases(*curves, **more, level=options.level, run=run.name)
    except FitError as error:
        # These columns identify a summary of tokens.
        if error.slug != "too-few-points" or not {"tokens", "entropy_p50"} <= run.columns.keys():
            raise
        hint = f"summarise the tokens of at least {FEWEST} steps with `entropylaw tokens`"
        raise FitError(error.slug, error.message, hint) from error
    if NO_SHARE in series.notes:
        # The columns give the true reason; the fit only reports that the share is missing.
        others = tuple(one for one in fitted.findings if one.code != "planning-share-unknown")
        fitted = replace(fitted, findings=others)
    return phased_run(run, series, fitted)


def backtest(run: Run, series: Series, options: FitOptions) -> RunBacktest:
    """The scores of forecasts from the early part of a run, with every digit."""
    return backtest_run(series.step, series.entropy, series.reward, level=options.level, run=series.run)


def ahead(entry: RunFit, _: RunFit, points: int) -> RunReport:
    """A fitted run with a forecast at some later ``points``, and when its entropy will be spent."""
    law = entry.law
    if law is None:
        return RunReport(fit=entry, no_forecast="the run has no fit")
    series, first, last = (law.step, law.entropy, law.reward), float(law.step[0]), float(law.step[-1])
    later = np.linspace(last, last + SPAN_AHEAD * (last - first), points + 1)[1:]
    # Whole steps where the run's are whole numbers.
    at = np.unique(np.ceil(later) if (law.step % 1 == 0).all() else later)
    known = as_stored(forecast(*series, at_step=at, level=law.level, run=law.run))
    spending = as_stored(saturation_forecast(*series, level=law.level, run=law.run))
    return RunReport(fit=entry, forecast=known, spending=spending)


def predict_runs(
    fits: FitDocument,
    *,
    entropies: Sequence[float] = (),
    rewards: Sequence[float] = (),
    saturation: bool = False,
    at_step: Sequence[float] = (),
    gains: Sequence[float] = (),
    level: float | None = None,
) -> PredictionDocument:
    """Predict the same targets from every fitted run of ``fits``, which may be fresh or stored.

    Targets are ``entropies`` (nats), ``rewards``, later steps (``at_step``) and ``gains`` of reward whose
    probability is estimated; ``saturation`` adds the entropy at which 95 % of the headroom is spent, and
    when. ``level`` is by default that of each fit.
    """
    runs = []
    for entry in fits.runs:
        law = entry.law
        if law is None:
            continue
        prediction = RunPrediction(
            run=entry.run,
            path=entry.path,
            validity=law.validity,
            entropy_range=(float(law.entropy.min()), float(law.entropy.max())),
            predictions=law.predict(list(entropies), level=level),
            entropies=tuple(law.entropy_for(reward, level=level) for reward in rewards),
            saturation=law.saturation(level=level) if saturation else None,
        )
        series = (law.step, law.entropy, law.reward)
        where: dict[str, Any] = {"level": law.ceiling.level if level is None else level, "run": entry.run}
        ahead: dict[str, Any] = {}
        try:
            if at_step:
                ahead["forecast"] = forecast(*series, at_step=list(at_step), **where)
            if saturation or gains:
                last = max(at_step, default=None)
                ahead["spending"] = saturation_forecast(*series, gains=list(gains), at_step=last, **where)
        except FitError as error:
            # The run is too short for it.
            ahead["no_forecast"] = error.message
        runs.append(replace(prediction, **ahead))
    return as_stored(PredictionDocument(inputs=fits.inputs, runs=tuple(runs)))
