"""The same logs are the same runs in every command, however they are named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import NIGHTLY, ROOT, ended
from tests.golden import inputs
from tests.golden.transcript import surroundings

pytestmark = pytest.mark.usefixtures("one_cache", "undrawn")

CHARTS = ROOT / "data" / "formats" / "grpo_s0"


FEW = 12
"""Evaluations of a run: enough for a law. What is refused for having too few has its name all the same."""


def write_run(path: Path, ceiling: float = 0.55) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = inputs.evaluations(FEW, ceiling=ceiling)
    path.write_text(inputs.csv_text(inputs.WIDE, rows), "utf-8")


def one_file(folder: Path) -> None:
    write_run(folder / "logs" / "good.csv")


def linked(folder: Path) -> None:
    one_file(folder)
    (folder / "link.csv").symlink_to("logs/good.csv")


def linked_folder(folder: Path) -> None:
    one_file(folder)
    (folder / "again").symlink_to("logs")


def copied(folder: Path) -> None:
    one_file(folder)
    shutil.copyfile(folder / "logs" / "good.csv", folder / "logs" / "same.csv")


def two_of_one_name(folder: Path) -> None:
    write_run(folder / "one" / "ppo.csv", 0.5)
    write_run(folder / "two" / "ppo.csv", 0.6)


def two_runs(folder: Path) -> None:
    rows = [
        (name, *row)
        for name, ceiling in zip(SEEDS, (0.5, 0.6), strict=True)
        for row in inputs.evaluations(FEW, ceiling=ceiling)
    ]
    (folder / "two.csv").write_text(inputs.csv_text(f"run,{inputs.WIDE}", rows), "utf-8")


def charts(folder: Path) -> None:
    (folder / "charts").mkdir()
    wanted: set[str] = set()
    for name in ("wandb_ui_val_acc.csv", "wandb_ui_entropy.csv"):
        head, *rows = (CHARTS / name).read_text("utf-8").splitlines(keepends=True)
        wanted = wanted or {row.split(",")[0] for row in rows[:FEW]}
        kept = [row for row in rows if row.split(",")[0] in wanted]
        (folder / "charts" / name).write_text("".join([head, *kept]), "utf-8")


SEEDS = ("seed 1", "seed 2")

LOGS: dict[str, tuple[Callable[[Path], None], str, tuple[str, ...]]] = {
    "a file": (one_file, "logs/good.csv", ("good",)),
    "its folder": (one_file, "logs", ("good",)),
    "a file twice": (one_file, "logs/good.csv logs/good.csv", ("good",)),
    "a file by two names": (one_file, "logs/good.csv logs/../logs/./good.csv", ("good",)),
    "a file and its folder": (one_file, "logs/good.csv logs", ("good",)),
    "a folder and its file": (one_file, "logs logs/good.csv", ("good",)),
    "a folder twice": (one_file, "logs logs/", ("good",)),
    "relative and absolute": (one_file, "logs/good.csv HERE/logs/good.csv", ("good",)),
    "a file and a link to it": (linked, "logs/good.csv link.csv", ("good",)),
    "a folder and a link to it": (linked_folder, "logs again", ("good",)),
    "two copies": (copied, "logs/good.csv logs/same.csv", ("good",)),
    "a folder with two copies": (copied, "logs", ("good",)),
    "two files of one name": (two_of_one_name, "one/ppo.csv two/ppo.csv", ("ppo (one)", "ppo (two)")),
    "two folders": (two_of_one_name, "one two", ("ppo (one)", "ppo (two)")),
    "a chart of each metric": (
        charts,
        "charts/wandb_ui_entropy.csv charts/wandb_ui_val_acc.csv",
        ("grpo_s0",),
    ),
    "a folder of charts": (charts, "charts", ("grpo_s0",)),
    "charts and their folder": (charts, "charts/wandb_ui_entropy.csv charts", ("grpo_s0",)),
    "a file with two runs": (two_runs, "two.csv", SEEDS),
    "a file with two runs, twice": (two_runs, "two.csv two.csv", SEEDS),
}

COMMANDS = {
    "fit": "fit {} --format json -o -",
    "columns": "columns {} --format json",
    "phases": "phases {} --format json",
    "check": "check {} --fail-if fails --format json",
    "report": "report {} -o pages --figures none --jobs 1",
    "predict": "predict {} --target-entropy 0.1 --format json",
}


def names(command: str, logs: str, folder: Path) -> tuple[str, ...]:
    """The names of the runs in what a command answers."""
    arguments = COMMANDS[command].split()
    arguments[arguments.index("{}") : arguments.index("{}") + 1] = logs.replace("HERE", str(folder)).split()
    finished = ended(arguments, None)
    text = Path("pages/report.json").read_text("utf-8") if command == "report" else finished.stdout
    body = json.loads(text)
    found = body.get("cases") or body.get("rows") or body["runs"]
    return tuple(run["run"] for run in found)


CELLS = [
    pytest.param(logs, command, id=f"{logs}, {command}")
    for place, (logs, (_, arguments, _)) in enumerate(LOGS.items())
    # All commands gather alike: nightly each is asked, else three, and others of the next logs.
    for command in (COMMANDS if NIGHTLY else [[*COMMANDS][(3 * place + i) % len(COMMANDS)] for i in range(3)])
    # `predict` takes one log.
    if command != "predict" or " " not in arguments
]


@pytest.mark.parametrize(("logs", "command"), CELLS)
def test_the_same_runs(logs: str, command: str, tmp_path: Path) -> None:
    write, arguments, expected = LOGS[logs]
    write(tmp_path)
    with surroundings(tmp_path):
        assert names(command, arguments, tmp_path) == expected
