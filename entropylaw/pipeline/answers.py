"""What the steps compute of one run: its law, its phases, its backtest, its forecast. Brings scipy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from entropylaw.analysis.backtest import backtest_run
from entropylaw.analysis.fitting import fit_law
from entropylaw.analysis.forecast import forecast, saturation_forecast
from entropylaw.analysis.phasecautions import FEWEST
from entropylaw.analysis.phases import fit_phases
from entropylaw.analysis.progress import entropy_drop, used_share
from entropylaw.analysis.seams import find_seams, seam_steps
from entropylaw.analysis.segments import fit_segments
from entropylaw.documents.codec import as_stored
from entropylaw.documents.fit import RunFit, fitted_run
from entropylaw.documents.phases import RunPhases, phased_run
from entropylaw.documents.report import RunReport
from entropylaw.errors import FitError
from entropylaw.ingest import select
from entropylaw.ingest.phasecolumns import NO_SHARE, PhaseSeries
from entropylaw.ingest.run import Run, Series
from entropylaw.options import FitOptions, PhaseOptions
from entropylaw.results.backtest import RunBacktest
from entropylaw.results.fields import replace
from entropylaw.results.findings import caution, note
from entropylaw.results.law import LawFit

SPAN_AHEAD = 0.5
"""How far a report forecasts, in spans of the run."""


def fit_series(series: Series, **options: Any) -> LawFit:
    """Fit a paired series; what the pairing knows of the columns joins the cautions.

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
            # The longer column is the remedy of that reason, and is said with it.
            named = {**findings[few].values, **series.offer.values}
            findings[few] = replace(findings[few], values=named)
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
    """Choose the columns of a run as the catalog says (or as given), pair them, and fit the law.

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
    how: dict[str, Any] = {
        "level": options.level,
        "interval": options.interval,
        "eval_size": options.eval_size,
    }
    law = fit_series(series, keep_outliers=options.keep_outliers, **how)
    drop = entropy_drop(law.step, law.entropy, level=law.level)
    entry = fitted_run(run, series, law, used=used_share(law), drop_per_100_steps=drop)
    if not (options.seams or options.find_seams):
        return as_stored(entry)
    values = (series.step, series.entropy, series.reward)
    found = find_seams(*values) if options.find_seams else ()
    more: dict[str, Any] = {"seams": found}
    if steps := options.seams or seam_steps(found, series.step):
        try:
            how |= {"entropy_sd": series.entropy_sd, "run": series.run}
            more["segments"] = fit_segments(*values, seams=steps, **how)
        except FitError as error:
            more["findings"] = (note("segments-refused", message=error.message),)
    elif not found:
        more["findings"] = (note("no-level-shift"),)
    return as_stored(replace(entry, **more))


def phases(run: Run, series: PhaseSeries, options: PhaseOptions) -> RunPhases:
    """A run with its phases."""
    try:
        more = {name: getattr(series, name) for name in ("aggregate", "planning_share", "length")}
        curves = (series.step, series.planning, series.execution)
        found = fit_phases(*curves, **more, level=options.level, run=run.name)
    except FitError as error:
        # A summary of tokens is known by these columns.
        if error.slug != "too-few-points" or not {"tokens", "entropy_p50"} <= run.columns.keys():
            raise
        hint = f"summarise the tokens of at least {FEWEST} steps with `entropylaw tokens`"
        raise FitError(error.slug, error.message, hint) from error
    if NO_SHARE in series.notes:
        # The columns have the true reason, and the fit knows only that it was given no share.
        others = tuple(one for one in found.findings if one.code != "planning-share-unknown")
        found = replace(found, findings=others)
    return phased_run(run, series, found)


def backtest(run: Run, series: Series, options: FitOptions) -> RunBacktest:
    """The scores of forecasts from the early part of a run, with every digit."""
    return backtest_run(series.step, series.entropy, series.reward, level=options.level, run=series.run)


def ahead(entry: RunFit, _: RunFit, options: Mapping[str, int]) -> RunReport:
    """A fitted run with a forecast at some later ``points``, and when its entropy will be spent."""
    law = entry.law
    if law is None:
        return RunReport(fit=entry, no_forecast="the run has no fit")
    series, first, last = (law.step, law.entropy, law.reward), float(law.step[0]), float(law.step[-1])
    later = np.linspace(last, last + SPAN_AHEAD * (last - first), options["points"] + 1)[1:]
    # Whole steps where the run's are whole.
    at = np.unique(np.ceil(later) if (law.step % 1 == 0).all() else later)
    known = as_stored(forecast(*series, at_step=at, level=law.level, run=law.run))
    spending = as_stored(saturation_forecast(*series, level=law.level, run=law.run))
    return RunReport(fit=entry, forecast=known, spending=spending)
