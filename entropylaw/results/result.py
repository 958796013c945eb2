"""The base class of results, their fields, and findings.

Results are msgspec's structs, whose classes are made much faster than dataclasses.
A result can be shown in a notebook, plotted, and made a frame by functions that reports bind
(:mod:`entropylaw.binding`). A finding is a code with values; the sentence of every code is in
:mod:`entropylaw.report.findings`, and nowhere else.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct, structs

from entropylaw.binding import methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

T = TypeVar("T")

Plain = float | int | str | bool | None
Severity = Literal["reason", "caution", "note"]


def replace(value: T, /, **changes: Any) -> T:
    """A copy of a result, or of a dataclass, with other values in some fields."""
    if isinstance(value, Struct):
        return structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)  # type: ignore[type-var]


def field_names(value: Any) -> tuple[str, ...]:
    """The fields of a result or of a dataclass, or of their type; none of anything else."""
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    names: tuple[str, ...] = getattr(value, "__struct_fields__", ())
    return names


class Result(Struct, frozen=True, kw_only=True):
    """A result or document that has a description (:mod:`entropylaw.report.describe`)."""

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw it on ``ax``, or on new axes of pyplot; returns them."""
        return methods.rendering().plot(self, ax)  # type: ignore[no-any-return]

    def to_frame(self) -> "DataFrame":
        """Its table, as in its CSV: an estimate has three columns, an unknown value is None or nan."""
        return methods.rendering().frame(self)

    def __str__(self) -> str:
        """What the command line prints."""
        return str(methods.rendering().rendered(self, "text"))

    def __repr__(self) -> str:
        """The same, at most twelve lines of it."""
        lines = str(self).rstrip("\n").split("\n")
        if len(lines) > 12:
            lines = [*lines[:11], "…"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(methods.rendering().html(self))


ENDS = "reward-ends"
"""Code of the finding that the evaluations end before others."""

INCOMPLETE = "log-incomplete"
"""Code of the finding that a part of the log could not be read."""

DIVERGENCE = "divergence"
"""Code of the finding of what the divergence from the reference policy explains of the reward."""

NO_SCORE = "not-a-score"
"""Code of the finding that the reward is no score by its name, but a length, a cost or a divergence."""

TRAINING_REWARD = "training-reward"
"""Code of the finding that the reward is of the samples that are trained on."""

EARLY = "entropy-ends-early"
"""Code of the finding that the last entropy is of long before the last evaluation."""


class Finding(Struct, frozen=True, kw_only=True):
    """A reason, caution or note about a result.

    ``code`` is in kebab-case, e.g. ``"too-few-evaluations"``, and is the same in all versions. With a
    ``"reason"`` the numbers are not valid; a ``"caution"`` qualifies them; a ``"note"`` is about a decision
    or a missing value. ``values`` are those in the sentence: estimates, their limits, and columns and
    settings as logged.
    """

    code: str
    severity: Severity
    values: Mapping[str, Plain | tuple[Plain, ...]]

    @property
    def sentence(self) -> str:
        """The sentence of the finding."""
        return str(methods.rendering().sentence(self))


def reason(code: str, /, **values: Plain | tuple[Plain, ...]) -> Finding:
    """A finding by which the numbers are not valid."""
    return Finding(code=code, severity="reason", values=values)


def caution(code: str, /, **values: Plain | tuple[Plain, ...]) -> Finding:
    """A finding that qualifies the numbers."""
    return Finding(code=code, severity="caution", values=values)


def note(code: str, /, **values: Plain | tuple[Plain, ...]) -> Finding:
    """A finding about a decision or a missing value."""
    return Finding(code=code, severity="note", values=values)


def has(findings: Iterable[Finding], code: str) -> bool:
    """Whether a finding of some code is among them."""
    return any(finding.code == code for finding in findings)


def sentences(findings: Iterable[Finding], severity: Severity) -> tuple[str, ...]:
    """The sentences of the findings of one severity, in their order."""
    return tuple(finding.sentence for finding in findings if finding.severity == severity)


class Qualified:
    """A result with ``findings``."""

    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why numbers are not valid, in sentences: of a fit, why the law fails or is undecided."""
        return sentences(self.findings, "reason")

    @property
    def cautions(self) -> tuple[str, ...]:
        """Limitations of the numbers, in sentences."""
        return sentences(self.findings, "caution")

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions and missing values, in sentences."""
        return sentences(self.findings, "note")
