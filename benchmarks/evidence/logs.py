"""The entropy law on logs that others wrote, its rivals, the entropies of runs, and published alarms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.evidence.rule import FloatArray
from benchmarks.finished import REPOSITORIES
from entropylaw import EntropyLawError
from entropylaw.logs import catalog
from entropylaw.logs.load import read_all
from entropylaw.logs.runs import Run
from entropylaw.pipeline.steps import fit_logs
from entropylaw.results.law import LawFit

FAMILIES = ("qwen3", "qwen2.5", "qwen2", "qwen", "llama", "gemma", "deepseek", "smollm", "phi", "mistral")
BENCHMARKS = (
    "gsm8k",
    "math",
    "aime",
    "amc",
    "countdown",
    "game24",
    "webshop",
    "alfworld",
    "babyai",
    "textcraft",
)
KL = re.compile(r"(?:train/|actor/|actor_|objective/)?kl(?:_loss|_to_start)?", re.IGNORECASE)
"""Names of the KL divergence to the reference; ``ppo_kl`` is that to the last policy."""

FEWEST = 12
"""Evaluations that a comparison of single columns takes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """A reward of a run: where it is from, its law, and KL (n,) at its evaluations where it is logged."""

    repository: str
    trainer: str
    family: str
    benchmark: str
    is_validation: bool
    run: str
    law: LawFit
    kl: FloatArray | None


def fitted_below(folder: Path) -> list[Fitted]:
    """Every reward below a folder that has a law, each content once."""
    rewards: dict[bytes, Fitted] = {}
    for path in sorted(folder.glob("*/*")):
        home = path.parent.name
        repository = REPOSITORIES.get(f"{home}/{path.name}", REPOSITORIES.get(home, home))
        for reward in fitted_in(path, repository):
            law = reward.law
            rewards.setdefault(law.step.tobytes() + law.reward.tobytes(), reward)
    return list(rewards.values())


def fitted_in(path: Path, repository: str) -> Iterator[Fitted]:
    """The rewards of one log that have a law; nothing where it cannot be read."""
    try:
        runs = {run.name: run for run in read_all([str(path)]).runs}
        entries = fit_logs([path]).runs
    except EntropyLawError:
        return
    for entry in entries:
        law = None if entry.result is None else entry.result.law
        if law is None:
            continue
        run, column = runs[entry.run], entry.columns["reward"].column
        named = f"{path.name} {run.name} {' '.join(map(str, run.settings.values()))}".casefold()
        yield Fitted(
            repository=repository,
            trainer=catalog.detect(run.names).trainer.name,
            family=first_of(FAMILIES, named) or "not named",
            benchmark=first_of(BENCHMARKS, f"{column} {named}".casefold()) or "other",
            is_validation=entry.columns["reward"].meaning.kind == "validation",
            run=entry.run,
            law=law,
            kl=kl_at(run, law.step),
        )


def first_of(words: Sequence[str], text: str) -> str:
    """The first of some words that is in a text."""
    return next((word for word in words if word in text), "")


def kl_at(run: Run, step: FloatArray) -> FloatArray | None:
    """The logged KL divergence at some steps."""
    name = next((name for name in run.columns if KL.fullmatch(name)), None)
    if name is None or run.columns[name].dtype.kind not in "fi":
        return None
    values = run.columns[name].astype(float)
    known = np.isfinite(values)
    if known.sum() < FEWEST or np.ptp(values[known]) == 0:
        return None
    return np.interp(step, run.step[known], values[known])


def verdicts(rewards: Sequence[Fitted], group: Callable[[Fitted], str]) -> list[tuple[str, ...]]:
    """Per group: runs, repositories, verdicts, the median R² of the law and its range."""
    rows = []
    for name in sorted({group(reward) for reward in rewards}):
        members = [reward for reward in rewards if group(reward) == name]
        words = Counter(reward.law.verdict.value for reward in members)
        r_squared = [reward.law.r_squared for reward in members]
        rows.append(
            (
                name,
                str(len(members)),
                str(len({reward.repository for reward in members})),
                *(str(words[word]) for word in ("holds", "undecided", "fails")),
                spread_of(r_squared),
            )
        )
    return rows


RIVALS: Mapping[str, Callable[[Fitted], FloatArray | None]] = {
    "exp(H), the law": lambda reward: np.exp(reward.law.smoothed_entropy),
    "H": lambda reward: reward.law.smoothed_entropy,
    "log step": lambda reward: np.log1p(reward.law.step - reward.law.step[0]),
    "√KL": lambda reward: None if reward.kl is None else np.sqrt(np.maximum(reward.kl, 0.0)),
    "KL": lambda reward: reward.kl,
}
"""Single columns that reward is regressed on."""


def r_squared(x: FloatArray, y: FloatArray) -> float:
    """The share of the variance of y that a straight line in x takes."""
    if np.ptp(x) == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def rivals(rewards: Sequence[Fitted]) -> list[tuple[str, ...]]:
    """Per column: the runs that have it, its median R², and in how many it is the best of those they have."""
    scores = []
    for reward in rewards:
        if reward.law.step.size < FEWEST:
            continue
        columns = {name: column(reward) for name, column in RIVALS.items()}
        scores.append({name: r_squared(x, reward.law.reward) for name, x in columns.items() if x is not None})
    has_kl = [score for score in scores if "KL" in score]
    rows = []
    for name in RIVALS:
        cells = []
        for group in (scores, has_kl):
            known = [score for score in group if name in score]
            best = sum(max(score, key=score.__getitem__) == name for score in known)
            cells += [f"{np.median([score[name] for score in known]):.2f}", f"{best} of {len(group)}"]
        rows.append((name, *(cells if "KL" not in name else ("—", "—", *cells[2:]))))
    return rows


def entropies(rewards: Sequence[Fitted]) -> list[tuple[str, ...]]:
    """Per trainer and family of models: runs, and the entropies at their starts and ends, nats."""
    runs: dict[tuple[str, str, str, str], Fitted] = {}
    for reward in rewards:
        runs.setdefault((reward.trainer, reward.family, reward.repository, reward.run), reward)
    rows = []
    for trainer, family in sorted({key[:2] for key in runs}):
        members = {key: reward for key, reward in runs.items() if key[:2] == (trainer, family)}
        curves = [reward.law.smoothed_entropy for reward in members.values()]
        starts, stops = spread_of([curve[0] for curve in curves]), spread_of([curve[-1] for curve in curves])
        rows.append(
            (trainer, family, str(len(members)), str(len({key[2] for key in members})), starts, stops)
        )
    return rows


def spread_of(values: Sequence[float]) -> str:
    """The median of some values and their range, the value alone if there is one."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
