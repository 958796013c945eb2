"""A fit document as Markdown, fit for a pull request, a README or a step summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from entropylaw.analysis.law import LawFit
from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.ingest.run import Choice
from entropylaw.report import words
from entropylaw.report.markdownparts import table, title, whole
from entropylaw.report.numbers import format_estimate, format_interval, format_number, format_weight
from entropylaw.report.printable import markdown_cell, one_line
from entropylaw.report.slugs import run_slugs
from entropylaw.results import Estimate


def render(document: FitDocument, figures: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Every run of the document.

    ``figures`` maps a run's slug (:func:`~entropylaw.report.slugs.run_slugs`) to its figures: caption → link.
    """
    drawn = figures or {}
    runs = list(zip(document.runs, run_slugs(document), strict=True))
    return whole(
        _head(document),
        runs,
        lambda entry: _run(entry[0], drawn.get(entry[1], {})),
        where="the page and the JSON document hold them all",
    )


def _name(text: str) -> str:
    """A name from a log: nothing in it is markup, mathematics included."""
    return markdown_cell(text)


def _text(text: str) -> str:
    """A sentence: no markup either, but brackets stay readable where they cannot make a link."""
    escaped = "".join("\\" + c if c in "\\`*_|~$" else c for c in one_line(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = escaped.replace("](", "]\\(").replace("]:", "]\\:")
    return "\\" + escaped if escaped[:1] in ("#", "+", "-", "=") else escaped


def _head(document: FitDocument) -> Iterator[str]:
    yield from title("Entropy law report", [_text(warning) for warning in document.warnings])
    if len(document.runs) > 1:
        yield from table(
            ("run", "verdict", "ceiling", "headroom"),
            (
                (
                    _name(run.run),
                    words.badge(run),
                    format_interval(run.law.ceiling) if run.law else "—",
                    format_interval(run.law.headroom) if run.law else "—",
                )
                for run in document.runs
            ),
        )


def _run(run: RunFit, figures: Mapping[str, str]) -> Iterator[str]:
    yield f"## {_name(run.run)}"
    yield ""
    yield f"**{words.run_headline(run)}**"
    yield ""
    yield from (_text(sentence) for sentence in words.summary(run))
    yield ""
    for caption, link in figures.items():
        yield f"![{_name(caption)}]({link})"
        yield ""
    if run.law is not None:
        yield from _numbers(run.law)
        yield from _rivals(run.law)
        yield from _checks(run.law)
    if run.refusal is not None:
        yield f"Refused with `{run.refusal.slug}`."
        yield ""
    yield from _read(run)


def _numbers(law: LawFit) -> Iterator[str]:
    yield "### Numbers"
    yield ""
    if not law.validity.ok:
        yield f"*{words.headline(law)} These numbers are shown for completeness, not for use.*"
        yield ""
    rows: list[tuple[str, Estimate, str]] = [
        ("a", law.a, "reward that one unit of exp(H) costs"),
        ("b", law.b, "ceiling + a"),
        ("ceiling", law.ceiling, words.ceiling_words(law)),
        (
            "reward now",
            law.reward_now,
            f"at H = {format_number(law.entropy_now)} nats, evaluation noise taken out",
        ),
        ("headroom", law.headroom, "ceiling − reward now"),
    ]
    texts = [(name, format_estimate(estimate), note, estimate.note) for name, estimate, note in rows]
    yield from table(
        ("R = −a·exp(H) + b", "value", "interval", ""),
        (
            (name, t.value, t.interval, _text(f"{note}; {more}" if more else note))
            for name, t, note, more in texts
        ),
    )
    yield f"{words.interval_words(law)}."
    yield ""


def _rivals(law: LawFit) -> Iterator[str]:
    yield "### Forms"
    yield ""
    rows = [("the law", "c − a(exp(H) − 1)", law.law_weight, law.ceiling)]
    rows += [(words.form_name(r.form), r.formula, r.weight, r.ceiling) for r in law.rivals]
    yield from table(
        ("form", "formula", "weight", "ceiling"),
        (
            (name, _text(formula), _text(format_weight(weight)), format_interval(ceiling))
            for name, formula, weight, ceiling in sorted(rows, key=lambda row: -row[2])
        ),
    )
    yield f"Over the forms that are not ruled out the ceiling is {format_interval(law.ceiling_over_forms)}."
    yield ""


def _checks(law: LawFit) -> Iterator[str]:
    yield "### How far to trust them"
    yield ""
    yield from (f"- **reason:** {_text(text)}" for text in law.validity.reasons)
    yield from (f"- caution: {_text(text)}" for text in law.validity.cautions)
    yield f"- {_text(words.residual_words(law))}"
    yield f"- {_text(words.influence(law))}"
    yield ""


def _read(run: RunFit) -> Iterator[str]:
    yield "### Read and dropped"
    yield ""
    yield f"- file: {_name(run.path)}"
    for role, choice in (("entropy", run.entropy_column), ("reward", run.reward_column)):
        if choice is not None:
            yield f"- {role}: {_column(choice)}"
    if run.pair is not None:
        yield f"- pairing: {_name(run.pair)}"
    drops = words.drops(run)
    dropped = "; ".join(f"{reason} ({count})" for reason, count in drops) if drops else "nothing"
    yield f"- dropped: {_text(dropped)}"
    yield from (f"- note: {_text(note)}" for note in run.notes)
    yield ""


def _column(choice: Choice) -> str:
    known = words.meaning(choice.meaning)
    known = f" ({_text(known)})" if known else ""
    return f"column {_name(choice.column)}{known}: {_text(choice.why)}"
