"""Groups the entries of documents by run, as gates are applied to them. Nothing here imports numpy."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from entropylaw.documents.document import CheckedFile, Entry
from entropylaw.documents.loading import Stored, damaged
from entropylaw.errors import InputError
from entropylaw.escaping import counted
from entropylaw.gates.quantity import (
    FEWEST_FITTED,
    JUDGED,
    LEAST_EFFECTIVE,
    Quantity,
    ResultKind,
    Value,
)
from entropylaw.paths import note_input, shown_path
from entropylaw.results import Estimate, Verdict
from entropylaw.results.axis import STEP
from entropylaw.results.result import sentences
from entropylaw.run_names import reward_matches

if TYPE_CHECKING:
    from entropylaw.documents.document import RunPrediction
    from entropylaw.results.columns import Choice, Refusal
    from entropylaw.results.fit import Fit

KINDS: tuple[ResultKind, ...] = get_args(ResultKind)

READ = ("fit", "report", "phases", "prediction", "comparison", "samples")
"""The kinds of documents that gates read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntries:
    """One reward of a run: an entry of each kind of result that documents or logs, its ``sources``, have.

    What could not be read is a refused fit, a comparison is a run of its own, and so is each row of samples.
    The entries are in the order of :data:`KINDS`.
    """

    sources: tuple[str, ...]
    entries: Mapping[ResultKind, Entry[Any]]

    @property
    def first(self) -> Entry[Any]:
        """The entry that has its name, its path and its reward."""
        return next(iter(self.entries.values()))

    def entry(self, kinds: Sequence[ResultKind]) -> Entry[Any] | None:
        """The entry of the first of some kinds that it has; None where it has none of them."""
        return next((self.entries[kind] for kind in kinds if kind in self.entries), None)

    @property
    def judged(self) -> Fit | RunPrediction | None:
        """The result with a verdict and findings; None where no document has one."""
        entry = self.entry(JUDGED)
        return None if entry is None else entry.result

    def finding(self, code: str) -> str:
        """The sentence of its first finding with a code; empty where it has none."""
        for entry in self.entries.values():
            for finding in getattr(entry.result, "findings", ()):
                if finding.code == code:
                    return str(finding.sentence)
        return ""

    @property
    def refusal(self) -> Refusal | None:
        """Why it has no fit, or no other result where no document has an entry of a fit."""
        if "fit" in self.entries:
            return self.entries["fit"].refusal
        return next((entry.refusal for entry in self.entries.values() if entry.refusal is not None), None)

    @property
    def rewarded(self) -> Choice | None:
        """The column of its reward, also of a single one; None where the documents do not say."""
        columns = (entry.columns.get("reward") for entry in self.entries.values())
        return next((column for column in columns if column is not None), None)

    @property
    def column(self) -> str:
        """The name of the column of its reward; empty where that is not known."""
        return "" if self.rewarded is None else self.rewarded.column

    @property
    def axis(self) -> str:
        """The word for the axis of its fit."""
        results: list[Any] = [entry.result for entry in self.entries.values()]
        return next((result.axis for result in results if hasattr(result, "axis")), STEP)

    def has_reward(self, pattern: str) -> bool:
        """Whether a shell pattern matches its reward, by label or column."""
        label = "" if self.rewarded is None else self.rewarded.label
        return reward_matches(pattern, self.first.reward, self.column, label)

    @property
    def given(self) -> list[ResultKind]:
        """The kinds of results that its sources have, or refuse; the prediction of a refused run is none."""
        return [
            kind
            for kind, entry in self.entries.items()
            if entry.result is not None or (entry.refusal is not None and kind != "prediction")
        ]


def value_of(quantity: Quantity, run: RunEntries) -> Value | None:
    """The value of a quantity of a run, or why it has none; None if it was refused or is in no document."""
    entry = run.entry(quantity.reads)
    return None if entry is None else quantity.read(entry)


def why_unusable(quantity: Quantity, run: RunEntries, value: Value | None, *, any_law: bool) -> str:
    """Why the value of a quantity of a run is unknown to gates; empty where it is known.

    With ``any_law`` the law may fail.
    """
    entry = run.entry(quantity.reads)
    if entry is None or "fit" not in quantity.reads:
        return ""
    result: Any = entry.result
    if quantity.by_law and not any_law and result.verdict == Verdict.fails:
        reasons = sentences(result.findings, "reason")
        return f"the law fails for this run: {reasons[0] if reasons else 'its document gives no reason'}"
    numbers = (value.value, value.low, value.high) if isinstance(value, Estimate) else (value,)
    # A value without a number says itself why.
    if quantity.fitted and any(isinstance(number, float) for number in numbers):
        return _why_too_few(result, of_law=quantity.of_law)
    return ""


def _why_too_few(result: Any, *, of_law: bool) -> str:
    """Why the evaluations of a result are too few for a fitted number; empty where they are not."""
    evaluations = result.law.n if of_law else result.n_rewards
    if evaluations is None:
        return "the document does not say of how many evaluations it is: predict from the fit again"
    if evaluations < FEWEST_FITTED:
        return f"{counted(evaluations, 'evaluation')}, and a fitted number needs {FEWEST_FITTED}"
    size = result.law.residuals.effective_n if of_law else LEAST_EFFECTIVE
    if size < LEAST_EFFECTIVE:
        # Rounded down: no size below the least one is shown as that.
        shown = math.floor(100 * size) / 100
        return f"the effective sample size is {shown:g}, and a fitted number needs {LEAST_EFFECTIVE:g}"
    return ""


def entries_of(document: Any, source: str = "") -> list[RunEntries]:
    """The runs of a document of a kind in :data:`READ`; without a ``source`` it is of logs, fitted now."""
    kind = document.schema.split("/")[1]
    if kind == "comparison":
        arms = ", ".join(arm.arm for arm in document.comparison.arms)
        entry: Entry[Any] = Entry.of(source, None, f"comparison of {arms}", result=document)
        return [RunEntries(sources=(source,), entries={kind: entry})]
    if kind == "samples":
        rows = [
            Entry.of(source, None, f"samples {name}".rstrip(), result=(document, row))
            for row, name in document.latest()
        ]
        return [RunEntries(sources=(source,), entries={kind: entry}) for entry in rows]
    runs = []
    phases = {entry.run: entry for entry in getattr(document, "phases", ())}
    for entry in document.runs:
        entries: dict[ResultKind, Entry[Any]] = {"fit" if kind == "report" else kind: entry}
        if kind == "report":
            # Without phases its log has no curves of them: neither a result nor a refusal.
            entries["phases"] = phases.setdefault(entry.run, Entry.of(entry.path, None, entry.run))
        runs.append(RunEntries(sources=(source or entry.path,), entries=entries))
    return runs


def entries_in(document: Stored) -> list[RunEntries]:
    """The runs of a stored document; one that cannot be used, as one without runs, is a refused run."""
    name = shown_path(document.path)
    try:
        runs = entries_of(document.load(READ), name)
        if not runs:
            item = "row" if document.kind == "samples" else "run"
            raise damaged(name, f"at $.{item}s: expected one {item} or more")
        fitted = [(run.first.name, run.first.path) for run in runs if run.refusal is None]
        if len(set(fitted)) < len(fitted):
            raise damaged(name, "at $.runs: expected each run once")
        return runs
    except InputError as error:
        return [unread(name, error)]


def unread(source: str, error: InputError) -> RunEntries:
    """What could not be read, as a refused run."""
    return RunEntries(sources=(source,), entries={"fit": Entry.of(source, None, source, error=error)})


def checked_file(document: Stored) -> CheckedFile:
    """A document's entry among the files that were read."""
    note_input(document.path)
    schema = "damaged" if document.data is None else document.data["schema"]
    digest = hashlib.sha256(document.content).hexdigest()
    return CheckedFile(path=shown_path(document.path), sha256=digest, format=schema)


def by_run(found: Sequence[RunEntries]) -> list[RunEntries]:
    """The same in their order, different kinds of results of one run together.

    One run is one name and one log. Where two documents have a result of one kind, all of them stay apart.
    What holds of a run with several rewards is with each of them.
    """
    rewards: dict[tuple[str, str], dict[str, None]] = {}
    for run in found:
        if run.first.reward:
            rewards.setdefault((run.first.run, run.first.path), {})[run.first.reward] = None
    groups: dict[tuple[str, str, str], list[RunEntries]] = {}
    for run in found:
        key = (run.first.run, run.first.path)
        of_run = [run.first.reward] if run.first.reward else rewards.get(key, [""])
        for reward in of_run:
            groups.setdefault((*key, reward), []).append(run)
    together: list[RunEntries] = []
    for group in groups.values():
        given = [kind for run in group for kind in run.given]
        if len(group) > 1 and len(given) == len(set(given)) and all(run.given for run in group):
            together.append(_together(group))
        else:
            together += group
    return together


def _together(group: Sequence[RunEntries]) -> RunEntries:
    """Different kinds of results of a run, those that its sources have before those that they lack."""
    sources: list[str] = []
    entries: dict[ResultKind, Entry[Any]] = {}
    for run in group:
        sources += run.sources
        given = {kind: run.entries[kind] for kind in run.given}
        entries = {**run.entries, **entries, **given}
    ordered = {kind: entries[kind] for kind in KINDS if kind in entries}
    return RunEntries(sources=tuple(sources), entries=ordered)
