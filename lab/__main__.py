"""``python -m lab``: list the runs, or repeat one from its config.

python -m lab list                               every run with its description
python -m lab train grpo_s0                      a run of the list, into data/lab/grpo_s0/
python -m lab train data/lab/grpo_s0/config.json a run from its config
python -m lab cool                               the starts, only sampled at lower temperatures
python -m lab formats grpo_s0                    a finished run in the formats of other tools
python -m lab pages                              docs/lab.md and the table of data/README.md, from data/lab
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
import time
from pathlib import Path

from lab.arms import runs
from lab.config import Config, read_config, write_config

DATA = Path("data") / "lab"
FORMATS = Path("data") / "formats"
COOLING = Path("data") / "cooling.parquet"
STARTS = Path("build") / "lab"


def main() -> None:
    """Read the command line and execute it."""
    parser = argparse.ArgumentParser(prog="python -m lab", description="Small real RL runs.")
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("list", help="every run with its description")
    again = commands.add_parser("train", help="make runs, from their names or their config.json")
    again.add_argument("runs", nargs="+", help="names of the list, or paths of config.json")
    again.add_argument("-o", "--out", type=Path, default=DATA, help="default: %(default)s")
    commands.add_parser("cool", help="sample the starts at lower temperatures, into data/cooling.parquet")
    other = commands.add_parser("formats", help="write finished runs in other tools' formats")
    other.add_argument("runs", nargs="+", help="names of runs in data/lab")
    other.add_argument("-o", "--out", type=Path, default=FORMATS, help="default: %(default)s")
    pages = commands.add_parser("pages", help="write docs/lab.md and the table of data/README.md")
    pages.add_argument("--check", action="store_true", help="write nothing, fail if a page is stale")
    arguments = parser.parse_args()
    match arguments.command:
        case "list":
            for config in runs():
                print(f"{config.run:24}{config.steps:5} steps  {config.about}")
        case "train":
            for config in [find(name) for name in arguments.runs]:
                make(config, arguments.out / config.run)
        case "cool":
            write_cooling()
        case "formats":
            for name in arguments.runs:
                write_other_formats(name, arguments.out)
        case "pages":
            write_pages(check=arguments.check)


def find(name: str) -> Config:
    """The run with this name, or of this config file."""
    if name.endswith(".json"):
        try:
            return read_config(Path(name))
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"{name} is not the config of a run: {error}")
    known = {config.run: config for config in runs()}
    if name not in known:
        sys.exit(f"no run is called {name!r}; see `python -m lab list`")
    return known[name]


def make(config: Config, folder: Path) -> None:
    """Train a run and write its tables and its config."""
    require_torch()
    import torch

    from lab.tables import write_log
    from lab.train import train

    began = time.monotonic()
    print(f"{config.run}: {config.about}; {config.steps} steps, about {minutes(config):.0f} min on one core")
    log = train(config, STARTS, lambda line: print(f"{time.monotonic() - began:6.0f} s  {line}", flush=True))
    write_log(log, folder)
    write_config(config, {"torch": torch.__version__}, folder / "config.json")
    print(f"wrote {folder} after {(time.monotonic() - began) / 60:.1f} min")


def write_cooling() -> None:
    """Sample the starts of most runs, with planted mistakes and without, at lower temperatures."""
    require_torch()
    from lab.cooling import cool

    cool([find(name) for name in ("grpo_s0", "clean_start_s0")], STARTS, COOLING, print)
    print(f"wrote {COOLING}")


def require_torch() -> None:
    """Exit with an instruction if PyTorch is missing."""
    if importlib.util.find_spec("torch") is None:
        sys.exit('training needs PyTorch: python -m pip install ".[lab]"')


def write_other_formats(name: str, out: Path) -> None:
    """Write a finished run in the formats that its config names."""
    from lab.formats import write_formats

    if not (DATA / name / "metrics.parquet").exists():
        sys.exit(f"{DATA / name} holds no metrics.parquet; make the run first: python -m lab train {name}")
    formats = read_config(DATA / name / "config.json").also
    if not formats:
        sys.exit(f'the config of {name} names no other format under "also"')
    for path in write_formats(DATA / name, formats, out / name):
        print(f"wrote {path}")


def write_pages(*, check: bool) -> None:
    """Write everything in docs/ and data/ that is generated from the runs; needs no PyTorch."""
    from lab.pages import pages

    stale = {path: text for path, text in pages(DATA).items() if not is_fresh(path, text)}
    if check:
        sys.exit(f"stale: {', '.join(map(str, stale))}; run `python -m lab pages`" if stale else 0)
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")


def is_fresh(path: Path, text: str) -> bool:
    """Whether a file has this text."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def minutes(config: Config) -> float:
    """Estimated duration of a run with its start, measured at 0.55 s per step for width 48."""
    wider: float = max(1.0, config.size.width / 48) ** 1.5
    return (config.steps * 0.55 + config.start.steps * 0.045) * wider / 60


if __name__ == "__main__":
    # `python -m lab list | head` ends without an error where the system has SIGPIPE.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
