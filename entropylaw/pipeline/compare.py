"""Comparing arms, for Python and the command: which logs an arm has, their fits, and the document.

A run that cannot be read or fitted is in no difference, and is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from entropylaw.arguments import as_items
from entropylaw.documents.codec import as_stored
from entropylaw.documents.comparison import ComparisonDocument, LeftOut
from entropylaw.documents.document import refusal_of
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import listing, quoted_path, shown
from entropylaw.kinds import ALL
from entropylaw.logs.sources.assemble import display_name
from entropylaw.option import options_of, part
from entropylaw.options import CompareOptions, FitOptions, Joined, LawOptions, Parallel
from entropylaw.paths import expanded, shown_path
from entropylaw.pipeline import given_options, steps
from entropylaw.pipeline.arm_series import ENTROPY, ArmRun, results_of
from entropylaw.pipeline.arms import Grouping
from entropylaw.pipeline.cache import user_cache
from entropylaw.pipeline.inputs import RUNS, Input, Inputs, distinct, distinct_files, gather, same_settings
from entropylaw.results.fit import Fit
from entropylaw.results.result import replace
from entropylaw.roles.rewards import check_one_reward
from entropylaw.roles.settings import incomplete
from entropylaw.run_names import split_arm

if TYPE_CHECKING:
    from entropylaw.results.arms import ArmComparison

EXAMPLE = "entropylaw compare grpo='logs/grpo_*' clip='logs/clip_*'"


def by_arm(arguments: Sequence[str], arms: str | None) -> dict[str, list[str]]:
    """Name of an arm → its paths, of ``ARM=PATH``; all paths under an empty name where no arm is named.

    Raises UsageError (``arms-named-twice``, ``arm-missing``); InputError ``arm-without-logs``.
    """
    named: dict[str, list[str]] = {}
    for argument in arguments:
        arm, path = split_arm(argument)
        named.setdefault(arm, []).extend(_paths(arm, path))
    names = [arm for arm in named if arm]
    if arms is not None and names:
        raise UsageError(
            "arms-named-twice",
            f"arms are named by {shown(names[0] + '=')} and by --arms {arms}",
            "leave out one of them",
        )
    if "" in named and len(named) > 1:
        lone = named[""][0]
        raise UsageError(
            "arm-missing",
            f"{quoted_path(lone)} has no arm, and other logs have one",
            f"type ARM={lone}, or name no arm at all",
        )
    return named


def _paths(arm: str, argument: str) -> list[str]:
    """The paths of one argument: a path, a pattern, or several with commas between them.

    A path or an address alone need not exist: reading it says what is wrong. Raises InputError
    ``arm-without-logs`` for a pattern that matches no file.
    """
    if "://" in argument:
        return [argument]
    paths = _matching(argument)
    if paths:
        return paths
    by_name = [_matching(name) for name in argument.split(",")]
    if all(by_name):
        return list(chain.from_iterable(by_name))
    if set(argument) & set("*?["):
        message = f"{quoted_path(argument)} matches no file"
        if arm:
            message += f", and is all of arm {shown(arm)}"
        raise InputError("arm-without-logs", message, f"check the pattern; as in {EXAMPLE}")
    return [argument]


def _matching(name: str) -> list[str]:
    """The path of that name, or those that match it as a pattern; empty where there is none."""
    paths = expanded(name)
    # Not pathlib, which raises for names that no file can have.
    if paths == [name] and not os.path.exists(name):  # noqa: PTH110
        return []
    return paths


def gather_arms(
    arms: Mapping[str, Sequence[Any]],
    options: CompareOptions,
    fixed: Sequence[str] = (),
    join: Joined | None = None,
) -> Inputs:
    """The inputs of every arm; those of the empty name belong to none yet.

    Every arm is gathered alone, as no log of one is a copy or a part of a log of another. ``fixed`` are flags
    of the user that are options of the fit, which a stored fit cannot follow.

    Raises InputError (``file-not-found``, ``arm-without-logs``, ``not-a-document``, a damaged document);
    UsageError (``fit-is-fixed``, ``settings-differ``, and any wrong option).
    """
    if options.pair == "seed":
        # It pairs runs; how a log pairs rewards with entropies is not requested then.
        options = replace(options, pair=None)
    inputs_of_arms: list[Inputs] = []
    entries: list[Input] = []
    warnings: list[str] = []
    for arm, paths in arms.items():
        inputs = gather(paths, options, kinds=RUNS, fixed=fixed, named=display_name, join=join)
        if not inputs.entries:
            raise _no_log_in(arm, paths)
        for entry in inputs.entries:
            # A log that could not be read is a run of its arm, but there has to be one.
            error = entry.error
            if error is not None:
                if error.slug == "no-logs-in-folder" and arm:
                    raise InputError("arm-without-logs", f"arm {shown(arm)}: {error.message}", error.hint)
                if error.slug in ("file-not-found", "no-logs-in-folder"):
                    raise error
                message = refusal_of(error, entry.path).message
                warnings.append(f"{shown_path(entry.path)} could not be read: {message}")
            if entry.run is not None:
                warnings += (f"{entry.name}: {finding.sentence}" for finding in incomplete(entry.run))
            entries.append(replace(entry, arm=arm))
        warnings += inputs.warnings
        inputs_of_arms.append(inputs)
    return Inputs(
        entries=tuple(distinct(entries)),
        settings=same_settings(
            [inputs.settings for inputs in inputs_of_arms] or [part(options, FitOptions)],
        ),
        files=distinct_files(chain.from_iterable(inputs.files for inputs in inputs_of_arms)),
        warnings=tuple(warnings),
    )


def _no_log_in(arm: str, paths: Sequence[Any]) -> InputError:
    """The error of an arm that has no log."""
    listed = ", ".join(map(str, paths)) or "nothing"
    subject = f"arm {shown(arm)} has" if arm else "there is"
    return InputError("arm-without-logs", f"{subject} no log: {listed}", f"as in {EXAMPLE}")


def baseline_of(names: Sequence[str], options: CompareOptions) -> str | None:
    """The baseline that is named, ``all`` where all pairs are compared, and None where it is to be chosen.

    Raises UsageError ``no-such-arm``.
    """
    if options.baseline not in (None, ALL, *names):
        raise UsageError(
            "no-such-arm",
            f"the baseline {shown(options.baseline)} is not an arm",
            f"the arms are {listing(names)}",
        )
    return options.baseline


def fitted_runs(
    arms: Mapping[str, Sequence[Input]],
    options: CompareOptions,
    fit: Callable[[Sequence[Input]], Sequence[Sequence[Any]]],
) -> list[ArmRun]:
    """The runs of all arms; ``fit`` makes their entries, of all arms at once.

    A comparison at equal values of a column other than entropy needs no fit.
    """
    members = [(arm, member) for arm, inputs in arms.items() for member in inputs]
    if options.at_equal not in (None, ENTROPY):
        return [ArmRun(arm, member, None, None) for arm, member in members]
    to_fit = []
    for _, member in members:
        if member.run is not None:
            # Configuration and texts are of no use to another process that fits the run.
            member = replace(member, run=replace(member.run, config={}, words={}))
        to_fit.append(member)
    fitted = fit(to_fit)
    runs: list[ArmRun] = []
    for (arm, member), results in zip(members, fitted, strict=True):
        best, *further = [getattr(result, "fit", result) for result in results]
        if isinstance(best, Fit):
            runs.append(ArmRun(arm, member, None, best))
        else:
            # A training reward beside a validation is not compared.
            further = [entry for entry in further if entry.columns["reward"].meaning.kind != "training"]
            runs.append(ArmRun(arm, member, best, best.result, tuple(further)))
    return runs


def compared(
    grouping: Grouping, runs: Sequence[ArmRun], options: CompareOptions, inputs: Inputs
) -> ComparisonDocument:
    """The document of a comparison; raises as :func:`entropylaw.pipeline.arm_series.results_of`."""
    names = list(grouping.arms)
    comparison, *of_other_rewards = results_of(names, runs, options, baseline_of(names, options))
    fit_settings = {name: getattr(inputs.settings, name) for name in options_of(LawOptions)}
    if options.pair == "seed":
        fit_settings["pair"] = "seed"
    return as_stored(
        ComparisonDocument(
            inputs=inputs.files,
            settings=replace(options, **fit_settings),
            grouped=grouping.grouped,
            left_out=(*grouping.left_out, *_missing(comparison, runs)),
            comparison=comparison,
            others=tuple(of_other_rewards),
            warnings=inputs.warnings,
        )
    )


def _missing(comparison: ArmComparison, runs: Sequence[ArmRun]) -> Iterator[LeftOut]:
    """The runs of the arms that are in no difference, each with the reason."""
    reasons = {run.run: run.left_out for arm in comparison.arms for run in arm.runs if not run.n}
    compared_runs = {run.run for arm in comparison.arms for run in arm.runs if run.n}
    for run in runs:
        if run.name in compared_runs:
            continue
        error = run.refusal or run.input.error
        # Where stages are compared, a run that has no fit is in none.
        why = reasons.get(run.name) or ("it is in no stage" if error is None else error.message)
        read = run.input.error is None and (run.entry is None or run.entry.read)
        yield LeftOut(run=run.name, why=why, arm=run.arm, read=read)


def compare(
    arms: Mapping[str, Any],
    *,
    baseline: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
    jobs: int = 1,
    **options: Any,
) -> ArmComparison:
    """Compare arms of an experiment, the seed as the unit.

    A run without an entropy is compared in all that needs steps and rewards alone.

    Parameters
    ----------
    arms
        Name of an arm → its runs: fits, or paths of logs, of folders, of stored fits; one or a list.
    baseline
        The arm that the others are compared with, by default one named vanilla, base, baseline, grpo or
        control, else the one with most seeds; ``"all"`` compares every two arms.
    margin
        The smallest difference of reward that counts, in reward units, as of the option ``--margin``.
    level
        Of the intervals.
    jobs
        Processes that fit logs. With more than one, a script needs ``if __name__ == "__main__":``.
    options
        How logs are read and fitted, as in :class:`~entropylaw.options.CompareOptions`: ``entropy``,
        ``reward``, ``pair`` (also ``"seed"``), ``at_equal``, ``stage`` and others.

    Raises
    ------
    UsageError
        ``too-few-arms``, ``no-such-arm``, ``bad-level``, ``bad-argument``.
    InputError
        ``file-not-found``, ``arm-without-logs``, ``arms-mix-columns``, ``run-in-two-arms``.

    Notes
    -----
    See :func:`entropylaw.analysis.arms.compare_rewards`.
    """
    if not isinstance(arms, Mapping):
        raise UsageError(
            "bad-argument",
            f"arms: expected a mapping from names to runs, found an object of type {type(arms).__name__}",
            "write compare({'grpo': [...], 'clip_cov': [...]})",
        )
    family = CompareOptions(baseline=baseline, margin=margin, level=level, **options)
    checked = given_options.checked(family)
    jobs = given_options.checked_option(jobs, options_of(Parallel)["jobs"], "jobs") or 1
    members: dict[str, list[Input]] = {}
    logs: dict[str, list[Any]] = {}
    for arm, runs in as_items(arms, "arms"):
        name = str(arm)
        is_one = isinstance(runs, str) or not isinstance(runs, Sequence)
        members[name] = []
        logs_of_arm: list[Any] = []
        for run in [runs] if is_one else runs:
            if isinstance(run, Fit):
                # One without a name gets a number.
                named = replace(run, run=run.run or f"{name} {len(members[name]) + 1}")
                members[name].append(Input(name=named.run, path="", entries=(named,), arm=name))
            elif isinstance(run, str | os.PathLike):
                logs_of_arm += _paths("", os.fspath(run))
            else:
                logs_of_arm.append(run)
        if logs_of_arm:
            logs[name] = logs_of_arm
        elif not members[name]:
            raise _no_log_in(name, ())
    inputs = gather_arms(logs, checked)
    for entry in inputs.entries:
        members[entry.arm].append(entry)
    fit = partial(steps.answers, steps.Law(inputs.settings), jobs=jobs, cache=user_cache())
    fitted = fitted_runs(members, checked, fit)
    for run in fitted:
        check_one_reward(run.name, list(run.entries_by_reward))
    names = list(members)
    comparison, *_ = results_of(names, fitted, checked, baseline_of(names, checked))
    return as_stored(comparison)
