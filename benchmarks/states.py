"""How often the word about a run is right: of simulated, public and lab runs, and what came after it.

python -m benchmarks.states                     print the tables, 200 runs per cell
python -m benchmarks.states --write             and put them into docs/benchmarks/state.md
python -m benchmarks.states --runs 50 --jobs 4  runs per cell, and processes
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.docs import markdown_table, write_block
from benchmarks.finished import Finished, for_tuning, lab, public
from benchmarks.prototypes import prototype
from benchmarks.state_peers import OURS, PEER, RULE, Said
from benchmarks.state_runs import (
    KINDS,
    LOST,
    SEEDS,
    SEEN,
    SIZES,
    Cell,
    Looked,
    Result,
    cells,
    looked_at,
    results_of,
)
from benchmarks.state_worlds import FLAT, OTHERS, VISIBLE, VISIBLE_LONG, sudden
from entropylaw.analysis.state import FEWEST, state_of
from entropylaw.results.state import WORDS

FAILING = ("blow_up", "explosion", "hacked", "chain_collapse", "sft_after_grpo", "sft_grpo_sft")
"""Arms of the lab whose runs lose their reward."""


# -- time ----------------------------------------------------------------------------------------------------


def times(runs: Sequence[Finished]) -> dict[str, float]:
    """Processor time in ms per run with one thread: our two looks, and the prototype's one."""
    methods: dict[str, Callable[[Finished], Any]] = {
        OURS: lambda run: state_of(run.step, run.reward, max_reward=run.most)
    }
    module = prototype("state")
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
    return markdown_table(["word", *(f"n {n}" for n in SIZES)], [*rows, ["any of them is said", *said]])


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
    return markdown_table(["kind · n", *(f"{word}, %" for word in WORDS), "other step kept, %"], rows)


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
    return markdown_table(["after", *(f"{group}: {name}" for group in groups for name in (OURS, PEER))], rows)


def repositories(runs: Sequence[Looked]) -> str:
    """Our words about the rewards of every repository."""
    rows = []
    for group in sorted({looked.run.group for looked in runs}):
        some = [looked for looked in runs if looked.run.group == group]
        counts = Counter(looked.end[OURS].word for looked in some)
        changes = np.mean([looked.changes[OURS] for looked in some])
        half = "tuning" if for_tuning(group) else "other"
        rows.append([group, half, str(len(some)), *(str(counts[word]) for word in WORDS), f"{changes:.2f}"])
    return markdown_table(["repository", "half", "rewards", *WORDS, "changes per 10 evaluations"], rows)


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
        markdown_table(["what", "required", *NAMES], rows),
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


if __name__ == "__main__":
    main()
