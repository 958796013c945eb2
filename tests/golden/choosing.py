"""Golden cases of choosing columns, pairing them, and explaining both."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from entropylaw import EntropyLawError, UsageError, read_runs
from entropylaw.results.columns import Refusal
from entropylaw.roles.explain import explain
from entropylaw.roles.select import select

NAN = float("nan")


def run_of(**columns):
    length = len(next(iter(columns.values())))
    (run,) = read_runs({"step": list(range(1, length + 1)), **columns})
    return run


def verl(steps=12):
    """A verl log: validation on every second row, of the policy after that row's update."""
    return {
        "actor/entropy": [1 - step / 100 for step in range(1, steps + 1)],
        "critic/score/mean": [step / 50 for step in range(1, steps + 1)],
        "val-core/gsm8k/acc/mean@1": [NAN if step % 2 else step / 20 for step in range(1, steps + 1)],
    }


SIX = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
ENTROPY = {"actor/entropy": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]}
BEFORE = {"test_score/a": [0.1] + [NAN] * 6, "val/test_score/a": [NAN, 0.2, 0.3, 0.4, 0.5, 0.6, NAN]}
SPACED = {
    "entropy": [NAN, 0.9, NAN, 0.8, 0.7, NAN, NAN, 0.5],
    "val_acc": [0.1, NAN, 0.2, NAN, NAN, 0.3, 0.4, NAN],
}
SETS = {"val-core/b/acc/mean@1": [*SIX, NAN], "val-core/a/acc/mean@1": [NAN, *SIX[1:], NAN]}
MEANS = ("d/acc/best@4/mean", "d/acc/maj@4/mean", "d/reward/mean@4", "d/acc/mean@4")
NAMED = {"actor/entropy": [0.9, 0.8], "critic/score/mean": [0.1, 0.2], "H": [0.7, 0.6], "R": [3, 4]}
DECOYS = {
    "actor/entropy": SIX[::-1],
    "actor/entropy_loss": [0.91, 0.81, 0.71, 0.61, 0.51, 0.41],
    "critic/score/mean": SIX,
    "timing_s/old_log_prob_entropy": [1.0] * 6,
    "actor/entropy_coeff": [0.0] * 6,
    "odd_entropy_thing": [1.0] * 6,
    "perf/mfu": [0.3] * 6,
}
GOOD = {"entropy": [0.9, 0.8, 0.7], "reward": [0.1, 0.2, 0.3]}
CHOSEN = {
    "verl's validation belongs with the next entropy": (verl(), {}),
    "the pairing can be named": (verl(), {"pair": "same"}),
    "four validations are too few": (verl(9), {}),
    "an evaluation from before training": (ENTROPY | BEFORE, {}),
    "next reaches one spacing": (SPACED | {"step": [1, 10, 11, 20, 30, 31, 55, 56]}, {"pair": "next"}),
    "pairs that are dropped": (
        {"entropy": [0.9, NAN, np.inf, 0.6, 0.5, 13.0], "reward": [0.1, 0.2, 0.3, -np.inf, NAN, 0.6]},
        {},
    ),
    "a negated entropy": (
        {"train/entropy_loss": [-1.9, -1.0, -0.2], "rollout/ep_rew_mean": [50, 100, 216]},
        {},
    ),
    "rounding below zero": ({"entropy": [0.5, 0.1, -1e-9], "reward": [0, 1, 2]}, {}),
    "an entropy of zeros": ({"entropy": [0.0] * 6, "reward": [1.0] * 6}, {}),
    "an entropy near zero": ({"entropy": [1e-25] * 6, "reward": [1.0] * 6}, {}),
    "of several data sets": (ENTROPY | SETS | {"val-core/c/acc/mean@1": [*SIX, NAN]}, {}),
    "mean before best, accuracy before reward": (
        {"actor/entropy": SIX} | {f"val-core/{n}": SIX for n in MEANS},
        {},
    ),
    "columns that the user names": (NAMED, {"entropy": "H", "reward": "R"}),
    "known columns that the user names": (NAMED, {"entropy": "actor_entropy", "reward": "critic.score.mean"}),
    "decoys": (DECOYS, {}),
    "entropies without a reward": ({"entropy": [0.9, 0.8, 0.7, 0.6], "reward": [0.1, NAN, 0.3, NAN]}, {}),
    "both signs": ({**GOOD, "entropy": [-1, 1, 2]}, {}),
    "not a mean": ({**GOOD, "entropy": [200, 190, 180]}, {}),
    "no entropies": ({**GOOD, "entropy": ["NaN"] * 3}, {}),
    "no rewards": ({**GOOD, "reward": [None] * 3}, {}),
    "text for entropies": ({**GOOD, "entropy": ["1%", "2%", "3%"]}, {}),
    "text in the named column": ({**GOOD, "H": ["a", "b", "c"]}, {"entropy": "H"}),
    "nothing in the named column of entropies": ({**GOOD, "H": [NAN] * 3}, {"entropy": "H"}),
    "nothing in the named column of rewards": ({**GOOD, "R": [NAN] * 3}, {"reward": "R"}),
    "a misspelt column": (GOOD, {"entropy": "entrpy"}),
    "a hostile column": (GOOD, {"reward": "x\ny"}),
    "no column of entropies": ({"reward": [1, 2], "entrpy": [1, 2], "entropy_coef": [0, 0]}, {}),
    "no column of rewards": ({"entropy": [1, 2], "rewrad": [1, 2]}, {}),
    "no pairs": ({"entropy": [1, NAN, 2], "reward": [NAN, 1, NAN]}, {}),
    "TRL without entropies": ({"reward": [1, 2], "completions/mean_length": [10, 11]}, {}),
    "another pairing": (GOOD, {"pair": "previous"}),
    "one column for both": (GOOD, {"entropy": "entropy", "reward": "entropy"}),
}


def choices() -> str:
    """What is chosen of each table, paired and said."""
    return "\n".join(line for title, sample in CHOSEN.items() for line in (f"# {title}", *_chosen(*sample)))


def _chosen(columns: Mapping[str, Any], options: Mapping[str, str]) -> Iterator[str]:
    run = run_of(**columns)
    try:
        series = select(run, **options)
    except EntropyLawError as error:
        yield f"error[{error.slug}]: {error.message}"
        yield f"  {error.hint}"
        if not isinstance(error, UsageError):
            told = Refusal(slug=error.slug, message=error.message, hint=error.hint)
            yield f"  explained so, too: {explain(run, **options).problem == told}"
        return
    for choice in series.columns.values():
        found = choice.meaning
        yield f"{choice.column}: {choice.why}; {found.trainer}, {found.kind}, {found.unit}, {found.sign}"
    rows = zip(*series.evaluations, strict=True)
    yield "; ".join(f"{step:g}: {entropy:g} {reward:g}" for step, entropy, reward in rows)
    told = explain(run, **options)
    if series.no_entropy is not None:
        yield f"no entropy: {series.no_entropy.message}"
        yield f"  {series.no_entropy.hint}"
        yield f"  explained so, too: {told.no_entropy == series.no_entropy}"
    yield f"pair {series.pair}: {told.pair_why}; {told.pairs} pairs"
    yield f"dropped {dict(series.dropped)}; {dict(told.coefficients)}"
    yield from (f"  {decoy.column}: {decoy.why}" for decoy in told.decoys)
    yield from (f"  {note}" for note in series.notes)
