"""How often the word about a run is right: of simulated, public and lab runs, and what came after it.

python -m benchmarks.states                     print the tables, 200 runs per cell
python -m benchmarks.states --write             and put them into docs/benchmarks/state.md
python -m benchmarks.states --runs 50 --jobs 4  runs per cell, and processes
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.docs import markdown_table, write_block
from benchmarks.finished import for_tuning, lab, public
from benchmarks.state_peers import OURS, RULE, Said
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
from entropylaw.analysis.state import FEWEST
from entropylaw.results.state import WORDS

FAILING = ("blow_up", "explosion", "hacked", "chain_collapse", "sft_after_grpo", "sft_grpo_sft")
"""Arms of the lab whose runs lose their reward."""


# -- the page ------------------------------------------------------------------------------------------------

Simulated = dict[Cell, list[Result]]

NAMES = (OURS, RULE)


def share(hits: Iterable[bool]) -> str:
    """Per cent of some, with their number where it is small; a dash for none."""
    values = np.array(list(hits), dtype=float)
    if not values.size:
        return "–"
    percent = 100.0 * values.mean()
    text = f"{percent:.1f}" if 0.0 < percent < 10.0 or 90.0 < percent < 100.0 else f"{percent:.0f}"
    return f"{text} %"


def shares(results: Sequence[Result], hit: Callable[[Said], bool]) -> list[str]:
    """Per cent of simulated runs of which each said something."""
    return [share(hit(result.answers[name]) for result in results) for name in NAMES]


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


def broken_in(groups: Sequence[Sequence[Result]], name: str) -> list[float]:
    """The shares of groups of simulated runs that one calls broken."""
    return [float(np.mean([is_broken(result.answers[name]) for result in some])) for some in groups]


def losses(found: Simulated) -> list[list[str]]:
    """False losses, and losses that are found: the worst number of evaluations."""
    healthy = [pooled(found, (*FLAT, *OTHERS), n) for n in SIZES]
    falsely = [f"{100 * max(broken_in(healthy, name)):.1f} %" for name in NAMES]
    rows = [["`broken`, of flat, rising, peaked or saw-toothed runs, worst n", "≤ 0.5 %", *falsely]]
    for kind in LOST:
        required = "100 %" if KINDS[kind] is sudden else "≥ 95 %"
        groups = [results for cell, results in found.items() if cell.kind == kind]
        least = [f"{100 * min(broken_in(groups, name)):.0f} %" for name in NAMES]
        rows.append([f"`broken`, loss of {kind}, worst n", required, *least])
    return rows


def lab_losses(runs: Sequence[Looked]) -> list[list[str]]:
    """The lab's runs that lose their reward, at their end, and the others."""
    judged = [looked for looked in runs if looked.run.run.endswith("val_acc")]
    failing = [looked for looked in judged if looked.run.arm in FAILING]
    healthy = [looked for looked in judged if looked.run.arm not in FAILING]
    rows = []
    for label, required, some in (("failing", "18", failing), ("other", "≤ 3", healthy)):
        broken = [str(sum(is_broken(looked.end[name]) for looked in some)) for name in NAMES]
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
    other = share(result.answers[OURS].is_other_step for result in results)
    rows.append(["another step than the last is kept, all flat runs", "≤ 2 %", other, "–"])
    return rows


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
    )
    for label, some in groups:
        required = "≥ 60 %" if label in ("all", "others") else ""
        said = [share(is_decided(looked.end[name]) for looked in some) for name in NAMES]
        rows.append([f"public rewards with a word, {label}: {len(some)}", required, *said])
    return rows


def steadiness(runs: Sequence[Looked]) -> list[str]:
    """Changes of the word per 10 evaluations, of all evaluations of public rewards together."""
    evaluations = [looked.run.step.size - FEWEST for looked in runs]
    rates = [np.average([looked.changes[name] for looked in runs], weights=evaluations) for name in NAMES]
    return ["changes of the word per 10 evaluations, public", "≤ 0.6", *(f"{rate:.2f}" for rate in rates)]


def covered(found: Simulated) -> list[list[str]]:
    """How often the interval of what was gained has the true value; the rule has none."""
    rows = []
    for n in SIZES:
        hits = []
        for result in pooled(found, (*FLAT, *OTHERS), n):
            interval = result.answers[OURS].gained
            if interval is not None and result.gained is not None:
                hits.append(interval[0] <= result.gained <= interval[1])
        rows.append([f"`gained` covered by 95 % intervals, n {n}", "95 %", share(hits), "–"])
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


def futures(runs: Sequence[Looked], laboratory: Sequence[Looked]) -> str:
    """What came half a run later after each of our words."""
    groups = {
        "repositories for tuning": [looked for looked in runs if for_tuning(looked.run.group)],
        "other repositories": [looked for looked in runs if not for_tuning(looked.run.group)],
        "lab": list(laboratory),
    }
    rows = []
    for word in WORDS:
        texts = []
        for some in groups.values():
            came = [
                gained for looked in some for answers, gained in looked.came if answers[OURS].word == word
            ]
            texts.append(f"{share(came)} of {len(came)}")
        rows.append([f"`{word}`", *texts])
    return markdown_table(["after", *groups], rows)


def page(
    found: Simulated,
    runs: Sequence[Looked],
    laboratory: Sequence[Looked],
    per_cell: int,
) -> str:
    """The tables of the page."""
    rows = losses(found)
    if laboratory:
        rows += lab_losses(laboratory)
    rows += [*flats(found), *seen(found), *covered(found)]
    if runs:
        rows += [*decided(runs), steadiness(runs)]
    parts = [
        f"{per_cell} runs per cell: a share has a standard error of up to "
        f"{50.0 / np.sqrt(per_cell):.1f} points.",
        markdown_table(["what", "required", *NAMES], rows),
        "How often a word of `state_of` was right, of all simulated runs whose level is known:",
        right(found),
    ]
    if runs:
        parts += [
            "Rewards cut at a third, half and two thirds: how often the mean of three evaluations half as "
            "many steps later was higher than the level by the gain that counts.",
            futures(runs, laboratory),
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
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = {cell: pool.submit(results_of, cell, options.seeds, range(options.runs)) for cell in cells()}
        looks = [pool.submit(looked_at, run, is_public=True) for run in public_runs]
        of_lab = [pool.submit(looked_at, run, is_public=False) for run in lab_runs]
        found = {cell: job.result() for cell, job in jobs.items()}
        looked = [job.result() for job in looks]
        laboratory = [job.result() for job in of_lab]
    text = page(found, looked, laboratory, options.runs)
    print(text)
    if options.write:
        write_block("state", text)


if __name__ == "__main__":
    main()
