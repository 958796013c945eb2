"""What several runs have in common, and the segments of one run, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from entropylaw.documents.fit import RunFit
from entropylaw.report.markdownparts import MOST_BYTES, table
from entropylaw.report.numbers import format_interval, format_percent, format_step
from entropylaw.report.printable import markdown_cell
from entropylaw.report.sharedtext import cautions, seam_words, segments_title, title, verdict
from entropylaw.report.words import count, headline
from entropylaw.results.groups import SharedFit


def shared(fit: SharedFit) -> Iterator[str]:
    """The test, the coefficients in common, each run beside them, and the recipe over its seeds."""
    yield "## In common"
    yield ""
    yield f"**{title(fit)}**"
    yield ""
    yield markdown_cell(": ".join(verdict(fit.same, "runs"))) + "."
    yield ""
    yield from (f"- caution: {markdown_cell(sentence)}" for sentence in cautions(fit))
    yield ""
    yield from table(
        ("in common", f"{format_percent(fit.level)} interval"),
        ((name, format_interval(getattr(fit, name))) for name in ("a", "b", "ceiling")),
    )
    each = table(
        ("run", "evaluations", "valid alone", "", "alone", "in common", "less the other runs'"),
        (
            (
                markdown_cell(run.run),
                str(run.n),
                "yes" if run.valid else "no",
                name,
                format_interval(run.own[name]),
                format_interval(run.together[name]),
                format_interval(run.deviation[name]) if name in run.deviation else "",
            )
            for run in fit.runs
            for name in run.own
        ),
    )
    lines = [*each]
    if len("\n".join(lines).encode()) > MOST_BYTES // 3:
        left_out = count(len(fit.runs), "run")
        lines = [f"*Left out of this text: the table of {left_out}; the CSV and JSON files hold it.*", ""]
    yield from lines
    yield from table(
        ("this recipe", "mean over seeds", "a new seed", "sd between seeds"),
        ((one.coefficient, *map(format_interval, (one.answer, one.new_seed, one.tau))) for one in fit.spread),
    )


def segments(run: RunFit) -> Iterator[str]:
    """The jumps that were found and the law between them; nothing where nobody asked."""
    fit = run.segments
    if not run.seams and fit is None:
        return
    yield "### Segments"
    yield ""
    yield from (f"- {markdown_cell(seam_words(seam))}" for seam in run.seams)
    yield ""
    if fit is None:
        return
    yield f"{segments_title(fit)}."
    yield ""
    if fit.same is not None:
        yield f"**{markdown_cell(': '.join(verdict(fit.same, 'segments')))}**"
        yield ""
    if fit.note:
        yield f"{markdown_cell(fit.note)}."
        yield ""
    yield from table(
        ("steps", "evaluations", "verdict", "a", "b", "ceiling"),
        (
            (
                f"{format_step(part.first_step)}–{format_step(part.last_step)}",
                str(part.n),
                markdown_cell(headline(part.law) if part.law is not None else part.refusal or "refused"),
                *(
                    format_interval(number) if number is not None else "—"
                    for number in (
                        (part.law.a, part.law.b, part.law.ceiling) if part.law else (None, None, None)
                    )
                ),
            )
            for part in fit.segments
        ),
    )
