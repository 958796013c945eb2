"""What readers see of a file: its head, its text block by block, or all of it where a format needs that."""

from __future__ import annotations

import codecs
import hashlib
import io
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path, PurePath
from typing import IO, TypeVar

from entropylaw.errors import InputError
from entropylaw.ingest import packed
from entropylaw.ingest.wording import counted, listing, nearest, shown_path
from entropylaw.paths import is_file, is_folder, is_utf8

_HEAD = 1 << 16
# A job may print for long before its first step: so much of a file is searched for what tells its format.
_OPENING = 1 << 25
# Formats that have to be in memory as a whole, such as one large JSON value, may be as long as this.
MOST_AT_ONCE = 1 << 30
# Beyond this, columns of which nothing is made are not kept.
_LARGE = 1 << 26
_PIECE = 1 << 20
_LONGEST_LINE = 1 << 28
# What unpacks to many times its size is no log: those of trainers unpack to 3 to 20 times theirs.
_MOST_UNPACKED = 40
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Part = TypeVar("Part", str, bytes)
Opened = Callable[[], IO[bytes]]

#: Called with the path, the bytes read and the bytes there are, while a file is read.
PROGRESS: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("progress", default=None)


class Content:
    """The bytes behind one path, which is as the user gave it; ``-`` for standard input.

    ``data`` are all bytes, where they are in memory already; where they are not, ``opened`` opens the file
    anew, and ``size`` is its length in bytes, as it lies on the disk.
    """

    def __init__(
        self, path: str, data: bytes | None = None, *, opened: Opened | None = None, size: int | None = None
    ) -> None:
        self.path, self._raw = path, data
        self._opened = opened or (lambda: io.BytesIO(data or b""))
        self.size = len(data or b"") if size is None else size
        self._digest: str | None = None
        self._text_notes: tuple[str, ...] | None = None
        self._cut = ""
        #: Whether the compressed bytes broke off; known when it was read.
        self.damaged = False
        #: How many NULs at the end of a text were left out; known when it was read.
        self.nuls = 0
        #: Tells the columns that something is made of; None where all may be.
        self.useful: Callable[[str], bool] | None = None

    @property
    def suffix(self) -> str:
        """The name's last suffix in lower case, with its dot, that of a compression left out."""
        return (packed.plain_name(self.path) if self.packed else PurePath(self.path)).suffix.lower()

    @cached_property
    def packed(self) -> str | None:
        """How the bytes are compressed; None where they are not."""
        with self._stream() as stream:
            return packed.compression(stream.read(packed.LONGEST_SIGNATURE))

    @property
    def wanted(self) -> Callable[[str], bool] | None:
        """Which columns a reader keeps: of a large file the useful ones, of others all, which is None."""
        return self.useful if self.extent > _LARGE else None

    @property
    def extent(self) -> int:
        """About how many bytes there are to read; of a compressed file, so many as it usually holds."""
        return self.size * 8 if self.packed else self.size

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, decompressed."""
        return b"".join(_first(self._plain(), _HEAD))

    @cached_property
    def data(self) -> bytes:
        """All bytes, decompressed; raises ``file-too-large`` beyond 1 GiB."""
        if self._raw is not None and not self.packed:
            return self._raw
        return b"".join(self._at_once(self._plain()))

    @cached_property
    def sha256(self) -> str:
        """Of the bytes as they lie on the disk."""
        if self._digest is not None:
            return self._digest
        digest = hashlib.sha256()
        with self._stream() as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
        return digest.hexdigest()

    @cached_property
    def text(self) -> str:
        """All of the text, as :meth:`blocks` has it; raises ``file-too-large`` beyond 1 GiB."""
        return "".join(self._at_once(self.blocks()))

    @cached_property
    def opening(self) -> str:
        """The first 32 MiB of the text, or all of it: what a reader may look through to recognise it."""
        if self.size <= _OPENING and not self.packed:
            return self.text
        return "".join(_first(self.blocks(), _OPENING))

    def blocks(self) -> Iterator[str]:
        """Yield the text in blocks that end where a line ends.

        What is not UTF-8 (or UTF-16 with a mark) appears as U+FFFD; the NULs that a crashed file system
        leaves at the end are left out. No block ends within a line end or before a cursor movement.

        Raises ``file-corrupt`` where a line is longer than 256 MiB.
        """
        bad_lines, wide = 0, self.head.startswith(_UTF16)
        notes = ["the file is UTF-16"] * wide
        narrowed = map(str.encode, codecs.iterdecode(self._plain(), "utf-16", "replace"))
        for block in _whole_lines(narrowed if wide else self._without_tail(), self.path):
            try:
                text = block.decode()
            except UnicodeDecodeError:
                text = block.decode(errors="replace")
                bad_lines += sum("\ufffd" in line for line in text.split("\n"))
            yield text
        if self.nuls:
            notes.append(f"{counted(self.nuls, 'NUL byte')} at the end left out")
        if bad_lines:
            notes.append(f"{counted(bad_lines, 'line')} with bytes that are not UTF-8; these were replaced")
        self._text_notes = (*notes, *filter(None, [self._cut]))

    def lines(self) -> Iterator[str]:
        """Yield the lines, without their ends; a carriage return within a line stays."""
        for block in filter(None, self.blocks()):
            yield from (line.removesuffix("\r") for line in block.removesuffix("\n").split("\n"))

    @property
    def text_notes(self) -> tuple[str, ...]:
        """What had to be done to get text out of the bytes."""
        if self._text_notes is None:
            deque(self.blocks(), maxlen=0)
        return self._text_notes or ()

    @cached_property
    def is_text(self) -> bool:
        """Whether the head reads as text: hardly any control characters, nearly all of it UTF-8."""
        if self.head.startswith(_UTF16):
            return True
        head = self.head.rstrip(b"\0")
        controls = sum(byte < 32 and byte not in b"\t\n\r\f\x08\x1b" for byte in head)
        valid = head.decode("utf-8", "ignore").encode()
        return bool(head) and controls * 100 <= len(head) and len(valid) * 10 >= len(head) * 9

    @cached_property
    def is_blank(self) -> bool:
        """Whether the first 32 MiB hold white space and NUL only: nobody looks for a log behind them."""
        return all(map(is_blank, _first(self._plain(), _OPENING)))

    @cached_property
    def is_lost(self) -> bool:
        """Whether a large file on this machine has a head, and NUL in its middle and at its end."""
        if self.size <= _LONGEST_LINE or self.local_file() is None:
            return False
        with self._stream() as stream:
            places = (stream.seek(place) for place in (self.size // 2, self.size - _HEAD))
            return not any(stream.read(_HEAD).strip(b"\0") for _ in places)

    def local_file(self) -> str | None:
        """Return the path of a plain file on this machine with these very bytes; None where there is none."""
        return self.path if self._raw is None and not self.packed and is_file(self.path) else None

    def random_access(self) -> str | io.BytesIO:
        """Return what a library can seek in: the file's path where that holds these bytes, else the bytes."""
        path = self.local_file()
        return io.BytesIO(self.data) if path is None or not is_utf8(path) else path

    @contextmanager
    def _stream(self) -> Iterator[IO[bytes]]:
        """Open the file anew; one that is gone meanwhile, or whose disk fails, is an error of ours."""
        try:
            with closing(self._opened()) as stream:
                yield stream
        except FileNotFoundError:
            raise missing_file(self.path) from None
        except OSError as problem:
            raise unreadable_file(self.path, problem) from None

    def _plain(self) -> Iterator[bytes]:
        """Yield the bytes, decompressed, or raise ``file-too-large``; at their end, the digest is known."""
        with self._stream() as stream:
            digest, report, done = hashlib.sha256(), PROGRESS.get(), 0

            def read(size: int) -> bytes:
                nonlocal done
                piece = stream.read(size)
                digest.update(piece)
                done += len(piece)
                if report is not None:
                    report(self.path, done, self.size)
                return piece

            if not self.packed:
                yield from iter(lambda: read(_PIECE), b"")
            most, size = max(_MOST_UNPACKED * self.size, _OPENING), 0
            try:
                for piece in packed.unpacked(read, self.packed) if self.packed else ():
                    size += len(piece)
                    if size > most:
                        what = f"{shown_path(self.path)} unpacks to more than {_MOST_UNPACKED} times its "
                        what += counted(self.size, "byte")
                        raise InputError("file-too-large", what, "unpack it, and name what is in it")
                    yield piece
            except packed.DamagedError as problem:
                self.damaged = True
                damage = f"breaks off or is damaged ({problem})"
                self._cut = f"the compressed file {damage}: what came before was read"
                return
            if not read(1):
                self._digest = self._digest or digest.hexdigest()

    def _without_tail(self) -> Iterator[bytes]:
        """Yield the bytes without the NULs at the end, and without the mark of UTF-8 at the start."""
        held, mark = 0, codecs.BOM_UTF8
        for piece in self._plain():
            piece, mark = piece.removeprefix(mark), b""
            kept = piece.rstrip(b"\0")
            while kept and held:
                yield b"\0" * min(held, _PIECE)
                held -= min(held, _PIECE)
            if kept:
                yield kept
            held += len(piece) - len(kept)
            if held > _LONGEST_LINE:
                what = f"has more than {_LONGEST_LINE >> 20} MiB of NUL bytes in a row"
                raise InputError("file-corrupt", f"{shown_path(self.path)} {what}", "copy the file again")
        self.nuls = held

    def _at_once(self, parts: Iterator[Part]) -> list[Part]:
        """Return the parts of what has to be in memory as a whole, as long as they may be."""
        whole = [] if self.size > MOST_AT_ONCE else list(_first(parts, MOST_AT_ONCE + 1))
        if max(self.size, sum(map(len, whole))) > MOST_AT_ONCE:
            what = f"holds more than {MOST_AT_ONCE >> 30} GiB in a format that has to be in memory as a whole"
            hint = "write it as CSV, Parquet or one JSON object a line, which are read piece by piece"
            raise InputError("file-too-large", f"{shown_path(self.path)} {what}", hint)
        return whole


def _first(parts: Iterator[Part], most: int) -> Iterator[Part]:
    """Yield the first so many characters or bytes."""
    size = 0
    for part in parts:
        yield part[: most - size]
        size += len(part)
        if size >= most:
            return


def _whole_lines(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Cut bytes where lines end: at line feeds, or else where a progress bar returns to its start."""
    parts, size = list[bytes](), 0
    for piece in pieces:
        # Behind the last line end that nothing follows which belongs to it; 0 for none.
        for mark in (b"\n", b"\r"):
            end = piece.rfind(mark, 0, len(piece) - 1) + 1
            while end and piece[end : end + 1] in (b"\x1b", b"\n", b"\r"):
                end = piece.rfind(mark, 0, end - 1) + 1
            if end:
                break
        if end:
            yield b"".join((*parts, piece[:end]))
            parts, size = [], 0
        parts.append(piece[end:])
        size += len(piece) - end
        if size > _LONGEST_LINE:
            what = f"{shown_path(path)} has a line of more than {_LONGEST_LINE >> 20} MiB"
            raise InputError("file-corrupt", what, "check how the file was made; a log has lines")
    if any(parts):
        yield b"".join(parts)


def is_blank(piece: bytes) -> bool:
    """Whether there is nothing but white space and NUL."""
    return not piece.strip(b" \t\r\n\0")


def unreadable_file(path: str, problem: OSError) -> InputError:
    """Make the error for a file that is there and cannot be opened."""
    what = f"{shown_path(path)} cannot be read: {problem.strerror or type(problem).__name__}"
    return InputError("file-unreadable", what, "check the file's permissions")


def missing_file(path: str) -> InputError:
    """Make the error for a path where nothing is, with the nearest name in the same folder."""
    hint = "check the path; - reads standard input"
    with suppress(OSError, ValueError):
        parent = Path(path).parent
        if is_folder(parent):
            close = nearest([Path(path).name], sorted(entry.name for entry in parent.iterdir()), most=3)
            hint = f"did you mean {listing(close)}?" if close else hint
    return InputError("file-not-found", f"there is no file or folder {shown_path(path)}", hint)
