"""Arms from logs and stored fits to a comparison; every run of an arm counts, refused ones too."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from entropylaw.documents.codec import as_stored
from entropylaw.documents.comparison import ComparisonDocument, LeftOut
from entropylaw.documents.document import RunFit, refusal_of
from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import listing, quoted_path, shown
from entropylaw.logs.sources.assemble import display_name
from entropylaw.options import CompareOptions, LawOptions, Parallel, options_of
from entropylaw.paths import expanded, shown_path
from entropylaw.pipeline import steps
from entropylaw.pipeline.arms import Grouping
from entropylaw.pipeline.cache import user_cache
from entropylaw.pipeline.inputs import RUNS, Input, Inputs, distinct, distinct_files, gather, same_settings
from entropylaw.results.arms import RunCurve
from entropylaw.results.fit import Fit
from entropylaw.results.result import replace
from entropylaw.run_names import split_arm

if TYPE_CHECKING:
    from entropylaw.results.arms import ArmComparison
    from entropylaw.results.stages import StageRows

Curves = Callable[[Sequence[Fit]], Sequence[RunCurve]]
"""Makes the averaged curves of fits."""

EXAMPLE = "entropylaw compare grpo='logs/grpo_*' clip='logs/clip_*'"


def by_arm(arguments: Sequence[str], arms: str | None) -> dict[str, list[str]]:
    """Name of an arm → its paths, of ``ARM=PATH``; all paths under an empty name where no arm is named.

    Raises UsageError (``arms-named-twice``, ``arm-missing``); InputError ``arm-without-logs``.
    """
    split = list(map(split_arm, arguments))
    named: dict[str, list[str]] = {}
    for words in split:
        arm = words[0] if len(words) == 2 else ""
        named.setdefault(arm, []).extend(_paths(arm, words[-1]))
    if arms is not None and any(named):
        what = f"arms are named by {shown(next(filter(None, named)) + '=')} and by --arms {arms}"
        raise UsageError("arms-named-twice", what, "leave out one of them")
    if "" in named and len(named) > 1:
        lone = named[""][0]
        what = f"{quoted_path(lone)} has no arm, and other logs have one"
        raise UsageError("arm-missing", what, f"type ARM={lone}, or name no arm at all")
    return named


def _paths(arm: str, given: str) -> list[str]:
    """The paths of one argument: a path, a pattern, or several with commas between them."""
    if "://" in given:
        return [given]
    paths = expanded(given)
    if paths != [given] or os.path.exists(given):  # noqa: PTH110  pathlib raises
        return paths
    parts = given.split(",")
    if all(expanded(part) != [part] or Path(part).exists() for part in parts):
        return [path for part in parts for path in expanded(part)]
    if set(given) & set("*?["):
        what = f"{quoted_path(given)} matches no file" + f", and is all of arm {shown(arm)}" * bool(arm)
        raise InputError("arm-without-logs", what, f"check the pattern; as in {EXAMPLE}")
    return paths


def gather_arms(
    arms: Mapping[str, Sequence[Any]], options: CompareOptions, fixed: Sequence[str] = ()
) -> Inputs:
    """The inputs of every arm; those of the empty name belong to none yet.

    Every arm is gathered alone, as no log of one is a copy or a part of a log of another. ``fixed`` are flags
    of the user that are options of the fit, which a stored fit cannot follow.

    Raises InputError (``file-not-found``, ``arm-without-logs``, ``not-a-document``, a damaged document);
    UsageError (``fit-is-fixed``, ``settings-differ``, and any wrong option).
    """
    parts: list[Inputs] = []
    entries: list[Input] = []
    warnings: list[tuple[str, str]] = []
    for arm, paths in arms.items():
        part = gather(paths, options, kinds=(*RUNS, "index"), fixed=fixed, named=display_name)
        if not part.entries:
            raise _empty(arm, paths)
        for entry in part.entries:
            warnings += unread_log(entry, arm)
            entries.append(replace(entry, arm=arm))
        warnings += part.skipped
        parts.append(part)
    return Inputs(
        entries=tuple(distinct(entries)),
        settings=same_settings([part.settings for part in parts]),
        files=distinct_files(chain.from_iterable(part.files for part in parts)),
        skipped=tuple(warnings),
    )


def unread_log(entry: Input, arm: str) -> list[tuple[str, str]]:
    """A warning of a log of an arm that could not be read, which is a run of it.

    Raises InputError (``file-not-found``, ``arm-without-logs``, ``no-logs-in-folder``).
    """
    error, path = entry.error, entry.path
    if error is None:
        return []
    if error.slug == "no-logs-in-folder" and arm:
        raise InputError("arm-without-logs", f"arm {shown(arm)}: {error.message}", error.hint)
    if error.slug in ("file-not-found", "no-logs-in-folder"):
        raise error
    return [(path, f"{shown_path(path)} could not be read: {refusal_of(error, path).message}")]


def _empty(arm: str, paths: Sequence[Any]) -> InputError:
    listed = ", ".join(map(str, paths)) or "nothing"
    message = f"arm {shown(arm)} has no log: {listed}" if arm else f"there is no log: {listed}"
    return InputError("arm-without-logs", message, f"as in {EXAMPLE}")


def baseline_of(names: Sequence[str], options: CompareOptions) -> str | None:
    """The baseline; None where all pairs are compared.

    Raises UsageError (``no-such-arm``, ``baseline-of-all-pairs``).
    """
    if options.baseline is not None and options.baseline not in names:
        message = f"the baseline {options.baseline!r} is no arm"
        raise UsageError("no-such-arm", message, f"the arms are {listing(names)}")
    if options.all_pairs and options.baseline is not None:
        message = f"--all-pairs has no baseline, and --baseline {options.baseline} names one"
        raise UsageError("baseline-of-all-pairs", message, "leave out one of them")
    return None if options.all_pairs else options.baseline or next(iter(names), None)


Entry: TypeAlias = RunFit | Fit
"""The fit of a run, or why it has none; or a fit that was given."""


def entries_of(
    arms: Mapping[str, Sequence[Input]], fit: Callable[[Sequence[Input]], Sequence[Any]]
) -> dict[str, list[Entry]]:
    """Name of an arm → an entry for each of its runs; ``fit`` makes them, of all arms at once."""
    members = list(chain.from_iterable(arms.values()))
    for place, member in enumerate(members):
        if member.run is not None:
            # A configuration and texts are of no use in a fit, and need not go to another process.
            members[place] = replace(member, run=replace(member.run, config={}, words={}))
    fitted = iter([getattr(entry, "fit", entry) for entry in fit(members)])
    return {arm: list(islice(fitted, len(runs))) for arm, runs in arms.items()}


def answer_of(entry: Entry) -> Fit | None:
    """The fit of a run that has one."""
    return entry if isinstance(entry, Fit) else entry.answer


def compared(
    grouping: Grouping,
    entries: Mapping[str, Sequence[Entry]],
    options: CompareOptions,
    inputs: Inputs,
    curves: Curves,
) -> ComparisonDocument:
    """The document of a comparison; raises as :func:`result_of`."""
    result = result_of(grouping.arms, entries, options, curves)
    refused = [
        LeftOut(run=one.run, why=one.refusal.message, arm=arm, read=one.read)
        for arm, runs in entries.items()
        for one in runs
        if isinstance(one, RunFit) and one.answer is None and one.refusal is not None
    ]
    fit_settings = {name: getattr(inputs.settings, name) for name in options_of(LawOptions)}
    return as_stored(
        ComparisonDocument(
            inputs=inputs.files,
            settings=replace(options, **fit_settings),
            grouped=grouping.grouped,
            left_out=(*grouping.left_out, *refused),
            comparison=result,
            warnings=inputs.warnings,
        )
    )


def result_of(
    members: Mapping[str, Sequence[Input]],
    entries: Mapping[str, Sequence[Entry]],
    options: CompareOptions,
    curves: Curves,
) -> ArmComparison:
    """The comparison of arms; runs without a fit count as failed. ``curves`` makes the curves of fits.

    Raises InputError (``run-in-two-arms``, ``arms-mix-columns``); UsageError (``no-such-arm``, and
    as :func:`entropylaw.analysis.arms.compare_arms`).
    """
    from entropylaw.analysis.arms import compare_arms
    from entropylaw.analysis.stages import breadth, stage_changes, transfers

    alike(entries)
    apart(entries)
    answers = {arm: [(one, answer_of(one)) for one in runs] for arm, runs in entries.items()}
    refused = {
        arm: [(one.run, failure_of(one)) for one, fit in runs if fit is None] for arm, runs in answers.items()
    }
    fits = {arm: [fit for _, fit in runs if fit is not None] for arm, runs in answers.items()}
    averaged = iter(curves([fit for some in fits.values() for fit in some]))
    result = compare_arms(
        fits,
        baseline=baseline_of(list(members), options) or "all",
        refused=refused,
        level=options.level,
        margin=options.margin,
        between_sd=options.between_sd,
        averaged={arm: [next(averaged) for _ in some] for arm, some in fits.items()},
    )
    if options.stage is None:
        return result
    rows = stages_of(members, answers, options)
    changes = stage_changes(rows, level=options.level)
    findings, moved = (*result.findings, *breadth(changes)), transfers(rows, level=options.level)
    return replace(result, stages=changes, transfers=moved, findings=findings)


def stages_of(
    members: Mapping[str, Sequence[Input]],
    answers: Mapping[str, Sequence[tuple[Entry, Fit | None]]],
    options: CompareOptions,
) -> dict[str, list[StageRows]]:
    """The stages of all runs that have a fit, by arm.

    Raises UsageError (``stages-need-logs``) and as :func:`entropylaw.roles.stages.stage_rows`.
    """
    from entropylaw.roles.stages import stage_rows

    assert options.stage is not None
    columns = {"entropy": options.entropy, "reward": options.reward}
    found: dict[str, list[StageRows]] = {}
    for arm, runs in members.items():
        pairs = zip(runs, answers[arm], strict=True)
        fitted = [one for one, (_, fit) in pairs if fit is not None]
        if stored := [one.name for one in fitted if one.run is None]:
            what = f"--stage reads a column of logs, and {shown(stored[0])} is a stored fit"
            raise UsageError("stages-need-logs", what, "give the logs themselves")
        runs_of = (one.run for one in fitted if one.run is not None)
        found[arm] = [stage_rows(run, options.stage, options.domain, **columns) for run in runs_of]
    return found


def failure_of(entry: Entry) -> str:
    """Why a run has no fit."""
    refusal = getattr(entry, "refusal", None)
    return f"refused: {refusal.message}" if refusal is not None else "it has no fit"


def alike(arms: Mapping[str, Sequence[Entry]]) -> None:
    """Refuse arms whose entropies, rewards or pairings differ: their numbers do not compare.

    Raises InputError (``arms-mix-columns``), which names two runs.
    """
    runs = [
        (arm, one)
        for arm, entries in arms.items()
        for one in entries
        if isinstance(one, RunFit) and one.answer is not None
    ]
    for name, about, hint in (
        ("entropy", entropy_kind, "name one column with --entropy, or compare runs of one kind"),
        ("reward", reward_kind, "name one column with --reward, or compare runs of one kind"),
        ("pairing", lambda one: one.pair, "give --pair same or --pair next"),
    ):
        kinds: dict[object, tuple[str, RunFit]] = {}
        for arm, one in runs:
            kinds.setdefault(about(one), (arm, one))
        if len(kinds) > 1:
            texts = (", ".join(filter(None, kind)) if isinstance(kind, tuple) else kind for kind in kinds)
            runs_of = zip(kinds.values(), texts, strict=True)
            said = " and ".join(
                f"{shown(one.run)} ({arm}) has {text}" for (arm, one), text in islice(runs_of, 2)
            )
            raise InputError("arms-mix-columns", f"the arms differ in {name}: {said}", hint)


def entropy_kind(one: RunFit) -> tuple[str | None, ...] | None:
    """What an entropy measures; of an unknown one its column."""
    choice = one.entropy_column
    if choice is None:
        return None
    known = choice.meaning
    about = (known.unit, known.aggregation, known.estimator)
    return about if any(about) else (choice.column,)


def reward_kind(one: RunFit) -> tuple[str | None, ...] | None:
    """The column of a reward and its kind."""
    choice = one.reward_column
    return None if choice is None else (choice.column, choice.meaning.kind)


def apart(arms: Mapping[str, Sequence[Entry]]) -> None:
    """Refuse evaluations that are in two arms, or twice in one.

    Raises InputError ``run-in-two-arms``.
    """
    seen: dict[bytes, tuple[str, str]] = {}
    for arm, one in ((arm, one) for arm, entries in arms.items() for one in entries):
        if (fit := answer_of(one)) is None:
            continue
        values = (fit.law.step, fit.law.entropy, fit.law.reward)
        content = b"".join(np.asarray(each, dtype=float).tobytes() for each in values)
        if content not in seen:
            seen[content] = arm, one.run
            continue
        other, name = seen[content]
        where = f"arms {shown(other)} and {shown(arm)}" if other != arm else f"arm {shown(arm)} twice"
        same = "" if name == one.run else f" (there called {shown(name)})"
        what = f"run {shown(one.run)}{same} is in {where}, with the same evaluations"
        hint = "name each log once; of a log with several arms give the column: --arms COLUMN"
        raise InputError("run-in-two-arms", what, hint)


def compare(
    arms: Mapping[str, Any],
    *,
    baseline: str | None = None,
    all_pairs: bool = False,
    margin: float | None = None,
    between_sd: float | None = None,
    level: float = 0.95,
    jobs: int = 1,
    **options: Any,
) -> ArmComparison:
    """Compare arms of an experiment, the seed as the unit.

    Parameters
    ----------
    arms
        Name of an arm → its runs: fits, or paths of logs, of folders, of stored fits; one or a list.
    baseline
        The arm that the others are compared with, by default the first; ``all_pairs`` compares all.
    margin
        The smallest difference of reward that counts, in reward units, as of the option ``--margin``.
    between_sd
        Standard deviation of the reward between seeds, where it is known from elsewhere.
    level
        Of the intervals.
    jobs
        Processes that fit logs. With more than one, a script needs ``if __name__ == "__main__":``.
    options
        How logs are read and fitted, as in :class:`~entropylaw.options.CompareOptions`: ``entropy``,
        ``reward``, ``pair`` and others.

    A run that cannot be read or fitted counts as failed in its arm.

    Raises
    ------
    UsageError
        ``too-few-arms``, ``no-such-arm``, ``bad-level``, ``bad-argument``.
    InputError
        ``file-not-found``, ``arm-without-logs``, ``arms-mix-columns``, ``run-in-two-arms``.

    Notes
    -----
    See :func:`entropylaw.analysis.arms.compare_arms`.
    """
    if not isinstance(arms, Mapping):
        message = (
            f"arms: expected a mapping from names to runs, found an object of type {type(arms).__name__}"
        )
        raise UsageError("bad-argument", message, "write compare({'grpo': [...], 'clip_cov': [...]})")
    known = CompareOptions(
        baseline=baseline, all_pairs=all_pairs, margin=margin, between_sd=between_sd, level=level, **options
    )
    known = steps.checked(known)
    jobs = steps.checked_option(jobs, options_of(Parallel)["jobs"], "jobs") or 1
    listed = {str(arm): list(listed_runs(runs)) for arm, runs in arms.items()}
    for arm, runs in listed.items():
        if not runs:
            raise _empty(arm, ())
    paths = {arm: [run for run in runs if not isinstance(run, Fit)] for arm, runs in listed.items()}
    inputs = gather_arms({arm: logs for arm, logs in paths.items() if logs}, known)
    members = {arm: given_fits(arm, runs) for arm, runs in listed.items()}
    for entry in inputs.entries:
        members[entry.arm].append(entry)
    step, cache = steps.Fit(inputs.settings), user_cache()

    def fitted(runs: Sequence[Input]) -> list[RunFit]:
        return [answer.result for answer in steps.answers(step, runs, jobs=jobs, cache=cache)]

    def curves(fits: Sequence[Fit]) -> list[RunCurve]:
        averaged = steps.answers(steps.Averaged(), fits, jobs=jobs, cache=cache)
        return [answer.result for answer in averaged]

    return as_stored(result_of(members, entries_of(members, fitted), known, curves))


def given_fits(arm: str, runs: Sequence[Any]) -> list[Input]:
    """The runs of an arm that were given as fits; those without a name get a number."""
    fits = [run for run in runs if isinstance(run, Fit)]
    named = [replace(fit, run=fit.run or f"{arm} {place}") for place, fit in enumerate(fits, 1)]
    return [Input(name=fit.run, path="", entry=fit, arm=arm) for fit in named]


def listed_runs(runs: Any) -> Iterator[Any]:
    """The runs of an arm, paths as texts and patterns expanded."""
    several = isinstance(runs, Sequence) and not isinstance(runs, str)
    for one in runs if several else [runs]:
        if isinstance(one, str | os.PathLike):
            yield from _paths("", os.fspath(one))
        else:
            yield one
