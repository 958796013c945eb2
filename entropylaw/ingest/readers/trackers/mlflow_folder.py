"""A run's folder under MLflow's ``mlruns``: a file per metric, a line per value, and a file per parameter.

Layout from mlflow 3.17's store/tracking/file_store.py. Tags are never read, for they hold the user, the git
remote and notes; of ``meta.yaml`` only the run's name and whether it was deleted.
"""

from __future__ import annotations

import heapq
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import repeat
from operator import attrgetter
from pathlib import Path

from entropylaw.errors import InputError
from entropylaw.escaping import quoted_path
from entropylaw.ingest.catalog.config import read_yaml
from entropylaw.ingest.readers.delimited import CUT_OFF
from entropylaw.ingest.readers.jsonl import UNPARSEABLE
from entropylaw.ingest.readers.trackers.records import LONGEST_NAME, StepRows, run_label
from entropylaw.ingest.runs import Table
from entropylaw.ingest.runs.number_parsing import classify
from entropylaw.ingest.runs.step_column import NO_STEP
from entropylaw.ingest.sources.content import Content, is_blank
from entropylaw.ingest.sources.registry import BundleReader
from entropylaw.paths import is_file

_LONGEST_LINE = 2000

# Time in milliseconds, value, step (none before MLflow 1.0), then perhaps a data set's name and digest.
_LINE = re.compile(r"(-?[0-9]{1,18}) (\S{1,400})(?: (-?[0-9]{1,18})(?: .*)?)?", re.DOTALL)
_RUN_ID = re.compile(r"^run_(?:uu)?id:", re.MULTILINE)
_RUN_NAME = re.compile(r"^run_name:[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_DELETED = re.compile(r"^lifecycle_stage:[ \t]*['\"]?deleted\b", re.MULTILINE)


class MlflowFolder(BundleReader):
    """Reads the folder of one run."""

    name = "mlflow"
    skips = ("tags",)  # they hold user and repository
    about = "a run's folder below `mlruns`: its metrics, and its parameters as settings"

    def files(self, folder: str) -> tuple[str, ...]:
        """List ``meta.yaml``, the metrics and the parameters of a run's folder; none of any other folder."""
        meta, metrics = Path(folder, "meta.yaml"), Path(folder, "metrics")
        try:
            if not (metrics.is_dir() and meta.is_file()):
                return ()
            with meta.open("rb") as stream:
                head = stream.read(1 << 16).decode("utf-8", "replace")
        except (OSError, ValueError):
            return ()
        if "experiment_id:" not in head or not _RUN_ID.search(head):
            return ()
        return (str(meta), *_regular_files(metrics), *_regular_files(Path(folder, "params")))

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read metrics and parameters; raises ``no-records`` where no metric has a complete line."""
        settings, unread, meta = dict[str, object](), list[str](), ""
        logged, dropped = list[Iterator[tuple[int, int, str, float]]](), Counter[str]()
        for content in contents:
            part, *rest = Path(content.path).relative_to(folder).parts
            key = "/".join(rest)
            if part == "meta.yaml":
                meta = content.head.decode("utf-8", "replace")
            elif part == "params":
                settings[key] = content.head.decode("utf-8", "replace")
            elif content.keeps(key):
                times, steps, values = _logged(content, dropped)
                logged.append(zip(times, steps, repeat(key), values))
            else:
                unread.append(key)
        rows = StepRows(run_label(run_name(meta) or Path(folder).absolute().name))
        # Merged by time, the values come in the order in which all were logged.
        for _, step, key, value in heapq.merge(*logged):
            rows.take(step, key, value)
        if not rows.steps:
            lost = "".join(f"; {number} × {reason}" for reason, number in dropped.items())
            what = f"{quoted_path(folder)} is an MLflow run without a complete line of a metric{lost}"
            raise InputError("no-records", what, "check that the run has logged something")
        size = sum(map(attrgetter("extent"), contents))
        notes = ("the run is marked as deleted in MLflow",) * bool(_DELETED.search(meta))
        return rows.table(size, dropped, notes, labelled=True, settings=settings, unread=tuple(unread))


def _logged(content: Content, dropped: Counter[str]) -> tuple[array[int], array[int], array[float]]:
    """Return one metric's milliseconds, steps and values in the order of its file."""
    times, steps, values = array("q"), array("q"), array("d")
    rest = ""
    for block in content.blocks():
        *lines, rest = (rest[:_LONGEST_LINE] + block).split("\n")
        for line in filter(None, (line.removesuffix("\r") for line in lines)):
            found = _LINE.fullmatch(line)
            value, is_text = classify(found[2] if found else None)
            if not found or is_text:
                dropped[UNPARSEABLE] += 1
            elif not found[3]:
                dropped[NO_STEP] += 1
            else:
                times.append(int(found[1]))
                steps.append(int(found[3]))
                values.append(value)
    if rest:  # MLflow ends each line as it writes it: a last one without an end was cut off.
        dropped[CUT_OFF] += 1
    return times, steps, values


def _regular_files(folder: Path) -> list[str]:
    """List the files below a folder that hold more than white space, sorted; no pipes, no linked folders."""
    found, waiting = list[str](), [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if len(entry.path) - len(str(folder)) > LONGEST_NAME:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif is_file(entry.path):
                    with suppress(OSError), Path(entry.path).open("rb") as stream:
                        found += [] if is_blank(stream.read(1 << 12)) else [entry.path]
    return sorted(found)


def run_name(meta: str) -> str:
    """Return the run's name in a ``meta.yaml``; empty where there is none."""
    found = _RUN_NAME.search(meta)
    if found is None:
        return ""
    value: object = ...
    with suppress(ValueError):
        parsed = read_yaml(found[0][:_LONGEST_LINE].encode("utf-8", "replace"))
        value = parsed.get("run_name", ...) if isinstance(parsed, dict) else ...
    # What is no text stays as it is written: YAML's references could make a short list endless.
    name = "" if value is None else value if isinstance(value, str) else found[1].strip()
    return name.encode("utf-8", "replace").decode()[:LONGEST_NAME].strip()
