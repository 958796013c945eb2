"""Formats that are recognised and not read yet, so that nobody is told that a good log is rubbish.

Each becomes a reader of its own in a later version and leaves this file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.table import Table
from entropylaw.ingest.wording import shown_path

_CHART_CELL = re.compile(r" - [^,\t\";]+__MIN\"?[,\t;\r\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterReader:
    """Recognises a format and refuses it by name.

    ``title`` names the format in the error, ``hint`` says what to export instead.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    test: Callable[[Content], bool]
    hint: str

    def recognises(self, content: Content) -> bool:
        """Whether the bytes look like this format."""
        return self.test(content)

    def read(self, content: Content) -> Table:
        """Refuse.

        Raises
        ------
        InputError
            ``format-not-read-yet``, always.

        """
        raise InputError(
            "format-not-read-yet",
            f"{shown_path(content.path)} is {self.title}, a format not read yet",
            self.hint,
        )


def _starts(*signatures: bytes) -> Callable[[Content], bool]:
    return lambda content: content.data.startswith(signatures)


def _first_line(content: Content) -> str:
    return content.text.lstrip().split("\n", 1)[0] + "\n" if content.is_text else ""


def _is_wandb_chart(content: Content) -> bool:
    header = _first_line(content)
    return "__MAX" in header and _CHART_CELL.search(header) is not None


def _is_tensorboard_csv(content: Content) -> bool:
    return _first_line(content).strip().replace('"', "").casefold() == "wall time,step,value"


_EXPORT_WANDB = "export the run's history as CSV: wandb.Api().run(PATH).history(samples=100000).to_csv(FILE)"

BINARY = (
    LaterReader(
        name="swanlab",
        title="a SwanLab transaction log (.swanlab)",
        suffixes=(".swanlab",),
        test=_starts(b":SWL"),
        hint="export the run's metrics as CSV, one row a step",
    ),
    LaterReader(
        name="compressed",
        title="an archive of several files",
        suffixes=(".zip",),
        test=_starts(b"PK\x03\x04"),
        hint="unpack it, and name the folder with what was in it",
    ),
    LaterReader(
        name="sqlite",
        title="an SQLite database (mlflow.db?)",
        suffixes=(".db", ".sqlite"),
        test=_starts(b"SQLite format 3\x00"),
        hint="export the metrics to one CSV with a step column and a column a metric",
    ),
)

WANDB_CHART = LaterReader(
    name="wandb-chart",
    title="a chart exported from the W&B web page, with one metric of several runs",
    suffixes=(),
    test=_is_wandb_chart,
    hint=_EXPORT_WANDB,
)

TENSORBOARD_CSV = LaterReader(
    name="tensorboard-csv",
    title="a curve exported from the TensorBoard web page, with one metric",
    suffixes=(),
    test=_is_tensorboard_csv,
    hint="join the curves into one CSV with a step column and a column a tag",
)
