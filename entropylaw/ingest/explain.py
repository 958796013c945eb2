"""What ``entropylaw columns`` shows: every candidate, what would be used, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw.errors import EntropyLawError
from entropylaw.ingest import catalog, regime
from entropylaw.ingest.run import Run
from entropylaw.ingest.select import Chosen, ChosenReward, choose_entropy, choose_reward, finite, select
from entropylaw.results.columns import Candidate, Choice, ColumnReport, Decoy, Meaning, Refusal
from entropylaw.results.findings import sentences


def explain(
    run: Run, *, entropy: str | None = None, reward: str | None = None, pair: str | None = None
) -> ColumnReport:
    """Say what :func:`select` would do with the same arguments, and why; an error is reported, not raised."""
    chosen: Chosen | None = None
    rewarded: ChosenReward | None = None
    problem: Refusal | None = None
    try:
        chosen = choose_entropy(run, entropy)
        rewarded = choose_reward(run, chosen, reward, pair)
        select(run, entropy=entropy, reward=reward, pair=pair)
    except EntropyLawError as error:
        problem = Refusal(slug=error.slug, message=error.message, hint=error.hint)
    found, names = catalog.detect(run.names), tuple(run.columns)
    entropies = _candidates(run, catalog.found(run, "entropy"), chosen)
    rewards = _candidates(run, catalog.found(run, "validation", "training"), rewarded, before=entropies)
    listed = {candidate.column for candidate in (*entropies, *rewards)}
    reasons = {name: catalog.decoy(name) for name in (*names, *run.texts) if name not in listed}
    decoys = tuple(Decoy(column=name, why=why) for name, why in reasons.items() if why)
    weights = {name: finite(run, name) for name in catalog.coefficients(names)}
    settings = regime.regime_of(run)
    notes = [*run.notes, *(chosen.notes if chosen else ()), *regime.notes(settings)]
    findings = [*regime.findings(settings, run, chosen.values if chosen else None)]
    paired: dict[str, Any] = {}
    if rewarded is not None:
        notes += rewarded.notes
        findings += filter(None, [rewarded.offer])
        paired = {"pair": rewarded.pair, "pair_why": rewarded.pair_why, "pairs": len(rewarded.pairs)}
        paired |= {"unpaired_entropy": rewarded.pairs.unpaired_entropy, "dropped": rewarded.pairs.dropped}
    others = set(run.names) - listed - {decoy.column for decoy in decoys} - set(weights) - {run.step_column}
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
        coefficients={name: (float(x[0]), float(x[-1])) for name, x in weights.items() if x.size},
        read_dropped=run.dropped,
        notes=tuple(notes),
        cautions=sentences(findings, "caution"),
        other_columns=len(others),
        texts=tuple(run.texts),
        problem=problem,
        **paired,
    )


def _candidates(
    run: Run, matches: Sequence[catalog.Match], chosen: Chosen | None, before: Sequence[Candidate] = ()
) -> tuple[Candidate, ...]:
    """List the used one first, then the catalog's order; a column that the user names joins in."""
    used = chosen.choice if chosen else None
    taken = {candidate.column for candidate in before}
    meanings = {used.column: used.meaning} if used else {}
    for match in matches:
        if match.column not in taken:
            meanings.setdefault(match.column, match.key.meaning)
    return tuple(_candidate(run, column, meaning, used) for column, meaning in meanings.items())


def _candidate(run: Run, column: str, meaning: Meaning, used: Choice | None) -> Candidate:
    values = finite(run, column)
    is_used = used is not None and used.column == column
    why = f"{meaning.trainer}'s {meaning.kind or 'entropy'} column" + (
        "; another one is used" if used else ""
    )
    return Candidate(
        column=column,
        meaning=meaning,
        usable=values.size,
        low=float(values.min()) if values.size else None,
        high=float(values.max()) if values.size else None,
        used=is_used,
        why=used.why if used and is_used else why if values.size else "no finite value",
    )
