"""How often a true law is called not valid, and a false one valid: the operating point of ``validity``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.worlds import CEILING, SD, A, FloatArray, entropy_path
from entropylaw import fit_law

SIZES = (30, 60, 150, 500)

REASONS = {
    "reward-falls": "a below 0",
    "slope-unclear": "a not clearly above 0",
    "ceiling-impossible": "ceiling above 1",
    "entropy-rises": "entropy rises",
    "law-ruled-out": "a better form",
    "one-evaluation-decides": "one evaluation",
    "entropy-range-narrow": "entropy span",
    "too-few-evaluations": "too few evaluations",
}
"""Code of a reason → its name in the table."""


def _law(entropy: FloatArray, time: FloatArray) -> FloatArray:
    return CEILING - A * np.expm1(entropy)


def _wide(entropy: FloatArray) -> FloatArray:
    """The same fall over 2.5 nats, where the law is far from a straight line."""
    return 2.5 * entropy


def _line(entropy: FloatArray, time: FloatArray) -> FloatArray:
    return CEILING - 0.15 * entropy


def _saturating(entropy: FloatArray, time: FloatArray) -> FloatArray:
    """Rate k = −2: reward changes most where the entropy is low."""
    return CEILING + 0.25 * np.expm1(-2.0 * entropy)


def _branches(entropy: FloatArray, time: FloatArray) -> FloatArray:
    """The law while the entropy falls; then reward goes on rising while the entropy comes back."""
    lowest = int(np.argmin(entropy))
    after = np.arange(entropy.size) > lowest
    back = np.expm1(entropy) - np.expm1(entropy[lowest])
    return np.where(after, _law(entropy[lowest : lowest + 1], time) + A * back, _law(entropy, time))


def _step(entropy: FloatArray, time: FloatArray) -> FloatArray:
    """A sigmoid in the step, in the middle of which the entropy has long fallen."""
    return 0.3 + 0.25 / (1 + np.exp(-14 * (time - 0.6)))


def _nothing(entropy: FloatArray, time: FloatArray) -> FloatArray:
    return np.full_like(entropy, 0.4)


Reward = Callable[[FloatArray, FloatArray], FloatArray]
CASES: dict[str, tuple[bool, str, bool, Reward]] = {
    "the law, exponential path": (True, "exponential", False, _law),
    "the law, plateau": (True, "plateau", False, _law),
    "a line, entropy from 2.5 nats": (False, "exponential", True, _line),
    "rate k = −2": (False, "exponential", False, _saturating),
    "two branches": (False, "rebound", False, _branches),
    "reward follows the step": (False, "exponential", False, _step),
    "reward follows nothing": (False, "exponential", False, _nothing),
}
"""Name → whether the law is true, the entropy's path, whether it is 2.5 times as wide, and the reward."""


def verdict_table(mapping: Callable[..., Iterable[Any]], runs: int) -> str:
    """Markdown: how many runs of each case are called valid, and why the others are not."""
    jobs = [(case, n, runs) for case in CASES for n in SIZES]
    found = dict(zip(jobs, mapping(verdicts, *zip(*jobs, strict=True)), strict=True))
    lines = [
        f"Verdicts on {runs} runs per cell with drift (ρ = .8) and as much noise (per cent called valid), "
        "and the reasons given for the others, all sizes together (a run can have several):",
        "",
        "| reward | should be | " + " | ".join(f"n = {n}" for n in SIZES) + " | reasons |",
        "| --- | --- |" + " ---: |" * len(SIZES) + " --- |",
    ]
    for case, (true, *_) in CASES.items():
        counted = [found[case, n, runs] for n in SIZES]
        valid = " | ".join(f"{100 * ok / runs:.0f}" for ok, _ in counted)
        reasons: Counter[str] = sum((why for _, why in counted), Counter())
        words = ", ".join(f"{name} {100 * k / runs / len(SIZES):.0f} %" for name, k in reasons.most_common())
        lines.append(f"| {case} | {'valid' if true else 'not valid'} | {valid} | {words or 'none'} |")
    return "\n".join(lines)


def verdicts(case: str, n: int, runs: int) -> tuple[int, Counter[str]]:
    """How many runs are called valid, and how often each reason is given; an unknown reason is an error."""
    _, path, wide, reward = CASES[case]
    rng = np.random.default_rng([5, n, list(CASES).index(case)])
    time = np.linspace(0.0, 1.0, n)
    entropy = _wide(entropy_path(path, n)) if wide else entropy_path(path, n)
    root = np.linalg.cholesky(SD**2 * 0.8 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    ok, why = 0, Counter[str]()
    for _ in range(runs):
        residual = root @ rng.standard_normal(n) + SD * rng.standard_normal(n)
        validity = fit_law(entropy, reward(entropy, time) + residual).validity
        ok += validity.ok
        why.update(REASONS[one.code] for one in validity.findings if one.severity == "reason")
    return ok, why
