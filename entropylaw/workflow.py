"""From logs to a fit document: read, choose columns, pair, fit; one bad run never stops the rest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

from entropylaw.analysis.fitting import fit_law
from entropylaw.analysis.seams import find_seams, seam_steps
from entropylaw.analysis.segments import fit_segments
from entropylaw.analysis.shared import share
from entropylaw.arguments import of_kind, several
from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import input_files, skipped_files
from entropylaw.documents.fit import (
    FitDocument,
    RunFit,
    fitted_run,
    refused_file,
    refused_run,
)
from entropylaw.errors import EntropyLawError, FitError, UsageError
from entropylaw.ingest import select
from entropylaw.ingest.labels import told_apart
from entropylaw.ingest.load import Reading, read_all
from entropylaw.ingest.pairing import as_number
from entropylaw.ingest.run import Run, Series
from entropylaw.options import FitOptions
from entropylaw.results.fields import replace
from entropylaw.results.findings import caution, note
from entropylaw.results.law import LawFit


def fit_series(
    series: Series,
    *,
    level: float = 0.95,
    interval: str = "drift",
    eval_size: int | None = None,
    keep_outliers: bool = False,
) -> LawFit:
    """Fit a paired series; what the pairing knows of the columns joins the cautions.

    Raises
    ------
    FitError, UsageError
        As :func:`entropylaw.fit_law`.
    """
    try:
        law = fit_law(
            series.entropy,
            series.reward,
            series.step,
            level=level,
            interval=interval,
            eval_size=eval_size,
            entropy_sd=series.entropy_sd,
            keep_outliers=keep_outliers,
            run=series.run,
        )
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


def fit_logs(paths: Sequence[Any], settings: FitOptions | None = None) -> FitDocument:
    """Read every log and fit every run in it.

    Parameters
    ----------
    paths
        Files, folders, ``-`` for standard input, ``name:format`` to force a format.
    settings
        What to use; the defaults where not given.

    Returns
    -------
    A document with one entry a run. A run that cannot be fitted has a ``refusal`` in place of a law, and
    so has a file that cannot be read; nothing is raised for either.
    """
    asked = FitOptions() if settings is None else of_kind(settings, FitOptions, "settings")
    paths = [paths] if isinstance(paths, str | os.PathLike) else several(paths, object, "paths")
    columns = named_columns(asked)
    return fit_reading(read_logs(paths, step=asked.step, run=asked.run, columns=columns), asked)


def fit_reading(reading: Reading, asked: FitOptions) -> FitDocument:
    """Fit every run that was read; what could not be read stands in the document as refused."""
    runs = [fit_or_refuse(run, asked) for run in reading.runs]
    runs += [refused_file(*failure) for failure in reading.failures]
    return FitDocument(
        inputs=input_files(reading.runs),
        settings=asked,
        runs=tuple(runs),
        warnings=skipped_files(reading.ignored),
    )


def named_columns(asked: FitOptions) -> list[str]:
    """The columns that the settings name, which are read whatever the catalog knows of them."""
    named = [name for name in (asked.entropy, asked.reward) if name]
    if asked.entropy_sd and as_number(asked.entropy_sd) is None:
        named.append(asked.entropy_sd)
    return named


def read_logs(paths: Sequence[Any], *, step: str | None, run: str | None, columns: Sequence[str]) -> Reading:
    """Read some logs; what cannot be read stands among the failures.

    Raises
    ------
    UsageError
        An option that is wrong for one log is wrong for all.
    """
    reading = read_all(paths, step=step, run=run, columns=columns)
    for failure in reading.failures:
        if isinstance(failure.error, UsageError):
            raise failure.error
    return reading


def combine(documents: Sequence[FitDocument]) -> FitDocument:
    """Several documents with the same settings as one; a file that several read is listed once.

    Raises
    ------
    UsageError
        ``settings-differ``: a document speaks of one level and one way to fit.
    """
    first, *others = documents
    for other in others:
        if other.settings != first.settings:
            raise settings_differ(first.settings, other.settings)
    inputs = {(file.path, file.sha256): file for document in documents for file in document.inputs}
    runs = tuple(chain.from_iterable(document.runs for document in documents))
    if others:
        names = told_apart([run.run for run in runs], [run.path for run in runs])
        runs = tuple(map(_called, runs, names))
    return FitDocument(
        inputs=tuple(inputs.values()),
        settings=first.settings,
        runs=runs,
        warnings=tuple(chain.from_iterable(document.warnings for document in documents)),
    )


def _called(run: RunFit, name: str) -> RunFit:
    return replace(run, run=name, law=run.law and replace(run.law, run=name))


def settings_differ(one: FitOptions, other: FitOptions) -> UsageError:
    """The error of putting together what was fitted in different ways; it names the first difference."""
    pairs = ((field.name, getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    differ = next((f"{name} {left} and {right}" for name, left, right in pairs if left != right), "none")
    return UsageError(
        "settings-differ",
        f"fits with different settings ({differ}), one document has one",
        "fit the logs anew with the same options, or treat them one by one",
    )


def fit_or_refuse(run: Run, asked: FitOptions) -> RunFit:
    """One run of a document, whatever happens.

    Raises
    ------
    UsageError
        A setting that is wrong for one run is wrong for all.
    """
    series: Series | None = None
    try:
        series = select(
            run, entropy=asked.entropy, reward=asked.reward, pair=asked.pair, entropy_sd=asked.entropy_sd
        )
        law = fit_series(series, keep_outliers=asked.keep_outliers, **_how(asked))
    except UsageError:
        raise
    except EntropyLawError as error:
        return refused_run(run, series, error)
    return as_stored(_with_seams(fitted_run(run, series, law), series, asked))


def _how(asked: FitOptions) -> dict[str, Any]:
    """The options that a run and its segments have in common."""
    return {"level": asked.level, "interval": asked.interval, "eval_size": asked.eval_size}


def _with_seams(entry: RunFit, series: Series, asked: FitOptions) -> RunFit:
    """Find jumps and fit the law between them, where that is asked for."""
    if not (asked.seams or asked.find_seams):
        return entry
    found = find_seams(series.step, series.entropy, series.reward) if asked.find_seams else ()
    steps = asked.seams or seam_steps(found, series.step)
    if not steps:
        return replace(entry, seams=found, findings=() if found else (note("no-level-shift"),))
    try:
        segments = fit_segments(
            series.step,
            series.entropy,
            series.reward,
            seams=steps,
            entropy_sd=series.entropy_sd,
            run=series.run,
            **_how(asked),
        )
    except FitError as error:
        return replace(entry, seams=found, findings=(note("segments-refused", message=error.message),))
    return replace(entry, seams=found, segments=segments)


def with_shared(document: FitDocument) -> FitDocument:
    """Add what the runs of a document have in common, as its settings ask.

    Raises
    ------
    FitError
        ``too-few-runs``, where fewer than two have a law.
    UsageError
        ``bad-shared``.
    """
    if not document.settings.shared:
        return document
    return replace(document, shared=as_stored(share(document.fitted, shared=document.settings.shared)))
