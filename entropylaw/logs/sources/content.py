"""What readers see of a file: its head, its bytes or its text.

Files that are compressed with gzip, Zstandard, bzip2 or xz are decompressed. The compression is detected by
the first bytes, for names may differ.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any

from entropylaw.errors import InputError
from entropylaw.escaping import counted, listing, nearest, quoted_path
from entropylaw.logs.sources.folding import unfolded
from entropylaw.paths import is_file, note_input

_HEAD = 1 << 16
# A job may print for long before its first step: so much of a file is searched for its format.
_OPENING = 1 << 25
# What has to be in memory as a whole, text and all but Parquet and databases, may be as long as this. Beyond
# it, standard input is taken as endless.
MOST_AT_ONCE = 1 << 30

# Beyond this, columns that no analysis uses are not kept.
_LARGE = 1 << 26
_PIECE = 1 << 20
# Control characters that text hardly has.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x08\x1b"))
# Between two blocks of text: a progress bar moves the cursor, and may return to its start.
_LINE_END = re.compile(r"\n(?![\x1b\r\n])")
# A limit against decompression bombs: trainers' logs decompress to 3 to 20 times their size.
_MOST_UNPACKED = 40
# In this order: the mark of UTF-32 begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_PACKED_PIECE = 1 << 16
_SIGNATURES = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_DAMAGES = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)
# Files whose names are given where the one that was sought is not there.
_LOGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".log", ".wandb", ".ipynb")
COMPRESSION_SUFFIXES = (".gz", ".zst", ".bz2", ".xz")
_TABLE_SUFFIXES = frozenset((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq"))
_DATA_SUFFIXES = _TABLE_SUFFIXES | {".json", ".log", ".out", ".txt", ".wandb"}
# Formats in which no terminal has folded a line.
_UNFOLDED = _TABLE_SUFFIXES | {".json", ".ipynb"}
# Tables and compressions that are not read.
_OTHER_TABLES = frozenset(
    (".feather", ".arrow", ".arrows", ".ipc", ".orc", ".avro", ".xlsx", ".xls", ".ods", ".7z", ".rar")
)
_OTHER_PACKINGS = frozenset((".lz4", ".br", ".7z", ".z", ".lz", ".lzma", ".lzo", ".sz", ".snappy", ".rar"))

#: Suffixes of programs, settings and prose, which may name an entropy and a step without being a log.
PROGRAMS = frozenset(
    {".py", ".pyi", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".slurm", ".sbatch", ".pbs"}
    | {".c", ".h", ".cc", ".cpp", ".hpp", ".cu", ".cuh", ".rs", ".go", ".java", ".kt", ".swift"}
    | {".js", ".ts", ".jsx", ".tsx", ".mjs", ".rb", ".pl", ".r", ".jl", ".lua", ".sql", ".mk", ".css"}
    | {".toml", ".yaml", ".yml", ".cfg", ".ini", ".conf", ".env", ".gin", ".lock", ".xml"}
    | {".md", ".rst", ".tex", ".bib", ".org", ".adoc", ".diff", ".patch", ".jinja", ".j2"}
)


def _zstd(stream: IO[bytes]) -> object:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")


_OPENERS: dict[str, Callable[[Any], Any]] = {
    "gzip": partial(gzip.GzipFile, None, "rb", 9),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": _zstd,
}


class Content:
    """The bytes behind one path, which is as the user gave it; ``-`` for standard input.

    ``data`` are all bytes, where they are in memory already; where they are not, the file is opened anew each
    time.
    """

    def __init__(self, path: str, data: bytes | None = None) -> None:
        self.path = path
        self._raw = data
        #: Length in bytes, as stored.
        self.size = Path(path).stat().st_size if data is None else len(data)
        #: Whether the compressed bytes are cut off or damaged; known when the content was read.
        self.damaged = False
        #: How many NULs at the end of a text were left out; known when the content was read.
        self.nuls = 0
        #: Whether any analysis uses a column of this name; None where all may be used.
        self.useful: Callable[[str], bool] | None = None
        self._cut = ""

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
        return self._first(_HEAD)

    @cached_property
    def data(self) -> bytes:
        """All bytes, decompressed; raises ``file-too-large`` beyond 1 GiB."""
        if self._raw is not None and not self.packed:
            return self._raw
        data = b"" if self.size > MOST_AT_ONCE else self._first(MOST_AT_ONCE + 1)
        if max(self.size, len(data)) > MOST_AT_ONCE:
            raise self.error(
                "file-too-large",
                f"holds more than {MOST_AT_ONCE >> 30} GiB, and has to be in memory as a whole",
                "write the lines or columns with metrics alone into a file, as with grep, or as Parquet",
            )
        return data

    @cached_property
    def sha256(self) -> str:
        """Digest of the bytes as stored."""
        # A file that is being written may have grown since it was read.
        if "data" in vars(self) and not self.packed:
            return hashlib.sha256(self.data).hexdigest()
        with self._stream() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    @property
    def text(self) -> str:
        """All of the text, in which bytes that are not of its encoding are U+FFFD.

        The NULs that a crashed file system leaves at the end are left out.
        """
        return self._decoded[0]

    @property
    def text_notes(self) -> tuple[str, ...]:
        """What was left out or replaced to get text out of the bytes."""
        return self._decoded[1]

    @property
    def ended(self) -> bool:
        """Whether the last line has its end."""
        return not self.text or self.text.endswith(("\n", "\r"))

    @cached_property
    def opening(self) -> str:
        """The first 32 MiB of the text, or all of it: what a reader may search to recognise it."""
        if self.size <= _OPENING and not self.packed:
            return self.text
        return self._decode(self._first(_OPENING))[0]

    def blocks(self) -> Iterator[str]:
        """Yield the text in blocks that end where a line ends, and not before a cursor movement."""
        start = 0
        while start < len(self.text):
            end = _LINE_END.search(self.text, start + _PIECE)
            yield self.text[start : end.end() if end else None]
            start = end.end() if end else len(self.text)

    def lines(self) -> Iterator[str]:
        """Yield the lines, without their ends; a carriage return within a line is kept."""
        for block in self.blocks():
            yield from (line.removesuffix("\r") for line in block.removesuffix("\n").split("\n"))

    @cached_property
    def encoding(self) -> str:
        """The encoding of a text, as :func:`encoding_of`."""
        return encoding_of(self.head)

    @cached_property
    def head_text(self) -> str:
        """The head as text, in which bytes that are not of its encoding are U+FFFD."""
        return self.head.decode(self.encoding, "replace").removeprefix("\ufeff")

    @cached_property
    def is_text(self) -> bool:
        """Whether the head is text: hardly any control characters, nearly all of it UTF-8; or wider."""
        if self.encoding != "utf-8":
            return True
        head = self.head.rstrip(b"\0")
        controls = len(head) - len(head.translate(None, _CONTROLS))
        valid = head.decode("utf-8", "ignore").encode()
        return bool(head) and controls * 100 <= len(head) and len(valid) * 10 >= len(head) * 9

    @cached_property
    def is_blank(self) -> bool:
        """Whether the first 32 MiB hold white space and NUL only."""
        return is_blank(self.head) and is_blank(self._first(_OPENING))

    def local_file(self) -> str | None:
        """Return the path of a plain file on this machine with these bytes; None where there is none."""
        return self.path if self._raw is None and not self.packed and is_file(self.path) else None

    def error(self, slug: str, what: str, hint: str) -> InputError:
        """Make an error about this file; ``what`` follows its path."""
        name = "standard input" if self.path == "-" else quoted_path(self.path)
        return InputError(slug, f"{name} {what}", hint)

    @contextmanager
    def _stream(self) -> Iterator[io.BufferedReader | io.BytesIO]:
        """Open the file anew; one that was removed meanwhile, or whose disk fails, is an InputError."""
        try:
            with Path(self.path).open("rb") if self._raw is None else io.BytesIO(self._raw) as stream:
                yield stream
        except FileNotFoundError:
            raise missing_file(self.path) from None
        except OSError as problem:
            raise unreadable_file(self.path, problem) from None

    def _first(self, most: int) -> bytes:
        """Return the first bytes, decompressed; raises ``file-too-large`` for a decompression bomb."""
        with self._stream() as stream:
            if not self.packed:
                # As many bytes are allocated before any is read.
                return stream.read(min(most, self.size or most))
            pieces: list[bytes] = []
            size = 0
            try:
                # read1 gives what there is before the place where a file breaks off.
                read = _OPENERS[self.packed](stream).read1
                while size < most and (piece := read(_PACKED_PIECE)):
                    pieces.append(piece)
                    size += len(piece)
                    if size > max(_MOST_UNPACKED * self.size, _OPENING):
                        raise self.error(
                            "file-too-large",
                            f"unpacks to more than {_MOST_UNPACKED} times its {counted(self.size, 'byte')}",
                            "unpack it, and name what is in it",
                        )
            except _DAMAGES as problem:
                self.damaged = True
                damage = str(problem).partition("\n")[0][:200] or type(problem).__name__
                self._cut = (
                    f"the compressed file breaks off or is damaged ({damage}): what came before was read"
                )
        return b"".join(pieces)[:most]

    @cached_property
    def _decoded(self) -> tuple[str, tuple[str, ...]]:
        return self._decode(self.data)

    def _decode(self, data: bytes) -> tuple[str, tuple[str, ...]]:
        """Return the text of some bytes, and notes on it."""
        encoding = encoding_of(data)
        notes: list[str] = []
        name = encoding[:6].upper()
        if encoding == "utf-8":
            whole = data.rstrip(b"\0")
            self.nuls = len(data) - len(whole)
            data = whole
        else:
            notes.append(f"the file is {name}")
        if self.nuls:
            notes.append(f"{counted(self.nuls, 'NUL byte')} at the end left out")
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            text = data.decode(encoding, errors="replace")
            bad_lines = counted(sum("\ufffd" in line for line in text.split("\n")), "line")
            notes.append(f"{bad_lines} with bytes that are not {name}; these were replaced")
        if self.suffix not in _UNFOLDED:
            text, width = unfolded(text)
            if width:
                notes.append(f"lines are folded at {width} characters: joined")
        return text.removeprefix("\ufeff"), (*notes, *filter(None, [self._cut]))


def is_blank(piece: bytes) -> bool:
    """Whether there is nothing but white space and NUL."""
    return not piece.strip(b" \t\r\n\0")


def encoding_of(data: bytes) -> str:
    """The encoding of a text that begins so: by its byte order mark, or else UTF-8."""
    return next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), "utf-8")


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
        raise content.error(
            "file-corrupt", f"opens like {content.packed} and cannot be unpacked", "copy the file again"
        )
    if content.head.startswith(b"version https://git-lfs.github.com/spec/"):
        raise content.error(
            "file-corrupt",
            "is a pointer of Git LFS, and its content was not fetched",
            "fetch it with `git lfs pull`",
        )
    if content.is_blank:
        size = f"{content.size} bytes" + (", white space or NUL as far as was read" if content.size else "")
        raise content.error(
            "file-empty",
            f"holds nothing ({size}), a training log was expected",
            "check that the run has logged something and that the path is the right one",
        )
    return content


def _opened(path: str) -> Content:
    """Open a file, or read a pipe; an empty path is a ValueError."""
    if path == "-":
        if sys.stdin is None:
            raise InputError(
                "file-unreadable",
                "standard input is closed, a log was expected from it",
                "name a file, or use a pipe",
            )
        note_input(0)
        return _piped(path, sys.stdin.buffer)
    if not path:
        raise ValueError
    kind = stat.S_IFMT(Path(path).stat().st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO):
        raise InputError(
            "file-unreadable",
            f"{quoted_path(path)} cannot be read: it is a device or a socket, not a file",
            "name a file, a folder, a pipe, or - for standard input",
        )
    with Path(path).open("rb") as stream:
        if kind == stat.S_IFIFO:
            return _piped(path, stream)
        stream.read(1)
    return Content(path)


def _piped(path: str, stream: IO[bytes]) -> Content:
    """Read a pipe, which is in memory as a whole, for it is read more than once."""
    pieces = iter(lambda: stream.read(_PIECE), b"")
    data = b"".join(islice(pieces, MOST_AT_ONCE // _PIECE + 1))
    if len(data) > MOST_AT_ONCE and not is_blank(data):
        raise InputError(
            "file-too-large",
            f"more than {MOST_AT_ONCE >> 30} GiB came through {quoted_path(path)}",
            "pipe the lines with metrics alone, as with grep, or write their columns as Parquet",
        )
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
    return InputError(
        "format-not-read",
        f"{quoted_path(path)} may be a log, in a compression or a format that is not read ({last})",
        "write it as CSV, JSONL or Parquet, or unpack it (gzip, Zstandard, bzip2, xz are read)",
    )


def unreadable_file(path: str, problem: OSError) -> InputError:
    """Make the error for a file that exists and cannot be opened."""
    return InputError(
        "file-unreadable",
        f"{quoted_path(path)} cannot be read: {problem.strerror or type(problem).__name__}",
        "check the file's permissions",
    )


def missing_file(path: str) -> InputError:
    """Make the error for a path where nothing is, with the nearest names in the same folder, or its logs."""
    hint = "check the path; - reads standard input"
    if "://" in path:
        hint = "nothing is read from elsewhere: copy it here first, or pipe it into `entropylaw fit -`"
    sought = Path(path)
    with suppress(OSError, ValueError):
        names = sorted(entry.name for entry in sought.parent.iterdir() if not entry.name.startswith("."))
        # A common suffix is no resemblance.
        stems = nearest([sought.stem], [Path(name).stem for name in names])
        close = [name for stem in dict.fromkeys(stems) for name in names if Path(name).stem == stem]
        logs = [name for name in names if Path(name).suffix.lower() in _LOGS]
        if close:
            hint = f"did you mean {listing(close, 3)}?"
        elif logs:
            where = quoted_path(str(sought.parent)) if sought.name != path else "this folder"
            hint = f"files in {where} that may be logs: {listing(logs, 3)}"
    return InputError("file-not-found", f"there is no file or folder {quoted_path(path)}", hint)
