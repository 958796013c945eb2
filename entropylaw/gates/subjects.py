"""Runs with all that gates can ask of them, from typed documents: no numpy.

What a document does not say is an :class:`~entropylaw.gates.quantities.Unknown` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from entropylaw.documents.kinds import KINDS
from entropylaw.documents.loading import as_document, damaged
from entropylaw.errors import InputError, known_form
from entropylaw.gates.quantities import OF_VALIDITY, QUANTITIES, Part, Value
from entropylaw.results.columns import Refusal

if TYPE_CHECKING:
    from entropylaw.documents.document import Document
    from entropylaw.documents.fit import RunFit
    from entropylaw.documents.phases import RunPhases
    from entropylaw.documents.prediction import RunPrediction
    from entropylaw.documents.report import RunReport
    from entropylaw.results import Validity

READ = ("fit", "report", "phases", "prediction")
"""The kinds of documents that are read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A run that gates are applied to.

    Attributes
    ----------
    run, path
        Its name, and the log that it was read from.
    sources
        The documents or logs that were given for it.
    parts
        What they hold of it.
    values
        Quantity → what is known of it.
    reasons
        Why its law may not be used: empty for a valid law, None where no document speaks of its law.
    refusal
        Why it has no fit.
    read
        Whether its file could be read.
    """

    run: str
    path: str
    sources: tuple[str, ...]
    parts: frozenset[Part]
    values: Mapping[str, Value] = field(default_factory=dict)
    reasons: tuple[str, ...] | None = None
    refusal: Refusal | None = None
    read: bool = True


def read_document(data: Any, source: str) -> Document[Any]:
    """A document, read as JSON, with its arrays as lists; ``source`` is how it is called in sentences.

    Raises
    ------
    InputError
        ``not-a-document``, ``other-document-version``, ``damaged-document``.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    ours, _, rest = schema.partition("/") if isinstance(schema, str) else ("", "", "")
    kind = rest.partition("/")[0]
    if ours != "entropylaw" or kind not in READ:
        expected = ", ".join(KINDS[name].schema for name in READ)
        raise InputError(
            "not-a-document",
            f"{source} has schema {known_form(schema)}, expected one of {expected}",
            "give a document that `entropylaw fit`, `report`, `phases` or `predict` wrote, or the log itself",
        )
    document: Document[Any] = as_document(KINDS[kind], data, source, arrays=False)
    if not document.runs:
        raise damaged(source, "at $.runs: expected one run or more")
    return document


def subjects_of(document: Document[Any], source: str) -> list[Subject]:
    """The runs of a document of a kind in :data:`READ`, fresh or stored."""
    read: dict[str, Callable[[Any, str], Subject]]
    read = {"fit": _fit, "report": _report, "phases": _phases, "prediction": _prediction}
    return [read[document.schema.split("/")[1]](run, source) for run in document.runs]


def unread(source: str, error: InputError) -> Subject:
    """A file that could not be read."""
    refusal = Refusal(slug=error.slug, message=error.message, hint=error.hint)
    return Subject(run=source, path=source, sources=(source,), parts=frozenset(), refusal=refusal, read=False)


def joined(subjects: Sequence[Subject]) -> list[Subject]:
    """Subjects in their order; documents that hold different parts of one run make one subject.

    One run is one name and one log. Where two documents hold the same part of it, all of them stay apart.
    """
    groups: dict[tuple[str, str], list[Subject]] = {}
    for subject in subjects:
        groups.setdefault((subject.run, subject.path), []).append(subject)
    found: list[Subject] = []
    for group in groups.values():
        apart = sum(len(subject.parts) for subject in group) == len(_parts(group))
        whole = len(group) > 1 and apart and all(subject.parts for subject in group)
        found += [_one(group)] if whole else group
    return found


def _parts(group: Sequence[Subject]) -> frozenset[Part]:
    return frozenset(part for subject in group for part in subject.parts)


def _one(group: Sequence[Subject]) -> Subject:
    """Several parts of a run as one; each document speaks of the parts that it holds."""
    values = {name: value for subject in group for name, value in subject.values.items()}
    for subject in group:
        values |= {name: v for name, v in subject.values.items() if QUANTITIES[name].part in subject.parts}
    by_law = [subject for subject in group if Part.law in subject.parts] or group
    speaking = next((subject for subject in by_law if subject.reasons is not None), by_law[0])
    refused = next((subject for subject in by_law if subject.refusal is not None), by_law[0])
    return Subject(
        run=group[0].run,
        path=group[0].path,
        sources=tuple(source for subject in group for source in subject.sources),
        parts=_parts(group),
        values=values,
        reasons=speaking.reasons,
        refusal=refused.refusal,
        read=refused.read,
    )


def _fit(run: RunFit, source: str) -> Subject:
    """A run of a fit document."""
    return Subject(
        run=run.run,
        path=run.path,
        sources=(source,),
        parts=frozenset({Part.law}),
        values={} if run.law is None else _values(Part.law, run),
        reasons=_reasons(run.validity),
        refusal=run.refusal,
        read=run.entropy_column is not None,
    )


def _report(run: RunReport, source: str) -> Subject:
    """A run of a report."""
    law = _fit(run.fit, source)
    return replace(
        law,
        parts=frozenset({Part.law, Part.ahead} | ({Part.phases} if run.phases else set())),
        values={**law.values, **_values(Part.ahead, run), **_values(Part.phases, run.phases)},
    )


def _prediction(run: RunPrediction, source: str) -> Subject:
    """A run of a prediction document."""
    return Subject(
        run=run.run,
        path=run.path,
        sources=(source,),
        parts=frozenset({Part.ahead}),
        values=_values(Part.ahead, run) | {name: QUANTITIES[name].read(run) for name in OF_VALIDITY},
        reasons=_reasons(run.validity),
    )


def _phases(run: RunPhases, source: str) -> Subject:
    """A run of a phases document."""
    return Subject(
        run=run.run,
        path=run.path,
        sources=(source,),
        parts=frozenset({Part.phases}),
        values=_values(Part.phases, run),
        refusal=run.refusal,
        read=(run.aggregate_column or run.planning_column) is not None,
    )


def _values(part: Part, holder: Any) -> dict[str, Value]:
    """Every quantity of a part."""
    accessible = [one for one in QUANTITIES.values() if one.part is part and one.accessor]
    return {quantity.name: quantity.read(holder) for quantity in accessible}


def _reasons(validity: Validity | None) -> tuple[str, ...] | None:
    """Why a law may not be used; none for a valid one, None where there is none."""
    if validity is None or validity.ok:
        return None if validity is None else ()
    return validity.reasons or ("its document gives no reason",)
