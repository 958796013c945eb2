"""Stages of a run: their names, the domains that they train on, and the rewards on these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, groupby

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import UsageError
from entropylaw.escaping import listing, nearest, shown
from entropylaw.logs.runs import Run
from entropylaw.results.arms import Stage

# Fewest values of the reward of a domain in a run.
_FEWEST_VALUES = 2

Rewards = dict[str, tuple[FloatArray, FloatArray]]
"""Domain → the steps at which there is a reward on it, and these rewards."""


def stages_of(run: Run, stage: str, domain: str | None, reward: str) -> tuple[tuple[Stage, ...], Rewards]:
    """The stages of a run in order, and the rewards on their domains.

    Parameters
    ----------
    run
        As read with ``columns=(stage, domain)``, which keeps their text.
    stage
        Column that names the stage, text or numbers; a row without a name belongs to the stage before it.
    domain
        Column that names what a stage trains on; several with ``+`` or a comma between them. Without it they
        are the parts of a stage's name (``rl+math``) that have a column of rewards. Where no domain has such
        a column and the names alternate, they are those of single evaluations.
    reward
        The column of the reward.

    A domain has a reward of its own where a column is named as the reward's is and has the domain in it:
    ``val_acc_math`` beside ``val_acc``, ``val-core/math/acc`` beside ``val-core/gsm8k/acc``.

    Raises
    ------
    UsageError
        ``no-stage-column``, ``no-domain-column``: no such column, or no text was kept of it.
    """
    names = _carried(_words(run, stage, "--stage", "no-stage-column"))
    labels = _words(run, domain, "--domain", "no-domain-column") if domain else [""] * len(names)
    domains = list(dict.fromkeys(chain.from_iterable(map(_parts, labels if domain else names))))
    rewards = _rewards_of(run, reward, domains)
    labelled = [(name, label) for name, label in zip(names, labels, strict=True) if label]
    # Labels that come back again and again are those of evaluations, and not of stages.
    if domain and not rewards and len([*groupby(labelled)]) > 2 * len(set(labelled)):
        for name in domains:
            evaluated = np.isfinite(run.columns[reward]) & [name in _parts(label) for label in labels]
            rewards[name] = (run.step[evaluated], run.columns[reward][evaluated])
        labels = [""] * len(names)
    keys = list(zip(names, _carried(labels), strict=True))
    stages = []
    for (name, label), group in groupby(range(len(keys)), key=keys.__getitem__):
        rows = list(group)
        stage_of_rows = Stage(
            name="+".join(filter(None, (name, label))),
            trained=tuple(text for text in _parts(label or name) if domain or text in rewards),
            first=float(run.step[rows[0]]),
            last=float(run.step[rows[-1]]),
        )
        stages.append(stage_of_rows)
    return tuple(stages), rewards


def _words(run: Run, column: str, option: str, slug: str) -> list[str]:
    """The text of a column at every step."""
    if column in run.words:
        return list(run.words[column])
    if column in run.columns:
        return ["" if np.isnan(value) else f"{value:g}" for value in run.columns[column].tolist()]
    if column in run.texts:
        raise UsageError(
            slug,
            f"the text of {shown(column)} in run {shown(run.name)} was not kept while reading",
            f"read the log with {option} {column}, or with columns=[{column!r}]",
        )
    near = nearest([column], [*run.texts, *run.columns]) or list(run.texts)
    message = f"run {shown(run.name)} has no column {shown(column)}"
    if not near:
        raise UsageError(slug, message, f"leave out {option}: no column of this log holds text")
    raise UsageError(slug, f"{message}; columns with text: {listing(near, 6)}", f"type {option} {near[0]}")


def _carried(names: Sequence[str]) -> list[str]:
    """Names with those that are missing as in the row before, or as the first one."""
    carried = []
    last = next(filter(None, names), "")
    for name in names:
        last = name or last
        carried.append(last)
    return carried


def _parts(name: str) -> tuple[str, ...]:
    """What a name lists: ``rl`` and ``math`` of ``rl+math``."""
    return tuple(dict.fromkeys(piece for piece in re.split(r"[+,;|/ ]+", name.casefold()) if piece))


def _without(column: str, domain: str) -> list[str] | None:
    """The words of a column's name without those of a domain; None where they are not in it."""
    tokens = _tokens(column)
    words = _tokens(domain)
    for start in range(len(tokens) - len(words) + 1):
        if words and tokens[start : start + len(words)] == words:
            return tokens[:start] + tokens[start + len(words) :]
    return None


def _tokens(name: str) -> list[str]:
    """The words of a name in lower case, without what divides them."""
    return re.findall(r"[^\W_]+", name.casefold())


def _rewards_of(run: Run, reward: str, domains: Sequence[str]) -> Rewards:
    """The rewards of domains, each in a column that is named as the reward's with the domain in it."""
    bases = [_tokens(reward)]
    bases += [words for domain in domains if (words := _without(reward, domain))]
    rewards: Rewards = {}
    for domain in domains:
        for column, values in run.columns.items():
            logged = np.isfinite(values)
            if _without(column, domain) in bases and np.count_nonzero(logged) >= _FEWEST_VALUES:
                rewards.setdefault(domain, (run.step[logged], values[logged]))
    return rewards
