"""Golden cases of results that are made by hand: what is said of every turn that an answer can take."""

from collections.abc import Callable, Mapping
from typing import Any

from entropylaw import Fit
from entropylaw.documents.document import RunReport
from entropylaw.documents.summary import RunSummary
from entropylaw.report import words
from entropylaw.report.describe.runs import index_row, totals
from entropylaw.report.findings import sentence
from entropylaw.report.render import rendered
from entropylaw.results import Verdict, Why
from entropylaw.results.columns import Refusal
from entropylaw.results.result import replace
from entropylaw.results.state import Kept, State
from tests import arms
from tests.findings import caution, note, stated
from tests.golden.choosing import choices
from tests.golden.reading import read_samples
from tests.unit import test_phase_report as phases
from tests.unit.test_ingest_mlflow import stores
from tests.unit.test_lab_formats import written
from tests.unit.test_report_samples import (
    ahead_by_hand,
    by_hand,
    estimate,
    lost_by_hand,
    refused,
    run_by_hand,
    state_by_hand,
)

UNKNOWN = estimate(None, None, None, "the entropy keeps less than 30 % of its range")


def undecided(why: Why, **more: Any) -> Fit:
    return by_hand(verdict=Verdict.undecided, why=why, **more)


def unlawful(refusal: Refusal, **more: Any) -> Fit:
    """A run whose rewards have no entropy."""
    made = by_hand(**more)
    law = made.lawful()
    return replace(made, law=None, no_law=refusal, unpaired=(law.step, law.reward))


def states() -> dict[str, State]:
    """A state of every kind."""
    last = Kept(step=60.0, level=0.7684, p_better=0.0, is_last=True)
    earlier = Kept(step=40.0, level=0.8013, p_better=0.973, is_last=False)
    falls = {"change": estimate(-0.0612, -0.08, -0.0424), "gained": estimate(0.3, 0.27, 0.33)}
    return {
        "rising": state_by_hand(),
        "falling": state_by_hand("falling", keep=earlier, **falls),
        "flat": state_by_hand("flat", since=45.0, change=estimate(0.0004, -0.003, 0.0038)),
        "cannot tell": state_by_hand("cannot tell", change=estimate(0.004, -0.011, 0.019)),
        "lost": lost_by_hand(),
        "rewards that end": state_by_hand("broken", since=60.0, keep=last),
        "no score": state_by_hand("rising", keep=None),
    }


def fits() -> dict[str, Fit]:
    """An answer of every kind."""
    missing = Refusal(slug="no-entropy-column", message="no column is an entropy", hint="name it")
    other = Refusal(slug="something-new", message="a reason of a later version", hint="")
    made = by_hand()
    return {
        **{name: by_hand(state=state) for name, state in states().items()},
        "no state": replace(made, state=None, no_state="it needs 8 evaluations", gain=None),
        "no forecast": replace(made, forecast=None, no_forecast="7 usable evaluations"),
        **{f"a gain with P = {p}": by_hand(forecast=ahead_by_hand(p)) for p in (0.0, 0.04, 0.5, 0.96, 1.0)},
        "the value at H = 0 is reached": by_hand(law={"ceiling": estimate(0.7654, 0.741, 0.79)}),
        "a largest reward": by_hand(law={"max_reward": 1.0}),
        "no a": by_hand(law=dict.fromkeys(("a", "b", "ceiling"), UNKNOWN)),
        **{f"undecided, {why.name}": undecided(why) for why in Why if why not in (Why.reverse, Why.step)},
        **{f"fails, {why.name}": by_hand(verdict=Verdict.fails, why=why) for why in (Why.reverse, Why.step)},
        "no entropy": unlawful(missing),
        "no law for a reason of a later version": unlawful(other),
    }


def answers() -> str:
    """The answers of every fit, and what is said over several runs."""
    parts = []
    for name, fit in fits().items():
        parts += [f"# {name}", words.headline(fit)]
        parts += [f"{row.label}: {row.text}" for row in words.answers(fit)]
        parts.append("")
    parts += ["# refused", words.state_cell(refused()), ""]
    unknown = "the entropy hardly moved"
    steps = (estimate(None, 590.2, None, unknown), UNKNOWN, estimate(520.4, 480.0, None, unknown))
    parts += [words.step_words(step) for step in steps]
    rows = _rows()
    for some in ([], rows, rows[-2:], [rows[0], rows[0]], rows[:1], rows[-1:]):
        parts += ["", f"# {len(some)} runs", totals(some)]
    return "\n".join(parts)


def _rows() -> list[RunSummary]:
    made = {name: run_by_hand(by_hand(state=state), name) for name, state in states().items()}
    made["undecided"] = run_by_hand(undecided(Why.line), "undecided")
    made["short"] = refused()
    return [index_row(RunReport(fit=entry), name) for name, entry in made.items()]


def curves() -> str:
    """The texts of phases of every kind, their tables, and those of several runs."""
    none, late = {"rises": False}, {"at": 126.0}
    blind = none | {"verdict": "cannot tell", "detectable": 0.9}
    short = phases.curve("execution")
    short = replace(
        short, n=30, last_step=58.0, **{name: getattr(short, name)[:30] for name in phases.SERIES}
    )
    averaged = phases.curve("planning", first_step=-1.0, last_step=201.0)
    cautious = replace(phases.ordered().result, findings=stated("caution", "first", "second"))
    order, gap = phases.estimate(10.0, -20.0, 40.0), phases.estimate(-86.0, -112.0, -60.0)
    both = phases.both
    runs = {
        **{name: made() for name, made in phases.RUNS.items()},
        "refused": phases.refused(),
        "planning first": both({}, none, delta=gap, later=0.001, verdict="rises, then settles"),
        "overlapping": both({"at": 50.0}, none, delta=order, later=0.74, verdict="overlapping"),
        "cannot tell": both(blind, none, verdict="cannot tell"),
        "nothing detectable": both(blind | {"detectable": None}, none, verdict="cannot tell"),
        "execution does not settle": both(late, none | {"settled": None}, verdict="cannot tell"),
        "a rise that has gone": both(late | {"stays": False}, none),
        "from zero": both(late | {"ratio": None, "lowest": 0.0}, none),
        "no eruption": both(none | {"eruptions": ()}, none),
        "a curve that ends early": phases.run_of(phases.fit(phases.curve("planning"), short)),
        "block averages": phases.run_of(phases.fit(averaged, phases.curve("execution"))),
        "cautions and notes": phases.run_of(cautious, notes=("in another order; sorted", "a note")),
    }
    parts = [f"# {name}\n{rendered(phases.document(run), 'text')}" for name, run in runs.items()]
    tabled = (phases.ordered(), phases.refused(), phases.semantic(), phases.whole_only())
    several = phases.document(phases.ordered(), phases.neither(), across=phases.across())
    parts += [rendered(phases.document(*tabled), "csv"), f"# several\n{rendered(several, 'text')}"]
    return "\n".join(parts)


def one_pair(decision: str = "not decided", change: Mapping[str, Any] | None = None, **other: Any):
    rows = [
        row | (change or {}) if row["quantity"] == "reward_at_entropy" else row
        for row in arms.pair("clip_cov", decision=decision)["differences"]
    ]
    pair = arms.pair("clip_cov", differences=tuple(rows), **other)
    return arms.comparison("clip_cov", pairs=(pair,))


def comparisons() -> str:
    """The texts of comparisons of every kind, with a table and all details of the complete one."""
    why = "no arm has two seeds: no between-seed variance, not comparable"
    alone = tuple(arms.arm(name, seeds=1) for name in ("grpo", "clip_cov"))
    untested = {"estimate": arms.estimate(0.012, None, note=why), "p_value": None, "p_adjusted": None}
    nothing = {"estimate": arms.unknown("no common range of entropy"), "p_value": None}
    grid = (0.1, 0.2, 0.3, 0.4, 0.5)
    low, high = (0.01, 0.01, -0.01, -0.03, -0.02), (0.03, 0.03, 0.02, -0.01, 0.01)
    band = {"along": grid, "mean": (0.0,) * 5, "low": low, "high": high}
    differences = arms.pair("a")["differences"]
    whole = (differences[0] | {"headline": True, "p_adjusted": 0.03},)
    living = tuple(row for row in differences if row["quantity"] == "reward_at_entropy")
    tokens = {"column": "tokens", "unit": "tokens"}
    equal = (*whole, living[0] | {"quantity": "reward_at_equal"})
    results = {
        "two arms": arms.comparison(),
        **{decision: one_pair(decision) for decision in arms.DECISIONS},
        "enough seeds": one_pair(change={"seeds_needed": 2}),
        "never enough seeds": one_pair(change={"seeds_needed": None}),
        "no spread": one_pair(change=untested),
        "no common range": one_pair(change=nothing),
        "one seed each": arms.comparison("clip_cov", arms=alone),
        "all pairs": arms.comparison(baseline=None),
        "no run failed": arms.comparison(
            "a",
            arms=(arms.arm("grpo"), arms.arm("a")),
            pairs=(arms.pair("a", differences=(*whole, *living)),),
        ),
        "at equal tokens": arms.comparison("a", along=tokens, pairs=(arms.pair("a", differences=equal),)),
        "paired": arms.comparison("clip_cov", paired="run"),
        "a band on both sides of 0": one_pair(band=band),
        "a band around 0": one_pair(band=band | {"low": (-0.1,) * 5, "high": (0.1,) * 5}),
        "many arms": arms.comparison(*arms.MANY),
    }
    texts = [f"# {name}\n{rendered(result, 'text')}" for name, result in results.items()]
    for medium in ("details", "markdown", "csv"):
        texts.append(f"# complete, {medium}\n{rendered(arms.complete(), medium)}")
    found = (
        caution("law-fails-in-arms", failing=3, runs=7),
        note("no-entropy-in-arms"),
    )
    return "\n".join([*texts, *map(sentence, found)])


READ = (
    *("assembly", "axes", "consoles_a", "consoles_b", "forks", "formats", "notebook"),
    *("tensorboard", "tensorboard_csv", "trackio", "trainer_state", "trl_console", "wandb", "wandb_exports"),
)

BY_HAND: dict[str, Callable[[], str]] = {
    **{f"read-{name.replace('_', '-')}": read_samples(f"test_ingest_{name}") for name in READ},
    "read-mlflow": lambda: "\n".join(stores()),
    "read-select": choices,
    "lab-formats": lambda: "\n".join(written()),
    "made-answers": answers,
    "made-phases": curves,
    "made-comparisons": comparisons,
}
