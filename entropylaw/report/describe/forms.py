"""The forms beside the law: all of them compared, and one fitted by lmfit."""

from __future__ import annotations

from entropylaw.analysis.forms import form_label
from entropylaw.report import blocks as b
from entropylaw.report.numbers import format_number, format_percent
from entropylaw.results import Estimate
from entropylaw.results.forms import Comparison, NestedTest, NonlinearFit


def _shape(named: tuple[str, Estimate]) -> str:
    return f"{named[0]} = {format_number(named[1].value)}"


COLUMNS = (
    b.Column("form", "form", lambda one: form_label(one.form)),
    b.Column("formula", "formula", lambda one: ", ".join((one.formula, *map(_shape, one.shapes.items())))),
    b.Column("variable", "of"),
    b.Column("weight", "probability", unit="probability"),
    b.Column("log_odds", "log odds against the law"),
    b.Column("ceiling", "ceiling", estimate=True),
    b.Column("parameters", "coefficients"),
    *b.columns("residual_sd ruled_out"),
)

PARAMETERS = (*b.columns("parameter"), *b.columns("estimate", estimate=True))


def describe(result: Comparison | NonlinearFit) -> list[b.Block]:
    """What the data tell apart among the forms, or the parameters of one."""
    if isinstance(result, NonlinearFit):
        return _nonlinear(result)
    alike = ", ".join(map(form_label, result.alike))
    notes = [b.Note("not told apart", f"from the law, by odds between 1/20 and 20: {alike or 'no form'}")]
    notes += b.labelled("test", map(_test, (result.law_test, result.line_test, result.branch_test)))
    tail = f"twice the smaller probability of k < 1 and k > 1 is {format_number(result.rate_tail, 2)}"
    notes.append(b.Note("rate k", tail))
    notes += b.labelled("skipped", (f"{form_label(form)}: {why}" for form, why in result.skipped.items()))
    notes += b.labelled("reach", [result.reach_note] if result.reach_note else [])
    facts = [b.Fact("ceiling", result.ceiling, "reward at H = 0, over the forms of the entropy")]
    if result.limit is not None:
        facts.append(b.Fact("limit", result.limit, "in steps, over the forms of the step"))
    if result.reach is not None:
        facts.append(b.Fact("reach", result.reach, "both, as the entropy is spent"))
    interval = f"range over the forms not ruled out, {format_percent(result.ceiling.level)} intervals"
    return [b.Heading("Forms", 2), table(result), b.Facts("over all forms", facts, interval), b.Notes(notes)]


def table(result: Comparison | NonlinearFit) -> b.Table:
    """A row per form, or per parameter."""
    if isinstance(result, NonlinearFit):
        return b.Table(PARAMETERS, list(result.parameters.items()))
    return b.table_of(COLUMNS, result.forms, words=3)


def _nonlinear(fit: NonlinearFit) -> list[b.Block]:
    first = next(iter(fit.parameters.values()), None)
    interval = f"{format_percent(first.level)} interval ({first.method})" if first is not None else "interval"
    covariance = f"range {format_number(fit.length)} steps, drift share {fit.drift_share:.2f}"
    residual = b.Note("residual", f"whitened sd {format_number(fit.residual_sd)}; {covariance}")
    converged = "converged" if fit.settled else "did not converge"
    return [
        b.Heading(form_label(fit.form), 2, fit.formula),
        b.Facts(fit.formula, [b.Fact(name, estimate) for name, estimate in fit.parameters.items()], interval),
        b.Notes([residual, b.Note("lmfit", f"Levenberg–Marquardt {converged}: {fit.message}")]),
    ]


def _test(test: NestedTest) -> str:
    what = f"{form_label(test.null)} inside {form_label(test.alternative)}"
    if test.p_value is None:
        return f"{what}: no test ({test.note})"
    return f"{what}: p = {test.p_value:.2g} ({test.method})" + (f"; {test.note}" if test.note else "")
