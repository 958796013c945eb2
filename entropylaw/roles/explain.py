"""Which columns a run has for each role, which would be used, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from entropylaw.arguments import texts
from entropylaw.errors import EntropyLawError
from entropylaw.logs import catalog, suggest
from entropylaw.logs.runs import Run
from entropylaw.results.columns import Candidate, Choice, ColumnReport, Decoy, Refusal
from entropylaw.results.result import replace, sentences
from entropylaw.roles import settings as run_settings
from entropylaw.roles.choose import choose_entropy
from entropylaw.roles.rewards import select_all
from entropylaw.roles.series import Series


def explain(
    run: Run,
    *,
    entropy: str | Sequence[str] | None = None,
    reward: str | Sequence[str] | None = None,
    pair: str | None = None,
    problem: EntropyLawError | None = None,
) -> ColumnReport:
    """Report what :func:`~entropylaw.roles.select` would do with the same arguments, and why.

    An error is part of the report, and not raised. ``problem`` is one of reading, and stands before others.
    """
    entropy = texts(entropy, "entropy")
    reward = texts(reward, "reward")
    series: tuple[Series, ...] = ()
    chosen: dict[str, Choice] = {}
    error = problem
    settings = run_settings.entropy_settings(run)
    try:
        series = select_all(run, entropy=entropy, reward=reward, pair=pair)
    except EntropyLawError as refused:
        error = problem or refused
        # The entropy may be the one that can be used.
        with suppress(EntropyLawError):
            choice = choose_entropy(run, next(iter(entropy), None), next(iter(reward), None)).choice
            chosen[choice.column] = choice
    rewarded: dict[str, Choice] = {}
    for paired in series:
        if paired.entropy_choice is not None:
            chosen[paired.entropy_choice.column] = paired.entropy_choice
        if not paired.reward_choice.parts:
            rewarded[paired.reward_choice.column] = paired.reward_choice
    notes = (*run.notes, *(series[0].notes if series else run_settings.notes(settings)))
    findings = series[0].findings if series else run_settings.findings(settings, run, None)
    trainer, trainer_why = catalog.detect(run.names)
    entropies = _candidates(run, catalog.found(run, "entropy"), chosen)
    rewards = _candidates(run, catalog.found(run, "validation", "training"), rewarded, before=entropies)
    listed = {candidate.column for candidate in (*entropies, *rewards)}
    free = [name for name in (*run.columns, *run.texts) if name not in listed]
    reasons = map(catalog.decoy, free)
    decoys = [Decoy(column=name, why=why) for name, why in zip(free, reasons, strict=True) if why]
    weights = {name: run.finite(name) for name in catalog.coefficients(run.columns)}
    used = {*listed, *(decoy.column for decoy in decoys), *weights, run.step_column}
    report = ColumnReport(
        run=run.name,
        source=run.source,
        trainer=trainer.name,
        trainer_why=trainer_why,
        step_column=run.step_column,
        step_why=run.step_why,
        steps=len(run.step),
        first_step=float(run.step[0]),
        last_step=float(run.step[-1]),
        entropy=entropies,
        reward=rewards,
        decoys=tuple(decoys),
        coefficients={
            name: (float(values[0]), float(values[-1])) for name, values in weights.items() if values.size
        },
        read_dropped=run.dropped,
        notes=notes,
        cautions=(*sentences(findings, "caution"), *(paired.offer for paired in series if paired.offer)),
        others=_without_role(run, used),
        no_entropy=series[0].no_entropy if series else None,
        problem=Refusal(slug=error.slug, message=error.message, hint=error.hint) if error else None,
    )
    if not series:
        return report
    best = series[0]
    return replace(
        report,
        pair=best.reward_choice.pair,
        pair_why=best.pair_why or None,
        pairs=best.count,
        dropped=best.dropped,
    )


def _without_role(run: Run, used: Collection[str]) -> dict[str, str]:
    """The columns without a role, and what each could be."""
    possible = suggest.could_be(run)
    columns = enumerate((*run.names, *run.texts), start=1)
    free = [(position, name) for position, name in columns if name not in used]
    return {suggest.showable(name, position): possible.get(name, "") for position, name in free}


def _candidates(
    run: Run,
    matches: Sequence[catalog.Match],
    used: Mapping[str, Choice],
    before: Sequence[Candidate] = (),
) -> tuple[Candidate, ...]:
    """List the used columns first, also those that the user names, then the others in the catalog's order."""
    taken = {candidate.column for candidate in before}
    meanings = {column: choice.meaning for column, choice in used.items()}
    for match in matches:
        if match.column not in taken:
            meanings.setdefault(match.column, match.key.meaning)
    candidates = []
    for column, meaning in meanings.items():
        values = run.finite(column)
        reason = f"{meaning.trainer}'s {meaning.kind or 'entropy'} column"
        if column in used:
            reason = used[column].why
        elif not values.size:
            reason = "no finite value"
        elif used:
            reason += "; another one is used"
        candidate = Candidate(
            column=column,
            meaning=meaning,
            usable=values.size,
            low=float(values.min()) if values.size else None,
            high=float(values.max()) if values.size else None,
            used=column in used,
            why=reason,
        )
        candidates.append(candidate)
    return tuple(candidates)
