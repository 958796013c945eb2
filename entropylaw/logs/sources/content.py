"""What readers see of a file: its head, its text block by block, or all of it where a format needs that.

Files that are compressed with gzip, Zstandard, bzip2 or xz are decompressed block by block. The compression
is detected by the first bytes, for names may differ.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import IO, Any, TypeVar

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, nearest, quoted_path
from entropylaw.paths import is_file, is_folder, note_input

_HEAD = 1 << 16
# A job may print for long before its first step: so much of a file is searched for its format.
_OPENING = 1 << 25
# Formats that have to be in memory as a whole, such as one large JSON value, may be as long as this.
MOST_AT_ONCE = 1 << 30
# Beyond this, standard input is taken as endless.
_MOST_PIPED = MOST_AT_ONCE
# Beyond this, columns that no analysis uses are not kept.
_LARGE = 1 << 26
_PIECE = 1 << 20
_LONGEST_LINE = 1 << 28
# A limit against decompression bombs: trainers' logs decompress to 3 to 20 times their size.
_MOST_UNPACKED = 40
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PACKED_PIECE = 1 << 16
_SIGNATURES = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_OPENERS: dict[str, Callable[[Any], Any]] = {
    "gzip": partial(gzip.GzipFile, None, "rb", 9),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
_DAMAGES = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)
# Files whose names are given where the one that was sought is not there.
_LOGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".log", ".wandb", ".ipynb")
COMPRESSION_SUFFIXES = (".gz", ".zst", ".bz2", ".xz")
_TABLE_SUFFIXES = frozenset((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq"))
_DATA_SUFFIXES = _TABLE_SUFFIXES | {".json", ".log", ".out", ".txt", ".wandb"}
# Tables and compressions that are not read.
_OTHER_TABLES = frozenset(
    (".feather", ".arrow", ".arrows", ".ipc", ".orc", ".avro", ".xlsx", ".xls", ".ods", ".7z", ".rar")
)
_OTHER_PACKINGS = frozenset((".lz4", ".br", ".7z", ".z", ".lz", ".lzma", ".lzo", ".sz", ".snappy", ".rar"))

Part = TypeVar("Part", str, bytes)
Read = Callable[[int], bytes]
"""Returns so many bytes, or what is left of them."""


class Content:
    """The bytes behind one path, which is as the user gave it; ``-`` for standard input.

    ``data`` are all bytes, where they are in memory already; where they are not, the file is opened anew each
    time.
    """

    def __init__(self, path: str, data: bytes | None = None) -> None:
        self.path, self._raw = path, data
        #: Length in bytes, as stored.
        self.size = Path(path).stat().st_size if data is None else len(data)
        self._digest: str | None = None
        self._text_notes: tuple[str, ...] | None = None
        self._cut = ""
        #: Whether the compressed bytes are cut off or damaged; known when the content was read.
        self.damaged = False
        #: How many NULs at the end of a text were left out; known when the content was read.
        self.nuls = 0
        #: Whether the last line has its end; known when the content was read.
        self.ended = True
        #: Whether any analysis uses a column of this name; None where all may be used.
        self.useful: Callable[[str], bool] | None = None

    @property
    def suffix(self) -> str:
        """The name's last suffix in lower case, with its dot, that of a compression left out."""
        return (plain_name(self.path) if self.packed else PurePath(self.path)).suffix.lower()

    @cached_property
    def packed(self) -> str | None:
        """How the bytes are compressed; None where they are not."""
        with self._stream() as stream:
            head = stream.read(max(map(len, _SIGNATURES)))
        return next((name for signature, name in _SIGNATURES.items() if head.startswith(signature)), None)

    @property
    def column_filter(self) -> Callable[[str], bool] | None:
        """Which columns a reader keeps: of a large file the useful ones, of others all, which is None."""
        return self.useful if self.extent > _LARGE else None

    def keeps(self, column: str) -> bool:
        """Whether a reader keeps a column of this name."""
        return self.column_filter is None or self.column_filter(column)

    @property
    def extent(self) -> int:
        """About how many bytes there are to read: of a compressed file, eight times its size."""
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
        """Digest of the bytes as stored."""
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
        """The first 32 MiB of the text, or all of it: what a reader may search to recognise it."""
        if self.size <= _OPENING and not self.packed:
            return self.text
        return "".join(_first(self.blocks(), _OPENING))

    def free_opening(self) -> None:
        """Free the opening of a large file, which is of no use once its format is known."""
        if self.extent > _OPENING:
            vars(self).pop("opening", None)

    def blocks(self) -> Iterator[str]:
        """Yield the text in blocks that end where a line ends.

        Bytes that are not UTF-8 (or UTF-16 with a mark) become U+FFFD; the NULs that a crashed file system
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
            self.ended = text.endswith(("\n", "\r"))
            yield text
        if self.nuls:
            notes.append(f"{counted(self.nuls, 'NUL byte')} at the end left out")
        if bad_lines:
            notes.append(f"{counted(bad_lines, 'line')} with bytes that are not UTF-8; these were replaced")
        self._text_notes = (*notes, *filter(None, [self._cut]))

    def lines(self) -> Iterator[str]:
        """Yield the lines, without their ends; a carriage return within a line is kept."""
        for block in filter(None, self.blocks()):
            yield from (line.removesuffix("\r") for line in block.removesuffix("\n").split("\n"))

    @property
    def text_notes(self) -> tuple[str, ...]:
        """What was left out or replaced to get text out of the bytes."""
        if self._text_notes is None:
            deque(self.blocks(), maxlen=0)
        return self._text_notes or ()

    @cached_property
    def is_text(self) -> bool:
        """Whether the head is text: hardly any control characters, nearly all of it UTF-8."""
        if self.head.startswith(_UTF16):
            return True
        head = self.head.rstrip(b"\0")
        controls = sum(byte < 32 and byte not in b"\t\n\r\f\x08\x1b" for byte in head)
        valid = head.decode("utf-8", "ignore").encode()
        return bool(head) and controls * 100 <= len(head) and len(valid) * 10 >= len(head) * 9

    @cached_property
    def is_blank(self) -> bool:
        """Whether the first 32 MiB hold white space and NUL only."""
        return all(map(is_blank, _first(self._plain(), _OPENING)))

    @cached_property
    def is_lost(self) -> bool:
        """Whether a large file on this machine has a head, and NUL in its middle and at its end."""
        if self.size <= _LONGEST_LINE or self.local_file() is None:
            return False
        with self._stream() as stream:
            places = (stream.seek(position) for position in (self.size // 2, self.size - _HEAD))
            return not any(stream.read(_HEAD).strip(b"\0") for _ in places)

    def local_file(self) -> str | None:
        """Return the path of a plain file on this machine with these bytes; None where there is none."""
        return self.path if self._raw is None and not self.packed and is_file(self.path) else None

    def error(self, slug: str, what: str, hint: str) -> InputError:
        """Make an error about this file; ``what`` follows its path."""
        name = "standard input" if self.path == "-" else quoted_path(self.path)
        return InputError(slug, f"{name} {what}", hint)

    @contextmanager
    def _stream(self) -> Iterator[IO[bytes]]:
        """Open the file anew; one that was removed meanwhile, or whose disk fails, is an InputError."""
        try:
            with Path(self.path).open("rb") if self._raw is None else io.BytesIO(self._raw) as stream:
                yield stream
        except FileNotFoundError:
            raise missing_file(self.path) from None
        except OSError as problem:
            raise unreadable_file(self.path, problem) from None

    def _plain(self) -> Iterator[bytes]:
        """Yield the bytes, decompressed, or raise ``file-too-large``; at their end, the digest is known."""
        with self._stream() as stream:
            digest = hashlib.sha256()

            def read(size: int) -> bytes:
                piece = stream.read(size)
                digest.update(piece)
                return piece

            plain, most, size = iter(lambda: read(_PIECE), b""), sys.maxsize, 0
            if self.packed:
                plain, most = _decompressed(read, self.packed), max(_MOST_UNPACKED * self.size, _OPENING)
            try:
                for piece in plain:
                    size += len(piece)
                    if size > most:
                        packed = counted(self.size, "byte")
                        message = f"unpacks to more than {_MOST_UNPACKED} times its {packed}"
                        raise self.error("file-too-large", message, "unpack it, and name what is in it")
                    yield piece
            except _DAMAGES as problem:
                if not self.packed:
                    raise
                self.damaged = True
                damage = str(problem).partition("\n")[0][:200] or type(problem).__name__
                damage = f"breaks off or is damaged ({damage})"
                self._cut = f"the compressed file {damage}: what came before was read"
                return
            if not read(1):
                self._digest = self._digest or digest.hexdigest()

    def _without_tail(self) -> Iterator[bytes]:
        """Yield the bytes without the NULs at the end, and without the mark of UTF-8 at the start."""
        held, mark = 0, codecs.BOM_UTF8
        for piece in self._plain():
            piece, mark = piece.removeprefix(mark), b""
            text = piece.rstrip(b"\0")
            while text and held:
                yield b"\0" * min(held, _PIECE)
                held -= min(held, _PIECE)
            if text:
                yield text
            held += len(piece) - len(text)
            if held > _LONGEST_LINE:
                message = f"has more than {_LONGEST_LINE >> 20} MiB of NUL bytes in a row"
                raise self.error("file-corrupt", message, "copy the file again")
        self.nuls = held

    def _at_once(self, parts: Iterator[Part]) -> list[Part]:
        """Return the parts of what has to be in memory as a whole, up to 1 GiB."""
        whole = [] if self.size > MOST_AT_ONCE else list(_first(parts, MOST_AT_ONCE + 1))
        if max(self.size, sum(map(len, whole))) > MOST_AT_ONCE:
            most = f"{MOST_AT_ONCE >> 30} GiB"
            message = f"holds more than {most} in a format that has to be in memory as a whole"
            hint = "write it as CSV, Parquet or one JSON object per line, which are read piece by piece"
            raise self.error("file-too-large", message, hint)
        return whole


def load(path: str) -> Content:
    """Open a file, or standard input for ``-``; only its head is read.

    Raises ``file-not-found``, ``file-unreadable``, ``file-corrupt``, ``file-empty`` or ``file-too-large``.
    """
    try:
        content = _opened(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise missing_file(path) from None
    except OSError as problem:
        raise unreadable_file(path, problem) from None
    if content.packed and not content.head:
        message = f"opens like {content.packed} and cannot be unpacked"
        raise content.error("file-corrupt", message, "copy the file again")
    if content.head.startswith(b"version https://git-lfs.github.com/spec/"):
        message = "is a pointer of Git LFS, and its content was not fetched"
        raise content.error("file-corrupt", message, "fetch it with `git lfs pull`")
    if content.is_blank:
        size = f"{content.size} bytes" + (", white space or NUL as far as was read" if content.size else "")
        hint = "check that the run has logged something and that the path is the right one"
        raise content.error("file-empty", f"holds nothing ({size}), a training log was expected", hint)
    if content.is_lost:
        message = f"holds NUL bytes in its middle and at its end ({content.size} bytes)"
        hint = "copy the file again; `tr -d '\\0'` leaves out what a crashed file system put there"
        raise content.error("file-corrupt", message, hint)
    return content


def _opened(path: str) -> Content:
    """Open a file, or read a pipe; an empty path is a ValueError."""
    if path == "-":
        if sys.stdin is None:
            reason = "standard input is closed, a log was expected from it"
            raise InputError("file-unreadable", reason, "name a file, or use a pipe")
        note_input(0)
        return _piped(path, sys.stdin.buffer)
    if not path:
        raise ValueError
    kind = stat.S_IFMT(Path(path).stat().st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO):
        message = f"{quoted_path(path)} cannot be read: it is a device or a socket, not a file"
        hint = "name a file, a folder, a pipe, or - for standard input"
        raise InputError("file-unreadable", message, hint)
    with Path(path).open("rb") as stream:
        if kind == stat.S_IFIFO:
            return _piped(path, stream)
        stream.read(1)
    return Content(path)


def _piped(path: str, stream: IO[bytes]) -> Content:
    """Read a pipe, which is in memory as a whole, for it is read more than once."""
    data = stream.read(_MOST_PIPED + 1)
    if len(data) > _MOST_PIPED and not is_blank(data):
        message = f"more than {_MOST_PIPED >> 30} GiB came through {quoted_path(path)}"
        raise InputError("file-too-large", message, "write it to a file, and name the file")
    return Content(path, data)


def plain_name(path: str) -> PurePath:
    """Return a path without the suffixes of compressions."""
    pure = PurePath(path)
    while pure.suffix.lower() in COMPRESSION_SUFFIXES:
        pure = pure.with_suffix("")
    return pure


def format_not_read(path: str, content: Content | None = None) -> InputError | None:
    """Make the error of a table in a compression or a format that is not read, by its name; None for others.

    With the ``content`` of a file in no known format, it may also be binary with any suffix behind a table's.
    """
    *inner, last = [suffix.lower() for suffix in PurePath(path).suffixes] or [""]
    packed = last in _OTHER_PACKINGS and not _DATA_SUFFIXES.isdisjoint(inner)
    if content is not None and not content.is_text:
        packed |= not _TABLE_SUFFIXES.isdisjoint(inner)
    if not packed and last not in _OTHER_TABLES:
        return None
    message = f"{quoted_path(path)} may be a log, in a compression or a format that is not read ({last})"
    hint = "write it as CSV, JSONL or Parquet, or unpack it: gzip, Zstandard, bzip2 and xz are unpacked here"
    return InputError("format-not-read", message, hint)


def _decompressed(read: Read, how: str) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of at most 1 MiB; raises one of ``_DAMAGES`` where they end."""
    if how == "zstd":
        import pyarrow as pa

        # What pyarrow needs of a Python file; the caller closes it.
        file = SimpleNamespace(read=read, closed=False, close=lambda: None)
        source = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        yield from iter(lambda: source.read(_PACKED_PIECE), b"")
        return
    # read1 gives what there is before the place where a file breaks off.
    opened: Any = _OPENERS[how](SimpleNamespace(read=read))
    yield from iter(lambda: opened.read1(_PIECE), b"")


def _first(pieces: Iterator[Part], most: int) -> Iterator[Part]:
    """Yield the first so many characters or bytes."""
    size = 0
    for piece in pieces:
        yield piece[: most - size]
        size += len(piece)
        if size >= most:
            return


def _whole_lines(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Cut bytes where lines end: at line feeds, or else where a progress bar returns to its start."""
    parts, size = list[bytes](), 0
    for piece in pieces:
        # The position after the last line end that the next bytes do not belong to; 0 for none.
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
            message = f"{quoted_path(path)} has a line of more than {_LONGEST_LINE >> 20} MiB"
            raise InputError("file-corrupt", message, "check how the file was made; a log has lines")
    if any(parts):
        yield b"".join(parts)


def is_blank(piece: bytes) -> bool:
    """Whether there is nothing but white space and NUL."""
    return not piece.strip(b" \t\r\n\0")


def unreadable_file(path: str, problem: OSError) -> InputError:
    """Make the error for a file that exists and cannot be opened."""
    message = f"{quoted_path(path)} cannot be read: {problem.strerror or type(problem).__name__}"
    return InputError("file-unreadable", message, "check the file's permissions")


def missing_file(path: str) -> InputError:
    """Make the error for a path where nothing is, with the nearest names in the same folder, or its logs."""
    hint = "check the path; - reads standard input"
    if "://" in path:
        hint = "nothing is read from elsewhere: copy it here first, or pipe it into `entropylaw fit -`"
    with suppress(OSError, ValueError):
        parent, sought = Path(path).parent, Path(path)
        if is_folder(parent):
            names = sorted(entry.name for entry in parent.iterdir() if not entry.name.startswith("."))
            # A common suffix is no resemblance.
            stems = nearest([sought.stem], [Path(name).stem for name in names])
            close = [name for stem in dict.fromkeys(stems) for name in names if Path(name).stem == stem]
            logs = [name for name in names if Path(name).suffix.lower() in _LOGS]
            if close:
                hint = f"did you mean {listing(close, 3)}?"
            elif logs:
                where = quoted_path(str(parent)) if sought.name != path else "this folder"
                hint = f"files in {where} that may be logs: {listing(logs, 3)}"
    return InputError("file-not-found", f"there is no file or folder {quoted_path(path)}", hint)
