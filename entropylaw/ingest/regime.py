"""What a run's configuration says about its entropy: temperature, aggregation, and what pushes it besides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from entropylaw.ingest import catalog
from entropylaw.ingest.run import Run
from entropylaw.ingest.steps import folded
from entropylaw.ingest.trainers import names
from entropylaw.ingest.values import FloatArray, parse_number
from entropylaw.ingest.wording import shown
from entropylaw.results.findings import Finding, caution

# In verl's words; with these, what is logged as entropy is a sum over the tokens of a response or a batch.
_SUMS = frozenset(("token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm"))
# Between the weight of a KL term and the switch without which it does nothing.
_SWITCH = " if "
_MEANS = {"token-mean": "token mean", "seq-mean-token-mean": "mean of per-response means"}


class Setting(NamedTuple):
    """One setting and where it stands."""

    name: str
    value: float | str


class Regime(NamedTuple):
    """Under which settings an entropy came about; None where no configuration says.

    ``aggregation`` says in verl's words how the entropies of tokens were put together; weights are never 0.
    """

    temperature: Setting | None
    aggregation: Setting | None
    entropy_weight: Setting | None
    kl_weight: Setting | None

    @property
    def is_sum(self) -> bool:
        """Whether what is logged as entropy is a sum over tokens."""
        return self.aggregation is not None and self.aggregation.value in _SUMS

    @property
    def mean(self) -> str | None:
        """The mean that is logged, in the catalog's words."""
        return _MEANS.get(str(self.aggregation.value)) if self.aggregation else None


def relevant(settings: Mapping[str, object]) -> dict[str, object]:
    """Return those settings that something is made of."""
    kinds = ("temperature", "loss_aggregation", "entropy_weight", "kl_weight")
    read = {folded(part) for kind in kinds for name in names(kind) for part in name.split(_SWITCH)}
    suffixes = ("entropy_control", "entropy_target")
    return {name: x for name, x in settings.items() if folded(name) in read or _ends_with(name, *suffixes)}


def regime_of(run: Run) -> Regime:
    """Read the settings of a run; a coefficient that is logged as a column counts as one."""
    by_fold = {folded(name): value for name, value in run.settings.items()}
    switched = [name.partition(_SWITCH) for name in names("kl_weight")]
    off = (False, "False", "false")
    on = [weight for weight, _, switch in switched if not switch or by_fold.get(folded(switch)) not in off]
    weights = [_setting(run, *names("entropy_weight")), _logged(run, "ent")]
    kl_weights = [*(_setting(run, weight) for weight in on), _logged(run, "kl")]
    return Regime(
        temperature=_setting(run, *names("temperature")),
        aggregation=_setting(run, *names("loss_aggregation"), text=True),
        entropy_weight=next((one for one in weights if one and one.value), None),
        kl_weight=next((one for one in kl_weights if one and one.value), None),
    )


def findings(regime: Regime, run: Run, entropy: FloatArray | None) -> tuple[Finding, ...]:
    """Say what the settings mean for the law; ``entropy`` has the values that are used, None without any."""
    control = _control(run, entropy)
    found = [caution("entropy-controlled", **control)] if control else []
    if not control and (term := regime.entropy_weight):
        found.append(caution("entropy-term", weight=term.value, name=term.name))
    if term := regime.kl_weight:
        found.append(caution("kl-term", weight=term.value, name=term.name))
    return tuple(found)


def notes(regime: Regime) -> tuple[str, ...]:
    """Say what the settings mean for the numbers."""
    if regime.temperature is None or regime.temperature.value == 1:
        return ()
    name, value = regime.temperature
    note = f"sampled at temperature {value:g} ({shown(name)}): a and b do not compare with those of runs at "
    return (f"{note}another temperature",)


def _control(run: Run, entropy: FloatArray | None) -> dict[str, float | str]:
    """Say by what the entropy is held near a target; empty where nothing shows that it is."""
    coefficient = _logged(run, "ent")
    if coefficient is not None and coefficient.value == 0:
        return {}  # turned on or not, it never did anything
    switches, targets = (
        {name: str(value).casefold() for name, value in run.settings.items() if _ends_with(name, kind)}
        for kind in ("entropy_control", "entropy_target")
    )
    found = [name for name, value in switches.items() if value in ("true", "1", "1.0")]
    if not switches:
        found = [name for name, value in targets.items() if value not in ("none", "null", "")]
    if found:
        return {"by": "setting", "name": found[0], "value": str(run.settings[found[0]])}
    for name, values in run.columns.items():
        target = _ends_with(name, "entropy_target")
        if (target or _ends_with(name, "learned_coefficient")) and np.isfinite(values).any():
            return {"by": "target" if target else "learned-coefficient", "name": name}
    if coefficient is None or entropy is None:
        return {}
    return _answers(coefficient.name, run.columns[coefficient.name], entropy)


def _answers(name: str, coefficient: FloatArray, entropy: FloatArray) -> dict[str, float | str]:
    """Say that a coefficient rises where the entropy is low and falls where it is high, if it does."""
    rows = np.flatnonzero(np.isfinite(coefficient) & np.isfinite(entropy))
    change = np.diff(coefficient[rows])
    # The coefficient of a row answers the entropy of that row, or of the one before it: where the entropy
    # tells nine tenths of the pairs of a rise and a fall apart, of three of each at the least.
    for seen in (entropy[rows][1:], entropy[rows][:-1]):
        rising, falling = seen[change > 0], seen[change < 0]
        if min(rising.size, falling.size) < 3:
            return {}
        below = np.searchsorted(np.sort(rising), falling).sum() / (rising.size * falling.size)
        if below >= 0.9:
            target = (float(np.median(rising)) + float(np.median(falling))) / 2
            return {"by": "coefficient", "name": name, "value": target}
    return {}


def _ends_with(name: str, *kinds: str) -> bool:
    """Whether a name is one of some kinds of names, or ends in one after a separator."""
    flat = f"_{folded(name)}"
    return any(flat.endswith(f"_{folded(ending)}") for kind in kinds for ending in names(kind))


def _setting(run: Run, *wanted: str, text: bool = False) -> Setting | None:
    """Return the first of some settings that a run has, where it is a number, or a text if that is wanted."""
    by_fold = {folded(name): name for name in run.settings}
    name = next((by_fold[folded(one)] for one in wanted if folded(one) in by_fold), None)
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
        there = run.columns[name][~np.isnan(run.columns[name])]
        if (kind == "ent") == ("ent" in folded(name)) and there.size:
            return Setting(name, float(max(there, key=abs)))
    return None
