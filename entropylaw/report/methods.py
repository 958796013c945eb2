"""A paragraph for the methods of a paper with the numbers of a run, and what it cites as BibTeX."""

from __future__ import annotations

from entropylaw.analysis.forms import form_label
from entropylaw.report.numbers import (
    format_interval,
    format_percent,
    format_probability,
    format_r_squared,
    format_step,
)
from entropylaw.report.words import listed
from entropylaw.results import Verdict
from entropylaw.results.fit import Fit
from entropylaw.version import __version__

BIBTEX = (
    "@misc{cui2025entropy, author = {Cui, Ganqu and others}, title = {The Entropy Mechanism of Reinforcement "
    "Learning for Reasoning Language Models}, year = {2025}, eprint = {2505.22617}, archivePrefix = {arXiv}}",
    "@article{hoeting1999averaging, author = {Hoeting, Jennifer A. and Madigan, David and Raftery, Adrian E. "
    "and Volinsky, Chris T.}, title = {Bayesian Model Averaging: A Tutorial}, "
    "journal = {Statistical Science}, volume = {14}, number = {4}, pages = {382--401}, year = {1999}, "
    "doi = {10.1214/ss/1009212519}}",
    f"@software{{entropylaw, title = {{entropylaw}}, version = {{{__version__}}}}}",
)


def paragraph(fit: Fit) -> str:
    """What was done and what came out, with keys of :data:`BIBTEX` in brackets."""
    law, level = fit.law, format_percent(fit.level)
    steps = f"steps {format_step(law.step[0])} to {format_step(law.step[-1])}"
    names = listed(form_label(form.form) for form in fit.forms if form.form != "law")
    verdicts = {
        Verdict.holds: "The law holds",
        Verdict.undecided: "The data do not decide whether the law holds",
        Verdict.fails: f"The law fails ({fit.why})",
    }
    probability, size = format_probability(fit.p_law), f"{law.residuals.effective_n:.0f}"
    at_zero, left = f"the reward at H = 0 is {format_interval(fit.ceiling)} and ", ""
    if fit.lost:
        at_zero = ""
    else:
        left = f"; at least {fit.gain:.3g} is left on the curve with probability "
        left += format_probability(fit.p_headroom)
    sentences = (
        f"We fitted reward R against policy entropy H (nats per token) over {fit.n} evaluations ({steps}) "
        f"with entropylaw {__version__} [entropylaw]: the law R = b − a·exp(H) [cui2025entropy], "
        f"{names}, each with and without a term in the step, by Bayesian regression with normal priors of "
        f"the slopes ({law.a.method}).",
        f"{verdicts[fit.verdict]}: its probability among its rivals is {probability}, R² by least squares "
        f"{format_r_squared(law.r_squared)}, effective sample size {size}.",
        f"Averaged over these forms by their posterior probabilities [hoeting1999averaging], {at_zero}"
        f"the reward now is {format_interval(fit.reward_now)} ({level} intervals){left}.",
    )
    return " ".join(sentences)
