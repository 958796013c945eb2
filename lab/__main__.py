"""``python -m lab``: list the runs, or repeat one from its config.

python -m lab list                               every run with its description
python -m lab status                             what is left of every arm, and how long it takes
python -m lab train --all --jobs 2               what is left, into data/lab2/; it can be interrupted
python -m lab train grpo_s0                      a run of the list, into data/lab2/grpo_s0/
python -m lab train data/lab2/grpo_s0/config.json -o again --check
                                                 a run from its config, and whether its bytes are the same
python -m lab cool                               the starts, only sampled at lower temperatures
python -m lab formats grpo_s0                    a finished run in the formats of other tools
python -m lab pages                              docs/lab.md and the tables of data/README.md
"""

from __future__ import annotations

import argparse
import signal
import sys
from functools import partial
from itertools import repeat
from pathlib import Path

from entropylaw.reproducible import fix_arithmetic

if sys.argv[1:2] == ["pages"]:
    # As the command line does, before NumPy is imported: otherwise the digits are those of one processor.
    fix_arithmetic()

from lab import second
from lab.arms import runs as first_runs
from lab.config import Config, read_config
from lab.make import left_of, make, make_all, minutes, record, require_torch, status

DATA = Path("data") / "lab"
SECOND = Path("data") / "lab2"
FORMATS = Path("data") / "formats"
COOLING = Path("data") / "cooling.parquet"
MINUTES = Path("data") / "minutes.csv"
STARTS = SECOND / "starts"


def main() -> None:
    """Read the command line and execute it."""
    parser = argparse.ArgumentParser(prog="python -m lab", description="Small real RL runs.")
    commands = parser.add_subparsers(required=True, dest="command")
    listed = commands.add_parser("list", help="every run with its description")
    listed.add_argument("--first", action="store_true", help="the runs of the first edition, in data/lab")
    state = commands.add_parser("status", help="what is left of every arm, and how long it takes")
    state.add_argument("-o", "--out", type=Path, default=SECOND, help="default: %(default)s")
    again = commands.add_parser("train", help="make runs, from their names or their config.json")
    again.add_argument("runs", nargs="*", help="names of the list, or paths of config.json")
    again.add_argument("--all", action="store_true", help="every run of the list that is not finished")
    again.add_argument("--jobs", type=int, default=1, help="runs at a time, with --all; default: %(default)s")
    again.add_argument("-o", "--out", type=Path, default=SECOND, help="default: %(default)s")
    again.add_argument(
        "--check", action="store_true", help="fail if a file differs from those beside the config"
    )
    commands.add_parser("cool", help="sample the starts at lower temperatures, into data/cooling.parquet")
    other = commands.add_parser("formats", help="write finished runs in other tools' formats")
    other.add_argument("runs", nargs="+", help="names of runs in data/lab")
    other.add_argument("-o", "--out", type=Path, default=FORMATS, help="default: %(default)s")
    pages = commands.add_parser("pages", help="write docs/lab.md and the tables of data/README.md")
    pages.add_argument("--check", action="store_true", help="write nothing, fail if a page is stale")
    arguments = parser.parse_args()
    match arguments.command:
        case "list":
            for config in first_runs() if arguments.first else second.runs():
                print(f"{config.run:24}{config.steps:5} steps  {config.about}")
        case "status":
            print_status(arguments.out)
        case "train":
            if arguments.all == bool(arguments.runs):
                parser.error("train needs names of runs, or --all")
            require_torch()
            if arguments.all:
                train_all(arguments.out, max(1, arguments.jobs))
            configs = [find(name) for name in arguments.runs]
            if arguments.check and not all(map(is_elsewhere, arguments.runs, configs, repeat(arguments.out))):
                parser.error("--check needs paths of config.json, and another folder: -o again")
            for name, config in zip(arguments.runs, configs, strict=True):
                train_one(config, arguments.out)
                if arguments.check:
                    check_bytes(Path(name).parent, arguments.out / config.run)
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
    known = {config.run: config for config in second.runs()}
    if name not in known:
        sys.exit(f"no run is called {name!r}; see `python -m lab list`")
    return known[name]


def train_one(config: Config, out: Path) -> None:
    """Make a run, also if it is finished."""
    print(f"{config.run}: {config.about}; {config.steps} steps, about {minutes(config):.0f} min on one core")
    seconds = make(config, out, STARTS, partial(print, flush=True))
    if times := times_of(out):
        record(config.run, seconds, times)
    print(f"wrote {out / config.run} after {seconds / 60:.1f} min of processor time")


def times_of(out: Path) -> Path | None:
    """The table of processor times: of the runs that are kept, not of those made again elsewhere."""
    return MINUTES if out == SECOND else None


def is_elsewhere(name: str, config: Config, out: Path) -> bool:
    """Whether a run is named by its config, and is made again in another folder."""
    return name.endswith(".json") and (out / config.run).resolve() != Path(name).parent.resolve()


def check_bytes(kept: Path, again: Path) -> None:
    """Exit if a run that was made again has other files, or other bytes in them."""
    old, new = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (kept, again))
    unlike = sorted(name for name in old | new if old.get(name) != new.get(name))
    if unlike:
        sys.exit(f"{again} differs from {kept} in {', '.join(unlike)}")
    print(f"{again} has the same bytes as {kept}: {', '.join(sorted(old))}")


def train_all(out: Path, jobs: int) -> None:
    """Make every run of the list that is not finished."""
    try:
        failed = make_all(second.runs(), out, STARTS, jobs, partial(print, flush=True), times_of(out))
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command makes what is left")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def print_status(out: Path) -> None:
    """Print what is left in all and of every arm, in the order of the list."""
    configs = second.runs()
    print(status(configs, out))
    for arm in dict.fromkeys(config.arm for config in configs):
        members = [config for config in configs if config.arm == arm]
        left = left_of(members, out)
        more = f", about {sum(map(minutes, left)):.0f} min left" if left else ""
        print(f"{arm:24}{len(members) - len(left)} of {len(members)}{more}")


def write_cooling() -> None:
    """Sample the starts of most runs, with planted mistakes and without, at lower temperatures."""
    require_torch()
    from lab.cooling import cool

    known = {config.run: config for config in second.runs()}
    cool([known[name] for name in ("grpo_s0", "clean_start_s0")], STARTS, COOLING, print)
    print(f"wrote {COOLING}")


def write_other_formats(name: str, out: Path) -> None:
    """Write a finished run in the formats that its config names."""
    from lab.formats import write_formats

    if not (DATA / name / "metrics.parquet").exists():
        sys.exit(f"{DATA / name} has no metrics.parquet; it is not a finished run")
    formats = read_config(DATA / name / "config.json").also
    if not formats:
        sys.exit(f'the config of {name} names no other format under "also"')
    for path in write_formats(DATA / name, formats, out / name):
        print(f"wrote {path}")


def write_pages(*, check: bool) -> None:
    """Write everything in docs/ and data/ that is generated from the runs; needs no PyTorch."""
    from lab.pages import editions_of, pages

    stale = {path: text for path, text in pages(editions_of(DATA.parent)).items() if not is_fresh(path, text)}
    if check:
        sys.exit(f"stale: {', '.join(map(str, stale))}; run `python -m lab pages`" if stale else 0)
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")


def is_fresh(path: Path, text: str) -> bool:
    """Whether a file has this text."""
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    # `python -m lab list | head` ends without an error where the system has SIGPIPE.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
