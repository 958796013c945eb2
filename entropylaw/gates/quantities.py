"""The quantities that a gate compares, the runs that have them, and how both are read from typed documents.

A quantity is one entry of :data:`QUANTITIES`: expressions on the command line and in the settings file, every
format of a check and the table of ``docs/ci.md`` are made from it. Nothing here imports numpy.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw.documents.document import CheckedFile
from entropylaw.documents.loading import KINDS, Stored, as_document, damaged, find_document
from entropylaw.errors import InputError, known_form
from entropylaw.paths import is_file, note_input, shown_path
from entropylaw.results import VERDICTS, Estimate, Verdict, Why
from entropylaw.results.columns import Refusal
from entropylaw.results.result import LOST, sentences
from entropylaw.results.result import replace as replace_estimate

if TYPE_CHECKING:
    from entropylaw.documents.comparison import ComparisonDocument
    from entropylaw.documents.document import Document, RunPhases
    from entropylaw.results.phases import CurvePhases, PhaseFit


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The reason why a quantity has no value."""

    reason: str


Value = Estimate | float | str | Unknown
"""An estimate, a number without an interval, a word, or the reason why there is no value."""


class Part(StrEnum):
    """The part of a run's documents that holds a quantity."""

    law = "law"
    ahead = "ahead"
    phases = "phases"
    arms = "arms"


class Kind(StrEnum):
    """How a quantity is compared: an estimate by its interval, a number, which has none, directly."""

    estimate = "estimate"
    number = "number"
    word = "word"
    flag = "flag"


class Needs(StrEnum):
    """What a quantity needs: nothing, reward that follows entropy, or the law."""

    nothing = "nothing"
    relation = "relation"
    law = "law"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit, and the range that a quantity in it can have; an end may be infinite."""

    name: str = ""
    low: float = -math.inf
    high: float = math.inf


NONE, REWARD, STEPS, NATS = Unit(), Unit("reward"), Unit("steps"), Unit("nats")
EVALUATIONS, COUNT = Unit("evaluations", 0.0), Unit("", 0.0)
PROBABILITY, R_SQUARED, CORRELATION, CHANGE = (
    Unit("probability", 0.0, 1.0),
    Unit("share", 0.0, 1.0),
    Unit("", -1.0, 1.0),
    Unit("share", -1.0, 1.0),
)
SHARE = Unit("share", -5.0, 5.0)
"""An estimated share may be beyond 0 and 1; far beyond, a percentage was meant."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that a gate can compare: its name in expressions, its meaning and unit for lists.

    ``accessor`` reads it from the ``part`` of the documents that holds it: from a
    :class:`~entropylaw.documents.document.RunFit` with a law, from a run of a report or a prediction for
    later steps, from a :class:`~entropylaw.documents.document.RunPhases` or None for the phases. It is the
    path of an attribute, by default the one of its name in the law, or a function that returns None where
    the document has no value. Flags have none. ``needs`` is what must not fail for it to be known;
    ``words`` are the values of a word, and ``otherwise`` is what it means that it has none of them.
    ``detail`` is what a sentence adds to the number: of which gain, at which step.
    """

    name: str
    meaning: str
    unit: Unit = NONE
    accessor: str | Callable[[Any], Value | None] = ""
    kind: Kind = Kind.estimate
    part: Part = Part.law
    needs: Needs = Needs.nothing
    words: tuple[str, ...] = ()
    otherwise: str = ""
    detail: Callable[[Any], str] | None = None

    def read(self, holder: Any) -> Value:
        """The value in a part of a run's documents, or the reason why there is none."""
        path = self.accessor or f"answer.{self.name}"
        value = attrgetter(path)(holder) if isinstance(path, str) else path(holder)
        if value is None:
            return Unknown(reason=f"the document has no {self.name} for this run")
        return float(value) if isinstance(value, int) else value


def _ahead(read: Callable[[Any], Value | None]) -> Callable[[Any], Value]:
    """A forecast of a run, or the reason why it has none."""
    return lambda run: read(run) or Unknown(reason=run.no_forecast or "no forecast was requested")


def _phases(read: Callable[[PhaseFit], Value | None], missing: str) -> Callable[[Any], Value]:
    """A value of the phases; where there is none, the reason from the phases' notes, or else ``missing``."""

    def accessor(run: RunPhases | None) -> Value:
        if run is None:
            return Unknown(reason="the log has no curves of planning or execution")
        if run.phases is None:
            return Unknown(reason=f"no phases: {run.refusal.message if run.refusal else missing}")
        return read(run.phases) or Unknown(reason="; ".join(run.phases.notes) or missing)

    return accessor


def _turn(name: str, field: str) -> Callable[[Any], Value]:
    """The turning point or the rise of a curve that turns to rise."""

    def read(phases: PhaseFit) -> Value | None:
        curve: CurvePhases | None = getattr(phases, name)
        if curve is None or curve.rises:
            return getattr(curve, field) if curve else None
        return Unknown(reason=f"{name} does not turn to rise (p = {curve.p_rise:.2g})")

    return _phases(read, f"there is no curve of {name}")


_step = _ahead(lambda run: run.spending.step if run.spending else None)
_reward = _ahead(lambda run: run.spending.reward if run.spending else None)
_forecast = _ahead(lambda run: run.forecast.reward[-1] if run.forecast else None)
_order = _phases(lambda phases: phases.verdict, "a single curve has no order")
_delta = _phases(lambda phases: phases.delta, "the difference is not known")
_averaged = partial(Quantity, needs=Needs.relation)
_own = partial(Quantity, needs=Needs.law)
_number = partial(Quantity, kind=Kind.number)
_later = partial(Quantity, part=Part.ahead)
_ordered = partial(Quantity, part=Part.phases)


def _answered(run: Any) -> Any:
    """The verdict, its reason and its findings: of a prediction its own, of a fit those of its answer."""
    return getattr(run, "answer", run)


def _cautions(run: Any) -> Value:
    return float(sum(finding.severity == "caution" for finding in _answered(run).findings))


def _verdict(run: Any) -> Value:
    return str(_answered(run).verdict)


def _why(run: Any) -> Value:
    """A run in which the law does not fail has no reason, which is no unknown one."""
    why = _answered(run).why
    return str(why) if why is not None else "none"


_ALL = (
    _averaged("ceiling", "reward at H = 0, averaged over functional forms", REWARD),
    _averaged("headroom", "ceiling − reward_now, or 0 where that is below", REWARD),
    _averaged(
        "p_headroom",
        "probability that at least the gain of the fit is left",
        PROBABILITY,
        lambda run: Unknown(reason=run.answer.headroom.note) if run.answer.lost else run.answer.p_headroom,
        kind=Kind.number,
        detail=lambda run: f"at least {run.answer.gain:.3g} left",
    ),
    _averaged("used", "share of the attainable gain reached", SHARE),
    Quantity("reward_now", "reward at the last evaluation, without evaluation noise", REWARD),
    _own("a", "coefficient of R = b − a·exp(H)", REWARD, "answer.law.a"),
    _own("b", "coefficient of R = b − a·exp(H)", REWARD, "answer.law.b"),
    _own("law.ceiling", "b − a, the reward at H = 0 by the law", REWARD, "answer.law.ceiling"),
    _own("law.headroom", "law.ceiling − reward_now, or 0 where that is below", REWARD, "answer.law.headroom"),
    Quantity("drop_per_100_steps", "recent entropy loss per 100 steps", NATS, "drop_per_100_steps"),
    _number("entropy_now", "entropy at the last evaluation", NATS, "answer.law.entropy_now"),
    _number("entropy_noise", "noise of a logged entropy", NATS, "answer.law.entropy_noise"),
    _number("law_probability", "posterior probability of the law", PROBABILITY, "answer.law.probability"),
    _number("r_squared", "R² of the law by least squares", R_SQUARED, "answer.law.r_squared"),
    _number("n", "evaluations that were fitted", EVALUATIONS, "answer.law.n"),
    _number("lag1", "lag-1 autocorrelation of the residuals", CORRELATION, "answer.law.residuals.lag1"),
    _number(
        "scatter_ratio", "residual sd, last third over first", COUNT, "answer.law.residuals.scatter_ratio"
    ),
    _number(
        *("long_memory", "probability that the residuals have long memory", PROBABILITY),
        "answer.law.residuals.long_memory",
    ),
    _number("effective_n", "effective sample size", EVALUATIONS, "answer.law.residuals.effective_n"),
    _number("cautions", "number of cautions", COUNT, _cautions),
    Quantity("verdict", "verdict on the law", NONE, _verdict, Kind.word, words=tuple(Verdict)),
    Quantity(
        *("why", "why the law fails", NONE, _why, Kind.word),
        words=tuple(Why),
        otherwise="the law does not fail",
    ),
    _later(
        "forecast_reward",
        "reward at the last step forecast",
        REWARD,
        _forecast,
        detail=lambda run: f"at step {run.forecast.step[-1]:g}",
    ),
    _later("saturation_step", "step at which the entropy is spent", STEPS, _step),
    _later("saturation_reward", "reward at that step", REWARD, _reward),
    _ordered("phases", "order of the turning points", NONE, _order, Kind.word, words=VERDICTS),
    _ordered("turn_planning", "step of planning's turning point", STEPS, _turn("planning", "turning_point")),
    _ordered(
        "turn_execution", "step of execution's turning point", STEPS, _turn("execution", "turning_point")
    ),
    _ordered("rise_planning", "planning's rise after its turning point", NATS, _turn("planning", "rise")),
    _ordered("rise_execution", "execution's rise after its turning point", NATS, _turn("execution", "rise")),
    _ordered("delta", "planning's turning point minus execution's", STEPS, _delta),
    Quantity("fails", "the law fails", kind=Kind.flag),
    Quantity("undecided", "the data do not decide whether the law holds", kind=Kind.flag),
    Quantity("lost", "the run lost more than half of its reward", kind=Kind.flag),
    Quantity("refused", "the run could not be fitted", kind=Kind.flag),
)

QUANTITIES: Mapping[str, Quantity] = {quantity.name: quantity for quantity in _ALL}
"""Name → quantity, in the order in which they are listed."""

REGRESSION = Quantity("regression", "relative decrease since the baseline's run", SHARE, needs=Needs.relation)
"""Computed from a quantity in two documents, which its expression names."""

DIFFERENCE = "difference"


@cache
def differences() -> dict[str, Quantity]:
    """Quantities of a comparison of arms, by the name behind the point: their types take time to import."""
    from entropylaw.results import arms

    return {
        name: Quantity(
            f"{DIFFERENCE}(ARM, BASELINE).{name}",
            f"{words}: that of ARM minus that of BASELINE",
            {"reward": REWARD, "nats": NATS, "share": CHANGE}[unit],
            part=Part.arms,
        )
        for name, (words, unit) in arms.QUANTITIES.items()
    }


def difference(arm: str, baseline: str, name: str) -> Quantity:
    """A quantity of :func:`differences` for two arms."""

    def read(document: ComparisonDocument) -> Value:
        comparison, what = document.comparison, f"{arm} against {baseline}"
        pair, turned = comparison.pair(arm, baseline), False
        if pair is None:
            pair, turned = comparison.pair(baseline, arm), True
        if pair is None:
            again = "`entropylaw compare --baseline` names another baseline, --all-pairs compares all"
            return Unknown(reason=f"{what} is not in the comparison; {again}")
        for run in document.missing:
            # The failure rate counts the runs that were read, and have no fit.
            if run.arm in ("", arm, baseline) and not (run.read and name == "failure_rate"):
                whose = f"of {run.arm}" if run.arm else "in no arm"
                return Unknown(reason=f"{what}: {run.run} {whose} has no result: {run.why}")
        compared = next((row for row in pair.differences if row.quantity == name), None)
        if compared is None:
            return Unknown(reason=f"{what} was not compared in {name}")
        estimate = compared.estimate
        if estimate.value is None:
            return Unknown(reason=f"{what}: {estimate.note or 'the difference is not known'}")
        if not turned:
            return estimate
        low, high = (None if end is None else -end for end in (estimate.high, estimate.low))
        return replace_estimate(estimate, value=-estimate.value, low=low, high=high)

    return replace(differences()[name], name=f"{DIFFERENCE}({arm}, {baseline}).{name}", accessor=read)


MEASURED = ("ceiling", "reward_now")
"""The quantities that a regression can be of; the first is the default."""

WRITTEN_BY = {
    Part.law: "`entropylaw fit` or `entropylaw report`",
    Part.ahead: "`entropylaw report` or `entropylaw predict --saturation --at-step N`",
    Part.phases: "`entropylaw phases` or `entropylaw report`",
    Part.arms: "`entropylaw compare`",
}
"""The commands whose documents hold a part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A run that gates are applied to: its name, and the ``path`` of the log that it was read from.

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

    @property
    def parts(self) -> frozenset[Part]:
        """The parts that its sources hold."""
        return frozenset(part for part, holder in self.holders.items() if holder is not None)

    def lacks(self, needs: Needs) -> str:
        """Why a quantity with such needs is unknown, the first reason of several; empty where it is known."""
        without = self.why is Why.no_relation and needs is Needs.relation
        if not without and not (self.verdict is Verdict.fails and needs is Needs.law):
            return ""
        more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
        reason = self.reasons[0] if self.reasons else "its document gives no reason"
        return f"the law fails for this run, {self.why}: {reason}{more}"

    def value(self, quantity: Quantity) -> Value | None:
        """The value of a quantity; None where the run's sources cannot have one."""
        if quantity.part not in self.holders:
            # A prediction has the verdict in addition to its own numbers.
            known = quantity.name in ("cautions", "verdict", "why") and Part.ahead in self.holders
            return quantity.read(self.holders[Part.ahead]) if known else None
        holder = self.holders[quantity.part]
        return None if quantity.part is Part.law and holder.answer is None else quantity.read(holder)

    def detail(self, quantity: Quantity) -> str:
        """What a sentence adds to the number of a quantity that has one, in brackets."""
        return f" ({quantity.detail(self.holders[quantity.part])})" if quantity.detail else ""


READ = ("fit", "report", "phases", "prediction", "comparison")
"""The kinds of documents that gates read."""


def read_document(data: Any, source: str) -> Document[Any] | ComparisonDocument:
    """A document from JSON values, its arrays as lists; ``source`` is its name in error messages.

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
            "give a document that `entropylaw fit`, `report`, `phases`, `predict` or `compare` wrote, or the "
            "log itself",
        )
    document: Document[Any] | ComparisonDocument = as_document(KINDS[kind], data, source, arrays=False)
    if not getattr(document, "runs", True):
        raise damaged(source, "at $.runs: expected one run or more")
    return document


def subjects_of(document: Document[Any] | ComparisonDocument, source: str) -> list[Subject]:
    """The runs of a document of a kind in :data:`READ`, fresh or stored; a comparison is one subject."""
    kind, subjects = document.schema.split("/")[1], []
    if kind == "comparison":
        arms = ", ".join(arm.arm for arm in document.comparison.arms)  # type: ignore[union-attr]
        held = {Part.arms: document}
        return [Subject(run=f"comparison of {arms}", path=source, sources=(source,), holders=held)]
    for entry in document.runs:  # type: ignore[union-attr]
        holders: dict[Part, Any] = {Part.ahead if kind == "prediction" else Part.law: entry}
        run, column = entry, "entropy_column"
        if kind == "report":
            run, holders = entry.fit, {Part.law: entry.fit, Part.ahead: entry, Part.phases: entry.phases}
        elif kind == "phases":
            holders = {Part.phases: entry}
            column = "aggregate_column" if entry.aggregate_column else "planning_column"
        answer = getattr(run, "answer", run)
        judged = None if kind == "phases" else answer
        subject = Subject(
            run=run.run,
            path=run.path,
            sources=(source,),
            holders=holders,
            verdict=getattr(judged, "verdict", None),
            why=getattr(judged, "why", None),
            reasons=sentences(judged.findings, "reason") if judged is not None else (),
            lost=next((one.sentence for one in getattr(judged, "findings", ()) if one.code == LOST), ""),
            refusal=getattr(run, "refusal", None),
            read=getattr(run, column, "") is not None,
        )
        subjects.append(subject)
    return subjects


def stored_subjects(document: Stored) -> list[Subject]:
    """The runs of a stored document; one that cannot be used, as one without runs, is a refused run."""
    shown = shown_path(document.path)
    try:
        if document.data is None:
            raise document.damaged(shown)
        subjects = subjects_of(read_document(document.data, shown), shown)
        runs = [(one.run, one.path) for one in subjects if one.refusal is None]
        if len(set(runs)) < len(runs):
            raise damaged(shown, "at $.runs: expected each run once")
        return subjects
    except InputError as error:
        return [unread(shown, error)]


def _pages(index: Stored) -> list[tuple[Path, Mapping[str, Any]]]:
    """The path of the document of each run that a report's index names, with its row there."""
    rows = index.data.get("rows") if index.kind == "index" else None
    rows = [row for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict)]
    folder = Path(index.path).parent / "runs"
    return [(folder / f"{row['slug']}.json", row) for row in rows if isinstance(row.get("slug"), str)]


def pages_of(index: Stored) -> list[Path]:
    """The paths of the runs' documents that a report's index names; none of other documents."""
    return [page for page, _ in _pages(index)]


def documents_of(index: Stored) -> list[Stored]:
    """The runs' documents that a report's index names, as far as they are there."""
    return [
        # What is no document was one.
        find_document(str(path)) or Stored(path=str(path), content=path.read_bytes(), data=None)
        for path in filter(is_file, pages_of(index))
    ]


def flaws_of(index: Stored) -> Iterator[tuple[str, InputError]]:
    """Runs of a report's index whose documents are missing or say something else; none of other documents."""
    unfinished = index.data.get("unfinished") if index.kind == "index" else 0
    if unfinished:
        shown = shown_path(index.path)
        what = f"{shown}: the report was interrupted before {unfinished} of its runs"
        yield shown, InputError("file-not-found", what, "make the report again, which finishes it")
    for page, row in _pages(index):
        shown = shown_path(str(page))
        if not is_file(page):
            what = f"there is no {shown}, which the index of the report names"
            yield shown, InputError("file-not-found", what, "make the report again")
        elif (document := find_document(str(page))) and (what := _differs(row, document.data)):
            yield shown, damaged(shown, f"(its {what} is not the one in the index of the report)")


def _differs(row: Mapping[str, Any], document: Any) -> str:
    """What the document of a run has otherwise than its row in an index; empty where it cannot be read."""
    try:
        (run,) = document["runs"]
        fit, cells = run["fit"], row["cells"]
        answer = fit["answer"] or {}
        numbers = answer | {name: answer["law"][name] for name in ("a", "b", "n")} if answer else {}
        slug = (fit["refusal"] or {}).get("slug")
        pairs = {"run": (row["run"], fit["run"]), "path": (row["path"], fit["path"])}
        pairs |= {"refusal": (row["refusal"], slug)}
        pairs |= {name: (cells[name], numbers[name]) for name in cells if name in numbers}
    except (KeyError, TypeError, ValueError, AttributeError):
        return ""
    return next((name for name, (one, other) in pairs.items() if one != other), "")


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
    """
    groups: dict[tuple[str, str], list[Subject]] = {}
    for subject in subjects:
        groups.setdefault((subject.run, subject.path), []).append(subject)
    result: list[Subject] = []
    for group in groups.values():
        parts = [part for subject in group for part in subject.parts]
        merged = len(group) > 1 and len(parts) == len(set(parts)) and all(subject.parts for subject in group)
        result += [_merged(group)] if merged else group
    return result


def _merged(group: Sequence[Subject]) -> Subject:
    """Several parts of a run as one subject; verdict and refusal are those of its fit, if it has one."""
    # Parts without a holder first, so that another document replaces them.
    pairs = chain(*(subject.holders.items() for subject in group))
    holders = dict(sorted(pairs, key=lambda pair: pair[1] is not None))
    with_law = [subject for subject in group if Part.law in subject.parts] or group
    judged = next((subject for subject in with_law if subject.verdict is not None), with_law[0])
    refused = next((subject for subject in with_law if subject.refusal is not None), with_law[0])
    sources = tuple(chain(*(subject.sources for subject in group)))
    merged = replace(group[0], sources=sources, holders=holders, verdict=judged.verdict, why=judged.why)
    return replace(
        merged, reasons=judged.reasons, lost=judged.lost, refusal=refused.refusal, read=refused.read
    )
