"""Golden cases of results that are made by hand: what is said of every turn that an answer can take."""

from collections.abc import Callable, Mapping
from typing import Any

from entropylaw import Fit, Verdict, Why
from entropylaw.documents.document import RunReport
from entropylaw.documents.summary import RunSummary
from entropylaw.report import words
from entropylaw.report.describe.runs import index_row, overall
from entropylaw.report.findings import sentence
from entropylaw.report.render import rendered
from entropylaw.results.result import replace
from tests import arms
from tests.findings import caution, note, reason, stated
from tests.golden.choosing import choices
from tests.golden.reading import read_samples
from tests.unit import test_phase_report as phases
from tests.unit.test_ingest_mlflow import stores
from tests.unit.test_lab_formats import written
from tests.unit.test_report_samples import by_hand, estimate, falling, refused, run_by_hand

NARROW = "entropy spans 0.04 nats; to estimate both a and b takes at least 0.15"
UNKNOWN = estimate(None, None, None, "the run lost its reward: from 0.75 to 0.0123")
FALLS = reason("reward-falls", a=-1.0, low=-1.2, high=-0.9)
NEAREST = reason("curve-as-good", curve="line", odds=0.9, nats=0.3, evaluations=None)
LOG_STEP = reason("curve-as-good", curve="log_step", odds=0.9, nats=None, evaluations=None)
WEAK = reason("weak-relation", r_squared=0.1, needed=0.5)


def undecided(*said: str, **more: Any) -> Fit:
    more = {"findings": stated("reason", *(said or (NARROW, "another")))} | more
    return by_hand(verdict=Verdict.undecided, **more)


def failing(why: Why, *said: str, **more: Any) -> Fit:
    return by_hand(verdict=Verdict.fails, why=why, findings=stated("reason", *said), **more)


def fits() -> dict[str, Fit]:
    """An answer of every kind."""
    lost = caution("reward-lost", first=0.5, best=0.75, last=0.0123)
    none = by_hand(p_headroom=0.0, headroom=estimate(0.0, 0.0, 0.0))
    return {
        "holds": by_hand(),
        **{f"a gain with P = {p}": by_hand(p_headroom=p) for p in (0.95, 0.94, 0.5, 0.49, 0.051, 0.05)},
        "a gain that is too small to count": replace(by_hand(p_headroom=0.0), gain=5.0),
        "no gain": by_hand(p_headroom=0.0, headroom=estimate(0.01, -0.02, 0.03)),
        "the ceiling below the reward now": none,
        "and the reward falls": replace(none, verdict=Verdict.fails, why=Why.no_relation, findings=(FALLS,)),
        "lost": replace(by_hand(headroom=UNKNOWN), ceiling=UNKNOWN, p_headroom=None, findings=(lost,)),
        "one form alone": by_hand(law_probability=0.96, line_probability=0.02),
        "two forms": by_hand(law_probability=0.5, line_probability=0.48),
        "a largest reward": by_hand(max_reward=1.0),
        "narrow": undecided(),
        "undecided for no reason": by_hand(verdict=Verdict.undecided, findings=()),
        "undecided for a reason of a later version": undecided("something-new"),
        "a line as good": undecided(findings=(NEAREST,)),
        "a curve of the step as good": undecided(findings=(LOG_STEP,)),
        "weak and a line as good": undecided(findings=(WEAK, NEAREST)),
        "a line better": failing(
            Why.another_curve, "a line fits better", law_probability=0.000_15, line_probability=0.97
        ),
        "another curve for no reason": failing(Why.another_curve),
        "more than entropy": failing(Why.more_than_entropy, "the step helps"),
        "no relation": failing(Why.no_relation, "a constant fits"),
    }


def answers() -> str:
    """Verdict and answers of every fit, and what is said over several runs."""
    parts = []
    for name, fit in fits().items():
        entry = run_by_hand(fit)
        parts += [f"# {name}", words.verdict_cell(entry)]
        parts += [f"{row.label}: {row.text}" for row in words.answers(fit)]
        parts.append("")
    parts += ["# refused", words.verdict_cell(refused())]
    parts += ["", f"# falling\n{words.headline(falling().result)} · {words.verdict_cell(falling())}", ""]
    steps = (estimate(None, 590.2, None, NARROW), UNKNOWN, estimate(520.4, 480.0, None, NARROW))
    parts += [words.step_words(step) for step in steps]
    rows = _rows()
    for some in ([], rows, rows[-2:], [rows[0], rows[0]], rows[:1], rows[-1:]):
        parts += ["", f"# {len(some)} runs", *overall(some)]
    return "\n".join(parts)


def _rows() -> list[RunSummary]:
    none, some = (0.2, -0.1, 0.5), (0.1, 0.05, 0.15)
    flat = failing(Why.no_relation, "a constant fits")
    made = (
        ("one", by_hand(), none),
        ("two", by_hand(), some),
        ("three", by_hand(), none),
        ("four", by_hand(), none),
        ("five", undecided(), none),
        ("six", flat, (9.0, 8.0, 10.0)),
    )
    rows = []
    for name, fit, headroom in made:
        known = replace(fit, headroom=estimate(*headroom))
        rows.append(index_row(RunReport(fit=run_by_hand(known, name)), name))
    return [*rows, index_row(RunReport(fit=refused()), "short")]


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
