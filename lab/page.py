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
from lab import comparisons as c
from lab.comparisons import ALGORITHMS, CLEAN, INTERVENTIONS, PLAIN, Comparisons, Groups
from lab.findings import (
    FloatArray,
    Foresight,
    Made,
    clustered_noise,
    cooled_reward,
    first_of,
    foresight,
    groups,
    half_fall,
    last_of,
    refit,
    reward_at,
    seed_check,
    values_of,
)
from lab.markdown import MISSING, listed, mean, number, table

Runs = Mapping[str, Made]
Cooling = Mapping[str, Mapping[str, FloatArray]]

ELSEWHERE = (*CLEAN, "width_32", "width_64", "width_96")
CONTROLS = ("entropy_minimised", "random_reward", "diverging", "too_hard")


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


def lab_page(runs: Runs, found: Comparisons, cooling: Cooling, data: Path) -> dict[str, str]:
    """The generated blocks of the page, by the names of their markers."""
    by_group = groups(runs)
    return {
        "noise": noise(runs["grpo_s0"], data / "grpo_s0" / "tokens.parquet"),
        "holds": holds(by_group),
        "choices": choices(by_group),
        "elsewhere": survives(by_group, ELSEWHERE),
        "cooling": cooled(by_group, cooling),
        "foresight": foresight_table(by_group),
        "algorithms": c.arms(found.plain, ALGORITHMS),
        "clean": c.arms(found.clean, CLEAN),
        "sizes": c.sizes(found, by_group),
        "interventions": c.arms(found.plain, INTERVENTIONS),
        "survives": survives(by_group, INTERVENTIONS),
        "phases": phases(by_group),
        "supervised": f"{diversity(by_group)}\n\n{c.supervised(found)}",
        "controls": survives(by_group, CONTROLS),
        "domains": c.orders(found),
        "enough": c.enough(found),
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


def diversity(by_group: Groups) -> str:
    """Accuracy, pass@16 and diversity at the start and at the end of every arm with stages."""
    columns = ("val_acc", "val_pass16", "val_distinct_correct", "entropy_planning", "entropy_semantic")
    starts = (mean(values_of(by_group[PLAIN], first_of(column))) for column in columns)
    rows = [("at the start", str(len(by_group[PLAIN])), *starts)]
    for name in (PLAIN, c.AFTER, c.INSTEAD):
        ends = (mean(values_of(by_group[name], last_of(column))) for column in columns)
        rows.append((f"`{name}`, at the end", str(len(by_group[name])), *ends))
    return table(("means", "seeds", *(head for head, _, _ in c.CHANGES)), rows)


def seeds(by_group: Groups) -> str:
    """Intervals of single runs against the deviation between seeds."""
    rows = []
    for name in ("a", "b", "ceiling", "reward_now"):
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
