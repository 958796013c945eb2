"""Formats that are recognised and not read, so that nobody is told that a good log is rubbish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from entropylaw.errors import InputError
from entropylaw.ingest.content import Content
from entropylaw.ingest.table import Table
from entropylaw.ingest.wording import shown_path


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadReader:
    """Recognises a format and refuses it by name.

    ``title`` names the format in the error, ``hint`` says what to export instead.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    test: Callable[[Content], bool]
    hint: str
    why: str = "not read"
    refuses: bool = True

    def recognises(self, content: Content) -> bool:
        """Whether the bytes look like this format."""
        return self.test(content)

    def read(self, content: Content) -> Table:
        """Refuse.

        Raises
        ------
        InputError
            ``format-not-read``, always.

        """
        raise InputError(
            "format-not-read",
            f"{shown_path(content.path)} is {self.title}, a format that is not read",
            self.hint,
        )


def _starts(*signatures: bytes) -> Callable[[Content], bool]:
    return lambda content: content.head.startswith(signatures)


BINARY = (
    UnreadReader(
        name="swanlab",
        title="a SwanLab transaction log (.swanlab)",
        why="its records are SwanLab's own, and change with its versions",
        suffixes=(".swanlab",),
        test=_starts(b":SWL"),
        hint="export each metric: swanlab.Api().column('USER/PROJECT/RUN', 'reward').export_csv() gives the "
        "address of a CSV file, which is read here",
    ),
    UnreadReader(
        name="compressed",
        title="an archive of several files",
        why="several files, which may be several runs",
        suffixes=(".zip", ".tar", ".tgz"),
        test=lambda content: content.head.startswith(b"PK\x03\x04") or content.head[257:262] == b"ustar",
        hint="unpack it, and name the folder with what was in it",
    ),
)
