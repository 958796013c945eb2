"""What a run's configuration says about its entropy: temperature, aggregation, and what pushes it besides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from entropylaw.ingest import catalog
from entropylaw.ingest.run import Run
from entropylaw.ingest.steps import folded
from entropylaw.ingest.values import FloatArray, parse_number
from entropylaw.ingest.wording import shown

# Names as the trainers' configurations have them, the most particular first.
_TEMPERATURE = (
    *("actor_rollout_ref/rollout/temperature", "policy/generation/temperature", "rollout_temperature"),
    *("generator/sampling_params/temperature", "actor_infer/generating_args/temperature"),
    *("gconfig/temperature", "orchestrator/sampling/temperature", "sampling/temperature"),
    *("worker/rollout/temperature", "rollout/temperature", "temperature"),
)
_AGGREGATION = ("actor_rollout_ref/actor/loss_agg_mode", "actor/loss_agg_mode", "loss_agg_mode")
_ENTROPY = (
    *("actor_rollout_ref/actor/entropy_coeff", "actor/entropy_coeff", "actor/entropy_coef"),
    *("trainer/algorithm/entropy_loss_coef", "entropy_loss_coef", "entropy_coeff", "entropy_coef"),
)
# The weight of a KL term, and the switch without which it does nothing.
_KL: tuple[tuple[str, str | None], ...] = (
    ("actor_rollout_ref/actor/kl_loss_coef", "actor_rollout_ref/actor/use_kl_loss"),
    ("algorithm/kl_ctrl/kl_coef", "algorithm/use_kl_in_reward"),
    ("trainer/algorithm/kl_loss_coef", "trainer/algorithm/use_kl_loss"),
    ("loss_fn/reference_policy_kl_penalty", None),
    *((name, None) for name in ("algorithm/kl_coef", "init_kl_coef", "kl_loss_coef", "kl_coef", "beta")),
)
# In verl's words; with these, what is logged as entropy is a sum over the tokens of a response or a batch.
_SUMS = frozenset(("token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm"))
_MEANS = {"token-mean": "token mean", "seq-mean-token-mean": "mean of per-response means"}


# What turns on a control of the entropy: TRL's and SB3's words, those of Skywork-OR1 and of AReaL's AEnt.
_CONTROLS = (
    *("use_adaptive_entropy", "use_adapt_ent", "use_adaptive_ent", "adaptive_entropy/enabled"),
    *("adaptive_entropy", "aent/adaptive_coeff", "adaptive_entropy_coeff", "adaptive_entropy_coef"),
)
_TARGETS = ("entropy_target", "target_entropy", "target_ent")
# A coefficient with a loss of its own is learned, as in SB3's SAC.
_LEARNED = ("ent_coef_loss", "entropy_coef_loss")
# Fewest rises and falls of a coefficient, and the share of pairs of them that must be told apart by the
# entropy, before they count as answers to it.
_FEWEST_MOVES = 3
_TOLD_APART = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting and where it stands."""

    name: str
    value: float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Under which settings an entropy came about; None where no configuration says.

    Attributes
    ----------
    temperature
        Of sampling.
    aggregation
        How the entropies of tokens were put together, in verl's words.
    entropy_weight, kl_weight
        Weights in the loss or the reward, where they are not 0.

    """

    temperature: Setting | None = None
    aggregation: Setting | None = None
    entropy_weight: Setting | None = None
    kl_weight: Setting | None = None

    @property
    def is_sum(self) -> bool:
        """Whether what is logged as entropy is a sum over tokens."""
        return self.aggregation is not None and self.aggregation.value in _SUMS

    @property
    def mean(self) -> str | None:
        """The mean that is logged, in the catalog's words."""
        return _MEANS.get(str(self.aggregation.value)) if self.aggregation else None


_KNOWN = frozenset(
    folded(name)
    for name in (
        *(*_TEMPERATURE, *_AGGREGATION, *_ENTROPY),
        *(name for pair in _KL for name in pair if name is not None),
    )
)


def relevant(settings: Mapping[str, object]) -> dict[str, object]:
    """Return those settings that something is made of."""
    return {
        name: value
        for name, value in settings.items()
        if folded(name) in _KNOWN or _ends_with(name, (*_CONTROLS, *_TARGETS))
    }


def regime_of(run: Run) -> Regime:
    """Read the settings of a run; a coefficient that is logged as a column counts as one."""
    by_fold = {folded(name): (name, value) for name, value in run.settings.items()}
    return Regime(
        temperature=_number(by_fold, _TEMPERATURE),
        aggregation=_text(by_fold, _AGGREGATION),
        entropy_weight=_not_zero(_number(by_fold, _ENTROPY)) or _not_zero(_logged(run, "ent")),
        kl_weight=_kl(by_fold) or _not_zero(_logged(run, "kl")),
    )


def cautions(regime: Regime, run: Run, entropy: FloatArray | None) -> tuple[str, ...]:
    """Say what the settings mean for the law; ``entropy`` has the values that are used, None without any."""
    found = []
    control = _control(run, entropy)
    if control:
        found.append(
            f"the entropy is controlled: {control}; it is then a set variable and not an outcome of the "
            "training, and how well the law fits tests nothing"
        )
    elif regime.entropy_weight:
        found.append(
            f"the loss holds an entropy term of weight {regime.entropy_weight.value:g} "
            f"({shown(regime.entropy_weight.name)}), which moves the entropy by itself; the law is stated "
            "without"
        )
    if regime.kl_weight:
        found.append(
            f"a KL term of weight {regime.kl_weight.value:g} ({shown(regime.kl_weight.name)}) holds the "
            "policy back; the law is stated without"
        )
    return tuple(found)


def notes(regime: Regime) -> tuple[str, ...]:
    """Say what the settings mean for the numbers."""
    if regime.temperature is None or regime.temperature.value == 1:
        return ()
    return (
        f"sampled at temperature {regime.temperature.value:g} ({shown(regime.temperature.name)}): a and b do "
        "not compare with those of runs at another temperature",
    )


def _control(run: Run, entropy: FloatArray | None) -> str:
    """Say by what the entropy is held near a target; empty where nothing shows that it is."""
    coefficient = _logged(run, "ent")
    if coefficient is not None and coefficient.value == 0:
        return ""  # turned on or not, it never did anything
    for name, value in run.settings.items():
        if _ends_with(name, _CONTROLS) and str(value).casefold() in ("true", "1", "1.0"):
            return f"its settings have {shown(name)} = {shown(value)}"
    switched = any(_ends_with(name, _CONTROLS) for name in run.settings)
    for name, value in run.settings.items():
        if not switched and _ends_with(name, _TARGETS) and str(value).casefold() not in ("none", "null", ""):
            return f"its settings have {shown(name)} = {shown(value)}"
    for name, values in run.columns.items():
        if _ends_with(name, (*_TARGETS, *_LEARNED)) and np.isfinite(values).any():
            kind = "a target for it" if _ends_with(name, _TARGETS) else "a loss that learns its coefficient"
            return f"the log has {kind} ({shown(name)})"
    if coefficient is None or entropy is None:
        return ""
    return _answers(coefficient.name, run.columns[coefficient.name], entropy)


def _answers(name: str, coefficient: FloatArray, entropy: FloatArray) -> str:
    """Say that a coefficient rises where the entropy is low and falls where it is high, if it does."""
    rows = np.flatnonzero(np.isfinite(coefficient) & np.isfinite(entropy))
    change = np.diff(coefficient[rows])
    # The coefficient of a row answers the entropy of that row, or of the one before it.
    for seen in (entropy[rows][1:], entropy[rows][:-1]):
        rising, falling = seen[change > 0], seen[change < 0]
        if min(rising.size, falling.size) < _FEWEST_MOVES:
            return ""
        below = np.searchsorted(np.sort(rising), falling).sum() / (rising.size * falling.size)
        if below >= _TOLD_APART:
            target = (float(np.median(rising)) + float(np.median(falling))) / 2
            return (
                f"{shown(name)} rises where it is below about {target:.2g} nats, and falls where it is above"
            )
    return ""


def _ends_with(name: str, endings: tuple[str, ...]) -> bool:
    """Whether a name is one of some names, or ends in one after a separator."""
    flat = f"_{folded(name)}"
    return any(flat.endswith(f"_{folded(ending)}") for ending in endings)


def _find(settings: Mapping[str, tuple[str, object]], names: tuple[str, ...]) -> tuple[str, object] | None:
    return next((settings[folded(name)] for name in names if folded(name) in settings), None)


def _number(settings: Mapping[str, tuple[str, object]], names: tuple[str, ...]) -> Setting | None:
    found = _find(settings, names)
    value = parse_number(found[1]) if found else math.nan
    return Setting(name=found[0], value=value) if found and math.isfinite(value) else None


def _text(settings: Mapping[str, tuple[str, object]], names: tuple[str, ...]) -> Setting | None:
    found = _find(settings, names)
    return Setting(name=found[0], value=found[1]) if found and isinstance(found[1], str) else None


def _kl(settings: Mapping[str, tuple[str, object]]) -> Setting | None:
    for name, switch in _KL:
        weight = _not_zero(_number(settings, (name,)))
        turned_on = settings.get(folded(switch), ("", True))[1] if switch else True
        if weight and turned_on not in (False, "False", "false"):
            return weight
    return None


def _logged(run: Run, kind: str) -> Setting | None:
    """Return a coefficient that the run logs: its largest value, for a schedule may end at 0."""
    for name in catalog.coefficients(run.columns):
        if (kind == "ent") != ("ent" in folded(name)):
            continue
        finite = run.columns[name][~(run.columns[name] != run.columns[name])]
        if finite.size:
            return Setting(name=name, value=float(max(finite, key=abs)))
    return None


def _not_zero(setting: Setting | None) -> Setting | None:
    return setting if setting is not None and setting.value != 0 else None
