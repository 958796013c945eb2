"""A fit document for a terminal: about 20 lines per run, validity first."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.analysis.residual_models import residual_model
from entropylaw.documents.fit import NO_SEAM, NO_SEGMENTS, FitDocument, RunFit
from entropylaw.report.numbers import (
    format_estimate,
    format_interval,
    format_number,
    format_percent,
    format_weight,
)
from entropylaw.report.printable import WIDTH, labelled_lines, one_line
from entropylaw.report.sharedtext import render_seams, render_segments, render_shared
from entropylaw.report.words import ceiling_range, ceiling_words, count, drop_words, headline
from entropylaw.results import Estimate
from entropylaw.results.columns import Choice
from entropylaw.results.law import LawFit

_LINES = 18
"""Lines of a run's block up to which it is filled with sentences on validity; the first always stands."""


def render(document: FitDocument) -> str:
    """Every run of the document, one block each; then what they have in common."""
    blocks = ["\n".join(_run_lines(run)) + "\n" + _seams(run) for run in document.runs]
    if document.shared is not None:
        blocks.append(render_shared(document.shared))
    return "\n".join(blocks)


def _seams(run: RunFit) -> str:
    """The jumps that were found and the law between them, below the run's block."""
    found = render_seams(run.seams) if run.seams else ""
    whole = found + (render_segments(run.segments) if run.segments is not None else "")
    whole += "".join(f"{one_line(note)}\n" for note in run.notes if note.startswith((NO_SEAM, NO_SEGMENTS)))
    return "".join(f"  {line}\n" for line in whole.splitlines())


def _run_lines(run: RunFit) -> list[str]:
    """One block: what it is, whether it holds, the numbers, the rivals, what was read.

    The numbers always stand; of the sentences on validity as many whole ones as the block has lines
    left for, at least one. The verdict says how many there are, and a line how many are not shown.
    """
    law = run.law
    if law is None:
        assert run.refusal is not None
        title = one_line(run.run) if run.run == run.path else f"{one_line(run.run)} · {one_line(run.path)}"
        refusal = labelled_lines("NOT FITTED", f"{run.refusal.message} [{run.refusal.slug}]")
        return [title, *refusal, *_read_lines(run)]
    steps = f"steps {law.step[0]:g}–{law.step[-1]:g}"
    top = [
        f"{one_line(run.run)} · {law.n} evaluations, {steps} · {one_line(run.path)}",
        f"  {'VALID' if law.validity.ok else 'NOT VALID':<10} {headline(law)}{_counts(law)}",
    ]
    bottom = [*_number_lines(law), *_rival_lines(law), *_read_lines(run)]
    return [*top, *_fitting_sentences(law, _LINES - len(top) - len(bottom)), *bottom]


def _counts(law: LawFit) -> str:
    """How many reasons and cautions there are."""
    numbers = (("reason", len(law.validity.reasons)), ("caution", len(law.validity.cautions)))
    words = [count(n, word) for word, n in numbers if n]
    return f" ({', '.join(words)})" if words else ""


def _fitting_sentences(law: LawFit, lines: int) -> list[str]:
    """Whole sentences, reasons first, while they fit into ``lines``; the first in any case.

    Those that are not shown are counted, behind the last one where there is room.
    """
    labelled = [("reason", text) for text in law.validity.reasons]
    labelled += [("caution", text) for text in law.validity.cautions]
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
    """The estimates with their intervals, and the residuals."""
    title = f"{format_percent(law.level)} interval ({law.ceiling.method})"
    spent = f"95 % of what entropy can still buy is gone at H = {format_number(law.entropy_spent)}"
    return [
        f"  {'R = −a·exp(H) + b':<19} {'value':>9}   {title}",
        _number_line("a", law.a),
        _number_line("b", law.b, f"correlation with a {law.correlation:.3f}"),
        _number_line("ceiling", law.ceiling, ceiling_words(law)),
        _number_line(
            "reward now",
            law.reward_now,
            f"at H = {format_number(law.entropy_now)}, evaluation noise taken out",
        ),
        _number_line("headroom", law.headroom, spent),
        "  " + _residual_words(law),
    ]


def _number_line(name: str, estimate: Estimate, note: str = "") -> str:
    value, low, high = format_estimate(estimate)
    interval = f"[{low}, {high}]"
    return f"  {name:<19} {value:>9}   {interval:<22} {note}".rstrip()


def _residual_words(law: LawFit) -> str:
    """The residuals, and what was taken out of the entropy."""
    residuals = law.residuals
    lag1 = "unknown" if residuals.lag1 is None else f"{residuals.lag1:.2f}"
    words = [f"sd {format_number(residuals.sd)}, lag-1 {lag1}"]
    if residual_model(law.interval).assumed is None:
        words.append(
            f"drift share {residuals.drift_share:.2f}, effective sample size {residuals.effective_n:.0f}"
        )
    if law.entropy_noise is not None:
        words.append(f"entropy noise {format_number(law.entropy_noise, 2)}")
    if law.entropy_sd is not None:
        low, high = format_number(law.entropy_sd.min(), 2), format_number(law.entropy_sd.max(), 2)
        words.append(f"given as {low}" if low == high else f"given as {low} to {high}")
    return f"{'residual':<19} {'; '.join(words)}"


def _rival_lines(law: LawFit) -> list[str]:
    """The forms that are not ruled out by weight, and what the choice among them does to the ceiling."""
    lines = (
        [] if law.law_ruled_out else [(law.law_weight, _form_line("law", law.law_weight, law.ceiling, ""))]
    )
    for rival in law.rivals:
        known = rival.rate is not None and rival.rate.value is not None
        rate = f"k = {format_number(rival.rate.value)}" if rival.rate is not None and known else ""
        if not rival.ruled_out:
            name = f"{rival.form}  {rival.formula}"
            lines.append((rival.weight, _form_line(name, rival.weight, rival.ceiling, rate)))
    lines.sort(key=lambda line: -line[0])
    gone = ["law"] if law.law_ruled_out else []
    gone += [rival.form for rival in law.rivals if rival.ruled_out]
    over = f"  over these forms, with their intervals       ceiling {ceiling_range(law, str)}"
    return [*(text for _, text in lines), over + (f"; ruled out: {', '.join(gone)}" if gone else "")]


def _form_line(name: str, weight: float, ceiling: Estimate, note: str) -> str:
    shown = f"weight {format_weight(weight):>5}   ceiling {format_interval(ceiling)}  {note}"
    return f"  {name:<30} {shown}".rstrip()


def _read_lines(run: RunFit) -> Iterator[str]:
    """What was read, what was dropped."""
    if run.entropy_column is not None and run.reward_column is not None:
        entropy, reward = _column_words(run.entropy_column), _column_words(run.reward_column)
        yield from labelled_lines("read", f"entropy {entropy}; reward {reward}; pair {run.pair}")
    dropped = drop_words(run)
    if dropped:
        yield from labelled_lines("dropped", dropped)


def _column_words(choice: Choice) -> str:
    """A column and the most telling facts; ``entropylaw columns`` has them all."""
    known = [choice.meaning.kind, choice.meaning.unit, choice.meaning.aggregation]
    facts = ", ".join(fact for fact in known if fact)
    return f"'{choice.column}'" + (f" ({facts})" if facts else "")
