"""The logs of the golden cases: runs of the lab, and small ones that are made here, always the same."""

import json
import math
import shlex
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.conftest import LAB, ended
from tests.golden.transcript import surroundings


def lab(*names: str) -> Callable[[Path], None]:
    """Runs of the lab, each in its folder."""

    def write(folder: Path) -> None:
        for name in names:
            (folder / name).mkdir(parents=True)
            for file in ("metrics.parquet", "config.json"):
                shutil.copyfile(LAB / name / file, folder / name / file)

    return write


def stored(command: str) -> Callable[[Path], None]:
    """What a command writes, as an input of others."""

    def write(folder: Path) -> None:
        with surroundings(folder):
            finished = ended([*shlex.split(command), "-q"], None)
        assert finished.returncode == 0, finished.stderr

    return write


def evaluations(
    n: int, *, ceiling: float = 0.55, a: float = 0.2, first: float = 0.95, shake: float = 0.004
) -> list[tuple[int, float, float]]:
    """Step, entropy and reward of a run that follows the law, with noise that is no random number."""
    rows = []
    for i in range(n):
        entropy = 0.05 + first * math.exp(-4 * i / n) + 0.01 * math.sin(37 * i * i)
        reward = ceiling - a * math.expm1(entropy) + shake * math.sin(1000 * math.sin(i + ceiling))
        rows.append((10 * i, entropy, reward))
    return rows


def csv_text(header: str, rows: Iterable[Sequence[object]]) -> str:
    """A CSV file; numbers to six decimals, so that no library's last digit is in it."""

    def cell(value: object) -> str:
        return f"{value:.6f}" if isinstance(value, float) else str(value)

    return "\n".join([header, *(",".join(map(cell, row)) for row in rows)]) + "\n"


WIDE = "step,actor/entropy,val-core/gsm8k/acc/mean@1"


def good(folder: Path) -> None:
    """One run that the law fits."""
    (folder / "good.csv").write_text(csv_text(WIDE, evaluations(40)), "utf-8")


def three(folder: Path) -> None:
    """One file with three runs: two seeds, and one whose reward falls as entropy falls."""
    runs = {
        "seed 1": evaluations(30),
        "seed 2": evaluations(30, ceiling=0.57),
        "worse": evaluations(30, ceiling=0.3, a=-0.2),
    }
    rows = ((name, *row) for name, run in runs.items() for row in run)
    (folder / "three.csv").write_text(csv_text(f"run,{WIDE}", rows), "utf-8")


def arms(folder: Path) -> None:
    """Three seeds of one arm, two of another that is better at equal entropy, and one that stopped early."""
    runs = {
        "plain_s0": evaluations(40),
        "plain_s1": evaluations(40, ceiling=0.553),
        "plain_s2": evaluations(40, ceiling=0.548),
        "bonus_s0": evaluations(40, ceiling=0.58, first=0.8),
        "bonus_s1": evaluations(40, ceiling=0.584, first=0.8),
        "bonus_s2": evaluations(40, ceiling=0.58)[:15],
    }
    for name, rows in runs.items():
        (folder / "runs" / name).mkdir(parents=True)
        (folder / "runs" / name / "log.csv").write_text(csv_text(WIDE, rows), "utf-8")


def refused(folder: Path) -> None:
    """A run with too few evaluations, one without entropies, and a file that is no log."""
    (folder / "short.csv").write_text(csv_text(WIDE, evaluations(4)), "utf-8")
    without = ((step, reward) for step, _, reward in evaluations(40))
    (folder / "no_entropy.csv").write_text(csv_text("step,val-core/gsm8k/acc/mean@1", without), "utf-8")
    (folder / "garbage.csv").write_bytes(bytes(range(256)) * 4)


def mixed(folder: Path) -> None:
    """A folder with one run that can be fitted and others that cannot."""
    (folder / "mixed").mkdir()
    good(folder / "mixed")
    refused(folder / "mixed")


def curves(folder: Path) -> None:
    """Entropies of planning and execution: planning rises from halfway on; and a short run."""
    for name, n in (("curves", 60), ("curves_short", 8)):
        rows = []
        for step, _, reward in evaluations(n):
            i = step // 10
            execution = 0.3 * math.exp(-i / 8) + 0.05 + 0.004 * math.sin(37 * i * i)
            planning = 0.9 * math.exp(-i / 10) + 0.2 + 0.01 * max(0, i - 30) + 0.01 * math.sin(41 * i * i)
            rows.append((step, planning, execution, 0.2 * planning + 0.8 * execution, reward))
        header = "step,entropy_planning,entropy_execution,entropy,val/acc"
        (folder / f"{name}.csv").write_text(csv_text(header, rows), "utf-8")


def ordered(folder: Path) -> None:
    """Entropies of execution and planning that rise, one after the other; and one of plans."""
    rows, plans = [], []
    for i in range(60):
        rise = [0.012 * max(0, i - turn) for turn in (15, 40)]
        execution = 0.4 * math.exp(-i / 5) + 0.1 + rise[0] + 0.004 * math.sin(37 * i * i)
        planning = 0.9 * math.exp(-i / 8) + 0.2 + rise[1] + 0.006 * math.sin(41 * i * i)
        rows.append((10 * i, planning, execution))
        plans.append((10 * i, 1.5 * math.exp(-i / 12) + 0.3 + 0.01 * math.sin(41 * i * i), execution))
    text = csv_text("step,entropy_planning,entropy_execution", rows)
    (folder / "ordered.csv").write_text(text, "utf-8")
    text = csv_text("step,entropy_semantic,entropy_execution", plans)
    (folder / "plans.csv").write_text(text, "utf-8")


def awkward(folder: Path) -> None:
    """A run too short for a forecast, and one with a slip of the entropy."""
    (folder / "few.csv").write_text(csv_text(WIDE, evaluations(7)), "utf-8")
    rows = [(step, 8.2 if step == 200 else entropy, reward) for step, entropy, reward in evaluations(40)]
    (folder / "slip.csv").write_text(csv_text(WIDE, rows), "utf-8")


def tokens(folder: Path) -> None:
    """A token table: 6 steps of 4 prompts with 2 responses of 8 tokens, three of them planning."""
    words = ("let", " me", " check", " 1", "+", "2", "=", "3")
    rows = []
    for step in range(6):
        for response in range(8):
            for place, word in enumerate(words):
                wave = 0.5 + 0.5 * math.sin(7.3 * (step * 64 + response * 8 + place))
                planning = place < 3
                entropy = wave * (0.6 if planning else 0.2) * math.exp(-step / 4)
                rows.append(
                    {
                        "step": 10 * step,
                        "prompt": response // 2,
                        "sample": response % 2,
                        "position": place,
                        "token": word,
                        "entropy": round(entropy, 6),
                        "logprob": round(-entropy - 0.1 * wave, 6),
                        "is_planning": planning,
                        "correct": int((response + step) % 3 > 0),
                    }
                )
    (folder / "tokens.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "grams.txt").write_text("let me check\n", "utf-8")


def counts(folder: Path) -> None:
    """Counted answers: 3 steps of 6 problems with 16 samples, of which more are right at each step."""
    lines = ["step,problem,answer,correct,n"]
    for step in range(3):
        for problem in range(6):
            right = min(16, (5 - problem) * (step + 1)) if problem != step + 2 else 0
            wrong = 16 - right
            counted = {
                "right": right - right // 4,
                "too": right // 4,
                "a": wrong - wrong // 3,
                "b": wrong // 3,
            }
            for answer, n in counted.items():
                if n:
                    lines.append(f"{40 * step},p{problem},{answer},{answer in ('right', 'too')},{n}")
    (folder / "counts.csv").write_text("\n".join(lines) + "\n", "utf-8")


def settings(folder: Path) -> None:
    """A project's settings."""
    (folder / "entropylaw.toml").write_text(
        'level = 0.9\nfail-if = ["ceiling<0.4", "fails"]\n[columns]\nentropy = "actor/entropy"\n',
        "utf-8",
    )
