"""What earlier versions had: flags, settings and names, each with what to use instead."""

from __future__ import annotations

from entropylaw.errors import UsageError

FLAGS = {
    "--shared": "`entropylaw compare` answers it with the seed as the unit",
    "--by": "`entropylaw compare -o arms.csv` has the numbers of every arm; fit a line through them with "
    "statsmodels",
    "--at-size": "no prediction for a size is made: three or four sizes decide nothing",
    "--interval": "leave it out: the fit averages over all residual models, and shows the numbers if memory "
    "is short or long; `entropylaw.to_lmfit(form, fit, whiten=False)` is least squares",
    "--saturation": "leave it out: every forecast of a run says when its entropy is spent",
    "--allow-urls": "leave it out: logs at URLs are named on the command line, and then read",
}
"""Flags; the keys of settings are the same without ``--``."""

SETTINGS = {
    "inputs": "name the logs on the command line",
    "output": "write -o FILE on the command line",
    "folder": "write -o FOLDER on the command line",
    "tool": "settings of pyproject.toml are not read: move [tool.entropylaw] to the top of entropylaw.toml",
}
"""Further keys of settings."""

NAMES = {
    "fit_shared": "`entropylaw.compare` answers it with the seed as the unit",
    "compare_forms": "`entropylaw.fit_law(...).forms` has each form with its probability and its ceiling",
    "influences": "`entropylaw.fit_law(...).law.influence` is the evaluation that moves the law most",
    "fit_segments": "`entropylaw.fit_law(..., seams=STEPS)` allows for another level after each step",
    "saturation_forecast": "`entropylaw.forecast(...).spent` is the step at which the entropy is spent",
    "SaturationForecast": "`entropylaw.forecast(...).spent` is the step at which the entropy is spent",
    "fit_nonlinear": "`entropylaw.to_lmfit(form, fit)` gives the model to fit",
}
"""Names of the library."""


def refuse_removed(name: str, setting: str = "") -> None:
    """Raise a UsageError ``removed-option`` for a flag, or the key of a ``setting``, that there was."""
    hint = SETTINGS.get(name, FLAGS.get(f"--{name}")) if setting else FLAGS.get(name)
    if hint is not None:
        raise UsageError("removed-option", f"{setting or name} was removed", hint)
