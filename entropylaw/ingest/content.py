"""A file's bytes with what every reader wants to know about them."""

from __future__ import annotations

import codecs
import hashlib
import sys
from functools import cached_property
from pathlib import Path, PurePath

from entropylaw.errors import InputError
from entropylaw.ingest.wording import counted, shown_path

_HEAD = 1 << 16
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x08\x1b")


class Content:
    """The bytes behind one path.

    Parameters
    ----------
    path
        As the user gave it; ``-`` for standard input.
    data
        All bytes.

    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data

    @property
    def head(self) -> bytes:
        """The first 64 KiB."""
        return self.data[:_HEAD]

    @property
    def suffix(self) -> str:
        """The name's last suffix in lower case, with its dot; empty where there is none."""
        return PurePath(self.path).suffix.lower()

    @cached_property
    def sha256(self) -> str:
        """Of the bytes as they lie on the disk."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def text(self) -> str:
        """The bytes as text; what is not UTF-8 (or UTF-16 with a mark) appears as U+FFFD."""
        if self.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return self.data.decode("utf-16", "replace")
        return self._written.decode("utf-8-sig", "replace")

    @cached_property
    def _written(self) -> bytes:
        """The bytes without the NULs that a crashed file system leaves at the end."""
        return self.data.rstrip(b"\0")

    @cached_property
    def text_notes(self) -> tuple[str, ...]:
        """What had to be done to get text out of the bytes."""
        if self.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return ("the file is UTF-16",)
        notes = []
        if len(self._written) < len(self.data):
            notes.append(f"{counted(len(self.data) - len(self._written), 'NUL byte')} at the end left out")
        try:
            self._written.decode("utf-8")
        except UnicodeDecodeError:
            lines = sum("\ufffd" in line for line in self.text.split("\n"))
            notes.append(f"{counted(lines, 'line')} with bytes that are not UTF-8; these were replaced")
        return tuple(notes)

    @cached_property
    def is_text(self) -> bool:
        """Whether the head reads as text: hardly any control characters, nearly all of it UTF-8."""
        if self.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return True
        head = self._written[:_HEAD]
        controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
        valid = head.decode("utf-8", "ignore").encode()
        return bool(head) and controls * 100 <= len(head) and len(valid) * 10 >= len(head) * 9


def load(path: str) -> Content:
    """Read a file, or standard input for ``-``.

    Raises
    ------
    InputError
        ``file-not-found``, ``file-unreadable`` or ``file-empty``.

    """
    data = sys.stdin.buffer.read() if path == "-" else _read_file(path)
    if not data.strip(b" \t\r\n\0"):
        what = "standard input" if path == "-" else shown_path(path)
        size = "0 bytes" if not data else f"{len(data)} bytes, all of them white space or NUL"
        raise InputError(
            "file-empty",
            f"{what} holds nothing ({size}), a training log was expected",
            "check that the run has logged something and that the path is the right one",
        )
    return Content(path, data)


def _read_file(path: str) -> bytes:
    if not path:
        raise missing_file(path)
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise missing_file(path) from None
    except OSError as problem:
        raise unreadable_file(path, problem) from None


def unreadable_file(path: str, problem: OSError) -> InputError:
    """Make the error for a file that is there and cannot be opened."""
    return InputError(
        "file-unreadable",
        f"{shown_path(path)} cannot be read: {problem.strerror or type(problem).__name__}",
        "check the file's permissions",
    )


def missing_file(path: str) -> InputError:
    """Make the error for a path where nothing is, with the nearest name in the same folder."""
    hint = "check the path; - reads standard input"
    try:
        parent = Path(path).parent
        if parent.is_dir():
            from entropylaw.ingest.wording import listing, nearest

            close = nearest([Path(path).name], sorted(entry.name for entry in parent.iterdir()), most=3)
            hint = f"did you mean {listing(close)}?" if close else hint
    except (OSError, ValueError):
        pass
    return InputError("file-not-found", f"there is no file or folder {shown_path(path)}", hint)
