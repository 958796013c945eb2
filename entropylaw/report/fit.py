"""A fit document as text, about 20 lines per run with validity first, and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from entropylaw.analysis.forms import FORMS, form_label
from entropylaw.analysis.residual_models import residual_model
from entropylaw.documents.fit import FitDocument, RunFit
from entropylaw.report import words
from entropylaw.report.markdown import escaped_text, paragraphs, table, title, whole
from entropylaw.report.numbers import (
    MISSING,
    count,
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_weight,
    in_percent,
)
from entropylaw.report.printable import WIDTH, labelled_lines, markdown_cell, one_line, refusal_lines
from entropylaw.report.shared import segments_markdown, segments_text, shared_markdown, shared_text
from entropylaw.results import Estimate
from entropylaw.results.columns import Choice
from entropylaw.results.law import LawFit

_LINES = 18
"""Lines of a run's block up to which it is filled with sentences on validity; the first always stands."""


def render_text(document: FitDocument) -> str:
    """For a terminal: every run of the document, one block each; then what they have in common."""
    blocks = []
    for run in document.runs:
        parts = (f"  {line}" for text in segments_text(run) for line in text.splitlines())
        blocks.append("\n".join([*_run_lines(run), *parts]) + "\n")
    if document.shared is not None:
        blocks.append("\n".join(shared_text(document.shared)) + "\n")
    return "\n".join(blocks)


def _run_lines(run: RunFit) -> list[str]:
    """One block: what it is, whether it holds, the numbers, the rivals, what was read.

    The numbers always stand; of the sentences on validity as many whole ones as the block has lines
    left for, at least one. The verdict says how many there are, and a line how many are not shown.
    """
    law = run.law
    if law is None:
        return [*refusal_lines(run), *_read_lines(run)]
    steps, labelled = f"steps {law.step[0]:g}–{law.step[-1]:g}", words.labelled_checks(law)
    counts = Counter(label for label, _ in labelled)
    found = ", ".join(count(n, word) for word, n in counts.items())
    verdict = words.headline(law) + (f" ({found})" if found else "")
    top = [
        f"{one_line(run.run)} · {law.n} evaluations, {steps} · {one_line(run.path)}",
        f"  {'VALID' if law.validity.ok else 'NOT VALID':<10} {verdict}",
    ]
    bottom = [*_number_lines(law), *_rival_lines(law), *_read_lines(run)]
    return [*top, *_fitting_sentences(labelled, _LINES - len(top) - len(bottom)), *bottom]


def _fitting_sentences(labelled: Iterable[tuple[str, str]], lines: int) -> list[str]:
    """Whole sentences, reasons first, while they fit into ``lines``; the first in any case.

    Those that are not shown are counted, behind the last one where there is room.
    """
    blocks = [labelled_lines(label, text) for label, text in labelled]
    for shown in range(len(blocks), 0, -1):
        found = [line for block in blocks[:shown] for line in block]
        if shown < len(blocks):
            rest = f"… and {len(blocks) - shown} more: --format json"
            if len(found[-1]) + 1 + len(rest) <= WIDTH:
                found[-1] += f" {rest}"
            else:
                found.append(f"{'':<13}{rest}")
        if len(found) <= lines or shown == 1:
            return found
    return []


def _number_lines(law: LawFit) -> list[str]:
    """The estimates with their intervals, the residuals, and what was taken out of the entropy."""
    left = law.residuals
    lag1 = "unknown" if left.lag1 is None else f"{left.lag1:.2f}"
    parts = [f"sd {format_number(left.sd)}, lag-1 {lag1}"]
    if residual_model(law.interval).assumed is None:
        parts.append(f"drift share {left.drift_share:.2f}, effective sample size {left.effective_n:.0f}")
    if law.entropy_noise is not None:
        parts.append(f"entropy noise {format_number(law.entropy_noise, 2)}")
    if law.entropy_sd is not None:
        low, high = format_number(law.entropy_sd.min(), 2), format_number(law.entropy_sd.max(), 2)
        parts.append(f"given as {low}" if low == high else f"given as {low} to {high}")
    title = f"{format_percent(law.level)} interval ({law.ceiling.method})"
    now = f"at H = {format_number(law.entropy_now)}"
    spent = f"95 % of what entropy can still buy is gone at H = {format_number(law.entropy_spent)}"
    return [
        f"  {'R = −a·exp(H) + b':<19} {'value':>9}   {title}",
        _number_line("a", law.a),
        _number_line("b", law.b, f"correlation with a {law.correlation:.3f}"),
        _number_line("ceiling", law.ceiling, words.ceiling_words(law)),
        _number_line("reward now", law.reward_now, f"{now}, evaluation noise taken out"),
        _number_line("headroom", law.headroom, spent),
        f"  {'residual':<19} {'; '.join(parts)}",
    ]


def _number_line(name: str, estimate: Estimate, note: str = "") -> str:
    value, low, high = format_estimate(estimate)
    interval = f"[{low}, {high}]"
    return f"  {name:<19} {value:>9}   {interval:<22} {note}".rstrip()


def _rival_lines(law: LawFit) -> list[str]:
    """The forms that are not ruled out by weight, and what the choice among them does to the ceiling."""
    forms = [] if law.law_ruled_out else [("law", law.law_weight, law.ceiling, "")]
    for rival in law.rivals:
        known = rival.rate is not None and rival.rate.value is not None
        rate = f"k = {format_number(rival.rate.value)}" if rival.rate is not None and known else ""
        if not rival.ruled_out:
            forms.append((f"{rival.form}  {rival.formula}", rival.weight, rival.ceiling, rate))
    lines = []
    for name, weight, ceiling, rate in sorted(forms, key=lambda form: -form[1]):
        shown = f"weight {format_weight(weight):>5}   ceiling {format_interval(ceiling)}  {rate}"
        lines.append(f"  {name:<30} {shown}".rstrip())
    gone = ["law"] if law.law_ruled_out else []
    gone += [rival.form for rival in law.rivals if rival.ruled_out]
    over = f"  over these forms, with their intervals       ceiling {words.ceiling_range(law, str)}"
    return [*lines, over + (f"; ruled out: {', '.join(gone)}" if gone else "")]


def _read_lines(run: RunFit) -> Iterator[str]:
    """What was read, what was dropped."""
    if run.entropy_column is not None and run.reward_column is not None:
        entropy, reward = map(_column_words, (run.entropy_column, run.reward_column))
        yield from labelled_lines("read", f"entropy {entropy}; reward {reward}; pair {run.pair}")
    dropped = words.drop_words(run)
    if dropped:
        yield from labelled_lines("dropped", dropped)


def _column_words(choice: Choice) -> str:
    """A column and the most telling facts; ``entropylaw columns`` has them all."""
    known = [choice.meaning.kind, choice.meaning.unit, choice.meaning.aggregation]
    facts = ", ".join(fact for fact in known if fact)
    return f"'{choice.column}'" + (f" ({facts})" if facts else "")


def render_markdown(document: FitDocument) -> str:
    """Every run of the document."""
    common = shared_markdown(document.shared) if document.shared is not None else ()
    return whole(
        chain(_markdown_head(document), common),
        document.runs,
        _markdown_section,
        where="the page and the JSON document hold them all",
    )


def _markdown_head(document: FitDocument) -> Iterator[str]:
    yield from title("Entropy law report", [escaped_text(warning) for warning in document.warnings])
    if len(document.runs) > 1:
        yield from table(
            ("run", "verdict", "ceiling", "headroom"),
            (
                (
                    markdown_cell(run.run),
                    words.badge(run),
                    format_interval(run.law.ceiling) if run.law else MISSING,
                    format_interval(run.law.headroom) if run.law else MISSING,
                )
                for run in document.runs
            ),
        )


def _markdown_section(run: RunFit) -> Iterator[str]:
    yield from run_head(run, words.summary(run), {})
    if run.law is not None:
        yield from numbers(run)
        yield from rivals(run.law)
        yield from segments_markdown(run)
        yield from checks(run.law)
    yield from read(run)


def run_head(run: RunFit, sentences: Iterable[str], figures: Mapping[str, str]) -> Iterator[str]:
    """The verdict, some sentences, and the figures: caption → link."""
    yield from paragraphs(f"## {markdown_cell(run.run)}", f"**{words.run_headline(run)}**")
    yield from (escaped_text(sentence) for sentence in sentences)
    yield ""
    yield from paragraphs(*(f"![{markdown_cell(caption)}]({link})" for caption, link in figures.items()))
    if run.refusal is not None:
        yield from paragraphs(f"Refused with `{run.refusal.slug}`.")


def numbers(run: RunFit) -> Iterator[str]:
    """The numbers of a fitted run, with a warning where they are not to be read."""
    law = run.law
    assert law is not None
    yield from paragraphs("### Numbers")
    if not law.validity.ok:
        yield from paragraphs(
            f"*{words.headline(law)} These numbers are shown for completeness, not for use.*"
        )
    now = f"at H = {format_number(law.entropy_now)}"
    rows: list[tuple[str, Estimate, str]] = [
        ("a", law.a, "reward that one unit of exp(H) costs"),
        ("b", law.b, "ceiling + a"),
        ("ceiling", law.ceiling, words.ceiling_words(law)),
        ("reward now", law.reward_now, f"{now} nats, evaluation noise taken out"),
        ("headroom", law.headroom, "ceiling − reward now"),
    ]
    if run.used is not None:
        share = in_percent(run.used)
        rows.append(("used, %", share, "of the reward between the law at the first entropy and at H = 0"))
    if run.drop_per_100_steps is not None:
        rows.append(("drop per 100 steps", run.drop_per_100_steps, "nats, over the last third of the run"))
    cells = []
    for name, estimate, note in rows:
        text, more = format_estimate(estimate), f"; {estimate.note}" if estimate.note else ""
        cells.append((name, text.value, text.interval, escaped_text(note + more)))
    yield from table(("R = −a·exp(H) + b", "value", "interval", ""), cells)
    yield from paragraphs(f"{words.interval_words(law)}.")


def rivals(law: LawFit) -> Iterator[str]:
    """The law and its rivals, heaviest first."""
    yield from paragraphs("### Forms")
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
    yield from paragraphs(
        f"Over the forms that are not ruled out the ceiling is {mean} by weight, and lies anywhere from "
        f"{escaped_text(words.ceiling_range(law))}."
    )


def checks(law: LawFit) -> Iterator[str]:
    """Reasons, cautions, and what the residuals say."""
    yield from paragraphs("### How far to trust them")
    yield from (f"- **reason:** {escaped_text(text)}" for text in law.validity.reasons)
    yield from (f"- caution: {escaped_text(text)}" for text in law.validity.cautions)
    yield f"- {escaped_text(words.residual_words(law))}"
    yield from paragraphs(f"- {escaped_text(words.influence(law))}")


def read(run: RunFit) -> Iterator[str]:
    """What was read, and what was dropped."""
    yield from paragraphs("### Read and dropped")
    yield f"- file: {markdown_cell(run.path)}"
    for role, choice in (("entropy", run.entropy_column), ("reward", run.reward_column)):
        if choice is not None:
            known = words.meaning(choice.meaning)
            known = f" ({escaped_text(known)})" if known else ""
            column = f"column {markdown_cell(choice.column)}{known}"
            yield f"- {role}: {column}: {escaped_text(choice.why)}"
    if run.pair is not None:
        yield f"- pairing: {markdown_cell(run.pair)}"
    drops = words.drops(run)
    dropped = "; ".join(f"{reason} ({number})" for reason, number in drops) if drops else "nothing"
    yield f"- dropped: {escaped_text(dropped)}"
    yield from (f"- note: {escaped_text(note)}" for note in run.notes)
    yield ""
