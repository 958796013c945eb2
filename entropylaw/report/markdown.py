"""A fit document as Markdown, fit for a pull request, a README or a step summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from entropylaw.analysis.forms import FORMS, form_label
from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.report import sharedmarkdown, words
from entropylaw.report.markdownparts import table, title, whole
from entropylaw.report.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_weight,
    in_percent,
)
from entropylaw.report.printable import markdown_cell, one_line
from entropylaw.report.slugs import run_slugs
from entropylaw.results import Estimate
from entropylaw.results.columns import Choice
from entropylaw.results.law import LawFit


def render(document: FitDocument, figures: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Every run of the document.

    ``figures`` maps a run's slug (:func:`~entropylaw.report.slugs.run_slugs`) to its figures: caption → link.
    """
    drawn = figures or {}
    runs = list(zip(document.runs, run_slugs(document), strict=True))
    common = sharedmarkdown.shared(document.shared) if document.shared is not None else ()
    return whole(
        chain(_head(document), common),
        runs,
        lambda entry: _run(entry[0], drawn.get(entry[1], {})),
        where="the page and the JSON document hold them all",
    )


def escaped_name(text: str) -> str:
    """A name from a log: nothing in it is markup, mathematics included."""
    return markdown_cell(text)


def escaped_text(text: str) -> str:
    """A sentence: no markup either, but brackets stay readable where they cannot make a link."""
    escaped = "".join("\\" + c if c in "\\`*_|~$" else c for c in one_line(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = escaped.replace("](", "]\\(").replace("]:", "]\\:")
    return "\\" + escaped if escaped[:1] in ("#", "+", "-", "=") else escaped


def _head(document: FitDocument) -> Iterator[str]:
    yield from title("Entropy law report", [escaped_text(warning) for warning in document.warnings])
    if len(document.runs) > 1:
        yield from table(
            ("run", "verdict", "ceiling", "headroom"),
            (
                (
                    escaped_name(run.run),
                    words.badge(run),
                    format_interval(run.law.ceiling) if run.law else "—",
                    format_interval(run.law.headroom) if run.law else "—",
                )
                for run in document.runs
            ),
        )


def _run(run: RunFit, figures: Mapping[str, str]) -> Iterator[str]:
    yield from run_head(run, words.summary(run), figures)
    if run.law is not None:
        yield from numbers(run)
        yield from rivals(run.law)
        yield from sharedmarkdown.segments(run)
        yield from checks(run.law)
    yield from read(run)


def run_head(run: RunFit, sentences: Iterable[str], figures: Mapping[str, str]) -> Iterator[str]:
    """The verdict, some sentences, and the figures: caption → link."""
    yield f"## {escaped_name(run.run)}"
    yield ""
    yield f"**{words.run_headline(run)}**"
    yield ""
    yield from (escaped_text(sentence) for sentence in sentences)
    yield ""
    for caption, link in figures.items():
        yield f"![{escaped_name(caption)}]({link})"
        yield ""
    if run.refusal is not None:
        yield f"Refused with `{run.refusal.slug}`."
        yield ""


def numbers(run: RunFit) -> Iterator[str]:
    """The numbers of a fitted run, with a warning where they are not to be read."""
    law = run.law
    assert law is not None
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
    if run.used is not None:
        share = in_percent(run.used)
        rows.append(("used, %", share, "of the reward between the law at the first entropy and at H = 0"))
    if run.drop_per_100_steps is not None:
        rows.append(("drop per 100 steps", run.drop_per_100_steps, "nats, over the last third of the run"))
    texts = [(name, format_estimate(estimate), note, estimate.note) for name, estimate, note in rows]
    yield from table(
        ("R = −a·exp(H) + b", "value", "interval", ""),
        (
            (name, t.value, t.interval, escaped_text(f"{note}; {more}" if more else note))
            for name, t, note, more in texts
        ),
    )
    yield f"{words.interval_words(law)}."
    yield ""


def rivals(law: LawFit) -> Iterator[str]:
    """The law and its rivals, heaviest first."""
    yield "### Forms"
    yield ""
    rows = [(form_label("law"), FORMS["law"].formula, law.law_weight, law.ceiling)]
    rows += [(form_label(r.form), r.formula, r.weight, r.ceiling) for r in law.rivals]
    yield from table(
        ("form", "formula", "weight", "ceiling"),
        (
            (name, escaped_text(formula), escaped_text(format_weight(weight)), format_interval(ceiling))
            for name, formula, weight, ceiling in sorted(rows, key=lambda row: -row[2])
        ),
    )
    mean = format_estimate(law.ceiling_over_forms).value
    yield (
        f"Over the forms that are not ruled out the ceiling is {mean} by weight, and lies anywhere from "
        f"{escaped_text(words.ceiling_range(law))}."
    )
    yield ""


def checks(law: LawFit) -> Iterator[str]:
    """Reasons, cautions, and what the residuals say."""
    yield "### How far to trust them"
    yield ""
    yield from (f"- **reason:** {escaped_text(text)}" for text in law.validity.reasons)
    yield from (f"- caution: {escaped_text(text)}" for text in law.validity.cautions)
    yield f"- {escaped_text(words.residual_words(law))}"
    yield f"- {escaped_text(words.influence(law))}"
    yield ""


def read(run: RunFit) -> Iterator[str]:
    """What was read, and what was dropped."""
    yield "### Read and dropped"
    yield ""
    yield f"- file: {escaped_name(run.path)}"
    for role, choice in (("entropy", run.entropy_column), ("reward", run.reward_column)):
        if choice is not None:
            yield f"- {role}: {_column(choice)}"
    if run.pair is not None:
        yield f"- pairing: {escaped_name(run.pair)}"
    drops = words.drops(run)
    dropped = "; ".join(f"{reason} ({count})" for reason, count in drops) if drops else "nothing"
    yield f"- dropped: {escaped_text(dropped)}"
    yield from (f"- note: {escaped_text(note)}" for note in run.notes)
    yield ""


def _column(choice: Choice) -> str:
    known = words.meaning(choice.meaning)
    known = f" ({escaped_text(known)})" if known else ""
    return f"column {escaped_name(choice.column)}{known}: {escaped_text(choice.why)}"
