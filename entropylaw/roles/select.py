"""From a run to what an analysis uses: paired entropies and rewards, or the entropies of token classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import quoted_path, shown
from entropylaw.logs.catalog import class_names, names
from entropylaw.logs.runs import Run, added
from entropylaw.logs.runs.step_column import folded
from entropylaw.results.columns import SEMANTIC, TOKEN, Choice
from entropylaw.results.phases import CURVES
from entropylaw.results.result import Finding, caution, replace
from entropylaw.roles import settings as run_settings
from entropylaw.roles.choose import NAMED, Chosen, as_entropy, choose_entropy, named_column
from entropylaw.roles.pairing import ENTROPY_NOT_FINITE, ENTROPY_TOO_HIGH
from entropylaw.roles.rewards import named_columns, select_all
from entropylaw.roles.series import PhaseSeries, Series
from entropylaw.units import MOST_NATS


def select(
    run: Run,
    *,
    entropy: str | Sequence[str] | None = None,
    reward: str | Sequence[str] | None = None,
    pair: str | None = None,
) -> Series:
    """Choose entropy and reward by the catalog, and pair them; of several rewards the first.

    The series has at least one pair, finite, the entropy in nats and not negative beyond rounding. Its
    ``dropped`` and ``notes`` are the selection's own; those of reading are in the run.

    Parameters
    ----------
    run
        As read.
    entropy, reward
        Columns that the user names, or shell patterns of them; None leaves the choice to the catalog.
    pair
        ``"same"`` or ``"next"``; None leaves it to the catalog.

    Raises
    ------
    InputError
        ``no-entropy-column``, ``no-reward-column``, ``no-pairs``, ``column-not-found``, ``column-empty``,
        ``column-not-numeric``, ``entropy-both-signs``, ``entropy-is-perplexity``, ``entropy-not-a-mean``.
    UsageError
        ``pair-unknown`` or ``same-column``.
    """
    return select_all(run, entropy=entropy, reward=reward, pair=pair)[0]


def phase_series(
    run: Run, *, planning: str | None = None, execution: str | None = None, entropy: str | None = None
) -> PhaseSeries:
    """Find the curves of a run: by name, or as the user names them.

    ``planning``, ``execution`` and ``entropy`` are columns that the user names: the entropy of planning
    tokens (or a semantic entropy, which is that of plans), of execution tokens, of all tokens. None leaves
    the choice to the names, for ``entropy`` to the catalog. The series has at least one curve, each with its
    own gaps; values that are no entropy are dropped.

    Raises
    ------
    InputError
        ``no-phase-columns`` where there is none of the two and no curve of all tokens either;
        ``entropy-signs-differ``, and those of a column that the user names or that is no
        entropy, as :func:`select`.
    UsageError
        ``same-column``.
    """
    of_planning = _of_class(run, "planning", planning)
    of_execution = _of_class(run, "execution", execution)
    _check_two_curves(run, of_planning, of_execution)
    semantic = _of_class(run, "semantic", None)
    if of_planning is not None and _phase_column(of_planning).meaning.kind == SEMANTIC:
        semantic = of_planning
        of_planning = None
    classes = (of_planning, of_execution, semantic)
    aggregate, notes = _whole_curve(run, entropy, alone=not any(classes))
    columns_of_classes = [curve.choice.column for curve in classes if curve is not None]
    if aggregate is not None and aggregate.choice.column in columns_of_classes:
        aggregate = None
    chosen = dict(zip(CURVES, (*classes, aggregate), strict=True))
    dropped: dict[str, int] = {}
    values: dict[str, FloatArray] = {}
    columns: dict[str, Choice] = {}
    for kind, curve in chosen.items():
        if curve is not None:
            notes += curve.notes
            columns[kind] = _phase_column(curve)
            tokens = CURVES[kind]
            infinite = np.isinf(curve.values)
            too_high = np.isfinite(curve.values) & (curve.values > MOST_NATS)
            values[kind] = np.where(infinite | too_high, np.nan, curve.values)
            losses = {f"{tokens}: {ENTROPY_NOT_FINITE}": int(infinite.sum())}
            for cause, at in run.spoiled.get(curve.choice.column, {}).items():
                losses[f"{tokens}: entropy is {cause}"] = at.size
            dropped = added(dropped, losses, {f"{tokens}: {ENTROPY_TOO_HIGH}": int(too_high.sum())})
    has_value = np.isfinite(list(values.values())).any(axis=0)
    curves = {kind: curve[has_value] for kind, curve in values.items()}
    return PhaseSeries(
        step=run.step[has_value],
        planning=curves.get("planning"),
        execution=curves.get("execution"),
        semantic=curves.get("semantic"),
        aggregate=curves.get("aggregate"),
        columns=columns,
        dropped=dropped,
        notes=tuple(notes),
        findings=tuple(_cautions_about_rises(run)),
    )


def _cautions_about_rises(run: Run) -> list[Finding]:
    """What else than the policy may make an entropy of a run rise."""
    cautions = run_settings.incomplete(run)
    if any("resumed run" in note for note in run.notes):
        cautions.append(caution("run-resumed"))
    share = run_settings.first_usable(run, names("prompt_filter"))
    if share is not None:
        low = float(run.finite(share).min())
        high = float(run.finite(share).max())
        if high > low:
            cautions.append(caution("prompts-filtered", name=share, low=low, high=high))
    weight = run_settings.entropy_settings(run).entropy_weight
    if weight is not None:
        cautions.append(caution("entropy-term-bends-curves", weight=weight.value, name=weight.name))
    return cautions


def phase_series_all(
    run: Run, *, planning: str | None = None, execution: str | None = None, entropy: Sequence[str] = ()
) -> tuple[PhaseSeries, ...]:
    """The curves of a run with every entropy of all tokens that the user names; one alone has no label."""
    series = []
    for name in named_columns(run, entropy) or (None,):
        curves = phase_series(run, planning=planning, execution=execution, entropy=name)
        series.append(replace(curves, label=name or ""))
    if len(series) == 1:
        return (replace(series[0], label=""),)
    return tuple(series)


def _of_class(run: Run, kind: str, column: str | None) -> Chosen | None:
    """Choose the entropy of one class of tokens, or of plans; None where no column has its name."""
    option = f"--{kind}"
    if column is not None:
        name = named_column(run, column, option)
        return as_entropy(run, name, NAMED, option, accept_sum=True)
    usable = run_settings.first_usable(run, class_names(kind))
    if usable is None:
        return None
    return as_entropy(run, usable, "by its name", option, accept_sum=True)


def _phase_column(chosen: Chosen) -> Choice:
    """The column of a curve: by its name the entropy is that of tokens, or of plans."""
    choice = chosen.choice
    kind = SEMANTIC if "semantic" in folded(choice.column) else TOKEN
    return replace(choice, meaning=replace(choice.meaning, kind=kind))


def _check_two_curves(run: Run, planning: Chosen | None, execution: Chosen | None) -> None:
    """Raise for one column of both classes, and for two classes of one logger's tokens that differ in sign.

    Raises UsageError ``same-column``, InputError ``entropy-signs-differ``.
    """
    if planning is None or execution is None:
        return
    plan = _phase_column(planning)
    act = _phase_column(execution)
    if plan.column == act.column:
        raise UsageError(
            "same-column",
            f"{shown(plan.column)} of run {shown(run.name)} is named as planning and as execution; "
            "two columns are needed",
            "name another one with --planning or --execution",
        )
    sign = planning.choice.meaning.sign
    # Two kinds of entropy may come from two loggers.
    if plan.meaning.kind == act.meaning.kind and sign != execution.choice.meaning.sign:
        negative, positive = (plan, act) if sign < 0 else (act, plan)
        raise InputError(
            "entropy-signs-differ",
            f"{shown(negative.column)} of run {shown(run.name)} is negative and "
            f"{shown(positive.column)} is positive; entropies of one sign were expected",
            "name two columns of one logger with --planning and --execution",
        )


def _whole_curve(run: Run, column: str | None, *, alone: bool) -> tuple[Chosen | None, list[str]]:
    """Choose the curve of all tokens; an error only where the user names it, or no other curve exists."""
    try:
        return choose_entropy(run, column), []
    except InputError as error:
        is_missing = error.slug == "no-entropy-column"
        if alone and is_missing:
            raise InputError(
                "no-phase-columns",
                f"{quoted_path(run.source.path)} (run {shown(run.name)}) has no entropy of planning "
                "tokens, none of execution tokens and none of all tokens",
                "name the columns with --planning and --execution, or make them with `entropylaw tokens`",
            ) from error
        if column is not None or alone:
            raise
        # Next to the two classes it is optional; a column that exists and is no entropy gets a note.
        notes = [] if is_missing else [f"no curve of all tokens: {error.message}"]
        return None, notes
