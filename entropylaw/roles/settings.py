"""What a run's settings mean for its entropies: temperature, aggregation, bonus, penalty, control."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.escaping import shown
from entropylaw.logs import catalog
from entropylaw.logs.catalog import names
from entropylaw.logs.configuration import SWITCH, is_a
from entropylaw.logs.runs import Run
from entropylaw.logs.runs.number_parsing import parse_number
from entropylaw.logs.runs.step_column import by_folded_name, folded
from entropylaw.results.result import INCOMPLETE, Finding, caution

SUMS = frozenset(("token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm"))
"""verl's aggregations with which the logged entropy is a sum over the tokens of a response or a batch."""

MEANS: Mapping[float | str, str] = {
    "token-mean": "token mean",
    "seq-mean-token-mean": "mean of per-response means",
}
"""verl's other aggregations → the mean that is logged, in the catalog's terms."""

# Kinds of names in the catalog → by what a column of such a name shows that the entropy is controlled.
_CONTROL_COLUMNS = {
    "entropy_control": "switch",
    "entropy_target": "target",
    "learned_coefficient": "learned-coefficient",
}

# Share of groups without a gradient, in the mean of the last third of a run, that is a caution.
_DEAD = 0.9

# Coefficients that differ by less, relative to the largest, are one number in single precision.
_ROUNDING = 1e-6


class Setting(NamedTuple):
    """One setting: its name in the configuration or the log, and its value."""

    name: str
    value: float | str


class EntropySettings(NamedTuple):
    """The settings that determine what a logged entropy means; None where no configuration has them.

    ``aggregation`` is verl's name of how the entropies of tokens were combined; weights are never 0.
    """

    temperature: Setting | None
    aggregation: Setting | None
    entropy_weight: Setting | None
    kl_weight: Setting | None


def entropy_settings(run: Run) -> EntropySettings:
    """Read the settings of a run; a coefficient that is logged as a column counts as one."""
    by_fold = {folded(name): value for name, value in run.settings.items()}
    switched = [name.partition(SWITCH) for name in names("kl_weight")]
    off = (False, "False", "false")
    on = [weight for weight, _, switch in switched if not switch or by_fold.get(folded(switch)) not in off]
    weights = [_setting(run, *names("entropy_weight")), _logged(run, "ent")]
    kl_weights = [*(_setting(run, weight) for weight in on), _logged(run, "kl")]
    return EntropySettings(
        temperature=_setting(run, *names("temperature")),
        aggregation=_setting(run, *names("loss_aggregation"), text=True),
        entropy_weight=next((term for term in weights if term and term.value), None),
        kl_weight=next((term for term in kl_weights if term and term.value), None),
    )


def findings(settings: EntropySettings, run: Run, entropy: FloatArray | None) -> tuple[Finding, ...]:
    """Report what the settings mean for the law; ``entropy`` has the values that are used."""
    control = _control(run, entropy)
    reported = incomplete(run)
    if control:
        reported.append(caution("entropy-controlled", **control))
    elif term := settings.entropy_weight:
        reported.append(caution("entropy-term", weight=term.value, name=term.name))
    if term := settings.kl_weight:
        reported.append(caution("kl-term", weight=term.value, name=term.name))
    for name, value in run.settings.items():
        if is_a(name, "dynamic_batches") and str(value).casefold() == "true":
            reported.append(caution("dynamic-batches", name=name))
    if (groups := first_usable(run, names("dead_groups"))) is not None:
        values = run.finite(groups)
        share = float(values[-max(values.size // 3, 1) :].mean())
        if share >= _DEAD:
            reported.append(caution("dead-groups", name=groups, share=share))
    return tuple(reported)


def incomplete(run: Run) -> list[Finding]:
    """Report that more of a run's log than :data:`~entropylaw.logs.source.MOST_UNREAD` was not read."""
    source = run.source
    return [caution(INCOMPLETE, share=source.unread)] if source.incomplete else []


def first_usable(run: Run, candidates: Sequence[str]) -> str | None:
    """Return the first of some names that the run has with a finite value; ``/`` and ``.`` count as ``_``."""
    columns = by_folded_name(run.columns)
    present = (columns[folded(name)] for name in candidates if folded(name) in columns)
    return next((name for name in present if run.finite(name).size), None)


def divergence(run: Run, step: FloatArray) -> tuple[str, FloatArray] | None:
    """The column with the divergence from the reference policy, and its values at some steps (n,).

    None where a run has none, or it does not move.
    """
    column = first_usable(run, names("kl"))
    if column is None:
        return None
    logged = np.isfinite(run.columns[column])
    values = np.interp(step, run.step[logged], run.columns[column][logged])
    if np.ptp(values) == 0:
        return None
    return column, values


def _control(run: Run, entropy: FloatArray | None) -> dict[str, float | str]:
    """Find by what the entropy is controlled, and the values seen; empty where nothing shows that it is."""
    coefficients: dict[str, FloatArray] = {}
    for name in catalog.coefficients(run.columns):
        if "ent" in folded(name) and run.finite(name).size:
            coefficients[name] = run.columns[name]
    if coefficients and not any(run.finite(name).any() for name in coefficients):
        return {}  # turned on or not, it never had an effect
    return next(_controls(run, coefficients, entropy), {})


def _controls(
    run: Run, coefficients: Mapping[str, FloatArray], entropy: FloatArray | None
) -> Iterator[dict[str, float | str]]:
    """Yield what shows that the entropy is controlled, the surest first."""
    for name in _turned_on(run):
        yield {"by": "setting", "name": name, "value": str(run.settings[name])}
    # Logged switches and targets.
    for name, kind in product(run.columns, _CONTROL_COLUMNS):
        if name not in coefficients and is_a(name, kind):
            # A switch that is logged as 0 is off; a target may be 0.
            logged = run.finite(name)
            is_off = kind == "entropy_control" and not logged.any()
            if logged.size and not is_off:
                yield {"by": _CONTROL_COLUMNS[kind], "name": name}
    # Coefficients that follow the entropy, then those that vary.
    for name, coefficient in coefficients.items():
        if entropy is not None and (target := _adaptive_target(coefficient, entropy)) is not None:
            yield {"by": "coefficient", "name": name, "value": target}
    for name in coefficients:
        low = float(run.finite(name).min())
        high = float(run.finite(name).max())
        if high - low > _ROUNDING * max(abs(low), abs(high)):
            yield {"by": "varying-coefficient", "name": name, "low": low, "high": high}


def _turned_on(run: Run) -> list[str]:
    """The settings that turn a control of the entropy on."""
    values = {name: str(value).casefold() for name, value in run.settings.items()}
    switches = [name for name in values if is_a(name, "entropy_control")]
    if switches:
        return [name for name in switches if values[name] in ("true", "1", "1.0")]
    targets = [name for name in values if is_a(name, "entropy_target")]
    return [name for name in targets if values[name] not in ("none", "null", "")]


def notes(settings: EntropySettings) -> tuple[str, ...]:
    """Note what the settings mean for the numbers."""
    temperature = settings.temperature
    if temperature is None or temperature.value == 1:
        return ()
    return (
        f"sampled at temperature {temperature.value:g} ({shown(temperature.name)}): a and b do not compare "
        "with those of runs at another temperature",
    )


def _adaptive_target(coefficient: FloatArray, entropy: FloatArray) -> float | None:
    """Estimate the entropy below which a coefficient rises and above which it falls; None without any."""
    rows = np.flatnonzero(np.isfinite(coefficient) & np.isfinite(entropy))
    change = np.diff(coefficient[rows])
    # A change of the coefficient depends on the entropy of the same row, or of the one before it: adaptive
    # where the entropy orders nine tenths of the pairs of a rise and a fall, with three of each at least.
    for seen in (entropy[rows][1:], entropy[rows][:-1]):
        rising = seen[change > 0]
        falling = seen[change < 0]
        if min(rising.size, falling.size) < 3:
            return None
        below = np.searchsorted(np.sort(rising), falling).sum() / (rising.size * falling.size)
        if below >= 0.9:
            return (float(np.median(rising)) + float(np.median(falling))) / 2
    return None


def _setting(run: Run, *candidates: str, text: bool = False) -> Setting | None:
    """Return the first of some settings that a run has, if it is a number (or a text, with ``text``)."""
    by_fold = {folded(name): name for name in run.settings}
    name = next(filter(None, map(by_fold.get, map(folded, candidates))), None)
    if name is None:
        return None
    value = run.settings[name]
    if text:
        return Setting(name, value) if isinstance(value, str) else None
    number = parse_number(value)
    return Setting(name, number) if math.isfinite(number) else None


def _logged(run: Run, kind: str) -> Setting | None:
    """Return a coefficient that the run logs: its largest value, for a schedule may end at 0."""
    for name in catalog.coefficients(run.columns):
        logged = run.columns[name][~np.isnan(run.columns[name])]
        if (kind == "ent") == ("ent" in folded(name)) and logged.size:
            return Setting(name, float(max(logged, key=abs)))
    return None
