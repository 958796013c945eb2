"""``docs/lab.md`` and the table of ``data/README.md``, generated from the runs in ``data/lab``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from entropylaw.analysis.forms import form_label
from entropylaw.report.numbers import format_interval, format_probability
from entropylaw.report.words import verdict_cell
from entropylaw.results import Verdict
from lab.findings import (
    FloatArray,
    Foresight,
    Made,
    Quantity,
    clustered_noise,
    coefficient,
    cooled_reward,
    difference,
    foresight,
    groups,
    half_fall,
    paired,
    pooled,
    refit,
    reward_at,
    seed_check,
    slope,
    values_of,
)
from lab.markdown import MISSING, against, listed, mean, number, table

Runs = Mapping[str, Made]
Groups = Mapping[str, Sequence[Made]]
Cooling = Mapping[str, Mapping[str, FloatArray]]

PLAIN = "grpo"
ALGORITHMS = ("grpo", "rloo", "reinforce")
CLEAN = ("clean_start", "clean_rloo", "clean_reinforce")
BONUSES = ("entropy_bonus_0.02", "entropy_bonus_0.1")
INTERVENTIONS = ("clip_cov", "kl_cov", "gppo", "clip_higher", *BONUSES, "kl_penalty")
AGAINST_PLAIN = (*ALGORITHMS[1:], *INTERVENTIONS)
SIZES = ("width_32", PLAIN, "width_64", "width_96")
ELSEWHERE = (*CLEAN, "width_32", "width_64", "width_96")
CONTROLS = ("entropy_minimised", "random_reward", "diverging", "too_hard")
COEFFICIENTS: dict[str, Quantity] = {name: coefficient(name) for name in ("a", "b", "ceiling")}
LEVELS: dict[str, Quantity] = {f"R at H = {entropy}": reward_at(entropy) for entropy in (0.2, 0.1, 0.05)}


def data_table(runs: Runs) -> str:
    """One row per run: both ends, the law's estimates with their intervals, and the verdict."""
    head = ("run", "what it is", "steps", "H", "R", "a", "b", "ceiling", "the law")
    return table(head, [data_row(run) for run in runs.values()])


def data_row(run: Made) -> tuple[str, ...]:
    """One run of the table."""
    ends = [" → ".join(number(x) for x in run.ends(column)) for column in ("entropy", "val_acc")]
    law = run.fit.law
    numbers = [format_interval(e) for e in (law.a, law.b, law.ceiling)] if law else [MISSING] * 3
    return (f"`{run.name}`", run.config.about, str(run.config.steps), *ends, *numbers, verdict(run))


def verdict(run: Made) -> str:
    """The verdict with its reason; of a refused run why it was refused."""
    return f"refused: {run.fit.refusal.slug}" if run.fit.refusal else verdict_cell(run.fit)


def lab_page(runs: Runs, cooling: Cooling, data: Path) -> dict[str, str]:
    """The generated blocks of the page, by the names of their markers."""
    by_group = groups(runs)
    return {
        "noise": noise(runs["grpo_s0"], data / "grpo_s0" / "tokens.parquet"),
        "holds": holds(by_group),
        "choices": choices(by_group),
        "elsewhere": survives(by_group, ELSEWHERE),
        "cooling": cooled(by_group, cooling),
        "foresight": foresight_table(by_group),
        "algorithms": compared(by_group, ALGORITHMS, AGAINST_PLAIN),
        "clean": compared(by_group, CLEAN),
        "sizes": sizes(by_group),
        "interventions": compared(by_group, (PLAIN, *INTERVENTIONS), AGAINST_PLAIN),
        "survives": survives(by_group, INTERVENTIONS),
        "phases": phases(by_group),
        "supervised": supervised(by_group),
        "controls": survives(by_group, CONTROLS),
        "domains": domains(runs),
        "seeds": seeds(by_group),
    }


def present(by_group: Groups, names: Sequence[str]) -> list[str]:
    """The groups that have runs."""
    return [name for name in names if name in by_group]


def holds(by_group: Groups) -> str:
    """The verdict of every plain run, and the best functional form."""
    rows, counts = [], Counter(verdict_cell(run.fit) for run in by_group[PLAIN])
    for run in by_group[PLAIN]:
        answer, law = run.answer, run.law
        best = answer.best
        rows.append(
            (
                f"`{run.name}`",
                verdict_cell(run.fit),
                format_probability(law.probability),
                f"{form_label(best.form)}, {format_probability(best.probability)}",
                f"{law.r_squared:.3f}",
                format_interval(law.ceiling),
                format_interval(answer.ceiling),
                format_interval(answer.reward_now),
            )
        )
    head = (
        "run",
        "verdict",
        "probability of the law",
        "most probable form, its probability",
        "R² of the law",
        "ceiling by the law",
    )
    verdicts = ", ".join(f"*{word}* {n} times" for word, n in counts.items())
    body = table((*head, "averaged ceiling", "reward at the end"), rows)
    laws = [run.law for run in by_group[PLAIN]]
    out = sum(run.answer.verdict is Verdict.fails for run in by_group[PLAIN])
    least = min(law.r_squared for law in laws)
    after = f"R² of the law is {least:.3f} or more, and the law fails in {out} of {len(laws)}."
    return f"Over {len(laws)} seeds the verdict is {verdicts}.\n\n{body}\n\n{after}"


CHOICES = (
    ("entropy", "val_acc"),
    ("entropy_response_mean", "val_acc"),
    ("val_entropy", "val_acc"),
    ("entropy_planning", "val_acc"),
    ("entropy_execution", "val_acc"),
    ("entropy", "reward_mean"),
    ("entropy", "val_pass8"),
)


def noise(run: Made, tokens: Path) -> str:
    """The noise of a run's logged entropy, and the share of its tokens that are clipped."""
    first, last = (clustered_noise(tokens, step) for step in (0, run.config.steps))
    clipped = float(np.nanmean(run.columns["clip_fraction"]))
    return (
        f"In `{run.name}` that makes the noise of `entropy` {first:.1f} times sd / √tokens at the start and "
        f"{last:.1f} times at the end. Its clip range stops {clipped:.1%} of the tokens on average."
    )


def choices(by_group: Groups) -> str:
    """The verdicts with other columns of entropy and reward."""
    rows = []
    for entropy, reward in CHOICES:
        fits = [refit(run, entropy, reward) for run in by_group[PLAIN]]
        shapes = [one.shapes["k"].value for fit in fits for one in fit.forms if one.form == "rate"]
        rates = [rate for rate in shapes if rate is not None]
        weights = [fit.law.probability for fit in fits]
        out = sum(fit.verdict is Verdict.fails for fit in fits)
        rows.append(
            (
                f"`{entropy}`",
                f"`{reward}`",
                f"{out} of {len(fits)}",
                f"{format_probability(min(weights))} to {format_probability(max(weights))}",
                f"{min(rates):.2f} to {max(rates):.2f}",
            )
        )
    return table(
        ("entropy", "reward", "law fails", "probability of the law", "free rate k (the law: 1)"), rows
    )


def cooled(by_group: Groups, cooling: Cooling) -> str:
    """Accuracy at equal entropy of cooled starts and of trained runs."""
    rows = []
    for run, name in (("grpo_s0", PLAIN), ("clean_start_s0", "clean_start")):
        for entropy in (0.3, 0.2, 0.1, 0.08, 0.05):
            trained = values_of(by_group[name], reward_at(entropy))
            alone = cooled_reward(cooling[run], entropy)
            gain = number(float(trained.mean()) - alone) if len(trained) else MISSING
            rows.append((name, f"{entropy:g}", number(alone), mean(trained), gain))
        coldest = int(cooling[run]["temperature"].argmin())
        limit = f"{cooling[run]['temperature'][coldest]:g}"
        ends = f"{values_of(by_group[name], last_of('val_acc')).mean():.3f}"
        rows.append((name, f"at T = {limit}; at the end", number(cooling[run]["val_acc"][coldest]), ends, ""))
    return table(("arm", "H", "start, only cooled", "after training", "difference"), rows)


def foresight_table(by_group: Groups) -> str:
    """Predictions of the end by the law, fitted to the beginning."""
    rows: list[tuple[str, ...]] = []
    results: dict[float, list[Foresight]] = {0.25: [], 0.5: []}
    for run in (run for name in present(by_group, (*ALGORITHMS, *CLEAN)) for run in by_group[name]):
        cells = [f"`{run.name}`"]
        for share, so_far in results.items():
            result = foresight(run, share)
            if result is None:
                cells += [MISSING, MISSING]
                continue
            so_far.append(result)
            out = ", law fails" if result.fails else ""
            cells += [
                f"{result.value:.3f} [{result.low:.3f}, {result.high:.3f}]{out}",
                f"{result.reward - result.value:+.3f}{'' if result.held else ' (missed)'}",
            ]
        rows.append((*cells, f"{run.law.reward[-3:].mean():.3f}"))
    error = "observed − predicted"
    head = ("run", "predicted after a quarter", error, "predicted after half", error, "observed")
    counts = [
        f"{sum(one.held for one in found)} of {len(found)} after {share:.0%} of the run"
        f" (mean of observed − predicted {sum(one.reward - one.value for one in found) / len(found):+.3f})"
        for share, found in results.items()
    ]
    return f"{table(head, rows)}\n\nIntervals that contain the observed reward: {listed(counts)}."


def compared(by_group: Groups, names: Sequence[str], pool: Sequence[str] = ()) -> str:
    """Coefficients, and rewards at equal entropy: means over seeds, then differences from the first arm."""
    quantities = COEFFICIENTS | LEVELS
    means = [
        (name, str(len(by_group[name])), *(mean(values_of(by_group[name], q)) for q in quantities.values()))
        for name in present(by_group, names)
    ]
    return f"{table(('', 'seeds', *quantities), means)}\n\n{differences(by_group, names, pool)}"


def differences(by_group: Groups, names: Sequence[str], pool: Sequence[str]) -> str:
    """Paired differences from the first arm, with the standard deviation pooled over the arms of ``pool``.

    Without a pool every arm has its own standard deviation.
    """
    first, *others = present(by_group, names)
    together = present(by_group, pool)
    cells: dict[str, list[str]] = {name: [] for name in others}
    spreads = []
    for quantity in (COEFFICIENTS | LEVELS).values():
        pairs = {name: paired(by_group[name], by_group[first], quantity) for name in (*others, *together)}
        common = pooled([pairs[name] for name in together])
        spreads.append(f"{number(common.sd, 4)} ({common.df})")
        for name in others:
            spread = common if together else pooled([pairs[name]])
            cells[name].append(against(difference(pairs[name], spread)))
    rows = [(f"{name} − {first}", *cells[name]) for name in others]
    if together:
        rows.append(("sd of a difference (df)", *spreads))
    tests = sum(cell != MISSING for row in cells.values() for cell in row)
    note = f"{tests} differences; if all were 0, {tests * 0.05:.1f} would be expected to be bold."
    return f"{table(('', *COEFFICIENTS, *LEVELS), rows)}\n\n{note}"


def survives(by_group: Groups, names: Sequence[str]) -> str:
    """The verdict of every run of some arms."""
    rows = []
    for run in (run for name in present(by_group, names) for run in by_group[name]):
        ends = [" → ".join(number(x) for x in run.ends(column)) for column in ("entropy", "val_acc")]
        law = run.fit.law
        weight = format_probability(law.probability) if law else MISSING
        rows.append(
            (f"`{run.name}`", *ends, format_interval(law.a) if law else MISSING, weight, verdict(run))
        )
    return table(("run", "H", "R", "a", "probability of the law", "verdict"), rows)


def sizes(by_group: Groups) -> str:
    """Coefficients against the number of parameters."""
    # The first two seeds of each, so that all sizes have the same number.
    several = [by_group[name][:2] for name in present(by_group, SIZES)]
    rows = []
    for group in several:
        width = group[0].config.size.width
        ends = [
            mean(values_of(group, first_of("val_acc"))),
            mean(values_of(group, lambda run: run.ends("val_acc")[1])),
        ]
        found = [mean(values_of(group, quantity)) for quantity in COEFFICIENTS.values()]
        rows.append((str(width), f"{parameters(group[0]):,.0f}", str(len(group)), *ends, *found))
    slopes = [slope(several, parameters, quantity) for quantity in COEFFICIENTS.values()]
    rows.append(
        (
            "per tenfold of parameters",
            "",
            str(slopes[0].n),
            "",
            "",
            *(f"{s.value:+.3f} ± {s.half:.3f}" for s in slopes),
        )
    )
    return table(("width", "parameters", "runs", "R at the start", "R at the end", *COEFFICIENTS), rows)


def parameters(run: Made) -> float:
    """Number of trainable parameters of the policy."""
    size = run.config.size
    block = 12 * size.width**2 + 13 * size.width
    return size.layers * block + (18 * 2 + 24 + 2) * size.width


def phases(by_group: Groups) -> str:
    """Planning, execution and semantic entropy at both ends, and the step of half of their fall."""
    columns = ("entropy_planning", "entropy_execution", "entropy_semantic")
    rows = []
    for name in present(by_group, (*ALGORITHMS, *INTERVENTIONS)):
        cells = [name]
        for column in columns:
            first = values_of(by_group[name], first_of(column))
            last = values_of(by_group[name], last_of(column))
            found = [half_fall(run, column) for run in by_group[name]]
            cells += [f"{mean(first, 2)} → {mean(last)}", span([step for step in found if step is not None])]
        rows.append(cells)
    head = ["arm"]
    for column in columns:
        head += [column.removeprefix("entropy_"), "half of the fall at step"]
    return table(head, rows)


def span(steps: Sequence[int]) -> str:
    """A range of steps."""
    if not steps:
        return MISSING
    return f"{min(steps)}–{max(steps)}" if min(steps) < max(steps) else str(steps[0])


def supervised(by_group: Groups) -> str:
    """Accuracy, pass@16 and diversity after GRPO, GRPO and demonstrations, and demonstrations alone."""
    columns = ("val_acc", "val_pass16", "val_distinct_correct", "entropy_planning", "entropy_semantic")
    grpo, after, instead = (by_group[name] for name in (PLAIN, "sft_after_grpo", "sft_instead"))
    starts = (mean(values_of(grpo, first_of(column))) for column in columns)
    rows = [(f"at the start ({len(grpo)} seeds)", *starts)]
    arms = {"GRPO": grpo, "GRPO, then demonstrations": after, "demonstrations only": instead}
    for name, runs in arms.items():
        ends = (mean(values_of(runs, last_of(column))) for column in columns)
        rows.append((f"{name} ({len(runs)} seeds)", *ends))
    cells: dict[str, list[str]] = {}
    for column in columns:
        changes = {
            "GRPO − start": values_of(grpo, change_of(column)),
            "then demonstrations − GRPO": paired(after, grpo, last_of(column)),
            "demonstrations only − start": values_of(instead, change_of(column)),
        }
        spread = pooled(list(changes.values()))
        for name, values in changes.items():
            cells.setdefault(name, []).append(against(difference(values, spread)))
    rows += [(name, *found) for name, found in cells.items()]
    return table(("", "accuracy", "pass@16", "distinct right plans of 16", "planning H", "semantic H"), rows)


def last_of(column: str) -> Quantity:
    """A column at the end of a run, over three evaluations."""
    return lambda run: run.ends(column)[1]


def first_of(column: str) -> Quantity:
    """A column at the start of a run."""
    return lambda run: run.ends(column)[0]


def change_of(column: str) -> Quantity:
    """End less start of a run."""
    return lambda run: run.ends(column)[1] - run.ends(column)[0]


def domains(runs: Runs) -> str:
    """Both domains at the start, in the middle and at the end, for every order."""
    columns = (
        "val_entropy_free",
        "val_acc_free",
        "val_distinct_correct_free",
        "val_entropy_school",
        "val_acc_school",
    )
    rows = []
    for name in ("free_and_school", "free_then_school", "school_then_free"):
        if name not in runs:
            continue
        run = runs[name]
        steps = run.evaluated("step")
        for step in (0, 200, 400):
            at = int(abs(steps - step).argmin())
            rows.append((f"`{name}`", f"{steps[at]:.0f}", *(number(run.evaluated(c)[at]) for c in columns)))
    return table(("run", "step", "free: H", "R", "distinct right plans", "school: H", "R"), rows)


def seeds(by_group: Groups) -> str:
    """Intervals of single runs against the deviation between seeds."""
    rows = []
    for name in (*COEFFICIENTS, "reward_now"):
        check = seed_check(by_group[PLAIN], name)
        ratio = f"{check.within / check.between:.2g} [{check.low:.2g}, {check.high:.2g}]"
        held = f"{check.covered} of {check.n}"
        rows.append((name, number(check.between, 4), number(check.within, 4), ratio, held))
    head = (
        "",
        "sd between seeds",
        "interval's half-width / 1.96",
        "ratio",
        "intervals that contain the others' mean",
    )
    return table(head, rows)
