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
from entropylaw.gates.quantities import OF_VALIDITY, QUANTITIES, Kind, Part, Value
from entropylaw.results.columns import Refusal

if TYPE_CHECKING:
    from entropylaw.documents.document import Document
    from entropylaw.documents.fit import RunFit
    from entropylaw.documents.phases import RunPhases
    from entropylaw.documents.prediction import RunPrediction
    from entropylaw.documents.report import RunReport
    from entropylaw.results import Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A run that gates are applied to: its name, and the ``path`` of the log that it was read from.

    ``parts`` are what the documents or logs that were given for it, its ``sources``, hold of it; ``values``
    map a quantity to what is known of it. ``reasons`` say why its law may not be used: none for a valid law,
    None where no document speaks of its law. ``refusal`` says why it has no fit, ``read`` whether its file
    could be read.
    """

    run: str
    path: str
    sources: tuple[str, ...]
    parts: frozenset[Part]
    values: Mapping[str, Value] = field(default_factory=dict)
    reasons: tuple[str, ...] | None = None
    refusal: Refusal | None = None
    read: bool = True

    @property
    def invalid(self) -> str:
        """Why the law is not valid, the first reason of several; empty where it is, or is not known."""
        if not self.reasons:
            return ""
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        return f"the law is not valid for this run: {self.reasons[0]}{more}"


def read_document(data: Any, source: str) -> Document[Any]:
    """A document, read as JSON, with its arrays as lists; ``source`` is how it is called in sentences.

    Raises InputError (``not-a-document``, ``other-document-version``, ``damaged-document``).
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
    return [_OF_KIND[document.schema.split("/")[1]](run, source) for run in document.runs]


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
        parts = frozenset(part for subject in group for part in subject.parts)
        apart = sum(len(subject.parts) for subject in group) == len(parts)
        whole = len(group) > 1 and apart and all(subject.parts for subject in group)
        found += [_whole(group, parts)] if whole else group
    return found


def _whole(group: Sequence[Subject], parts: frozenset[Part]) -> Subject:
    """Several parts of a run as one; each document speaks of the parts that it holds."""
    values = {name: value for subject in group for name, value in subject.values.items()}
    for subject in group:
        values |= {name: v for name, v in subject.values.items() if QUANTITIES[name].part in subject.parts}
    by_law = [subject for subject in group if Part.law in subject.parts] or group
    speaking = next((subject for subject in by_law if subject.reasons is not None), by_law[0])
    refused = next((subject for subject in by_law if subject.refusal is not None), by_law[0])
    sources = tuple(source for subject in group for source in subject.sources)
    whole = replace(group[0], sources=sources, parts=parts, values=values, reasons=speaking.reasons)
    return replace(whole, refusal=refused.refusal, read=refused.read)


def _subject(run: Any, source: str, part: Part, values: Mapping[str, Value], **more: Any) -> Subject:
    """A run of which a document holds one part."""
    parts = frozenset({part})
    return Subject(run=run.run, path=run.path, sources=(source,), parts=parts, values=values, **more)


def _fit(run: RunFit, source: str) -> Subject:
    values = {} if run.law is None else _values(Part.law, run)
    read, reasons = run.entropy_column is not None, _reasons(run.validity)
    return _subject(run, source, Part.law, values, reasons=reasons, refusal=run.refusal, read=read)


def _report(run: RunReport, source: str) -> Subject:
    law = _fit(run.fit, source)
    parts = law.parts | {Part.ahead} | ({Part.phases} if run.phases else set())
    values = {**law.values, **_values(Part.ahead, run), **_values(Part.phases, run.phases)}
    return replace(law, parts=parts, values=values)


def _prediction(run: RunPrediction, source: str) -> Subject:
    values = _values(Part.ahead, run) | {name: QUANTITIES[name].read(run) for name in OF_VALIDITY}
    return _subject(run, source, Part.ahead, values, reasons=_reasons(run.validity))


def _phases(run: RunPhases, source: str) -> Subject:
    read = (run.aggregate_column or run.planning_column) is not None
    return _subject(run, source, Part.phases, _values(Part.phases, run), refusal=run.refusal, read=read)


_OF_KIND: dict[str, Callable[[Any, str], Subject]]
_OF_KIND = {"fit": _fit, "report": _report, "phases": _phases, "prediction": _prediction}
READ = tuple(_OF_KIND)
"""The kinds of documents that are read here."""


def _values(part: Part, holder: Any) -> dict[str, Value]:
    """Every quantity of a part."""
    held = (one for one in QUANTITIES.values() if one.part is part and one.kind is not Kind.flag)
    return {one.name: one.read(holder) for one in held}


def _reasons(validity: Validity | None) -> tuple[str, ...] | None:
    """Why a law may not be used; none for a valid one, None where there is none."""
    if validity is None or validity.ok:
        return None if validity is None else ()
    return validity.reasons or ("its document gives no reason",)
