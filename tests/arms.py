"""Comparisons of arms made by hand, with a value in every field."""

from typing import Any

import numpy as np

from entropylaw import ArmComparison, Estimate
from entropylaw.results.result import replace
from tests.findings import made, stated

POINTS = 12
"""Points of a curve."""

Fields = dict[str, Any]

UNITS = {"failure_rate": "share", "last_entropy": "nats", "entropy_loss": "nats"}
"""Of quantities that are no rewards."""

DECISIONS = ("higher", "lower", "same", "not decided")

METHOD = "seeds as the unit, the arms' spreads integrated out"


def estimate(
    value: float | None, reach: float | None = 0.01, note: str | None = None, **other: Any
) -> Estimate:
    """A value with an interval of so much on either side."""
    known = value is not None and reach is not None
    ends = {"low": value - reach, "high": value + reach} if known else {"low": None, "high": None}  # type: ignore[operator]
    return Estimate(**({"value": value, "level": 0.95, "method": METHOD, "note": note} | ends | other))


def unknown(why: str) -> Estimate:
    return estimate(None, note=why)


def curve(shift: float = 0.0) -> tuple[tuple[float, ...], tuple[float, ...]]:
    entropy = np.linspace(0.1, 0.6, POINTS)
    return tuple(entropy.tolist()), tuple((0.9 + shift - 0.4 * entropy).tolist())


def by_step(shift: float = 0.0) -> Fields:
    steps = np.linspace(0.0, 400.0, POINTS)
    return {"steps": tuple(steps.tolist()), "by_step": tuple((0.7 + shift + 0.0004 * steps).tolist())}


def run(name: str, shift: float = 0.0, **other: Any) -> Fields:
    entropy, reward = curve(shift)
    values = {
        "ceiling": 0.9,
        "a": 0.3,
        "b": 1.2,
        "last_reward": 0.86,
        "along_last": 0.1,
    }
    fields = {"run": name, "n": 51, "last_step": 400.0, "failed": None, "along": entropy, "reward": reward}
    return fields | {"values": values} | by_step(shift) | other


def lost(name: str, why: str = "reward from 0.712 to 0") -> Fields:
    return run(name, failed=why, along=(), reward=(), values={})


def short(name: str) -> Fields:
    return run(name, n=15, last_step=120.0, left_out="ended at step 120, after 30 % of the longest run")


def without_entropy(name: str) -> Fields:
    return run(name, without_along="this log has no entropy", along=(), reward=())


def arm(name: str, shift: float = 0.0, *more: Fields, seeds: int = 2) -> Fields:
    runs = (*(run(f"{name}_s{seed}", shift + 0.002 * seed) for seed in range(seeds)), *more)
    entropy, mean = curve(shift)
    failed = sum(one["failed"] is not None for one in runs)
    rate = Estimate(
        value=failed / len(runs),
        low=0.0,
        high=0.9,
        level=0.95,
        method=f"Clopper–Pearson, {failed} of {len(runs)} runs",
    )
    whole = {"arm": name, "runs": runs, "failure_rate": rate, "along": entropy, "mean": mean}
    return whole | by_step(shift)


def difference(quantity: str, value: float, decision: str = "not decided", **other: Any) -> Fields:
    fields = {
        "quantity": quantity,
        "unit": UNITS.get(quantity, "reward"),
        "estimate": estimate(value, 0.014),
        "p_value": 0.081,
        "p_adjusted": 0.16,
        "p_welch": 0.21,
        "headline": quantity in ("last_reward", "living_reward", "reward_at_entropy", "reward_at_equal"),
        "between": 0.0061,
        "margin": 0.012,
        "inner": estimate(value, 0.011, level=0.9, method="two one-sided tests"),
        "decision": decision,
        "smallest": 0.021,
        "seeds_needed": 28,
        "seeds": (2, 3),
    }
    return fields | other


def band(shift: float = 0.02) -> Fields:
    """Above 0 over the lower part of the entropies, or below."""
    entropy = tuple(np.linspace(0.1, 0.5, POINTS).tolist())
    mean = tuple(shift * (1.4 - 2.0 * x) for x in entropy)
    low, high = (tuple(x + end for x in mean) for end in (-0.012, 0.012))
    return {"along": entropy, "mean": mean, "low": low, "high": high}


def pair(name: str, baseline: str = "grpo", decision: str = "not decided", **other: Any) -> Fields:
    fields: Fields = {
        "arm": name,
        "baseline": baseline,
        "common": (0.1, 0.5),
        "last_step": 400.0,
        "differences": (
            difference(
                "last_reward",
                -0.05,
                estimate=estimate(-0.05, None, "runs failed"),
                headline=False,
                p_adjusted=None,
            ),
            difference("living_reward", -0.03, "lower"),
            difference("reward_at_entropy", 0.012, decision),
            difference(
                "failure_rate", 0.25, estimate=estimate(0.25, 0.5, method="1 of 3 against 0 of 3; Newcombe")
            ),
            difference("last_entropy", 0.048, p_adjusted=None),
            difference("entropy_loss", -0.014, margin=None, seeds_needed=None, p_adjusted=None),
            {"quantity": "shift", "unit": "reward", "estimate": unknown("no entropy in common at the end")},
        ),
        "band": band(),
    }
    return fields | other


def comparison(*names: str, further: tuple[Fields, ...] = (), **other: Any) -> ArmComparison:
    """Arms against ``grpo``, of three seeds and ``further`` runs; ``clip_cov`` and ``rloo`` unless named."""
    named = names or ("clip_cov", "rloo")
    arms = [arm("grpo", 0.0, *further, seeds=3)]
    arms += [arm(name, 0.004 * (place + 1), lost(f"{name}_s2")) for place, name in enumerate(named)]
    pairs = tuple(
        pair(name, decision=DECISIONS[place % 4], band=band(0.02 * (-1) ** place))
        for place, name in enumerate(named)
    )
    fields: Fields = {
        "arms": tuple(arms),
        "baseline": "grpo",
        "chosen": "by its name",
        "pairs": pairs,
        "level": 0.95,
        "margin": 0.01,
    }
    return made(ArmComparison, **fields | other)


def complete(*names: str, **other: Any) -> ArmComparison:
    """The same with a value in every field."""
    fields: Fields = {
        "paired": "seed",
        "p_arms": 0.034,
        "findings": (*stated("caution", "a caution"), *stated("note", "a note")),
    }
    further = (short("grpo_s3"), without_entropy("grpo_s4"))
    whole = comparison(*names, further=further, **fields | other)
    return replace(whole, pairs=tuple(replace(one, outside=("grpo_s2",)) for one in whole.pairs))


MANY = ("clip_cov", "kl_cov", "gppo", "rloo", "entropy_bonus_0.02", "entropy_bonus_0.1")
