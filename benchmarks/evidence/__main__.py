"""Write ``docs/evidence.md`` and its figure."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.docs import PAGES, with_block
from benchmarks.evidence import logs, planted
from benchmarks.evidence.claims import CLAIMS
from benchmarks.evidence.figure import law_picture
from benchmarks.evidence.rule import Answer, Claim, Made, Number, Runs, ask, share_of
from benchmarks.finished import LAB, PUBLIC, ROOT
from entropylaw.report.numbers import format_number
from lab.config import read_config
from lab.findings import read_columns
from lab.markdown import listed, table

PAGE, PICTURE = ROOT / "docs" / "evidence.md", ROOT / "docs" / "images" / "evidence_law.svg"
DRAWS = 100
NOT_THERE = "Not there when this page was made."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the blocks into docs/evidence.md")
    parser.add_argument("--logs", type=Path, default=PUBLIC, help="the folder of public logs")
    arguments = parser.parse_args()
    fits = logs.fitted_below(arguments.logs) if arguments.logs.is_dir() else []
    blocks = {"claims": claims(lab_runs()), "planted": planted_rates(DRAWS)}
    blocks |= of_logs(fits)
    text = PAGE.read_text(encoding="utf-8")
    for name, block in blocks.items():
        print(f"{block}\n")
        text = with_block(text, name, block)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")
        if fits:
            PICTURE.write_text(law_picture(fits), encoding="utf-8")


def lab_runs(folder: Path = LAB) -> Runs:
    """The lab's runs by arm."""
    runs: dict[str, list[Made]] = {}
    for path in sorted(folder.glob("*/metrics.parquet")):
        config, counted = read_config(path.with_name("config.json")), path.with_name("counts.parquet")
        names = ["step", "prompt", "n", "correct"]
        counts = pq.read_table(counted, columns=names).to_pydict() if counted.exists() else {}
        arrays = {name: np.array(values, dtype=float) for name, values in counts.items()}
        runs.setdefault(config.arm, []).append(
            Made(seed=config.seed, columns=read_columns(path), counts=arrays)
        )
    return runs


def claims(runs: Runs) -> str:
    """A row per claim, in the groups of the answers."""
    answers = [(claim, *ask(claim, runs)) for claim in CLAIMS]
    count = Counter(answer for _, answer, _ in answers)
    rows = [claim_row(*row) for word in Answer for row in answers if row[1] is word]
    head = ("claim", "source", "published", "in the lab", "what was measured, per seed")
    counts = listed([f"{count[word]} {word}" for word in Answer if count[word]])
    return f"{len(CLAIMS)} claims: {counts}.\n\n{table(head, rows)}"


def claim_row(claim: Claim, answer: Answer, number: Number | None) -> tuple[str, ...]:
    """The claim with its answer and the number that it follows from, or what is missing."""
    if number is None:
        found = f"missing: {claim.missing}"
    elif number.value is None or not np.isfinite(number.low):
        found = f"{claim.quantity}: too few seeds"
    else:
        value, low, high = (format_number(x, 2) for x in (number.value, number.low, number.high))
        limit = f"; limit {claim.margin:g}" if claim.margin else ""
        limit = limit if claim.within is None else f"; within ±{claim.within:g}"
        found = f"{claim.quantity}: {value} [{low}, {high}], {number.units} seeds{limit}"
    return (claim.statement, claim.source, claim.published, f"**{answer}**", found)


def planted_rates(draws: int) -> str:
    """How often the rule is right and wrong in planted worlds, over the claims."""
    rates = {claim.statement: planted.rates(claim, draws) for claim in CLAIMS if claim.effect is not None}
    right = min(min(confirmed, contradicted) for confirmed, contradicted, _ in rates.values())
    worst = max(rates, key=lambda statement: rates[statement][2])
    often = "all draws" if right == 1.0 else f"{100 * right:.0f} % of the draws or more"
    return (
        f"In {draws} draws of {planted.SEEDS} seeds an arm for each of {len(rates)} claims, true ones are "
        f"confirmed and false ones contradicted in {often}. Where seeds scatter 25 times as much, at most "
        f"{100 * rates[worst][2]:.0f} % of the answers are wrong, of the claim “{worst}”"
    )


def of_logs(public: Sequence[logs.Fitted]) -> dict[str, str]:
    """The blocks of public logs."""
    names = ("law", "rivals", "entropies", "alarms", "sources")
    if not public:
        return dict.fromkeys(names, NOT_THERE)
    head = ("rewards", "fits", "repositories", "holds", "undecided", "fails", "R² of the law: median (range)")
    kinds = logs.verdicts(public, lambda reward: "validation" if reward.is_validation else "training")
    benchmarks = [row for row in logs.verdicts(public, lambda reward: reward.benchmark) if row[0] != "other"]
    places = logs.verdicts(public, lambda reward: reward.repository)
    rival_head = ("one column", "median R²", "best", "median R², runs with KL", "best")
    entropy_head = ("trainer", "model", "runs", "repositories", "H at the start, nats", "H at the end, nats")
    return {
        "law": f"{law_sentence(public)}\n\n{table(head, kinds + benchmarks)}",
        "rivals": table(rival_head, logs.rivals(public)),
        "entropies": table(entropy_head, logs.entropies(public)),
        "alarms": alarms(),
        "sources": table(
            ("repository", *head[1:2], *head[3:]), [(row[0], row[1], *row[3:]) for row in places]
        ),
    }


def alarms() -> str:
    """What ``docs/benchmarks/replay.md`` says of rules on the half of the public logs that was left out."""
    text = (PAGES / "replay.md").read_text(encoding="utf-8")
    table = r"((?:\|.*\n)+)"
    half = re.search(rf"### (Public logs, the half [^\n]*)\n\n([^\n]*)\n\n{table}\n{table}", text)
    assert half is not None, "the replay was written without the half that was left out"
    name, about, _, rules = half.groups()
    return f"{name}, {about.rstrip('.')}:\n\n{rules.rstrip()}"


def law_sentence(public: Sequence[logs.Fitted]) -> str:
    """In how many runs and repositories the law holds, of those that decide."""
    words = Counter(reward.law.verdict.value for reward in public)
    decided = {reward.repository for reward in public if reward.law.verdict.value != "undecided"}
    where_true = {reward.repository for reward in public if reward.law.verdict.value == "holds"}
    share = share_of(len(where_true), len(decided))
    places = {reward.repository for reward in public}
    return (
        f"{len(public)} rewards of runs in {len(places)} repositories: the law holds in {words['holds']}, "
        f"fails in {words['fails']} and is undecided in {words['undecided']}. Of {len(decided)} repositories "
        f"with a decided reward {len(where_true)} have one in which it holds (share {share.value:.2f} "
        f"[{share.low:.2f}, {share.high:.2f}])."
    )


if __name__ == "__main__":
    main()
