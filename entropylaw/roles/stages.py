"""Stages of a run, and what was measured in them: reward, per domain where it is logged, and entropies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from entropylaw.arrays import BoolArray, FloatArray
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import listing, nearest, shown
from entropylaw.logs.runs import Run
from entropylaw.results.stages import StageCurve, StageRows
from entropylaw.roles.select import of_class, select
from entropylaw.roles.series import Series
from entropylaw.units import MOST_NATS, largest_reward

FEWEST_VALUES = 2
"""Fewest values of a curve in a run."""


class _Stage(NamedTuple):
    name: str
    domain: str
    rows: list[int]

    @property
    def label(self) -> str:
        """The name, with the domain behind it."""
        return "+".join(filter(None, (self.name, self.domain)))

    @property
    def domains(self) -> tuple[str, ...]:
        """What it trains on, by the domain or else by the name."""
        return _parts(self.domain or self.name)


def stage_rows(
    run: Run,
    stage: str,
    domain: str | None = None,
    *,
    entropy: str | Sequence[str] | None = None,
    reward: str | Sequence[str] | None = None,
) -> StageRows:
    """The stages of a run and their curves.

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
    entropy, reward
        Columns that the user names; None leaves the choice to the catalog.

    A domain has a reward of its own where a column is named as the reward's is and has the domain in it:
    ``val_acc_math`` beside ``val_acc``, ``val-core/math/acc`` beside ``val-core/gsm8k/acc``.

    Raises
    ------
    UsageError
        ``no-stage-column``, ``no-domain-column``: no such column, or no text was kept of it.
    InputError
        Those of :func:`~entropylaw.roles.select.select`.
    """
    names = _carried(_words(run, stage, "--stage", "no-stage-column"))
    labels = _words(run, domain, "--domain", "no-domain-column") if domain else [""] * len(names)
    series = select(run, entropy=entropy, reward=reward)
    parts = list(dict.fromkeys(chain.from_iterable(map(_parts, labels if domain else names))))
    of_domain = _columns_of(run, series.reward_choice.column, parts)
    rewards: list[tuple[str, BoolArray]] = []
    labelled = [(name, label) for name, label in zip(names, labels, strict=True) if label]
    # Labels that come back again and again are those of evaluations, and not of stages.
    alternate = len([*groupby(labelled)]) > 2 * len(set(labelled))
    if domain and not of_domain and alternate:
        rewards = [(name, np.array([name in _parts(label) for label in labels])) for name in parts]
        labels = [""] * len(names)
    groups = groupby(enumerate(zip(names, _carried(labels), strict=True)), key=itemgetter(1))
    stages = [_Stage(name, part, [row for row, _ in rows]) for (name, part), rows in groups]
    rewarded = parts if domain else dict(of_domain)
    return StageRows(
        run=run.name,
        stages=tuple(trained.label for trained in stages),
        trained=tuple(tuple(filter(rewarded.__contains__, trained.domains)) for trained in stages),
        first=tuple(float(run.step[trained.rows[0]]) for trained in stages),
        last=tuple(float(run.step[trained.rows[-1]]) for trained in stages),
        before_update=series.pair == "same",
        curves=tuple(_curves(run, series, of_domain, rewards)),
    )


def _words(run: Run, column: str, option: str, slug: str) -> list[str]:
    """The text of a column at every step."""
    if column in run.words:
        return list(run.words[column])
    if column in run.columns:
        return ["" if np.isnan(value) else f"{value:g}" for value in run.columns[column].tolist()]
    if column in run.texts:
        message = f"the text of {shown(column)} in run {shown(run.name)} was not kept while reading"
        raise UsageError(slug, message, f"read the log with {option} {column}, or with columns=[{column!r}]")
    near = nearest([column], [*run.texts, *run.columns]) or list(run.texts)
    there = f"; columns with text: {listing(near, 6)}" if near else ""
    example = f"type {option} {near[0]}" if near else f"leave out {option}: no column of this log holds text"
    raise UsageError(slug, f"run {shown(run.name)} has no column {shown(column)}{there}", example)


def _carried(names: Sequence[str]) -> list[str]:
    """Names with those that are missing as in the row before, or as the first one."""
    carried, last = [], next(filter(None, names), "")
    for name in names:
        last = name or last
        carried.append(last)
    return carried


def _parts(name: str) -> tuple[str, ...]:
    """What a name lists: ``rl`` and ``math`` of ``rl+math``."""
    return tuple(dict.fromkeys(piece for piece in re.split(r"[+,;|/ ]+", name.casefold()) if piece))


def _tokens(column: str) -> list[str]:
    return re.findall(r"[^\W_]+", column.casefold())


def _without(tokens: list[str], part: str) -> list[str] | None:
    """The words of a column's name without those of a part; None where they are not in it."""
    words = _tokens(part)
    for start in range(len(tokens) - len(words) + 1):
        if words and tokens[start : start + len(words)] == words:
            return tokens[:start] + tokens[start + len(words) :]
    return None


def _columns_of(run: Run, reward: str, parts: Sequence[str]) -> list[tuple[str, str]]:
    """Domains with the column of their reward, which is named as the reward's with the domain in it."""
    whole = _tokens(reward)
    bases = [whole, *filter(None, (_without(whole, domain) for domain in parts))]
    columns: dict[str, str] = {}
    for domain in parts:
        for column in run.columns:
            if _without(_tokens(column), domain) in bases and run.finite(column).size >= FEWEST_VALUES:
                columns.setdefault(domain, column)
    return list(columns.items())


def _curves(
    run: Run, series: Series, of_domain: Sequence[tuple[str, str]], rows: Sequence[tuple[str, BoolArray]]
) -> Iterator[StageCurve]:
    reward = series.reward_choice
    evaluated = reward.meaning.kind != "training"
    whole = run.columns[reward.column]
    rewards = [("", reward.column, whole)]
    rewards += [(domain, column, run.columns[column]) for domain, column in of_domain]
    rewards += [(domain, reward.column, np.where(there, whole, np.nan)) for domain, there in rows]
    for domain, column, values in rewards:
        yield _curve(run, "reward", column, values, domain, evaluated=evaluated)
    entropy = series.entropy_choice
    yield _curve(run, "entropy", entropy.column, run.columns[entropy.column] * entropy.meaning.sign)
    for kind in ("planning", "execution", "semantic"):
        with suppress(InputError):  # a column that is no entropy, whatever its name
            if (chosen := of_class(run, kind, None)) is not None:
                yield _curve(run, kind, chosen.choice.column, chosen.values)


def _curve(
    run: Run, quantity: str, column: str, values: FloatArray, domain: str = "", *, evaluated: bool = False
) -> StageCurve:
    there, nats = np.isfinite(values), quantity != "reward"
    if nats:
        there[there] = values[there] <= MOST_NATS
    most = None if nats else largest_reward(column, run.finite(column))
    return StageCurve(
        quantity=quantity,
        column=column,
        unit="nats" if nats else "reward",
        step=run.step[there],
        value=values[there],
        domain=domain,
        evaluated=evaluated,
        max_reward=most or math.inf,
    )
