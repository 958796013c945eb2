"""Finds the files that a command's arguments name, each once, and says of what is not read why.

The commands are those for tables of tokens or samples.

Nothing is left out in silence: what was found and is not read has its reason. Only files that are plainly no
tables, such as pictures and texts, and hidden ones are not named, as among logs.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, NamedTuple, cast
from urllib.parse import unquote

import pyarrow as pa

from entropylaw.errors import InputError
from entropylaw.escaping import shown
from entropylaw.paths import expanded, is_file, is_folder, shown_path, walk

Fate = Literal["refused", "copy", "skipped"]

PACKINGS = {".gz": "gzip", ".zst": "zstd"}
"""Suffix of a compression that is unpacked → its name in Arrow."""

ARROW = (".arrow", ".arrows", ".feather", ".ipc")
"""Suffixes of Arrow's own files and streams."""

PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz")

_TABLES = frozenset((".parquet", ".pq", ".jsonl", ".ndjson", ".csv", ".tsv", *ARROW))
_NOT_READ = frozenset(
    (
        *(".csv", ".tsv", ".tab", ".psv", ".xlsx", ".xls", ".ods"),
        *(".orc", ".avro", ".db", ".sqlite", ".sqlite3", ".h5", ".hdf5", ".eval"),
        *(".bz2", ".xz", ".lz4", ".br", ".lzma", ".zip", ".tar", ".tgz", ".7z", ".rar"),
    )
)
"""Suffixes of tables, compressions and archives; each command reads some of them."""

_BEGIN = re.compile(rb"PAR1|ARROW1|(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*\"")
"""How tables begin whose name says nothing of what they are: Parquet, Arrow, or JSON with an object."""

_PART = re.compile(r"part-\d+[^.]*")
"""A file of a table that a cluster wrote; of text without a suffix its bytes say nothing."""

_BEGINNING = 64
"""Bytes of a file that are looked at for that."""

_JSON_BUT_NO_TABLE = (".ipynb", ".map", ".webmanifest")
"""Suffixes of documents that begin so, and are no tables."""

_KEY = re.compile(r"([^=/\\]+)=(.*)", re.DOTALL)
_SET_ASIDE = re.compile(r"_[^=]*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file, a folder or an argument that was found and is not read.

    Attributes
    ----------
    name
        As in documents.
    fate
        ``refused``: it may hold tokens or samples; ``copy``: these were read from another file; ``skipped``:
        it holds none.
    slug, why, hint
        Those of the error that it gave; of the others a sentence alone.
    """

    name: str
    fate: Fate
    why: str
    slug: str = ""
    hint: str = ""

    @classmethod
    def of(cls, name: str, error: InputError) -> Unread:
        """What could not be read."""
        return cls(name=name, fate="refused", slug=error.slug, why=error.message, hint=error.hint)


class Source(NamedTuple):
    """A file that may be a table: its name in documents, its path, and whether its folder was named alone."""

    name: str
    path: Path
    in_folder: bool

    @property
    def keys(self) -> dict[str, str]:
        """What the names of its folders say as ``key=value``, as Hive's partitions do."""
        matches = (_KEY.fullmatch(folder) for folder in self.path.parts[:-1])
        return {match[1]: unquote(match[2]) for match in matches if match}


@dataclass(slots=True, kw_only=True)
class Gathered:
    """The files of some arguments in the order of their names, what is not read, and notes."""

    sources: list[Source] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, name: str, error: InputError) -> None:
        """Note what cannot be read."""
        self.unread.append(Unread.of(name, error))

    def skip(self, name: str, why: str) -> None:
        """Note a file that holds no tokens and no samples."""
        self.unread.append(Unread(name=name, fate="skipped", why=why))

    def check_any(self, read: Collection[object], slug: str) -> None:
        """Raise the first error where nothing was ``read``, one with this slug where all was skipped."""
        if read:
            return
        for unread in self.unread:
            if unread.fate == "refused":
                raise InputError(unread.slug, unread.why, unread.hint)
        reasons = "; ".join(unread.why for unread in self.unread[:3])
        raise InputError(
            slug, f"no file is one to read: {reasons}", "name the files themselves, or their folder"
        )


def gather(
    arguments: Sequence[str],
    suffixes: Collection[str],
    nothing: Callable[[str], InputError],
    place: Callable[[Source], Hashable],
) -> Gathered:
    """The files of some arguments: files, folders, patterns.

    Parameters
    ----------
    suffixes
        Those of the files that are read of a folder.
    nothing
        The error for a folder without any such file.
    place
        What is read from the name of a file and from its folders, such as a step. Files of the same bytes
        are one, except where that differs.
    """
    gathered = Gathered()
    for argument in arguments:
        # A pattern that no shell expanded may match folders, too.
        for path in expanded(argument):
            if argument and is_folder(path):
                before = len(gathered.sources) + len(gathered.unread)
                _take_folder(gathered, path, suffixes)
                if len(gathered.sources) + len(gathered.unread) == before:
                    gathered.refuse(shown_path(path), nothing(path))
            elif is_file(path):
                gathered.sources.append(Source(Path(path).name, Path(path), in_folder=False))
            elif _exists(path):
                error = InputError(
                    "file-unreadable",
                    f"{shown_path(path)} is a pipe, a socket or a device, a file was expected",
                    "write its content into a file first",
                )
                gathered.refuse(shown_path(path), error)
            else:
                error = InputError(
                    "file-not-found",
                    f"there is no file or folder {shown_path(path)}",
                    "check the path, or name a folder",
                )
                gathered.refuse(shown_path(path), error)
    gathered.sources.sort(key=_order)
    gathered.sources = list(_without_copies(gathered, place))
    return gathered


def _exists(path: str | Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110  pathlib raises where a folder may not be entered


def _order(source: Source) -> tuple[list[int | str], str]:
    """Sort key: numbers in a name by their value."""
    # Text is at even places, numbers are at odd ones, so that only like is compared.
    parts = re.split(r"(\d+)", source.name)
    return [int(x) if i % 2 else x for i, x in enumerate(parts)], str(source.path)


def suffix_of(name: str) -> str:
    """The suffix of a name in lower case, that of a compression left out."""
    path = Path(name.lower())
    return path.with_suffix("").suffix if path.suffix in PACKINGS else path.suffix


def packing_of(path: Path) -> str:
    """The suffix of the compression that the name of a file has; empty for none."""
    suffix = path.suffix.lower()
    return suffix if suffix in PACKINGS else ""


def unpacked(path: Path) -> IO[bytes]:
    """The bytes of a file, of one whose name ends in that of a compression unpacked; OSError for damage."""
    packing = packing_of(path)
    if not packing:
        return path.open("rb")
    # Arrow says where a compressed file breaks off, which DuckDB does not of Zstandard.
    stream = pa.input_stream(pa.OSFile(str(path)), compression=PACKINGS[packing])
    return io.BufferedReader(cast("io.RawIOBase", stream))


def _take_folder(gathered: Gathered, folder: str, suffixes: Collection[str]) -> None:
    """Each file below a folder: one to read, one that is not read, or none of a table."""
    for visit in walk(folder):
        if isinstance(visit, OSError):
            where = str(visit.filename)
            name = Path(where).relative_to(folder).as_posix()
            problem = InputError(
                "file-unreadable",
                f"the folder {shown(name)} cannot be entered: {visit.strerror}",
                "check its permissions",
            )
            gathered.refuse(name, problem)
            continue
        where, _, names = visit
        for name in names:
            path = Path(where, name)
            source = Source(path.relative_to(folder).as_posix(), path, in_folder=True)
            unread = _why_not(source, suffixes)
            if unread is not None:
                gathered.unread.append(unread)
            elif suffix_of(name) in suffixes:
                gathered.sources.append(source)


def _why_not(source: Source, suffixes: Collection[str]) -> Unread | None:
    """Why a file of a folder is not opened; None for one that is, and for one that is plainly no table."""
    name = shown(source.name)
    problem = _problem_of_name(source, suffixes)
    if suffix_of(source.name) not in suffixes and not problem:
        if suffix_of(source.name) == ".json":
            return Unread(
                name=source.name,
                fate="skipped",
                why=f"{name} is a JSON document, and JSON lines are read: one object per line",
            )
        return None
    if not _exists(source.path):
        problem = InputError(
            "file-not-found",
            f"{name} is a link to nothing",
            "copy what it should lead to, or take it out of the folder",
        )
    elif not is_file(source.path):
        problem = InputError(
            "file-unreadable",
            f"{name} is a pipe, a socket or a device, a file was expected in a folder",
            "take it out of the folder",
        )
    elif not problem and any(map(_SET_ASIDE.fullmatch, Path(source.name).parts)):
        problem = InputError(
            "file-set-aside",
            f"{name} begins with an underscore, as markers and temporary files do",
            "name it on the command line, or rename it",
        )
    return Unread.of(source.name, problem) if problem else None


def _problem_of_name(source: Source, suffixes: Collection[str]) -> InputError | None:
    """The error of a file by its name, or of one whose name says nothing by its first bytes."""
    *inner, last = [suffix.lower() for suffix in source.path.suffixes] or [""]
    name = shown(source.name)
    if suffix_of(source.name) in suffixes:
        return None
    if last in PICKLES:
        return pickled(source.name)
    if last in _NOT_READ or not _TABLES.isdisjoint(inner):
        return InputError(
            "format-not-read",
            f"{name} may be a table, in a format that is not read ({last})",
            f"unpack it, or write it as one of {', '.join(sorted(suffixes))}",
        )
    if last in (".json", *_JSON_BUT_NO_TABLE) or _SET_ASIDE.fullmatch(source.path.name):
        return None
    with suppress(OSError):
        if not _exists(source.path) or (is_file(source.path) and _may_be_table(source.path)):
            return InputError(
                "format-not-read",
                f"{name} may be a table; its name does not say its format",
                f"rename it: {', '.join(sorted(suffixes))}",
            )
    return None


def _may_be_table(path: Path) -> bool:
    """Whether the first bytes of a file are those of a table, or its name that of a part of one."""
    if _PART.fullmatch(path.name):
        return True
    with path.open("rb") as content:
        return _BEGIN.match(content.read(_BEGINNING)) is not None


def pickled(name: str) -> InputError:
    """The error for a pickle, with the way to convert it."""
    return InputError(
        "pickle-not-opened",
        f"{shown(name)} is a pickle or an array of Python, which can run code: never opened",
        "if you trust it: torch.load(PATH, weights_only=True), then pandas.DataFrame(rows).to_parquet(...)",
    )


def _without_copies(gathered: Gathered, place: Callable[[Source], Hashable]) -> Iterator[Source]:
    """The files without those that have the bytes of another one; their reasons and notes are added."""
    by_content_and_place: dict[Hashable, Source] = {}
    by_content: dict[Hashable, Source] = {}
    paths_seen: set[Path] = set()
    for source, content in zip(gathered.sources, _contents(gathered.sources), strict=True):
        # An argument may name a file of a folder that is another one.
        path = source.path.absolute()
        if path in paths_seen:
            continue
        paths_seen.add(path)
        same = by_content_and_place.setdefault((content, place(source)), source)
        if same is not source:
            gathered.unread.append(
                Unread(
                    name=source.name, fate="copy", why=f"{_same_content(source, same)}, which is read once"
                )
            )
            continue
        earlier = by_content.setdefault(content, source)
        if earlier is not source:
            gathered.notes.append(
                f"{_same_content(source, earlier)}, of another step or group: both are read"
            )
        yield source


def _same_content(source: Source, other: Source) -> str:
    """That two files have the same content; of arguments with one name by their paths."""
    if source.name == other.name:
        return f"{shown_path(str(source.path))} has the same content as {shown_path(str(other.path))}"
    return f"{shown(source.name)} has the same content as {shown(other.name)}"


def _contents(sources: Sequence[Source]) -> list[Hashable]:
    """What says of each file whether its content is that of another one.

    Files of one size, and those that differ in a compression alone, such as ``a.jsonl`` and ``a.jsonl.gz``,
    are compared by what is in them, unpacked. A file that cannot be read is like no other.
    """
    sizes = Counter(map(_size, sources))
    plain = Counter(map(_plain_path, sources))
    contents: list[Hashable] = []
    for number, source in enumerate(sources):
        may_be_copy = sizes[_size(source)] > 1 or plain[_plain_path(source)] > 1
        contents.append((may_be_copy and _digest(source.path)) or number)
    return contents


def _size(source: Source) -> int:
    """The bytes of a file; 0 for one that cannot be read."""
    with suppress(OSError):
        return source.path.stat().st_size
    return 0


def _plain_path(source: Source) -> Path:
    """The path without the suffix of a compression."""
    path = source.path.absolute()
    return path.with_suffix("") if packing_of(path) else path


def _digest(path: Path) -> str | None:
    """SHA-256 of what is in a file; None for an empty one, or one that cannot be read."""
    digest = hashlib.sha256()
    # ValueError for a name that is not UTF-8, which Arrow does not open.
    with suppress(OSError, ValueError), unpacked(path) as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
        return digest.hexdigest() if path.stat().st_size else None
    return None
