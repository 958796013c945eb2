"""The sentence of every finding, by its code; the only place that words them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from entropylaw.escaping import shown
from entropylaw.report.numbers import count
from entropylaw.results.findings import Finding

Values = Mapping[str, Any]

UNKNOWN_SHARE = "planning's share of the entropy is not known"

_UNKNOWN_SHARE = {
    "no-column": "the log has no share of planning tokens",
    "no-value": "no share of planning tokens was logged",
    "same-entropy": "the two classes have the same entropy, so that no share of the tokens follows from it",
    "not-between": "the entropy of all tokens does not lie between those of the two classes",
    "no-entropy": "neither class has any",
}


def sentence(finding: Finding) -> str:
    """What a finding says; a code that this version does not know is said as it stands.

    The ``name`` of a setting or a column is quoted and escaped.
    """
    wording, values = SENTENCES.get(finding.code, finding.code), finding.values
    if "name" in values:
        values = {**values, "name": shown(values["name"])}
    return wording(values) if callable(wording) else wording.format_map(values)


def _longer_reward(values: Values) -> str:
    found, column = count(values["evaluations"], "evaluation"), shlex.quote(values["column"])
    return f"the training reward has {found}, this one {values['used']}: --reward {column}"


def _forms_as_good(values: Values) -> str:
    rivals = zip(values["labels"], values["weights"], strict=True)
    names = " and ".join(f"{label} (weight {weight:.2f})" for label, weight in rivals)
    return f"the run cannot tell the law (weight {values['law_weight']:.2f}) from {names}"


def _controlled(values: Values) -> str:
    name, value = values["name"], values.get("value")
    match values["by"]:
        case "setting":
            by = f"its settings have {name} = {shown(value)}"
        case "target":
            by = f"the log has a target for it ({name})"
        case "learned-coefficient":
            by = f"the log has a loss that learns its coefficient ({name})"
        case _:
            by = f"{name} rises where it is below about {value:.2g} nats, and falls where it is above"
    what = "it is then a set variable and not an outcome of the training"
    return f"the entropy is controlled: {by}; {what}, and how well the law fits tests nothing"


def _far_off(values: Values) -> str:
    there = zip(values["values"], values["steps"], strict=True)
    named = ", ".join(f"{value:.4g} at step {step:g}" for value, step in there)
    named += f" and {values['others']} more" if values["others"] else ""
    named += "; the logarithm of a vocabulary, which a padded position has" if values["vocabulary"] else ""
    return f"{values['curve']} is far off its neighbours: {named}; it may make a boundary, or hide one"


def _not_valid(values: Values) -> str:
    # Twelve are named, the others counted.
    invalid = values["invalid"]
    named = ", ".join(invalid[:12]) + (f" and {len(invalid) - 12} more" if len(invalid) > 12 else "")
    return f"not valid by themselves: {len(invalid)} of {values['runs']} runs ({named})"


_A = "a = {a:.3g} [{low:.3g}, {high:.3g}], and the law needs a > 0"

SENTENCES: dict[str, str | Callable[[Values], str]] = {
    # Of a document of an older version, which held sentences.
    "stated": "{sentence}",
    # Against the law.
    "entropy-both-signs": "entropy runs from {lowest:.3g} to {highest:.3g}; an entropy over a vocabulary is "
    "never negative",
    "reward-falls": f"reward falls as entropy is spent: {_A}",
    "ceiling-impossible": "the ceiling {ceiling:.3g} [{low:.3g}, {high:.3g}] lies above 1, and every reward "
    "of the run lies between 0 and 1",
    "entropy-rises": "entropy ends higher than it began, by {rise:.2f} of its range (limit {limit}); the law "
    "is stated for runs that spend it",
    "law-ruled-out": "{label} describes the run better; the law keeps a weight of {law_weight:.2g} among the "
    "forms, and below {limit} it is ruled out",
    # What the run lacks.
    "too-few-evaluations": lambda values: (
        "{n} evaluations; {needed} are needed before residuals say anything about drift".format_map(values)
        + (f"; {_longer_reward(values)}" if "column" in values else "")
    ),
    "entropy-range-narrow": "entropy spans {span:.2g} nats; {needed} are needed to tell a from b",
    "slope-unclear": f"reward does not clearly rise as entropy is spent: {_A}",
    "one-evaluation-decides": "the fit rests on one evaluation: without step {step:g} least squares give "
    "{a_ratio:.2f} times the a",
    # Cautions beside a law.
    "entropy-rebounds": "entropy falls by {fall:.2g} nats and then rises by {rise:.2g}; the law is stated "
    "for runs without such an intervention",
    "forms-as-good": _forms_as_good,
    "rate-excludes-law": "a free rate k = {rate:.2g} excludes the law's k = 1 at level {level:g}",
    "residuals-drift": "the residual may drift over half of the run or more (probability {probability:.2f}): "
    "drift and trend cannot be told apart, and the intervals are wide for that reason (interval 'walk' tells "
    "the ceiling from where the run stands)",
    "residuals-below-noise": "the residual's sd {sd:.2g} is less than the binomial noise {noise:.2g} of the "
    "sample size that was given (by more than a factor of {factor}): check what was given",
    "entropy-noise-differs": lambda values: (
        "entropy scatters by {noise:.2g} nats about its course, {ratio:.2g} times the {given:.2g} that was "
        "given (limits {least:.2g} and {factor}): check what was given"
    ).format_map({**values, "least": 1 / values["factor"]}),
    "one-evaluation-moves-ceiling": "step {step:g} alone moves the least-squares ceiling by {shift:+.2g}, "
    "more than half of its interval",
    "ceiling-above-one": "the ceiling {ceiling:.3g} lies above 1, the largest reward that the run could log",
    "reward-smoothed": "reward looks smoothed (its changes have lag-1 autocorrelation {lag1:.2f}, raw logs "
    "have none or less; {limit} is the limit): intervals from smoothed input are too narrow",
    "gross-outlier": "gross outlier: {column} {value:.3g} at step {step:g} lies {distance:.0f} robust "
    "standard deviations outside of its neighbours' {low:.3g} to {high:.3g} (limit {limit:g})",
    # Of the columns and the settings of a run.
    "training-reward": "'{column}' is training reward, measured on the samples that are trained on; the law "
    "is stated for validation scores, and training ceilings come out higher",
    "training-reward-longer": _longer_reward,
    "entropy-sampled": "'{column}' is a sampled estimate of the entropy; its noise pulls a towards 0",
    "entropy-controlled": _controlled,
    "entropy-term": "the loss holds an entropy term of weight {weight:g} ({name}), which moves the entropy "
    "by itself; the law is stated without",
    "kl-term": "a KL term of weight {weight:g} ({name}) holds the policy back; the law is stated without",
    # Of phases.
    "entropy-term-bends-curves": "the loss holds an entropy term of weight {weight:g} ({name}), which moves "
    "the entropy by itself",
    "run-resumed": "the run was resumed; what changed with it may be what a boundary shows",
    "prompts-filtered": "prompts were filtered, and not always as much: {name} goes from {low:g} to "
    "{high:g}; the mix of prompts moves an entropy, too",
    "curves-equal": "planning and execution have the same entropy at every step: one column was logged under "
    "two names",
    "length-changes": "the response length goes from {before:.0f} to {after:.0f} tokens (medians of the "
    "first and the last third of the run): other tokens are averaged, which moves an entropy by itself",
    "points-far-off": _far_off,
    "boundary-gradual": "the change of {curve} is gradual: it takes {width:.0f} steps, half of the run or "
    "more, so that its place is the middle of a long bend",
    "boundary-at-edge": lambda values: (
        f"the boundary of {values['curve']} may lie beyond the places that were looked at "
        f"({100 * values['from_share']:g} to {100 * values['to_share']:g} % of the run, "
        f"steps {values['first']:g} to {values['last']:g})"
    ),
    "series-jumps": lambda values: (
        "{series} jumps by {jump:.3g} between steps {after:g} and {step:g}".format_map(values)
        + (": a boundary near it may be that" if values["boundary"] else "")
    ),
    "one-curve": "no order is told: there is only the curve of {curve}",
    "classes-not-separable": "one curve of all tokens cannot be taken apart into planning and execution: any "
    "fall of one with a rise of the other gives the same sum; log the entropy of either class, or summarise "
    "the tokens with `entropylaw tokens`",
    "no-boundary": lambda values: (
        f"no order is told: no boundary was found in {' and in '.join(values['curves'])}"
    ),
    "planning-share-unknown": lambda values: f"{UNKNOWN_SHARE}: {_UNKNOWN_SHARE[values['why']]}",
    "runs-with-one-curve": "{left} of {runs} runs have one curve only, and are left out",
    "too-few-boundaries": lambda values: (
        ("no mean difference" if values["quantity"] == "delta" else "no mean place of {quantity}'s boundary")
        + ": told by {found} of {runs} runs, {needed} are needed"
    ).format_map(values),
    # Of a forecast.
    "averaged-in-blocks": "the run was averaged over blocks of {block} evaluations; the band is that of a "
    "mean of {block} new ones",
    "extrapolated": "at {outside} of {steps} steps the entropy lies outside the fitted range of {low:.3g} to "
    "{high:.3g} nats: extrapolated",
    # Of several runs, and of segments.
    "no-common-law": "the common coefficients describe none of the runs; read them one by one, or the mean "
    "over seeds",
    "runs-not-valid": _not_valid,
    "seeds-differ": lambda values: (
        "seeds differ by more than the residuals inside the runs explain: "
        + ", ".join(values["coefficients"])
    ),
    "no-level-shift": "no seam found: neither reward nor entropy jumps against its own drift",
    "segments-refused": "no law by segment: {message}",
    "too-few-segments": "{fitted} of {segments} segments could be fitted; a test needs two",
    "segments-left-out": "{left} of {segments} segments could not be fitted; the test leaves them out",
}
"""Code → sentence, a template or a function of the finding's values."""
