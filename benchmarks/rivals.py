"""Which form describes a run best, over many runs: probabilities, odds against the law, nested tests.

python -m benchmarks.rivals data/lab            print the table of these logs
python -m benchmarks.rivals data/lab --runs     and one row per run
python -m benchmarks.rivals data/lab --write    and put the table into docs/benchmarks/rivals.md
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.docs import write_block
from entropylaw.analysis.rivals import STRONG, compare_forms
from entropylaw.pipeline.steps import fit_logs
from entropylaw.results.law import Comparison, FormResult, LawFit

SIZE = 0.05
LIMIT = float(np.log(STRONG))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--runs", action="store_true", help="one row per run, too")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks/rivals.md")
    arguments = parser.parse_args()
    found = list(compared(arguments.logs))
    text = "\n".join(table([comparison for _, comparison in found]))
    print(text)
    if arguments.runs:
        print("\n".join(["", *rows(found)]))
    if arguments.write:
        write_block("rivals", text)


def compared(logs: Sequence[Path]) -> Iterator[tuple[LawFit, Comparison]]:
    """Every run that can be fitted, with all forms."""
    for log in logs:
        for run in fit_logs([log]).runs:
            if run.law is not None:
                yield run.law, compare_forms(run.law)


def best(comparison: Comparison, variable: str) -> FormResult:
    """The most probable form of the entropy, or of the step."""
    return next(row for row in comparison.forms if row.variable == variable)


def table(found: Sequence[Comparison]) -> list[str]:
    """How often each form is the most probable of its kind, not ruled out, and far from the law."""
    wins = Counter(best(c, variable).form for c in found for variable in ("entropy", "step"))
    offered = Counter(row.form for c in found for row in c.forms)
    kept = Counter(row.form for c in found for row in c.forms if not row.ruled_out)
    better = Counter(row.form for c in found for row in c.forms if row.log_odds > LIMIT)
    worse = Counter(row.form for c in found for row in c.forms if row.log_odds < -LIMIT)
    kind = {row.form: row.variable for c in found for row in c.forms}
    names = sorted(offered, key=lambda name: (kind[name], -wins[name], name))
    lines = [
        "| form | of the | runs | most probable | not ruled out | odds to the law > 20 | < 1/20 |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {n} | {kind[n]} | {offered[n]} | {wins[n]} | {kept[n]} | {better[n]} | {worse[n]} |"
        for n in names
    ]
    step_wins = sum(best(c, "step").log_odds > best(c, "entropy").log_odds for c in found)
    widths = [_width(c.ceiling.low, c.ceiling.high) / _law_width(c) for c in found if _law_width(c) > 0]
    tests = {
        "the law": [c.law_test.p_value for c in found],
        "the line": [c.line_test.p_value for c in found],
        "the single branch": [c.branch_test.p_value for c in found],
    }
    lines += [
        "",
        f"{len(found)} runs; a form of the step has more evidence than any of the entropy in {step_wins}.",
    ]
    for name, values in tests.items():
        known = [value for value in values if value is not None]
        lines.append(f"Nested test of {name}: p < {SIZE} in {sum(v < SIZE for v in known)} of {len(known)}.")
    tails = sum(c.rate_tail < SIZE for c in found)
    lines.append(f"Posterior tail probability of k = 1 below {SIZE} in {tails} of {len(found)}.")
    if widths:
        lines.append(
            "Width of the ceiling's interval over the forms, relative to the law's: median "
            f"{np.median(widths):.2f}."
        )
    return lines


def rows(found: Sequence[tuple[LawFit, Comparison]]) -> list[str]:
    """One row per run."""
    lines = [
        "| run | n | R(H) | probability | law | R(step) | its odds against R(H) | p, law |",
        "| --- |" + " --- |" * 7,
    ]
    for law, comparison in found:
        top, other = best(comparison, "entropy"), best(comparison, "step")
        weight = next(row.probability for row in comparison.forms if row.form == "law")
        p = comparison.law_test.p_value
        lines.append(
            f"| {law.run} | {law.n} | {top.form} | {top.probability:.2f} | {weight:.2g} | {other.form} "
            f"| {np.exp(other.log_odds - top.log_odds):.2g} | {'' if p is None else format(p, '.2g')} |"
        )
    return lines


def _law_width(comparison: Comparison) -> float:
    law = next(row for row in comparison.forms if row.form == "law")
    return _width(law.ceiling.low, law.ceiling.high)


def _width(low: float | None, high: float | None) -> float:
    return float("nan") if low is None or high is None else high - low


if __name__ == "__main__":
    main()
