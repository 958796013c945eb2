"""What is predicted from fits, fresh or stored: rewards at entropies and steps, entropies for rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropylaw.analysis.forecast import forecast, usual_step
from entropylaw.documents.codec import as_stored
from entropylaw.documents.document import Entry, FitDocument, PredictionDocument, RunPrediction
from entropylaw.errors import FitError, InputError, UsageError
from entropylaw.escaping import shown
from entropylaw.results.columns import Refusal, limit_in
from entropylaw.results.fit import Fit
from entropylaw.results.result import replace
from entropylaw.units import UNIT_WORDS, range_words, reward_range


def predict_runs(
    fits: FitDocument,
    *,
    entropies: Sequence[float] = (),
    rewards: Sequence[float | str] = (),
    at_step: Sequence[float] = (),
    gain: float | None = None,
    level: float | None = None,
) -> PredictionDocument:
    """Predict the same targets from every fitted run of ``fits``, which may be fresh or stored.

    Targets are ``entropies`` (nats), ``rewards`` and later steps (``at_step``); without any, they are the
    entropy now, and half as many steps again. A reward is in the unit of the run's column, or a text such
    as ``"60%"``. ``gain`` of reward and ``level`` are by default those of each fit.

    Raises UsageError (``bad-target``): a reward that is not possible in the column of a run.
    """
    entries: list[Entry[RunPrediction]] = []
    for entry in fits.runs:
        if entry.result is not None:
            predicted: Any = _predict_run(
                entry.result,
                entropies=entropies,
                rewards=[_target_reward(entry, str(reward)) for reward in rewards],
                at_step=at_step,
                gain=gain,
                level=level,
            )
            entries.append(replace(entry, result=predicted))  # type: ignore[arg-type]
    return as_stored(PredictionDocument(inputs=fits.inputs, runs=tuple(entries)))


def with_law(fits: FitDocument) -> FitDocument:
    """The fits for targets that need a law: those without one are refused, ``no-law``."""
    entries: list[Entry[Fit]] = []
    for entry in fits.runs:
        try:
            if entry.result is not None:
                entry.result.lawful()
        except FitError as error:
            refusal = Refusal(slug=error.slug, message=error.message, hint=error.hint)
            entry = replace(entry, result=None, refusal=refusal)
        entries.append(entry)
    return replace(fits, runs=tuple(entries))


def _target_reward(entry: Entry[Fit], text: str) -> float:
    """A target as it is written, in the unit of the reward of a fitted run.

    Raises UsageError (``bad-target``): it does not convert into that, or is beyond the possible rewards.
    """
    assert entry.result is not None
    option, rewarded = f"--target-reward {text} of {shown(entry.name)}", entry.columns.get("reward")
    unit = "" if rewarded is None else rewarded.unit
    column = "the reward" if rewarded is None else rewarded.column
    try:
        target = limit_in(unit, text, column)
    except InputError as error:
        raise UsageError("bad-target", f"{option}: {error.message}", error.hint) from None
    least, most = reward_range(unit, entry.result.max_reward)
    if least <= target <= most:
        return target
    hint = "give a reward inside of that"
    if unit == "rate" and 1 < target <= 100 and not text.endswith("%"):
        hint = f"type --target-reward {text}%, or {target / 100:g}"
    raise UsageError(
        "bad-target", f"{option}: {shown(column)} is {UNIT_WORDS[unit]}, {range_words(least, most)}", hint
    )


def _predict_run(
    answer: Fit,
    *,
    entropies: Sequence[float],
    rewards: Sequence[float],
    at_step: Sequence[float],
    gain: float | None,
    level: float | None,
) -> RunPrediction:
    """The predictions from one fit; parameters as :func:`predict_runs`."""
    law = answer.law
    if not any((entropies, rewards, at_step)):
        at_step = [usual_step(answer.evaluations[0])]
        if law is not None:
            entropies = [max(law.entropy_now, 0.0)]
    gain = answer.gain if gain is None else gain
    of_law = () if law is None else rewards
    prediction = RunPrediction(
        state=answer.state,
        no_state=answer.no_state,
        verdict=answer.verdict,
        why=None if law is None else law.why,
        findings=answer.findings,
        gain=gain,
        entropy_range=None if law is None else (float(law.entropy.min()), float(law.entropy.max())),
        no_law=answer.no_law,
        ceiling=None if law is None else law.ceiling,
        predictions=() if law is None else answer.predict(entropies, level=level),
        entropies=tuple(answer.entropy_for(reward, level=level) for reward in of_law),
        n_rewards=answer.n_rewards,
        max_reward=answer.max_reward,
        axis=answer.axis,
    )
    if not at_step:
        return prediction
    if answer.is_broken:
        return replace(prediction, no_forecast="the run is broken")
    try:
        later = forecast(
            *answer.evaluations,
            at_step=at_step,
            gain=gain,
            level=answer.level if level is None else level,
            max_reward=answer.max_reward,
            run=answer.run,
        )
    except FitError as error:
        # The run is too short for it.
        return replace(prediction, no_forecast=error.message)
    return replace(prediction, forecast=replace(later, axis=answer.axis))
