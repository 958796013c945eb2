"""Runs with all that gates can ask of them, from documents as plain JSON: no numpy, no types of results.

A document is checked as far as it is read. What a document does not say is an :class:`Unknown` with the
reason; a value of the wrong type is damage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from entropylaw.errors import InputError, described, known_form
from entropylaw.gates.quantities import FAILS, ORDERS, QUANTITIES, UNDECIDED, VALID, Part
from entropylaw.results import Estimate

READ = {"fit": 1, "report": 1, "phases": 1, "prediction": 1}
"""The documents that are read here, and their version."""

_LAW_ESTIMATES = ("a", "b", "ceiling", "headroom", "reward_now")
_RUN_ESTIMATES = ("used", "drop_per_100_steps")
_LAW_NUMBERS = ("entropy_now", "entropy_noise", "law_weight", "r_squared", "n")
_RESIDUAL_NUMBERS = ("lag1", "effective_n")
_MISSING: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """What takes a value's place where there is none: the reason."""

    reason: str


Value = Estimate | float | str | Unknown
"""An estimate, a number without an interval, a word, or why there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a run, or a file, has no fit: as in its document; ``read`` says whether the file could be read."""

    slug: str
    message: str
    hint: str
    read: bool = True


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
    """

    run: str
    path: str
    sources: tuple[str, ...]
    parts: frozenset[Part]
    values: Mapping[str, Value] = field(default_factory=dict)
    reasons: tuple[str, ...] | None = None
    refusal: Refused | None = None


def subjects_of(data: Any, source: str) -> list[Subject]:
    """The runs of a document, read as JSON; ``source`` is how it is called in sentences.

    Raises
    ------
    InputError
        ``not-a-document``, ``other-document-version``, ``damaged-document``.
    """
    kind = document_kind(data, source)
    document = _Node(data, "document", source)
    read = {"fit": _fit, "report": _report, "phases": _phases_run, "prediction": _prediction}[kind]
    runs = [read(run, source) for run in document.items("runs")]
    if not runs:
        raise document.damaged("runs", "one run or more", [])
    return runs


def unread(source: str, error: InputError) -> Subject:
    """A file that could not be read."""
    refusal = Refused(slug=error.slug, message=error.message, hint=error.hint, read=False)
    return Subject(run=source, path=source, sources=(source,), parts=frozenset(), refusal=refusal)


def document_kind(data: Any, source: str) -> str:
    """The kind of a document that is read here."""
    schema = data.get("schema") if isinstance(data, dict) else None
    _, kind, number = (*str(schema).split("/"), "", "")[:3]
    if not isinstance(schema, str) or not schema.startswith("entropylaw/") or kind not in READ:
        expected = ", ".join(f"entropylaw/{name}/{version}" for name, version in READ.items())
        raise InputError(
            "not-a-document",
            f"{source} has schema {known_form(schema)}, expected one of {expected}",
            "give a document that `entropylaw fit`, `report`, `phases` or `predict` wrote, or the log itself",
        )
    if number != str(READ[kind]):
        raise InputError(
            "other-document-version",
            f"{source} has schema {known_form(schema)}, of version {known_form(data.get('version'))}; "
            f"'entropylaw/{kind}/{READ[kind]}' is read here",
            "fit the log again, or use the version that wrote the document",
        )
    return kind


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
    with_law = [subject for subject in group if Part.law in subject.parts]
    by_law = with_law or group
    return Subject(
        run=group[0].run,
        path=group[0].path,
        sources=tuple(source for subject in group for source in subject.sources),
        parts=_parts(group),
        values=values,
        reasons=next((subject.reasons for subject in by_law if subject.reasons is not None), None),
        refusal=next((subject.refusal for subject in by_law if subject.refusal is not None), None),
    )


def _fit(run: _Node, source: str) -> Subject:
    """A run of a fit document."""
    law = run.node("law", optional=True)
    values: dict[str, Value] = {}
    reasons = None
    if law is not None:
        values |= {name: law.estimate(name) for name in _LAW_ESTIMATES}
        values |= {name: law.number(name) for name in _LAW_NUMBERS}
        residuals = law.required("residuals")
        values |= {name: residuals.number(name) for name in _RESIDUAL_NUMBERS}
        values |= {name: run.later_estimate(name) for name in _RUN_ESTIMATES}
        reasons = _validity(law.required("validity"), values)
    refusal = _refusal(run, read=run.raw.get("entropy_column") is not None)
    if (law is None) is (refusal is None):
        raise run.damaged("law", "either a law or a refusal", "both" if law else "neither")
    return Subject(
        run=run.text("run"),
        path=run.text("path"),
        sources=(source,),
        parts=frozenset({Part.law}),
        values=values,
        reasons=reasons,
        refusal=refusal,
    )


def _report(run: _Node, source: str) -> Subject:
    """A run of a report."""
    law = _fit(run.required("fit"), source)
    values = dict(law.values) | _ahead(run)
    parts, refusal = {Part.law, Part.ahead}, law.refusal
    phases = run.node("phases", optional=True)
    if phases is not None:
        told = _phases_run(phases, source)
        values |= told.values
        parts.add(Part.phases)
    else:
        nothing = Unknown(reason="the log has no curves of planning or execution")
        values |= {"phases": nothing, "boundary_planning": nothing}
        values |= {"boundary_execution": nothing, "delta": nothing}
    return Subject(
        run=law.run,
        path=law.path,
        sources=(source,),
        parts=frozenset(parts),
        values=values,
        reasons=law.reasons,
        refusal=refusal,
    )


def _prediction(run: _Node, source: str) -> Subject:
    """A run of a prediction document."""
    values = _ahead(run)
    return Subject(
        run=run.text("run"),
        path=run.text("path"),
        sources=(source,),
        parts=frozenset({Part.ahead}),
        reasons=_validity(run.required("validity"), values),
        values=values,
    )


def _phases_run(run: _Node, source: str) -> Subject:
    """A run of a phases document."""
    refusal = _refusal(run, read=run.raw.get("aggregate_column", run.raw.get("planning_column")) is not None)
    phases = run.node("phases", optional=True)
    values: dict[str, Value] = {}
    if (phases is None) is (refusal is None):
        raise run.damaged("phases", "either phases or a refusal", "both" if phases else "neither")
    if phases is not None:
        values = _phases(phases)
    elif refusal is not None:
        nothing = Unknown(reason=f"no phases: {refusal.message}")
        values = dict.fromkeys(("phases", "boundary_planning", "boundary_execution", "delta"), nothing)
    return Subject(
        run=run.text("run"),
        path=run.text("path"),
        sources=(source,),
        parts=frozenset({Part.phases}),
        values=values,
        refusal=refusal,
    )


def _phases(phases: _Node) -> dict[str, Value]:
    """The order of the phases, and the places of their boundaries."""
    notes = "; ".join(phases.texts("notes"))
    verdict = phases.text("verdict", optional=True)
    if verdict is not None and verdict not in ORDERS:
        raise phases.damaged("verdict", f"one of {', '.join(ORDERS)}", verdict)
    delta = phases.node("delta", optional=True)
    values: dict[str, Value] = {
        "phases": verdict or Unknown(reason=notes or "one curve only has no order"),
        "delta": phases.estimate("delta") if delta else Unknown(reason=notes or "no difference is told"),
    }
    for name in ("planning", "execution"):
        curve = phases.node(name, optional=True)
        values[f"boundary_{name}"] = (
            _boundary(curve, name) if curve else Unknown(reason=notes or f"there is no curve of {name}")
        )
    return values


def _boundary(curve: _Node, name: str) -> Value:
    """The step of a boundary, if there is one: its place without that would be a place of nothing."""
    if curve.flag("found"):
        return curve.required("boundary").estimate("step")
    p = curve.number("p_value")
    return Unknown(
        reason=f"no boundary was found in {name} (p = {p:.2g})" if isinstance(p, float) else "none was found"
    )


def _ahead(run: _Node) -> dict[str, Value]:
    """What a report or a prediction says of later steps."""
    why = run.text("no_forecast", optional=True) or "no forecast was asked for"
    nothing = Unknown(reason=why)
    values: dict[str, Value] = dict.fromkeys(
        ("forecast_reward", "saturation_step", "saturation_reward"), nothing
    )
    forecast, spending = run.node("forecast", optional=True), run.node("spending", optional=True)
    if forecast is not None:
        rewards = list(forecast.items("reward"))
        if rewards:
            values["forecast_reward"] = rewards[-1].as_estimate()
    if spending is not None:
        values["saturation_step"] = spending.estimate("step")
        values["saturation_reward"] = spending.estimate("reward")
    return values


def _validity(validity: _Node, values: dict[str, Value]) -> tuple[str, ...]:
    """The reasons against the law; verdict and number of cautions join the values."""
    holds, against = validity.flag("ok"), validity.flag("contradicted", missing=False)
    reasons = validity.texts("reasons")
    if holds and (against or reasons):
        raise validity.damaged("ok", "false beside reasons against the law", holds)
    values["verdict"] = VALID if holds else FAILS if against else UNDECIDED
    values["cautions"] = float(len(validity.texts("cautions")))
    return () if holds else reasons or ("its document gives no reason",)


def _refusal(run: _Node, *, read: bool) -> Refused | None:
    refusal = run.node("refusal", optional=True)
    if refusal is None:
        return None
    slug, message, hint = (refusal.text(name) for name in ("slug", "message", "hint"))
    return Refused(slug=slug, message=message, hint=hint, read=read)


class _Node:
    """An object of a document; every reading of it either fits or names the place of the damage."""

    __slots__ = ("raw", "source", "where")

    def __init__(self, raw: Any, where: str, source: str) -> None:
        self.where, self.source = where, source
        if not isinstance(raw, dict):
            raise self.damaged("", "an object", raw)
        self.raw: dict[str, Any] = raw

    def damaged(self, name: str, expected: str, found: object) -> InputError:
        place = f"{self.where}.{name}" if name else self.where
        shown = "nothing" if found is _MISSING else described(found)
        return InputError(
            "damaged-document",
            f"{self.source} is damaged at {place}: expected {expected}, found {shown}",
            "make the document again from the log",
        )

    def get(self, name: str, *, optional: bool = False) -> Any:
        value = self.raw.get(name, None if optional else _MISSING)
        if value is _MISSING:
            raise self.damaged(name, "a value", value)
        return value

    def node(self, name: str, *, optional: bool) -> _Node | None:
        value = self.get(name, optional=optional)
        return None if value is None and optional else _Node(value, f"{self.where}.{name}", self.source)

    def required(self, name: str) -> _Node:
        return _Node(self.get(name), f"{self.where}.{name}", self.source)

    def items(self, name: str) -> Iterator[_Node]:
        value = self.get(name)
        if not isinstance(value, list):
            raise self.damaged(name, "a list", value)
        for place, item in enumerate(value):
            yield _Node(item, f"{self.where}.{name}[{place}]", self.source)

    def text(self, name: str, *, optional: bool = False) -> Any:
        value = self.get(name, optional=optional)
        if not isinstance(value, str) and not (optional and value is None):
            raise self.damaged(name, "a text", value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.raw.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.damaged(name, "a list of texts", value)
        return tuple(value)

    def flag(self, name: str, *, missing: object = _MISSING) -> bool:
        value = self.raw.get(name, missing)
        if not isinstance(value, bool):
            raise self.damaged(name, "true or false", value)
        return value

    def number(self, name: str) -> float | Unknown:
        value = self._finite(name)
        return Unknown(reason=f"the document has no {name} for this run") if value is None else value

    def estimate(self, name: str) -> Estimate:
        return self.required(name).as_estimate()

    def later_estimate(self, name: str) -> Value:
        """An estimate that documents of earlier versions do not have."""
        if name not in self.raw:
            return Unknown(reason=f"the document is older than {name}; fit the log again")
        return self.estimate(name) if self.raw[name] is not None else Unknown(reason=f"the run has no {name}")

    def as_estimate(self) -> Estimate:
        value, low, high = (self._finite(name) for name in ("value", "low", "high"))
        level = self._finite("level")
        if level is None:
            raise self.damaged("level", "a number", None)
        if not 0.0 < level < 1.0:
            raise self.damaged("level", "a number between 0 and 1", level)
        if low is not None and high is not None and low > high:
            raise self.damaged("low", f"a number up to high = {high!r}", low)
        below = value is not None and low is not None and value < low
        if below or (value is not None and high is not None and value > high):
            raise self.damaged("value", f"a number in its interval [{low!r}, {high!r}]", value)
        return Estimate(
            value=value,
            low=low,
            high=high,
            level=level,
            method=self.text("method"),
            note=self.text("note", optional=True),
        )

    def _finite(self, name: str) -> float | None:
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.damaged(name, "a number", value)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.damaged(name, "a finite number", value)
        return number
