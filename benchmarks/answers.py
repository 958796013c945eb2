"""The answers for real runs: the lab's, and public logs where they are there.

python -m benchmarks.answers               print the tables
python -m benchmarks.answers --write       and put them into docs/benchmarks/answers.md
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.docs import write_block
from entropylaw import EntropyLawError, Fit, fit_run, read_runs
from entropylaw.escaping import markdown_cell
from entropylaw.logs.runs import Run
from entropylaw.report.numbers import format_interval, format_number, format_probability
from entropylaw.results.result import has

ROOT = Path(__file__).parent.parent
PLACES = {"the lab": ROOT / "data" / "lab", "public logs": ROOT.parent / "shared" / "logs"}
MONOTONE, LEAST_R_SQUARED = -0.8, 0.5
CUT = 0.05
"""Share of the evaluations that is left out at the start in the last two columns, at least one of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put them into docs/benchmarks/answers.md")
    arguments = parser.parse_args()
    text = "\n\n".join(table(name, folder) for name, folder in PLACES.items())
    print(text)
    if arguments.write:
        write_block("answers", text)


def table(name: str, folder: Path) -> str:
    """Markdown: a row per run with its answer, whole and without its first evaluations."""
    if not folder.is_dir():
        return f"### {name.capitalize()}\n\nNot there when this page was made."
    found = list(answers(folder))
    lines = [
        "| run | n | verdict | P(law) | R² | rank correlation | ceiling | left | P(≥ 0.01) | "
        "without the first 5 % | ceiling without |",
        "| --- | ---: | --- | ---: | ---: | ---: | --- | --- | ---: | --- | --- |",
    ]
    for whole, cut in found:
        law, tests = whole.law, whole.tests
        cells = (
            markdown_cell(whole.run),
            str(whole.n),
            worded(whole),
            format_probability(law.probability),
            f"{law.r_squared:.2f}",
            format_number(tests.spearman, 2),
            format_interval(whole.ceiling),
            format_interval(whole.headroom),
            format_probability(whole.p_headroom),
            "—" if cut is None else worded(cut),
            "—" if cut is None else format_interval(cut.ceiling),
        )
        lines.append(f"| {' | '.join(cells)} |")
    fits = [whole for whole, _ in found]
    counts = ", ".join(f"{word} {number}" for word, number in sorted(Counter(map(worded, fits)).items()))
    weak = sum(fit.verdict == "holds" and fit.law.r_squared < LEAST_R_SQUARED for fit in fits)
    monotone = [fit for fit in fits if fit.tests.spearman is not None and fit.tests.spearman <= MONOTONE]
    without = sum(fit.ceiling.value is None for fit in monotone)
    rests = sum(has(fit.findings, "rests-on-first") for fit in fits)
    changed = sum(cut is not None and worded(whole) != worded(cut) for whole, cut in found)
    said = (
        f"{len(fits)} runs: {counts}. The law holds in {weak} runs with R² below {LEAST_R_SQUARED}. Of "
        f"{len(monotone)} runs with a rank correlation of at most {MONOTONE}, {without} have no averaged "
        f"ceiling. Without the first 5 % of the evaluations {changed} have another verdict; the answer is "
        f"found to rest on the first evaluations in {rests}."
    )
    return f"### {name.capitalize()}\n\n{said}\n\n" + "\n".join(lines)


def answers(folder: Path) -> Iterator[tuple[Fit, Fit | None]]:
    """The answer for every run below a folder that can be fitted, and without its first evaluations."""
    for run in runs_below(folder):
        try:
            whole = fit_run(run)
        except EntropyLawError:
            continue
        try:
            first = max(1, round(CUT * whole.n))
            cut = fit_run(run, from_step=float(whole.law.step[first]))
        except EntropyLawError:
            cut = None
        yield whole, cut


def runs_below(folder: Path) -> Iterator[Run]:
    """Every run in the folders of a folder that can be read."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        try:
            runs = read_runs(place)
        except EntropyLawError:
            continue
        yield from runs


def worded(fit: Fit) -> str:
    """The verdict with its reason."""
    return f"{fit.verdict}: {fit.why}" if fit.why is not None else str(fit.verdict)


if __name__ == "__main__":
    main()
