"""How often the word about a run is right: of simulated, public and lab runs, and what came after it.

python -m benchmarks.states                     print the tables, 200 runs per cell
python -m benchmarks.states --write             and put them into docs/benchmarks/state.md
python -m benchmarks.states --runs 50 --jobs 4  runs per cell, and processes
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.docs import write_block
from benchmarks.finished import ROOT, Finished, for_tuning, lab, public
from benchmarks.state_worlds import (
    FLAT,
    OTHERS,
    VISIBLE,
    VISIBLE_LONG,
    Draw,
    half_lost,
    half_of_share_lost,
    line,
    sparse_line,
    sudden,
)
from benchmarks.worlds import FloatArray
from entropylaw.analysis.state import FEWEST, RANGE_GAIN, is_share_of_count, state_of
from entropylaw.engine.levels import blocks_of, levels_of
from entropylaw.results.state import WORDS, State

SEEDS = {"tuned on": 1, "set aside": 4711}

PROTOTYPE = ROOT.parent / "shared" / "prototypes" / "state.py"

OURS, PEER, RULE = "state_of", "prototype", "ten lines"

SIZES = (12, 40, 120, 500)

LOST: dict[str, Draw] = {
    "ten noise sds to a tenth of the best": sudden,
    "more than half of the gain": half_lost,
    "more than half of the gain, share of 64": half_of_share_lost,
}

SEEN: dict[str, tuple[Draw, int]] = {
    "a line of ten noise sds, n 40": (line, 40),
    "share .01 → .06 of 16, n 500": (sparse_line, 500),
}

FAILING = ("blow_up", "explosion", "hacked", "chain_collapse", "sft_after_grpo", "sft_grpo_sft")
"""Arms of the lab whose runs lose their reward."""

PEER_EVERY = 2
"""The prototype is given every second simulated run: its looks take longest."""

MOST_PAIRS = 15
"""Pairs of neighbouring evaluations at which the word of a longer run is compared."""

CUTS = (1.0 / 3.0, 1.0 / 2.0, 2.0 / 3.0)
"""Shares of a run after which it is cut, to see what came half as many steps later."""

AROUND = 3
"""Evaluations whose mean is the outcome."""


# -- what is said of a run -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said of a run: a word, whether another step is better, and the interval of what was gained."""

    word: str
    is_other_step: bool = False
    gained: tuple[float, float] | None = None


Answers = dict[str, Said]
"""By :data:`OURS`, :data:`PEER` and :data:`RULE`."""


@cache
def prototype() -> Any:
    """The prototype's module, None where it is absent."""
    if not PROTOTYPE.exists():
        return None
    spec = importlib.util.spec_from_file_location("state_prototype", PROTOTYPE)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=4)
def look_of_prototype(step: bytes, reward: bytes, most: float | None) -> Any:
    """The prototype's state at one look; the last look at a run is the one before at the next evaluation."""
    return prototype().state(np.frombuffer(step), np.frombuffer(reward), most)


def by_prototype(
    step: FloatArray, reward: FloatArray, most: float | None = None, end: float | None = None
) -> Said | None:
    """The prototype's word on which two looks agree; None where it is absent."""
    if prototype() is None:
        return None
    if end is not None and end > step[-1]:
        step = np.append(step, end)
        reward = np.append(reward, np.nan)
    found = look_of_prototype(step.tobytes(), reward.tobytes(), most)
    word = found.word
    if word != "broken" and step.size > FEWEST:
        before = look_of_prototype(step[:-1].tobytes(), reward[:-1].tobytes(), most)
        if before is not None and before.word != word:
            word = "cannot tell"
    last = step[np.isfinite(reward)][-1]
    return Said(word=word, is_other_step=found.best_step != last, gained=found.gained[1:])


def by_thirds(reward: FloatArray, gain: float) -> Said:
    """The rule of ten lines: the mean of the last third less that of the third before.

    Its standard error is that of Newey & West (1987, doi:10.2307/1913610).
    """
    n = reward.size // 3
    before = reward[-2 * n : -n]
    last = reward[-n:]
    rest = np.concatenate([before - before.mean(), last - last.mean()])
    square = float(rest @ rest)
    lags = max(1, int(n ** (1.0 / 3.0)))
    cross = sum((1.0 - lag / (lags + 1.0)) * float(rest[lag:] @ rest[:-lag]) for lag in range(1, lags + 1))
    variance = max(square + 2.0 * cross, 0.3 * square) / (2.0 * n - 2.0)
    error = np.sqrt(2.0 * variance / n) + 1e-12
    change = last.mean() - before.mean()
    if abs(change) + 1.64 * error < gain:
        return Said(word="flat")
    if abs(change) <= 1.96 * error:
        return Said(word="cannot tell")
    return Said(word="rising" if change > 0 else "falling")


def answers_of(
    step: FloatArray,
    reward: FloatArray,
    most: float | None = None,
    end: float | None = None,
    *,
    with_peer: bool = True,
) -> tuple[Answers, State]:
    """What each says of a run of 8 evaluations or more, and our whole state."""
    state = state_of(step, reward, end=end, max_reward=most)
    if state is None:
        raise ValueError(f"a run of {step.size} evaluations has no state, 8 are needed")
    other = state.keep is not None and not state.keep.is_last
    interval = (state.gained.low or 0.0, state.gained.high or 0.0)
    answers = {
        OURS: Said(word=state.word, is_other_step=other, gained=interval),
        RULE: by_thirds(reward, state.gain),
    }
    peer = by_prototype(step, reward, most, end) if with_peer else None
    if peer is not None:
        answers[PEER] = peer
    return answers, state


# -- simulated runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Simulated runs of one kind, of ``n`` evaluations."""

    kind: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was said of a simulated run, and what its level gained, where that is known.

    Of a long run the level is that of the last block less that of the first. ``changes`` are those of the
    level over the last half and third, along a line, and ``gain`` is the gain that counts.
    """

    answers: Answers
    gained: float | None
    changes: tuple[float, float] | None
    gain: float
    is_lost: bool


KINDS: dict[str, Draw] = {
    **FLAT,
    **OTHERS,
    **VISIBLE,
    **VISIBLE_LONG,
    **LOST,
    **{kind: draw for kind, (draw, _) in SEEN.items()},
}


def cells() -> list[Cell]:
    """Every cell."""
    found = [Cell(kind=kind, n=n) for kind in (*FLAT, *OTHERS) for n in SIZES]
    found += [Cell(kind=kind, n=n) for kind in VISIBLE for n in (120, 500)]
    found += [Cell(kind=kind, n=500) for kind in VISIBLE_LONG]
    for kind in LOST:
        sizes = SIZES if KINDS[kind] is sudden else (120, 500)
        found += [Cell(kind=kind, n=n) for n in sizes]
    found += [Cell(kind=kind, n=n) for kind, (_, n) in SEEN.items()]
    return found


def results_of(cell: Cell, seeds: str, numbers: Iterable[int]) -> list[Result]:
    """What was said of some runs of a cell."""
    step = np.arange(float(cell.n))
    found = []
    with threadpool_limits(1):
        for number in numbers:
            rng = np.random.default_rng([SEEDS[seeds], zlib.crc32(cell.kind.encode()), cell.n, number])
            run = KINDS[cell.kind](cell.n, rng)
            gained = None
            changes = None
            if run.level is not None:
                levels = blocks_of(step, run.level).value
                gained = float(levels[-1] - levels[0])
                changes = (line_over(run.level, 1.0 / 2.0), line_over(run.level, 1.0 / 3.0))
            answers, state = answers_of(step, run.reward, run.most, with_peer=number % PEER_EVERY == 0)
            result = Result(
                answers=answers,
                gained=gained,
                changes=changes,
                gain=state.gain,
                is_lost=cell.kind in LOST,
            )
            found.append(result)
    return found


def line_over(level: FloatArray, share: float) -> float:
    """The change of a level (n,) over its last share, along the straight line through it."""
    last = level[-max(3, round(share * level.size)) :]
    slope, _ = np.polyfit(np.arange(last.size), last, 1)
    return float(slope * (last.size - 1))


# -- finished runs -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was said of a finished run, at its end and at its cuts.

    ``tenth`` is our word at its end, with a gain of a tenth of the fitted range alone. ``changes`` are those
    of the word per 10 evaluations, and ``came`` the word at a cut and whether a gain came after it.
    """

    run: Finished
    end: Answers
    tenth: str
    changes: dict[str, float]
    came: tuple[tuple[Answers, bool], ...]


def looked_at(run: Finished, *, is_public: bool) -> Looked:
    """What was said of a finished run; changes of the word are counted of public ones."""
    with threadpool_limits(1):
        return Looked(
            run=run,
            end=answers_of(run.step, run.reward, run.most, run.end)[0],
            tenth=with_tenth(run),
            changes=changes_of(run) if is_public else {},
            came=tuple(came_after(run)),
        )


def with_tenth(run: Finished) -> str:
    """The word of a run whose gain that counts, if it is no share, is a tenth of the fitted range."""
    gain = None
    is_share = is_share_of_count(run.reward, run.most)
    if not is_share:
        levels = levels_of(run.step, run.reward)
        gain = RANGE_GAIN * float(np.ptp(levels.level()))
    state = state_of(run.step, run.reward, end=run.end, max_reward=run.most, gain=gain)
    return "" if state is None else state.word


def changes_of(run: Finished) -> dict[str, float]:
    """Changes of the word per 10 evaluations, from the eighth on, at some neighbouring evaluations."""
    until = np.arange(FEWEST, run.step.size)
    if until.size > MOST_PAIRS:
        until = until[np.linspace(0, until.size - 1, MOST_PAIRS).astype(int)]
    said: dict[int, Answers] = {}
    for n in np.union1d(until, until + 1).tolist():
        said[n], _ = answers_of(run.step[:n], run.reward[:n], run.most)
    changed: Counter[str] = Counter()
    for n in until.tolist():
        for name, now in said[n + 1].items():
            changed[name] += now.word != said[n][name].word
    return {name: 10.0 * changed[name] / until.size for name in said[FEWEST]}


def came_after(run: Finished) -> Iterable[tuple[Answers, bool]]:
    """At each cut, what was said, and whether three evaluations around half a run later are a gain higher."""
    length = run.step[-1] - run.step[0]
    for share in CUTS:
        until = int(np.searchsorted(run.step, run.step[0] + share * length * (1.0 + 1e-9), side="right"))
        if until < FEWEST or run.step.size - until < AROUND:
            continue
        step = run.step[:until]
        reward = run.reward[:until]
        answers, state = answers_of(step, reward, run.most)
        target = step[-1] + 0.5 * (step[-1] - step[0])
        distance = np.abs(run.step[until:] - target)
        nearest = until + np.argsort(distance, kind="stable")[:AROUND]
        gained = float(run.reward[nearest].mean()) >= float(state.now) + state.gain
        yield answers, gained


# -- time ----------------------------------------------------------------------------------------------------


def times(runs: Sequence[Finished]) -> dict[str, float]:
    """Processor time in ms per run with one thread: our two looks, and the prototype's one."""
    methods: dict[str, Callable[[Finished], Any]] = {
        OURS: lambda run: state_of(run.step, run.reward, max_reward=run.most)
    }
    module = prototype()
    if module is not None:
        methods[PEER] = lambda run: module.state(run.step, run.reward, run.most)
    found = {}
    with threadpool_limits(1):
        for name, state in methods.items():
            state(runs[0])
            start = time.process_time()
            for run in runs:
                state(run)
            found[name] = 1e3 * (time.process_time() - start) / len(runs)
    return found


# -- the page ------------------------------------------------------------------------------------------------

Simulated = dict[Cell, list[Result]]

NAMES = (OURS, PEER, RULE)


def share(hits: Iterable[bool]) -> str:
    """Per cent of some, with their number where it is small; a dash for none."""
    values = np.array(list(hits), dtype=float)
    if not values.size:
        return "–"
    percent = 100.0 * values.mean()
    text = f"{percent:.1f}" if 0.0 < percent < 10.0 or 90.0 < percent < 100.0 else f"{percent:.0f}"
    return f"{text} %"


def said_by(name: str, results: Iterable[Result]) -> list[Said]:
    """What one said of simulated runs."""
    return [result.answers[name] for result in results if name in result.answers]


def shares(results: Sequence[Result], hit: Callable[[Said], bool]) -> list[str]:
    """Per cent of simulated runs of which each said something."""
    return [share(hit(said) for said in said_by(name, results)) for name in NAMES]


def pooled(found: Simulated, kinds: Iterable[str], n: int | None = None) -> list[Result]:
    """The results of some kinds, of one size or of all."""
    names = set(kinds)
    return [
        result
        for cell, results in found.items()
        if cell.kind in names and n in (None, cell.n)
        for result in results
    ]


def is_broken(said: Said) -> bool:
    """Whether a run is called broken."""
    return said.word == "broken"


def is_flat(said: Said) -> bool:
    """Whether a run is called flat."""
    return said.word == "flat"


def is_rising(said: Said) -> bool:
    """Whether a run is called rising."""
    return said.word == "rising"


def has_direction(said: Said) -> bool:
    """Whether a run is called rising or falling."""
    return said.word in ("rising", "falling")


def is_decided(said: Said) -> bool:
    """Whether anything is said of a run."""
    return said.word != "cannot tell"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text, and the others are numbers."""
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, rule, *rows))


def not_lost(found: Simulated) -> list[list[str]]:
    """False losses, by the number of evaluations."""
    rows = []
    for n in SIZES:
        results = pooled(found, (*FLAT, *OTHERS), n)
        rows.append([f"flat, rising, peak or saw-teeth, n {n}", "≤ 0.5 %", *shares(results, is_broken)])
    return rows


def lost(found: Simulated) -> list[list[str]]:
    """Losses that are found."""
    rows = []
    for cell, results in found.items():
        if cell.kind in LOST:
            required = "100 %" if KINDS[cell.kind] is sudden else "≥ 95 %"
            rows.append([f"{cell.kind}, n {cell.n}", required, *shares(results, is_broken)])
    return rows


def lab_losses(runs: Sequence[Looked]) -> list[list[str]]:
    """The lab's runs that lose their reward, at their end, and the others."""
    judged = [looked for looked in runs if looked.run.run.endswith("val_acc")]
    failing = [looked for looked in judged if looked.run.arm in FAILING]
    healthy = [looked for looked in judged if looked.run.arm not in FAILING]
    rows = []
    for label, required, some in (("failing", "18", failing), ("other", "≤ 3", healthy)):
        broken = [
            str(sum(is_broken(looked.end[name]) for looked in some)) if name in some[0].end else "–"
            for name in NAMES
        ]
        rows.append([f"lab: broken, of the {len(some)} {label} runs", required, *broken])
    return rows


def flats(found: Simulated) -> list[list[str]]:
    """Flat runs in whose noise the gain that counts is seen, and all flat runs."""
    kinds = (*VISIBLE, *VISIBLE_LONG)
    even = [kind for kind in kinds if "correlated" not in kind]
    uneven = [kind for kind in kinds if "correlated" in kind]
    rows = []
    for n, required in ((120, "≥ 75 %"), (500, "≥ 90 %")):
        label = f"`flat`, where a gain can be seen, n {n}"
        rows.append([label, required, *shares(pooled(found, even, n), is_flat)])
    for label, required, some in (
        ("rising or falling of these", "≤ 2 %", even),
        ("rising or falling of these, correlated noise .6", "≤ 10 %", uneven),
    ):
        rows.append([label, required, *shares(pooled(found, some), has_direction)])
    results = pooled(found, (*kinds, *FLAT))
    rows.append(["another step than the last is kept, all flat runs", "≤ 2 %", *other_steps(results)])
    return rows


def other_steps(results: Sequence[Result]) -> list[str]:
    """Per cent of runs of which another step than the last is kept; the rule keeps none."""
    return [*shares(results, lambda said: said.is_other_step)[:2], "–"]


def seen(found: Simulated) -> list[list[str]]:
    """Changes that are to be seen."""
    return [
        [f"rising: {kind}", required, *shares(pooled(found, [kind]), is_rising)]
        for kind, required in zip(SEEN, ("≥ 90 %", "≥ 50 %"), strict=True)
    ]


def decided(runs: Sequence[Looked]) -> list[list[str]]:
    """Public rewards of which a word is said."""
    rows = []
    groups = (
        ("all", runs),
        ("repositories for tuning", [looked for looked in runs if for_tuning(looked.run.group)]),
        ("others", [looked for looked in runs if not for_tuning(looked.run.group)]),
        ("without an entropy", [looked for looked in runs if looked.run.entropy is None]),
    )
    for label, some in groups:
        required = "≥ 60 %" if label in ("all", "others") else ""
        said = [
            share(is_decided(looked.end[name]) for looked in some if name in looked.end) for name in NAMES
        ]
        rows.append([f"public rewards with a word, {label}: {len(some)}", required, *said])
    tenth = share(looked.tenth != "cannot tell" for looked in runs)
    rows.append(["the same, all, with a gain of a tenth of the range alone", "", tenth, "–", "–"])
    return rows


def steadiness(runs: Sequence[Looked]) -> list[list[str]]:
    """Changes of the word per 10 evaluations: of all evaluations together, and a mean over public rewards."""
    together = []
    alike = []
    for name in NAMES:
        some = [looked for looked in runs if name in looked.changes]
        rates = [looked.changes[name] for looked in some]
        evaluations = [looked.run.step.size - FEWEST for looked in some]
        together.append(f"{np.average(rates, weights=evaluations):.2f}" if some else "–")
        alike.append(f"{np.mean(rates):.2f}" if some else "–")
    label = "changes of the word per 10 evaluations, public"
    return [[f"{label}, all evaluations", "≤ 0.6", *together], [f"{label}, rewards alike", "", *alike]]


def covered(found: Simulated) -> list[list[str]]:
    """How often the interval of what was gained has the true value."""
    rows = []
    for n in SIZES:
        texts = []
        for name in NAMES:
            hits = []
            for result in pooled(found, (*FLAT, *OTHERS), n):
                interval = result.answers[name].gained if name in result.answers else None
                if interval is not None and result.gained is not None:
                    hits.append(interval[0] <= result.gained <= interval[1])
            texts.append(share(hits))
        rows.append([f"`gained` covered by 95 % intervals, n {n}", "95 %", *texts])
    return rows


def is_right(word: str, result: Result) -> bool:
    """Whether a word is true of the level of a simulated run that is known."""
    if word == "broken" or result.changes is None:
        return result.is_lost
    half, third = result.changes
    if word == "flat":
        return min(abs(half), abs(third)) <= result.gain
    return third > 0 if word == "rising" else third < 0


def right(found: Simulated) -> str:
    """How often each word was right, of simulated runs whose level is known."""
    known = [
        (cell.n, result)
        for cell, results in found.items()
        for result in results
        if result.changes is not None
    ]
    rows = []
    for word in WORDS:
        if word == "cannot tell":
            continue
        texts = []
        for n in SIZES:
            hits = [
                is_right(word, one) for size, one in known if size == n and one.answers[OURS].word == word
            ]
            texts.append(f"{share(hits)} of {len(hits)}")
        rows.append([f"`{word}`", *texts])
    said = [share(one.answers[OURS].word != "cannot tell" for size, one in known if size == n) for n in SIZES]
    return table(["word", *(f"n {n}" for n in SIZES)], [*rows, ["any of them is said", *said]])


def by_kind(found: Simulated) -> str:
    """What was said of every kind and size of runs that are not lost: ours."""
    rows = []
    for kind in (*FLAT, *OTHERS, *VISIBLE, *VISIBLE_LONG):
        for n in SIZES:
            some = said_by(OURS, pooled(found, [kind], n))
            if some:
                counts = Counter(said.word for said in some)
                rows.append(
                    [
                        f"{kind} · {n}",
                        *(f"{100 * counts[word] / len(some):.1f}" for word in WORDS),
                        f"{100 * np.mean([said.is_other_step for said in some]):.1f}",
                    ]
                )
    return table(["kind · n", *(f"{word}, %" for word in WORDS), "other step kept, %"], rows)


def futures(runs: Sequence[Looked], laboratory: Sequence[Looked]) -> str:
    """What came half a run later after each word."""
    groups = {
        "repositories for tuning": [looked for looked in runs if for_tuning(looked.run.group)],
        "other repositories": [looked for looked in runs if not for_tuning(looked.run.group)],
        "lab": list(laboratory),
    }
    rows = []
    for word in WORDS:
        texts = []
        for some in groups.values():
            for name in (OURS, PEER):
                came = [
                    gained
                    for looked in some
                    for answers, gained in looked.came
                    if name in answers and answers[name].word == word
                ]
                texts.append(f"{share(came)} of {len(came)}")
        rows.append([f"`{word}`", *texts])
    return table(["after", *(f"{group}: {name}" for group in groups for name in (OURS, PEER))], rows)


def repositories(runs: Sequence[Looked]) -> str:
    """Our words about the rewards of every repository."""
    rows = []
    for group in sorted({looked.run.group for looked in runs}):
        some = [looked for looked in runs if looked.run.group == group]
        counts = Counter(looked.end[OURS].word for looked in some)
        changes = np.mean([looked.changes[OURS] for looked in some])
        half = "tuning" if for_tuning(group) else "other"
        rows.append([group, half, str(len(some)), *(str(counts[word]) for word in WORDS), f"{changes:.2f}"])
    return table(["repository", "half", "rewards", *WORDS, "changes per 10 evaluations"], rows)


def page(
    found: Simulated,
    runs: Sequence[Looked],
    laboratory: Sequence[Looked],
    ms: dict[str, float],
    per_cell: int,
) -> str:
    """The tables of the page."""
    took = [f"{ms[name]:.1f} ms" if name in ms else "–" for name in NAMES]
    rows = [*not_lost(found), *lost(found)]
    if laboratory:
        rows += lab_losses(laboratory)
    rows += [*flats(found), *seen(found), *covered(found)]
    if runs:
        rows += [*decided(runs), *steadiness(runs)]
    rows.append(["processor time per public or lab reward: two looks · one look", "≤ 2 : 1", *took])
    parts = [
        f"{per_cell} runs per cell, the prototype every second one, with the same two looks. A share of "
        f"{per_cell} has a standard error of up to {50.0 / np.sqrt(per_cell):.1f} points.",
        table(["what", "required", *NAMES], rows),
        "How often a word of `state_of` was right, of all simulated runs whose level is known:",
        right(found),
        "What `state_of` said of simulated runs that are not lost:",
        by_kind(found),
    ]
    if runs:
        parts += [
            "Rewards cut at a third, half and two thirds: how often the mean of three evaluations half as "
            "many steps later was higher than the level by the gain that counts.",
            futures(runs, laboratory),
            "Public rewards by repository, at their end:",
            repositories(runs),
        ]
    return "\n\n".join(parts)


def main() -> None:
    """Print the tables, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="simulated runs per cell")
    parser.add_argument("--seeds", choices=tuple(SEEDS), default="set aside")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    public_runs = public()
    lab_runs = lab()
    # Times are taken before other processes run.
    ms = times([*public_runs, *lab_runs])
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = {cell: pool.submit(results_of, cell, options.seeds, range(options.runs)) for cell in cells()}
        looks = [pool.submit(looked_at, run, is_public=True) for run in public_runs]
        of_lab = [pool.submit(looked_at, run, is_public=False) for run in lab_runs]
        found = {cell: job.result() for cell, job in jobs.items()}
        looked = [job.result() for job in looks]
        laboratory = [job.result() for job in of_lab]
    text = page(found, looked, laboratory, ms, options.runs)
    print(text)
    if options.write:
        write_block("state", text)
        write_block("../method/state", right(found), block="right")


if __name__ == "__main__":
    main()
