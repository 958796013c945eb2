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
from entropylaw.results.result import ENDS, LOST, sentences
from entropylaw.run_names import reward_matches
from entropylaw.units import LARGEST

if TYPE_CHECKING:
    from entropylaw.documents.document import AnyDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A run that gates are applied to: its name, and the ``path`` of the log that it was read from.

    Of a run with several rewards this is one, with a label as ``reward``. ``rewarded`` is its column, also of
    a single reward, None where the documents do not say. ``unit`` is that of its rewards, empty where
    unknown, and ``max_reward`` the largest that is possible, None where unknown. ``ends`` says that its
    evaluations end long before those of others.
    ``holders`` map a part to what the documents or logs of the run, its ``sources``, hold of it; None where
    they hold nothing of a part that they could have. ``verdict``, ``why`` and ``reasons`` are those of its
    answer, None where no document holds one, ``lost`` is how it lost its reward. ``refusal`` is why it has no
    fit, ``read`` whether its file could be read.
    """

    run: str
    path: str
    sources: tuple[str, ...]
    holders: Mapping[Part, Any] = field(default_factory=dict)
    verdict: Verdict | None = None
    why: Why | None = None
    reasons: tuple[str, ...] = ()
    lost: str = ""
    refusal: Refusal | None = None
    read: bool = True
    reward: str = ""
    rewarded: Choice | None = None
    unit: str = ""
    max_reward: float | None = None
    ends: str = ""

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
        """The parts that its sources hold."""
        return frozenset(part for part, holder in self.holders.items() if holder is not None)

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
        if source == "law" and held is None:
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
        """What quantities of a part are read from: of the law the fit, None for a refused run."""
        return self.holders[part].result if part == "law" else self.holders[part]


_PARTS: Mapping[str, Part] = {"fit": "law", "report": "law", "phases": "phases", "prediction": "ahead"}

READ = (*_PARTS, "comparison", "samples")
"""The kinds of documents that gates read."""


def read_document(data: Any, source: str) -> AnyDocument:
    """A document from JSON values, its arrays as lists; ``source`` is its name in error messages.

    Raises InputError (``not-a-document``, ``other-document-version``, ``damaged-document``).
    """
    document: AnyDocument = as_document(data, READ, source, arrays=False, or_log=True)
    if not getattr(document, "runs", True):
        raise damaged(source, "at $.runs: expected one run or more")
    return document


def subjects_of(document: AnyDocument, source: str) -> list[Subject]:
    """The runs of a document of a kind in :data:`READ`, fresh or stored; a comparison is one subject."""
    kind = document.schema.split("/")[1]
    if kind == "comparison":
        return [_compared_arms(document, source)]
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


def _compared_arms(document: Any, source: str) -> Subject:
    """A comparison as a subject of gates on its differences."""
    unit = document.comparison.reward_unit
    largest = document.settings.max_reward
    if largest is None:
        largest = LARGEST.get(unit)
    arms = ", ".join(arm.arm for arm in document.comparison.arms)
    return Subject(
        run=f"comparison of {arms}",
        path=source,
        sources=(source,),
        holders={"arms": document},
        unit=unit,
        max_reward=None if largest == NO_LARGEST else largest,
    )


def _subject_of(entry: Any, kind: str, source: str, phases: Any) -> Subject:
    """The run in an entry of a document of a kind, which may have phases of it beside a fit."""
    # The result with the verdict and the findings; phases have none.
    judged = None if kind == "phases" else entry.result
    holders: dict[Part, Any] = {_PARTS[kind]: entry.result if kind == "prediction" else entry}
    if kind == "report":
        holders["phases"] = phases
    findings = getattr(judged, "findings", ())
    rewarded = entry.columns.get("reward")
    sentence_of = {finding.code: finding.sentence for finding in reversed(findings)}
    return Subject(
        run=entry.run,
        path=entry.path,
        sources=(source,),
        holders=holders,
        verdict=getattr(judged, "verdict", None),
        why=getattr(judged, "why", None),
        reasons=sentences(findings, "reason"),
        lost=sentence_of.get(LOST, ""),
        refusal=entry.refusal,
        read=entry.read,
        reward=entry.reward,
        rewarded=rewarded,
        unit="" if rewarded is None else rewarded.unit,
        max_reward=getattr(judged, "max_reward", None),
        ends=sentence_of.get(ENDS, ""),
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
    return Subject(run=source, path=source, sources=(source,), refusal=refusal, read=False)


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
    """Several parts of a run as one subject; verdict and refusal are those of its fit, if it has one."""
    # Parts without a holder first, so that another document replaces them.
    pairs = chain(*(subject.holders.items() for subject in group))
    holders = dict(sorted(pairs, key=lambda pair: pair[1] is not None))
    with_law = [subject for subject in group if "law" in subject.parts] or group
    judged = next((subject for subject in with_law if subject.verdict is not None), with_law[0])
    refused = next((subject for subject in with_law if subject.refusal is not None), with_law[0])
    sources = tuple(chain(*(subject.sources for subject in group)))
    named = next((subject for subject in group if subject.reward), with_law[0])
    # Phases have no reward.
    rewarded = next((subject for subject in (judged, *group) if subject.rewarded is not None), judged)
    return replace(
        named,
        sources=sources,
        holders=holders,
        verdict=judged.verdict,
        why=judged.why,
        reasons=judged.reasons,
        lost=judged.lost,
        rewarded=rewarded.rewarded,
        unit=rewarded.unit,
        max_reward=rewarded.max_reward,
        refusal=refused.refusal,
        read=refused.read,
    )
