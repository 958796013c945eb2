"""Makes of documents the runs that gates are applied to. Nothing here imports numpy."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from entropylaw.documents.document import CheckedFile
from entropylaw.documents.loading import Stored, as_document, damaged
from entropylaw.errors import InputError
from entropylaw.escaping import counted
from entropylaw.gates.quantities import (
    FEWEST_FITTED,
    LEAST_EFFECTIVE,
    Needs,
    Part,
    Quantity,
    Unknown,
    Value,
)
from entropylaw.kinds import NO_LARGEST
from entropylaw.paths import note_input, shown_path
from entropylaw.results import Verdict, Why
from entropylaw.results.columns import Choice, Refusal
from entropylaw.results.result import sentences
from entropylaw.run_names import reward_matches
from entropylaw.units import LARGEST

if TYPE_CHECKING:
    from entropylaw.documents.document import AnyDocument, Entry, RunPrediction
    from entropylaw.results.fit import Fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A run that gates are applied to: its name, and the ``path`` of the log that it was read from.

    Of a run with several rewards this is one, with a label as ``reward``. ``holders`` map a part to what the
    documents or logs of the run, its ``sources``, hold of it: the entry of a fit, a prediction or phases, the
    comparison, or the samples with a row; None where they hold nothing of a part that they could have.
    ``unread`` is why its file could not be read.
    """

    run: str
    path: str
    sources: tuple[str, ...]
    holders: Mapping[Part, Any] = field(default_factory=dict)
    reward: str = ""
    unread: Refusal | None = None

    @property
    def entries(self) -> tuple[Entry[Any], ...]:
        """Its entries in documents, that of the fit first; none of a comparison or of samples."""
        parts: tuple[Part, ...] = ("law", "ahead", "phases")
        held = (self.holders.get(part) for part in parts)
        return tuple(entry for entry in held if entry is not None)

    @property
    def judged(self) -> Fit | RunPrediction | None:
        """The result with a verdict and findings; None where no document holds one."""
        for part in ("law", "ahead"):
            if self.holders.get(part) is not None:
                return self.holders[part].result  # type: ignore[no-any-return]
        return None

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the law; None where no document holds one."""
        return None if self.judged is None else self.judged.verdict

    @property
    def why(self) -> Why | None:
        """Why the law fails."""
        return None if self.judged is None else self.judged.why

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of its verdict, in sentences."""
        return () if self.judged is None else sentences(self.judged.findings, "reason")

    def finding(self, code: str) -> str:
        """The sentence of its first finding with a code; empty where it has none."""
        findings = () if self.judged is None else self.judged.findings
        return next((finding.sentence for finding in findings if finding.code == code), "")

    @property
    def refusal(self) -> Refusal | None:
        """Why it has no fit, or no other result where no document holds one of a fit."""
        if self.unread is not None or not self.entries:
            return self.unread
        if "law" in self.holders:
            return self.entries[0].refusal
        return next((entry.refusal for entry in self.entries if entry.refusal is not None), None)

    @property
    def read(self) -> bool:
        """Whether its file could be read, and columns of it chosen."""
        return self.unread is None and all(entry.read for entry in self.entries[:1])

    @property
    def rewarded(self) -> Choice | None:
        """The column of its reward, also of a single one; None where the documents do not say."""
        columns = (entry.columns.get("reward") for entry in self.entries)
        return next((column for column in columns if column is not None), None)

    @property
    def unit(self) -> str:
        """The unit of its rewards; empty where that is not known."""
        if "arms" in self.holders:
            return self.holders["arms"].comparison.reward_unit  # type: ignore[no-any-return]
        return "" if self.rewarded is None else self.rewarded.unit

    @property
    def max_reward(self) -> float | None:
        """The largest reward that is possible; None where that is not known."""
        if "arms" not in self.holders:
            return None if self.judged is None else self.judged.max_reward
        largest: Any = self.holders["arms"].settings.max_reward
        if largest is None:
            largest = LARGEST.get(self.unit)
        return None if largest == NO_LARGEST else largest

    @property
    def name(self) -> str:
        """The name of the run, with that of the reward behind it where there are several."""
        return f"{self.run} · {self.reward}" if self.reward else self.run

    def has_reward(self, pattern: str) -> bool:
        """Whether a shell pattern matches its reward, by label or column."""
        label = "" if self.rewarded is None else self.rewarded.label
        return reward_matches(pattern, self.reward, self.column, label)

    @property
    def column(self) -> str:
        """The name of the column of its reward; empty where that is not known."""
        return "" if self.rewarded is None else self.rewarded.column

    @property
    def parts(self) -> frozenset[Part]:
        """The parts that its sources hold; the prediction of a refused run is none."""
        held = {part for part, holder in self.holders.items() if holder is not None}
        if "ahead" in held and self.holders["ahead"].result is None:
            held.remove("ahead")
        return frozenset(held)

    def lacks(self, needs: Needs) -> str:
        """Why a quantity with such needs is unknown, the first reason of several; empty where it is known."""
        without = self.why is Why.no_relation and needs == "relation"
        if not without and not (self.verdict is Verdict.fails and needs == "law"):
            return ""
        reason = self.reasons[0] if self.reasons else "its document gives no reason"
        if len(self.reasons) > 1:
            reason += f" (and {len(self.reasons) - 1} more)"
        return f"the law fails for this run, {self.why}: {reason}"

    def too_little(self, quantity: Quantity) -> str:
        """Why there are too few evaluations for a fitted number; empty where there are enough."""
        source = self._part_with(quantity)
        if not quantity.fitted or source not in ("law", "ahead") or source not in self.holders:
            return ""
        held = self._held(source)
        if held is None:
            return ""
        evaluations = held.n if quantity.part == "law" else held.n_rewards
        if evaluations is None or held.effective_n is None:
            return "the document does not say of how many evaluations it is: predict from the fit again"
        if evaluations < FEWEST_FITTED:
            return f"{counted(evaluations, 'evaluation')}, and a fitted number needs {FEWEST_FITTED}"
        if held.effective_n < LEAST_EFFECTIVE:
            # Rounded down: no size below the least one is shown as that.
            size = math.floor(100 * held.effective_n) / 100
            return f"the effective sample size is {size:g}, and a fitted number needs {LEAST_EFFECTIVE:g}"
        return ""

    def value(self, quantity: Quantity) -> Value | None:
        """The value of a quantity; None where the run's sources cannot have one."""
        source = self._part_with(quantity)
        if source not in self.holders:
            return None
        held = self._held(source)
        if source == "samples" and held[0].incomplete:
            return Unknown(reason=held[0].incomplete)
        if held is None and source in ("law", "ahead"):
            return None
        return quantity.read(held)

    def _part_with(self, quantity: Quantity) -> Part:
        """The part that a quantity is read from: a fit has a forecast, and a prediction the verdict, too."""
        if quantity.part in self.holders:
            return quantity.part
        if quantity.part == "ahead":
            return "law"
        if quantity.name in ("cautions", "verdict", "why"):
            return "ahead"
        return quantity.part

    def detail(self, quantity: Quantity) -> str:
        """What a sentence adds to the number of a quantity that has one, in brackets."""
        if quantity.detail is None:
            return ""
        held = self._held(self._part_with(quantity))
        return f" ({quantity.detail(held)})"

    def _held(self, part: Part) -> Any:
        """What quantities of a part are read from: a fit or a prediction, None for a refused run."""
        return self.holders[part].result if part in ("law", "ahead") else self.holders[part]


_PARTS: Mapping[str, Part] = {"fit": "law", "report": "law", "phases": "phases", "prediction": "ahead"}

READ = (*_PARTS, "comparison", "samples")
"""The kinds of documents that gates read."""


def read_document(data: Any, source: str) -> AnyDocument:
    """A document from JSON values, its arrays as lists; ``source`` is its name in error messages.

    Raises InputError (``not-a-document``, ``other-document-version``, ``damaged-document``).
    """
    document: AnyDocument = as_document(data, READ, source, or_log=True)
    if not getattr(document, "runs", True):
        raise damaged(source, "at $.runs: expected one run or more")
    return document


def subjects_of(document: AnyDocument, source: str) -> list[Subject]:
    """The runs of a document of a kind in :data:`READ`, fresh or stored; a comparison is one subject."""
    kind = document.schema.split("/")[1]
    if kind == "comparison":
        arms = ", ".join(arm.arm for arm in document.comparison.arms)  # type: ignore[attr-defined]
        name = f"comparison of {arms}"
        return [Subject(run=name, path=source, sources=(source,), holders={"arms": document})]
    if kind == "samples":
        rows = document.latest()  # type: ignore[attr-defined]
        return [
            Subject(
                run=f"samples {name}".rstrip(),
                path=source,
                sources=(source,),
                holders={"samples": (document, row)},
            )
            for row, name in rows
        ]
    phases = {run.run: run for run in getattr(document, "phases", ())}
    entries = document.runs  # type: ignore[attr-defined]
    return [_subject_of(entry, kind, source, phases.get(entry.run)) for entry in entries]


def _subject_of(entry: Any, kind: str, source: str, phases: Any) -> Subject:
    """The run in an entry of a document of a kind, which may have phases of it beside a fit."""
    holders: dict[Part, Any] = {_PARTS[kind]: entry}
    if kind == "report":
        holders["phases"] = phases
    return Subject(
        run=entry.run,
        path=entry.path,
        sources=(source,),
        holders=holders,
        reward=entry.reward,
    )


def stored_subjects(document: Stored) -> list[Subject]:
    """The runs of a stored document; one that cannot be used, as one without runs, is a refused run."""
    name = shown_path(document.path)
    try:
        if document.data is None:
            raise document.damaged(name)
        subjects = subjects_of(read_document(document.data, name), name)
        runs = [(subject.name, subject.path) for subject in subjects if subject.refusal is None]
        if len(set(runs)) < len(runs):
            raise damaged(name, "at $.runs: expected each run once")
        return subjects
    except InputError as error:
        return [unread(name, error)]


def unread(source: str, error: InputError) -> Subject:
    """What could not be read, as a refused run."""
    refusal = Refusal(slug=error.slug, message=error.message, hint=error.hint)
    return Subject(run=source, path=source, sources=(source,), unread=refusal)


def checked_file(document: Stored) -> CheckedFile:
    """A document's entry among the files that were read."""
    note_input(document.path)
    schema = "damaged" if document.data is None else document.data["schema"]
    digest = hashlib.sha256(document.content).hexdigest()
    return CheckedFile(path=shown_path(document.path), sha256=digest, format=schema)


def joined(subjects: Sequence[Subject]) -> list[Subject]:
    """Subjects in their order; documents that hold different parts of one run make one subject.

    One run is one name and one log. Where two documents hold the same part of it, all of them stay apart.
    What holds of a run with several rewards is joined to each of them.
    """
    rewards: dict[tuple[str, str], dict[str, None]] = {}
    for subject in subjects:
        if subject.reward:
            rewards.setdefault((subject.run, subject.path), {})[subject.reward] = None
    groups: dict[tuple[str, str, str], list[Subject]] = {}
    for subject in subjects:
        run = (subject.run, subject.path)
        of_run = [subject.reward] if subject.reward else rewards.get(run, [""])
        for reward in of_run:
            groups.setdefault((*run, reward), []).append(subject)
    result: list[Subject] = []
    for group in groups.values():
        if _is_complementary(group):
            result.append(_merged(group))
        else:
            result += group
    return result


def _is_complementary(group: Sequence[Subject]) -> bool:
    """Whether several subjects hold something each, and none of it twice."""
    parts = list(chain.from_iterable(subject.parts for subject in group))
    return len(group) > 1 and len(parts) == len(set(parts)) and all(subject.parts for subject in group)


def _merged(group: Sequence[Subject]) -> Subject:
    """Several parts of a run as one subject."""
    # Parts without a holder first, so that another document replaces them.
    pairs = chain.from_iterable(subject.holders.items() for subject in group)
    holders = dict(sorted(pairs, key=lambda pair: pair[1] is not None))
    sources = tuple(chain.from_iterable(subject.sources for subject in group))
    # Phases have no reward.
    reward = next((subject.reward for subject in group if subject.reward), "")
    return replace(group[0], sources=sources, holders=holders, reward=reward)
