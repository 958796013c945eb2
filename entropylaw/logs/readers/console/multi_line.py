"""Consoles that print a step's metrics over several lines: AReaL, EasyR1, SkyRL, and tables of rich."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from entropylaw.logs.readers.console import (
    BAD_PAIR,
    CUT_ENTRY,
    MOST_PAIRS,
    Console,
    Printout,
    Row,
    dict_pairs,
    openings,
    plain,
)
from entropylaw.logs.runs.number_parsing import classify
from entropylaw.logs.sources.content import Content

# --- AReaL ------------------------------------------------------------------------------------------------

_AREAL_STEP = re.compile(r"(?<!\w)Train step (\d{1,9})/\d{1,9} done\.", re.ASCII)
_AREAL_STATS = re.compile(r"(?<!\w)Stats \(\d{1,9}/\d{1,9}\):", re.ASCII)
_BAR = "│"

LATER_TABLE = "table of a later minibatch of the same step"


def _areal_rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """AReaL: ``… Train step 3/1000 done.``, and below it tables of names and values in boxes.

    From inclusionAI/AReaL 0.3 to 1.0.4: ``StatsLogger.commit`` in ``areal/utils/stats_logger.py`` prints the
    step, then ``Stats (1/1):`` and a table by ``tabulate_stats`` in ``areal/utils/printing.py`` (up to 0.3 in
    ``realhf/api/core/data_api.py``): ``tabulate``'s ``fancy_grid``, up to four names and values a row, values
    with five digits. Up to 0.3, every minibatch of the step has a table, and the first one has the step's own
    values, such as the reward. Other tables, such as those of an evaluation on its own, follow no step.
    """
    step, values = 0.0, dict[str, float]()
    # Whether a table would be the step's: there may be one below each "Stats" line.
    expected = False
    for line in lines:
        if "Train step " in line and (heading := _AREAL_STEP.search(line)):
            if values:
                yield {"step": step, **values}
            step, values, expected = float(heading[1]), {}, True
        elif "╘" in line:  # where a table ends
            expected = False
        elif step and not expected and "Stats (" in line and _AREAL_STATS.search(line):
            expected = True
            printout.dropped[LATER_TABLE] += bool(values)
        elif expected and _BAR in line:
            values = {**areal_pairs(line, printout), **values}
    if values:
        yield {"step": step, **values}
    if printout.dropped[LATER_TABLE]:
        printout.notes.append("a step has a table for every minibatch: the first one's values are kept")


def areal_pairs(line: str, printout: Printout) -> dict[str, float]:
    """The names and numbers of a row of a table."""
    # A row has four pairs, of which the last may be empty; a line with far more cells is no row.
    _, *cells = map(str.strip, line.split(_BAR, 256))
    # Behind the last bar is nothing, unless the row was cut off, maybe within its last number.
    printout.dropped[BAD_PAIR] += len(cells) % 2 == 0
    pairs: dict[str, float] = {}
    for name, cell in zip(cells[:-1:2], cells[1:-1:2], strict=False):
        number, is_text = classify(cell)
        if name and not is_text:
            pairs[name] = number
        else:
            printout.dropped[BAD_PAIR] += bool(name or cell)
    return pairs


areal = Console(
    _areal_rows,
    # A step that has a table.
    matches=lambda text: any(
        next(_areal_rows(lines, Printout(Content("-"))), None) for lines in openings(text, _AREAL_STEP)
    ),
    needles=(_BAR,),
    reasons=(BAD_PAIR, LATER_TABLE),
    what="table of AReaL's console below a line 'Train step 1/100 done.'",
)


# --- EasyR1 -----------------------------------------------------------------------------------------------

_RAY = re.compile(r"\A\([^()]{1,200}pid=\d{1,10}[^()]{0,80}\) ?", re.ASCII)
# A progress bar may have been left open before it.
_EASYR1_STEP = re.compile(r"(?:^|[\]\r])Step (\d{1,9})$", re.ASCII)
_EASYR1_STEP_LINE = re.compile(r"(?<![\w/])Step \d{1,9}[\r ]{0,2}(?:\x1b\[0m)?\r?\n", re.ASCII)
# Metrics of the trainer itself: a list of steps of another program has none.
_EASYR1_FAMILIES = ("actor/", "critic/", "reward/", "val/", "response_length/", "global_seqlen/")
_TAGGED_NUMBER = re.compile(r"!!(?:float|int) '([^']{0,400})'")
_YAML_WORDS = {".nan": math.nan, ".inf": math.inf, "-.inf": -math.inf}
_LONGEST_LINE = 1000


@partial(
    Console,
    matches=lambda text: any(
        block.is_the_trainers
        for lines in openings(text, _EASYR1_STEP_LINE)
        for block in islice(_easyr1_blocks(lines), 1)
    ),
    needles=("Step ",),
    what="metrics of EasyR1's console below a line 'Step 1'",
)
def easyr1(_: Iterable[str], printout: Printout) -> Iterator[Row]:
    """EasyR1: ``Step 3``, and below it the step's metrics as nested YAML.

    From hiyouga/EasyR1 0.3.2: ``ConsoleLogger.log`` in ``verl/utils/logger/logger.py`` prints both with an
    empty line behind them; ``verl/utils/py_functional.py`` splits keys at ``/`` and rounds numbers to three
    decimals. Ray puts its ``(Runner pid=123)`` before every line, and other processes' lines between them.
    A carriage return within a line does not end it.
    """
    for block in _easyr1_blocks(printout.content.lines()):
        if block.is_the_trainers:
            printout.dropped[BAD_PAIR] += block.bad
            yield {"step": block.step, **block.values}
    printout.notes.append("EasyR1 prints three decimals; its experiment_log.jsonl has all of them")


@dataclass(slots=True)
class _Block:
    """The metrics below one ``Step`` line, as its lines come; ``prefix`` is that of the process."""

    step: float
    prefix: str
    values: dict[str, float] = field(default_factory=dict)
    bad: int = 0
    parents: list[tuple[int, str]] = field(default_factory=list)
    # The indent of a value that is no number: all that is indented deeper is a part of it.
    foreign: int | None = None

    @property
    def is_the_trainers(self) -> bool:
        """Whether one of the metrics is the trainer's own."""
        return any(name.startswith(_EASYR1_FAMILIES) for name in self.values)

    def take(self, line: str) -> bool:
        """Take a line without its prefix; False where the block ends before it."""
        indent = len(line) - len(body := line.lstrip(" "))
        if "%|" in line or (self.foreign is not None and (indent > self.foreign or body.startswith("-"))):
            return True
        self.foreign = None
        if body.startswith(("- ", "? ", ": ")):
            self.bad += not body.startswith("- ")
            return True
        key, value = _yaml_pair(body.rstrip())
        self.parents = [(depth, name) for depth, name in self.parents if depth < indent]
        # Indented without a parent: the start of this part is lost.
        if value is None or (indent and not self.parents):
            return False
        self.put(indent, key, value)
        return True

    def put(self, indent: int, key: str, value: str) -> None:
        """Take a key with its value, which is empty for a parent."""
        tagged = _TAGGED_NUMBER.fullmatch(value)
        number, is_text = classify(_YAML_WORDS.get(value, tagged[1] if tagged else value))
        if not value and len(self.parents) < 8:
            self.parents.append((indent, key))
        elif is_text:
            self.foreign = indent
            self.bad += value.startswith("!!") or not value
        else:
            self.values["/".join([*(name for _, name in self.parents), key])] = number


def _easyr1_blocks(lines: Iterable[str]) -> Iterator[_Block]:
    """Yield the blocks, each when it ends: at an empty line, at other text, at the next step."""
    block: _Block | None = None
    needle = "Step "  # in every line that matters: outside of a block, the headings
    for raw in lines:
        if needle not in raw:
            continue
        line = plain(raw).rstrip("\r")
        text = _RAY.sub("", line)
        prefix = line[: len(line) - len(text)].rstrip()
        # A block has no such long line: it ends there, as at an empty one.
        text = text if len(text) <= _LONGEST_LINE else ""
        if heading := _EASYR1_STEP.search(text):
            if block:
                yield block
            block, needle = _Block(float(heading[1]), prefix), ""
        elif block and prefix == block.prefix and not block.take(text):
            yield block
            block, needle = None, "Step "
    if block:
        yield block


def _yaml_pair(body: str) -> tuple[str, str | None]:
    """Return key and value of a line of YAML, the value empty where it is below; None for other text."""
    if body.startswith("'"):
        end = body.find("':", 1)
        key, rest = body[1:end].replace("''", "'"), body[end + 2 :]
        return key, rest.strip() if end > 0 and rest[:1] in ("", " ") else None
    if body.endswith(":"):
        return body[:-1], ""
    key, colon, value = body.partition(": ")
    return key, value.strip() if colon and key else None


# --- SkyRL ------------------------------------------------------------------------------------------------

_SKYRL_STEP_LINE = re.compile(r"(?<!\w)Step \d{1,9}: {0,2}(?:\x1b\[0m)?\r?\n", re.ASCII)
_SKYRL_STEP = re.compile(r"(?<!\w)Step (\d{1,9}): {0,2}\Z", re.ASCII)
_SKYRL_PREFIX = re.compile(r"(?:\([^()]{1,120}\) ?)?")
# So many lines may come between two lines of a dict.
_MOST_OTHERS = 200


def shows_skyrl(text: str) -> bool:
    """Whether a dict opens below a heading, with a key such as SkyRL's."""
    blocks = openings(text, _SKYRL_STEP_LINE)
    firsts = (next((numbers for numbers, *_ in _skyrl_parts(lines) if numbers), {}) for lines in blocks)
    return any("/" in name for first in firsts for name in first)


@partial(
    Console,
    matches=shows_skyrl,
    needles=("{'",),
    what="metrics as SkyRL prints them ('Step 12:', and below it {'policy/policy_entropy': '0.3512', …})",
)
def skyrl(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """SkyRL: ``Step 12:`` and below it a dict over many lines, its floats in quotes.

    ::

        2025-08-21 12:00:00.000 | INFO     | skyrl.train.utils.tracking:log:190 - Step 12:
        {'policy/policy_entropy': '0.3512',
         'reward/avg_raw_reward': '0.5300',
         'trainer/global_step': 12}

    From ``ConsoleLogger`` in ``skyrl/train/utils/tracking.py`` of github.com/NovaSky-AI/SkyRL (before, in
    ``skyrl-train/skyrl_train/utils/tracking.py``); numbers have four decimals. Ray puts
    ``(skyrl_entrypoint pid=123)`` before every line, and lines of other workers in between.
    """
    begun: dict[str, float] = {}
    for values, step, opens, ends in _skyrl_parts(lines):
        if opens:
            printout.dropped[CUT_ENTRY] += bool(begun)
            begun = {}
        if len(begun) <= MOST_PAIRS:
            begun.update(values)
        if ends and len(begun) <= MOST_PAIRS:
            yield {"step": step, **begun}
            begun = {}
    printout.dropped[CUT_ENTRY] += bool(begun)


def _skyrl_parts(lines: Iterable[str]) -> Iterator[tuple[dict[str, float], float, bool, bool]]:
    """Yield the numbers of each line of a dict below a heading, its step, and whether it opens and ends."""
    step: float | None = None
    opened, others = False, 0
    for line in lines:
        if heading := _SKYRL_STEP.search(line):
            step, opened, others = float(heading[1]), False, 0
            continue
        before = _SKYRL_PREFIX.match(line)
        start = before.end() if before else 0
        # The first line opens the dict, all others are indented by one.
        if step is None or not line.startswith(" '" if opened else "{'", start):
            others += 1
            step = None if others > _MOST_OTHERS else step
            continue
        values, ends, _ = dict_pairs(line, start + 1)
        yield values, step, not opened, ends
        step, opened, others = None if ends else step, True, 0


# --- Tables and panels of rich: tinker-cookbook, rLLM, open-instruct --------------------------------------

_TITLE = re.compile(r"(?:\([^()]{1,120}\))? {0,400}Step (\d{1,9}) {0,400}", re.ASCII)
_TABLE_HEAD = re.compile(r"┃ Metric {1,400}┃ {1,400}Value {1,400}┃")
_PANEL_HEAD = re.compile(r"╭─{1,400} Metrics ─{1,400}╮")
_GROUP = re.compile(r" {0,3}(?P<group>[^\s│]{1,100}) {2,100}(?P<values>\S.*)")

CUT_NAME = "metric whose name the table cuts off"


def shows_table(text: str) -> bool:
    """Whether there is a table below a step."""
    titled = 0
    for line in map(plain, text.split("\n")):
        if titled and _TABLE_HEAD.search(line):
            return True
        titled = 2 if _TITLE.fullmatch(line.rstrip("\r")) else max(titled - 1, 0)
    return False


@partial(
    Console,
    matches=shows_table,
    needles=("┃ Metric", "Step "),
    reasons=(CUT_ENTRY, CUT_NAME),
    what="metrics as tinker-cookbook prints them (a table 'Step 12' with the columns Metric and Value)",
)
def tinker(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """tinker-cookbook, rLLM: a table with the columns ``Metric`` and ``Value`` below the title ``Step 12``.

    From ``PrettyPrintLogger`` in ``tinker_cookbook/utils/ml_log.py`` of
    thinking-machines-lab/tinker-cookbook and ``print_metrics_table`` in
    ``rllm/trainer/tinker/tinker_metrics_utils.py`` of rllm-org/rllm. A name that is too long for its column
    ends in ``…``, and is left out.
    """
    step: float | None = None
    values: dict[str, float] | None = None
    dropped = printout.dropped
    for line in lines:
        if title := _TITLE.fullmatch(line):
            dropped[CUT_ENTRY] += values is not None
            step, values = float(title[1]), None
        elif step is not None and _TABLE_HEAD.search(line):
            values = {}
        elif values is not None and line.rstrip().endswith("┘"):
            yield {"step": step, **values}
            step = values = None
        elif values is not None and len(cells := line.split(_BAR)) == 4:
            dropped[CUT_NAME] += _put(values, cells[1].strip(), cells[2])
    dropped[CUT_ENTRY] += values is not None


@partial(
    Console,
    matches=_PANEL_HEAD.search,
    needles=("training_step: ",),
    reasons=(CUT_ENTRY, CUT_NAME),
    what="metrics as open-instruct prints them (a panel 'Metrics' with training_step in it)",
)
def open_instruct(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """open-instruct: a panel ``Metrics``, a group of keys per row, ``name: value`` between bars.

    From ``print_rich_single_line_metrics`` in ``open_instruct/model_utils.py`` of allenai/open-instruct. An
    evaluation has no step: it gets that of the training before it.
    """
    rows: list[list[str]] | None = None
    step: float | None = None
    evaluations = 0
    for line in lines:
        if _PANEL_HEAD.search(line):
            printout.dropped[CUT_ENTRY] += rows is not None
            rows = []
        elif rows is not None and line.rstrip().endswith("╯"):
            values = _panel_values(rows, printout)
            evaluations += "training_step" not in values
            step = values.pop("training_step", step)
            yield {"training_step": step, **values}
            rows = None
        elif rows is not None and len(cells := line.split(_BAR)) == 3:
            # A row holds a group, or more of the group above.
            if group := _GROUP.fullmatch(cells[1].rstrip()):
                rows.append([group["group"], group["values"]])
            elif rows:
                rows[-1].append(cells[1].strip())
    printout.dropped[CUT_ENTRY] += rows is not None
    printout.notes.append("open-instruct prints two decimals")
    if evaluations:
        printout.notes.append("evaluations are printed without a step: theirs is that of the training before")


def _panel_values(rows: list[list[str]], printout: Printout) -> dict[str, float]:
    """Return the numbers of a panel by their full names, and count the names that are cut off."""
    values: dict[str, float] = {}
    for group, *parts in rows:
        for pair in " ".join(parts).split(" | "):
            name, colon, cell = pair.strip().removesuffix("|").rpartition(": ")
            if colon:
                _put(values, name if group == "other" else f"{group}/{name}", cell)
            else:
                printout.dropped[CUT_NAME] += "…" in pair
    return values


def _put(values: dict[str, float], name: str, cell: str) -> bool:
    """Keep a number under its name; return whether the name is cut off."""
    cut = name.endswith("…")
    number, is_text = classify(cell)
    if name and cell.strip() and not (cut or is_text) and len(values) < MOST_PAIRS:
        values[name] = number
    return cut
