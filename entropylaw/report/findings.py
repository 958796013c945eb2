"""The sentence of every finding, by its code; the only place that words them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from entropylaw.escaping import counted, shown
from entropylaw.results.result import Finding

Values = Mapping[str, Any]

UNKNOWN_SHARE = "planning's share of the entropy is unknown"

_UNKNOWN_SHARE = {
    "no-column": "the log has no share of planning tokens",
    "no-value": "no share of planning tokens was logged",
    "same-entropy": "the two classes have the same entropy, so that it does not follow from the entropies",
    "not-between": "the entropy of all tokens is not between those of the two classes",
    "no-entropy": "neither class has any",
}


def sentence(finding: Finding) -> str:
    """The sentence of a finding; for a code that this version does not know, the code.

    The ``name`` of a setting or a column is quoted and escaped.
    """
    wording, values = SENTENCES.get(finding.code, finding.code), finding.values
    if "name" in values:
        values = {**values, "name": shown(values["name"])}
    return wording(values) if callable(wording) else wording.format_map(values)


def _longer_reward(values: Values) -> str:
    found, column = counted(values["evaluations"], "evaluation"), shlex.quote(values["column"])
    return f"the training reward has {found}, this one {values['used']}: --reward {column}"


_CONTROL = {
    "setting": "its settings have {name} = {shown}",
    "target": "the log has a target for it ({name})",
    "learned-coefficient": "the log has a loss that learns its coefficient ({name})",
    "coefficient": "{name} rises where the entropy is below about {value:.2g} nats, and falls above",
}


_A = "a = {a:.3g} [{low:.3g}, {high:.3g}], and the law needs a > 0"

SENTENCES: dict[str, str | Callable[[Values], str]] = {
    # In a document of an older version, which held sentences.
    "stated": "{sentence}",
    # Reasons against the law.
    "entropy-both-signs": "entropy goes from {lowest:.3g} to {highest:.3g}; an entropy over a vocabulary is "
    "never negative",
    "reward-falls": f"reward falls as entropy falls: {_A}",
    "ceiling-impossible": "the ceiling {ceiling:.3g} [{low:.3g}, {high:.3g}] is above 1, and every reward of "
    "the run is between 0 and 1",
    "entropy-rises": "entropy ends higher than it began, by {rise:.2f} of its range (limit {limit}); the law "
    "is stated for runs with falling entropy",
    "law-ruled-out": "{label} describes the run better; the probability of the law is {law_weight:.2g}, and "
    "below {limit} it is ruled out",
    # Too little information.
    "too-few-evaluations": lambda values: (
        "{n} evaluations; {needed} are needed to estimate the drift of the residuals".format_map(values)
        + (f"; {_longer_reward(values)}" if "column" in values else "")
    ),
    "entropy-range-narrow": "entropy spans {span:.2g} nats; to estimate both a and b takes at least {needed}",
    "slope-unclear": f"reward does not clearly rise as entropy falls: {_A}",
    "one-evaluation-decides": "the fit depends on one evaluation: without step {step:g} least squares give "
    "{a_ratio:.2f} times the a",
    # Cautions about a law.
    "entropy-rebounds": "entropy falls by {fall:.2g} nats and then rises by {rise:.2g}; the law is stated "
    "for runs without such an intervention",
    "forms-as-good": lambda values: (
        " and ".join(map("{} (probability {:.2f})".format, values["labels"], values["weights"]))
        + (" fits" if len(values["labels"]) == 1 else " fit")
        + f" as well as the law ({values['law_weight']:.2f})"
    ),
    "rate-excludes-law": "a free rate k = {rate:.2g} excludes the law's k = 1 at level {level:g}",
    "residuals-drift": "the residual may drift over half of the run or more (probability {probability:.2f}): "
    "the data do not separate drift from trend, and the intervals are wide for that reason (interval 'walk' "
    "estimates the ceiling relative to the current level)",
    "residuals-below-noise": "the residual's sd {sd:.2g} is less than the binomial noise {noise:.2g} of the "
    "given sample size (by more than a factor of {factor}): check the sample size",
    "entropy-noise-differs": lambda values: (
        "entropy scatters by {noise:.2g} nats around its smoothed values, {ratio:.2g} times the given "
        "{given:.2g} (limits {least:.2g} and {factor}): check the given noise"
    ).format_map({**values, "least": 1 / values["factor"]}),
    "one-evaluation-moves-ceiling": "step {step:g} alone changes the least-squares ceiling by {shift:+.2g}, "
    "more than half of its interval",
    "ceiling-above-one": "the ceiling {ceiling:.3g} is above 1, the largest reward that the run could log",
    "reward-smoothed": "reward looks smoothed (its changes have lag-1 autocorrelation {lag1:.2f}; raw logs "
    "have none or less; the limit is {limit}): intervals from smoothed input are too narrow",
    "gross-outlier": "gross outlier: {column} {value:.3g} at step {step:g} is {distance:.0f} robust "
    "standard deviations outside the range of its neighbours, {low:.3g} to {high:.3g} (limit {limit:g})",
    # Columns and settings of a run.
    "training-reward": "'{column}' is training reward, measured on the samples that are trained on; the law "
    "is stated for validation scores, and training ceilings are higher",
    "training-reward-longer": _longer_reward,
    "entropy-sampled": "'{column}' is a sampled estimate of the entropy; its noise biases a towards 0",
    "entropy-controlled": lambda values: (
        "the entropy is controlled: "
        + _CONTROL[values["by"]].format_map({**values, "shown": shown(values.get("value"))})
        + "; it is then set and not an outcome of the training, so that the law's fit tests nothing"
    ),
    "entropy-term": "the loss has an entropy term of weight {weight:g} ({name}), which changes the entropy "
    "directly; the law is stated without",
    "kl-term": "a KL term of weight {weight:g} ({name}) keeps the policy near its reference; the law is "
    "stated without",
    # Phases.
    "entropy-term-bends-curves": "the loss has an entropy term of weight {weight:g} ({name}), which changes "
    "the entropy directly",
    "run-resumed": "the run was resumed; a change point may come from what changed with it",
    "prompts-filtered": "prompts were filtered at a changing rate: {name} goes from {low:g} to {high:g}; the "
    "mix of prompts also changes the entropy",
    "curves-equal": "planning and execution have the same entropy at every step: one column was logged under "
    "two names",
    "length-changes": "the response length goes from {before:.0f} to {after:.0f} tokens (medians of the "
    "first and the last third of the run): a mean over other tokens changes the entropy by itself",
    "points-far-off": lambda values: (
        f"{values['curve']} is far from its neighbours: "
        + ", ".join(map("{:.4g} at step {:g}".format, values["values"], values["steps"]))
        + (f" and {values['others']} more" if values["others"] else "")
        + ("; the logarithm of a vocabulary, which a padded position has" if values["vocabulary"] else "")
        + "; it may make or hide a change point"
    ),
    "boundary-gradual": "the change of {curve} is gradual: it takes {width:.0f} steps, half of the run or "
    "more, and the change point is its middle",
    "boundary-at-edge": lambda values: (
        f"the change point of {values['curve']} may be outside the steps that were searched "
        f"({100 * values['from_share']:g} to {100 * values['to_share']:g} % of the run, "
        f"steps {values['first']:g} to {values['last']:g})"
    ),
    "series-jumps": lambda values: (
        "{series} shifts by {jump:.3g} between steps {after:g} and {step:g}".format_map(values)
        + (": a change point near it may come from that" if values["boundary"] else "")
    ),
    "one-curve": "no order: there is only the curve of {curve}",
    "classes-not-separable": "one curve of all tokens cannot be separated into planning and execution: any "
    "fall of one with a rise of the other gives the same sum; log the entropy of either class, or summarise "
    "the tokens with `entropylaw tokens`",
    "no-boundary": lambda values: f"no order: no change point in {' and in '.join(values['curves'])}",
    "planning-share-unknown": lambda values: f"{UNKNOWN_SHARE}: {_UNKNOWN_SHARE[values['why']]}",
    "runs-with-one-curve": "{left} of {runs} runs have one curve only, and are left out",
    "too-few-boundaries": lambda values: (
        ("no mean difference" if values["quantity"] == "delta" else "no mean change point of {quantity}")
        + ": known in {found} of {runs} runs, {needed} are needed"
    ).format_map(values),
    # A forecast.
    "averaged-in-blocks": "the run was averaged over blocks of {block} evaluations; the prediction interval "
    "is that of a mean of {block} new ones",
    "extrapolated": "at {outside} of {steps} steps the entropy is outside the fitted range of {low:.3g} to "
    "{high:.3g} nats: extrapolated",
    # Several runs, and segments.
    "no-common-law": "the common coefficients describe none of the runs; use those of each run, or the mean "
    "over seeds",
    # Twelve are named, the others counted.
    "runs-not-valid": lambda values: (
        f"not valid alone: {len(values['invalid'])} of {values['runs']} runs ("
        + ", ".join(values["invalid"][:12])
        + (f" and {len(values['invalid']) - 12} more)" if len(values["invalid"]) > 12 else ")")
    ),
    "seeds-differ": lambda values: (
        "seeds differ by more than the residuals within runs explain: " + ", ".join(values["coefficients"])
    ),
    "no-level-shift": "no level shift: neither reward nor entropy shifts against its own drift",
    "segments-refused": "no law by segment: {message}",
    "too-few-segments": "{fitted} of {segments} segments could be fitted; a test needs two",
    "segments-left-out": "{left} of {segments} segments could not be fitted; the test leaves them out",
}
"""Code → sentence, a template or a function of the finding's values."""
