"""What ``entropylaw columns`` shows: every candidate, what would be used, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from entropylaw.errors import EntropyLawError
from entropylaw.ingest import catalog, regime
from entropylaw.ingest.run import Run, Source
from entropylaw.ingest.select import (
    ChosenEntropy,
    ChosenReward,
    choose_entropy,
    choose_reward,
    select,
    training_offer,
)
from entropylaw.ingest.values import FloatArray
from entropylaw.results.columns import Meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A column that could be the entropy or the reward.

    ``usable`` counts its finite values, ``low`` and ``high`` are their range as logged, None where there
    are none. ``why`` says why it is used, or why not.
    """

    column: str
    meaning: Meaning
    usable: int
    low: float | None
    high: float | None
    used: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoy:
    """A column whose name bears entropy and that is not the policy's, and why not."""

    column: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """What a run offers and what would be made of it.

    Attributes
    ----------
    run, source
        Whose columns these are.
    trainer, trainer_why
        The trainer that the columns point to.
    step_column, step_why, steps, first_step, last_step
        The step column, the number of steps and their range.
    entropy, reward
        Candidates, the best first; one of each is used where ``problem`` is None.
    decoys
        Columns that look like an entropy and are none.
    coefficients
        Weight of an entropy bonus or KL penalty → its first and last value.
    pair, pair_why, pairs
        How they pair, why, and the number of pairs; None, None and 0 where there is nothing to pair.
    unpaired_entropy
        Finite entropies beside which no reward stands; no loss.
    dropped
        Reason → number of rewards that pairing could not use.
    read_dropped, notes
        What reading dropped and decided, and what choosing did.
    cautions
        What the run's settings mean for the law.
    other_columns
        Number of columns that are none of these.
    texts
        Columns that hold text.
    problem
        The error that :func:`select` would raise, None where it would not.

    """

    run: str
    source: Source
    trainer: str
    trainer_why: str
    step_column: str
    step_why: str
    steps: int
    first_step: float
    last_step: float
    entropy: tuple[Candidate, ...]
    reward: tuple[Candidate, ...]
    decoys: tuple[Decoy, ...]
    coefficients: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    pair: str | None = None
    pair_why: str | None = None
    pairs: int = 0
    unpaired_entropy: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    read_dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    other_columns: int = 0
    texts: tuple[str, ...] = ()
    problem: EntropyLawError | None = None


def explain(
    run: Run, *, entropy: str | None = None, reward: str | None = None, pair: str | None = None
) -> ColumnReport:
    """Say what :func:`select` would do with the same arguments, and why; an error is reported, not raised."""
    chosen: ChosenEntropy | None = None
    rewarded: ChosenReward | None = None
    problem: EntropyLawError | None = None
    try:
        chosen = choose_entropy(run, entropy)
        rewarded = choose_reward(run, chosen, reward, pair)
        select(run, entropy=entropy, reward=reward, pair=pair)
    except EntropyLawError as error:
        problem = error
    found = catalog.detect(run.names)
    names = tuple(run.columns)
    entropies = _candidates(run, catalog.entropies(names, found.trainer), chosen)
    rewards = _candidates(
        run,
        [*catalog.validations(names, found.trainer), *catalog.trainings(names, found.trainer)],
        rewarded,
        before=entropies,
    )
    settings = regime.regime_of(run)
    offer = training_offer(run, chosen, rewarded, pair) if chosen and rewarded else ""
    decoys = _decoys(run, {candidate.column for candidate in (*entropies, *rewards)})
    weights = catalog.coefficients(names)
    listed = {c.column for c in (*entropies, *rewards)} | {d.column for d in decoys} | set(weights)
    return ColumnReport(
        run=run.name,
        source=run.source,
        trainer=found.trainer.name,
        trainer_why=found.why,
        step_column=run.step_column,
        step_why=run.step_why,
        steps=len(run.step),
        first_step=float(run.step[0]),
        last_step=float(run.step[-1]),
        entropy=entropies,
        reward=rewards,
        decoys=decoys,
        coefficients={name: ends for name in weights if (ends := _ends(run.columns[name])) is not None},
        pair=rewarded.pair if rewarded else None,
        pair_why=rewarded.pair_why if rewarded else None,
        pairs=len(rewarded.pairs) if rewarded else 0,
        unpaired_entropy=rewarded.pairs.unpaired_entropy if rewarded else 0,
        dropped=rewarded.pairs.dropped if rewarded else {},
        read_dropped=run.dropped,
        notes=(
            *(*run.notes, *(chosen.notes if chosen else ()), *regime.notes(settings)),
            *(rewarded.notes if rewarded else ()),
        ),
        cautions=(
            *regime.cautions(settings, run, chosen.values if chosen else None),
            *([offer] if offer else []),
        ),
        other_columns=len(set(run.names) - listed - {run.step_column}),
        texts=tuple(run.texts),
        problem=problem,
    )


def _candidates(
    run: Run,
    matches: list[catalog.Match],
    chosen: ChosenEntropy | ChosenReward | None,
    before: tuple[Candidate, ...] = (),
) -> tuple[Candidate, ...]:
    """List the used one first, then the catalog's order; a column that the user names joins in."""
    used = chosen.choice if chosen else None
    taken = {candidate.column for candidate in before}
    meanings = {m.column: m.key.meaning for m in reversed(matches) if m.column not in taken}
    order = list(dict.fromkeys(m.column for m in matches if m.column in meanings))
    if used:
        meanings[used.column] = used.meaning
        order = [used.column, *(column for column in order if column != used.column)]
    return tuple(
        _candidate(
            run,
            column,
            meanings[column],
            used.why if used and used.column == column else None,
            any_used=used is not None,
        )
        for column in order
    )


def _candidate(run: Run, column: str, meaning: Meaning, why: str | None, *, any_used: bool) -> Candidate:
    values = run.columns[column]
    finite = values[np.isfinite(values)]
    if why is None:
        otherwise = f"{meaning.trainer}'s {meaning.kind or 'entropy'} column"
        otherwise += "; another one is used" if any_used else ""
        reason = otherwise if finite.size else "no finite value"
    return Candidate(
        column=column,
        meaning=meaning,
        usable=finite.size,
        low=float(finite.min()) if finite.size else None,
        high=float(finite.max()) if finite.size else None,
        used=why is not None,
        why=why if why is not None else reason,
    )


def _decoys(run: Run, known: set[str]) -> tuple[Decoy, ...]:
    reasons = {name: catalog.decoy(name) for name in (*run.columns, *run.texts) if name not in known}
    return tuple(Decoy(column=name, why=reason) for name, reason in reasons.items() if reason)


def _ends(values: FloatArray) -> tuple[float, float] | None:
    finite = values[np.isfinite(values)]
    return (float(finite[0]), float(finite[-1])) if finite.size else None
