"""The sentence of every finding, by its code; the only place that words them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from entropylaw.escaping import counted, in_shell, listing, shown
from entropylaw.report.numbers import odds_words, p_words
from entropylaw.results.result import INCOMPLETE, NO_SCORE, Finding

Values = Mapping[str, Any]


def sentence(finding: Finding) -> str:
    """The sentence of a finding; for a code that this version does not know, the code.

    The ``name`` of a setting or a column is quoted and escaped; ``p`` is a ``probability`` in words.
    """
    wording = SENTENCES.get(finding.code, finding.code)
    values = finding.values
    if "name" in values:
        values = {**values, "name": shown(values["name"])}
    if "probability" in values:
        values = {**values, "p": p_words(float(str(values["probability"])))}
    return wording(values) if callable(wording) else wording.format_map(values)


_CONTROL = {
    "setting": "its settings have {name} = {shown}",
    "switch": "the log says so ({name})",
    "target": "the log has a target for it ({name})",
    "learned-coefficient": "the log has a loss that learns its coefficient ({name})",
    "coefficient": "{name} rises where the entropy is below about {value:.2g} nats, and falls above",
    "varying-coefficient": "the coefficient {name} of its term in the loss varies over the run, from "
    "{low:.3g} to {high:.3g}",
}


def _first_off_curve(values: Values) -> str:
    first = "evaluation is" if values["dropped"] == 1 else "{dropped} evaluations are"
    at_zero = "" if values["value"] is None else ": {value:.3g} [{low:.3g}, {high:.3g}] at H = 0"
    hint = "--from-step {step:g} fits without"
    return f"the first {first} off the curve of the others ({{p}}); {hint}{at_zero}".format_map(values)


def _rewards_converted(values: Values) -> str:
    column = values["column"]
    words = ["a rate", "in percent"]
    if values["unit"] == "percent":
        words = ["in percent", "rates"]
    unit, unit_of_all = words
    text = (
        f"{shown(column)} of {listing(values['runs'], 8)} is {unit} (up to {values['most']:.3g}): it was "
        f"multiplied by {values['factor']:g}, and all are {unit_of_all}"
    )
    if values["mixed"]:
        text += f"; percentages: --reward {in_shell(f'{column}:percent')}"
    return text


def _scales_unlike(values: Values) -> str:
    text = "the rewards of {run} go up to {most:.3g}, those of {other} up to {other_most:.3g}"
    if values["named"]:
        text += ", divided by 100: {run} looks like a rate; leave out ':percent'"
    else:
        text += ": a rate and a percentage do not compare"
    return text.format_map(values)


SENTENCES: Mapping[str, str | Callable[[Values], str]] = {
    # Why the law does not hold.
    "reward-rises-with-entropy": "reward rises with entropy ({p}); by the law it falls",
    "step-says-more": lambda values: (
        f"curves in the step describe the reward better than curves in the entropy, "
        f"{odds_words(values['odds'])}"
    ),
    "line-as-good": lambda values: (
        f"the law is better than the step, {odds_words(values['odds_law'])}, "
        + (
            "but a straight line in H is as good"
            if values["odds_line"] > 1.0 / 3.0
            else f"but a straight line in H is better, {odds_words(1.0 / values['odds_line'])}"
        )
    ),
    "another-curve": lambda values: (
        f"the entropy says more than the step, {odds_words(values['odds'])}, by {values['label']}"
    ),
    "neither-says-more": lambda values: (
        f"neither the entropy nor the step says clearly more ({odds_words(values['odds'])})"
    ),
    "too-few-evaluations": "{n} evaluations; the law needs {needed}",
    "entropy-range-narrow": "entropy spans {span:.2g} nats without noise ({logged:.2g} as logged); a and b "
    "need {needed}",
    "slope-unclear": "reward may rise or fall with entropy (it falls: {p})",
    # Cautions, the weightiest first.
    "no-curve-fits": "no curve of the list fits ({p} of a free curve, limit {limit:g})",
    "first-off-curve": _first_off_curve,
    "entropy-rebounds": "entropy falls by {fall:.2g} nats, then rises by {rise:.2g}",
    "entropy-ends-early": "the entropy ends at step {last:g}, the reward at {end:g}",
    "entropy-controlled": lambda values: (
        "the entropy is controlled: "
        + _CONTROL[values["by"]].format_map({**values, "shown": shown(values.get("value"))})
        + "; the fit then tests nothing"
    ),
    "training-reward": "'{column}' is training reward; the law is stated for validation scores",
    "entropy-both-signs": "entropy goes from {lowest:.3g} to {highest:.3g}; that of tokens is never negative",
    "entropy-rises": "entropy ends higher than it began, by {rise:.2f} of its range (limit {limit})",
    "entropy-ends-high": "the entropy ends at {now:.2g} nats, above twice its lowest level of {lowest:.2g} "
    "at step {at:g}",
    "reward-smoothed": "reward looks smoothed (lag-1 autocorrelation of its changes {lag1:.2f}, limit "
    "{limit}): intervals are too narrow",
    "reward-lags": "reward follows the mean entropy of about {evaluations} evaluations before ({p}): "
    "a may be too small",
    "long-memory": "the residuals have long memory ({p}), which the intervals allow for",
    "gross-outlier": "gross outlier: {column} {value:.3g} at step {step:g} is {distance:.0f} standard "
    "deviations outside its neighbours, {low:.3g} to {high:.3g} (limit {limit:g})",
    # Columns and settings of a run.
    INCOMPLETE: lambda values: (
        ("an unknown part" if values["share"] is None else f"{100 * values['share']:.2g} %")
        + " of the log could not be read or has no step: gates on this run are unknown"
    ),
    "reward-ends": "the evaluations end at step {last:g}, those of another reward of the run at {until:g}",
    NO_SCORE: "{name} is no score by its name ({sort}): it has no step to keep and no loss",
    "entropy-sampled": "'{column}' is a sampled entropy; its noise biases a towards 0",
    "entropy-term": "the loss has an entropy term of weight {weight:g} ({name}); the law is stated without",
    "dead-groups": "{share:.0%} of the groups have no gradient over the last third ({name}): all "
    "their rewards are equal",
    "dynamic-batches": "batches change in size ({name}): verl up to 0.4 then logs a wrong entropy",
    "divergence": "by least squares {best} explains {r_squared:.2f} of the reward's variance (R²), {other} "
    "{other_r_squared:.2f}, the law {law:.2f}; KL is {name}",
    "kl-term": "the loss has a KL term of weight {weight:g} ({name}); the law is stated without",
    # Phases.
    "entropy-exploded": lambda values: (
        "the entropy of {curve} explodes: it is {rise:.2g} nats above its lowest level of {lowest:.2g} at "
        "step {at:g}".format_map(values)
        + ("" if values["ratio"] is None else f" ({values['ratio']:.2g} times it)")
        + f", since step {values['since']:g}"
        + ("" if values["stays"] else ", and was far higher before")
    ),
    "entropy-eruption": lambda values: (
        f"the entropy of {values['curve']} explodes "
        + ", ".join(
            f"at step {step:g} by {rise:.2g}{'' if i else ' nats'}"
            for i, (rise, step) in enumerate(zip(values["rises"], values["steps"], strict=True))
        )
    ),
    "entropy-term-bends-curves": "the loss has an entropy term of weight {weight:g} ({name})",
    "run-resumed": "the run was resumed, which may make a rise",
    "prompts-filtered": "prompts were filtered at a changing rate, which may make a rise: {name} from "
    "{low:g} to {high:g}",
    "curves-equal": "planning and execution have the same entropy at every step: one column under two names",
    "points-far-off": lambda values: (
        f"{values['curve']} is far from its neighbours: "
        + ", ".join(map("{:.4g} at step {:g}".format, values["values"], values["steps"]))
        + (f" and {values['others']} more" if values["others"] else "")
        + ("; the logarithm of a vocabulary, which a padded position has" if values["vocabulary"] else "")
        + "; it may make or hide a rise"
    ),
    "no-values-between": lambda values: (
        f"{values['curve']} has no value between steps "
        + ", ".join(map("{:g} and {:g}".format, values["after"], values["until"]))
        + (f" and in {counted(values['others'], 'other gap')}" if values["others"] else "")
    ),
    "no-order": "no order: it needs the entropies of execution, and of planning or plans",
    "curve-left-out": "{why}: that curve is left out",
    "classes-not-separable": "all tokens do not separate into planning and execution; log the entropy of "
    "either class, or summarise tokens with `entropylaw tokens`",
    "too-few-orders": "no mean difference between planning's rise and execution's settling: it needs "
    "{needed} runs that have one",
    # Arms.
    "law-fails-in-arms": "the law fails in {failing} of {runs} runs: ceiling, a and b do not summarise them",
    "smoothed-unlike": lambda values: (
        f"the rewards of {listing(values['smooth'], 8)} look smoothed, those of {values['raw']} do not "
        f"({values['times']:.2g} times the noise): the differences have a lag in them; log all arms alike"
    ),
    "rewards-converted": _rewards_converted,
    "scales-unlike": _scales_unlike,
    "entropies-not-the-same": lambda values: (
        f"the entropies are not the same quantity: that of {shown(values['run'])} is {values['how']}, "
        f"that of {shown(values['other'])} {values['other_how']}"
    ),
    "no-entropy-in-arms": "no run has an entropy of use: rewards are compared at equal steps",
    "seeds-share-data": "runs of one seed begin with the same reward in every arm: --pair seed pairs them",
    # A forecast.
    "averaged-in-blocks": "the run was averaged over blocks of {block} evaluations",
    "extrapolated": lambda values: (
        ("" if values["steps"] == 1 else "at {outside} of {steps} steps ")
        + "the entropy is outside the fitted range of {low:.3g} to {high:.3g} nats: extrapolated"
    ).format_map(values),
}
"""Code → sentence, a template or a function of the finding's values."""
