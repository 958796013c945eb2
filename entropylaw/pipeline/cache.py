"""The cache: results of earlier calls in the user's own folder, with the same bytes as computed ones.

A key is a digest of all that a result depends on: the run, the step and its options, this package's own
source files, the releases of numpy and scipy, and the arithmetic of the processor. The folder is the user's
own, and never one of a working copy, which may come with a stranger's results. Gates use no cache at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache as once
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import entropylaw
from entropylaw.documents.codec import DocumentMismatchError, decode, encode
from entropylaw.logs.runs import Run
from entropylaw.paths import read_regular, shown_path
from entropylaw.reproducible import ARITHMETIC

T = TypeVar("T")

VARIABLE = "ENTROPYLAW_CACHE"
"""The environment variable that names another folder, by an absolute path, or is ``off``."""

LARGEST = 1 << 20
"""Bytes in one of the 256 folders, by the first byte of a key, before its oldest entries are deleted."""

LONGEST = 1 << 26
"""Bytes of an entry; a longer one is not read."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Results by key; without a ``folder``, and where it cannot be used, nothing is kept.

    Nor is a result with a name in it that is no UTF-8, as of a file: it cannot be packed.
    """

    folder: Path | None = None

    def key(self, name: str, options: Any, subject: Any) -> str:
        """The key of a step's result for a run, or for an earlier result; empty where nothing is kept."""
        if self.folder is None:
            return ""
        try:
            content = _run_content(subject) if isinstance(subject, Run) else packed(subject)
        except UnicodeEncodeError:
            return ""
        return hashlib.sha256(canonical({"step": name, "options": encode(options)}) + content).hexdigest()

    def get(self, key: str, kind: type[T]) -> T | None:
        """The result of that type and key; None where there is none, or a damaged one."""
        if self.folder is None or not key:
            return None
        try:
            # Where another process can write, a link or a pipe may stand in an entry's place.
            digest, content = read_regular(self._place(key), LONGEST, follow=False).split(b"\n", 1)
            if digest.decode() != hashlib.sha256(content).hexdigest():
                return None
            return decode(kind, msgspec.msgpack.decode(content))
        except (OSError, ValueError, DocumentMismatchError):
            return None

    def put(self, key: str, result: Any) -> None:
        """Keep a result; the oldest in its folder are deleted where there are too many."""
        if self.folder is None or not key:
            return
        with contextlib.suppress(OSError, UnicodeEncodeError):
            path = self._place(key)
            content = packed(result)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
            Path(temporary).replace(path)
            entries = sorted((entry.lstat().st_mtime_ns, entry) for entry in path.parent.iterdir())
            size = sum(entry.lstat().st_size for _, entry in entries)
            for _, entry in entries[:-1]:
                if size <= LARGEST:
                    break
                size -= entry.lstat().st_size
                entry.unlink()

    def _place(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / key[2:]


OFF = Cache()


def user_cache() -> Cache:
    """The cache in the user's own folder, or in the one that :data:`VARIABLE` names.

    None in a project: what lies there may come from another person.
    """
    named = os.environ.get(VARIABLE, "")
    caches = {"win32": os.environ.get("LOCALAPPDATA", ""), "darwin": "~/Library/Caches"}
    default = Path(caches.get(sys.platform, os.environ.get("XDG_CACHE_HOME", "~/.cache"))) / "entropylaw"
    folder = Path(os.path.expanduser(named or str(default)))  # noqa: PTH111  no error without a home
    # A relative folder would be one of the working folder.
    if named == "off" or not folder.is_absolute():
        return OFF
    with contextlib.suppress(OSError, RuntimeError):  # the latter of links in a circle
        folder = folder.resolve()
        if _is_in_project(folder):
            return OFF
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid():
            return Cache(folder)
    return OFF


def _is_in_project(folder: Path) -> bool:
    """Whether a folder is in a repository, or below the working folder.

    The user's home and the folders above it are no project: a process that works there has the usual cache.
    """
    above = (folder, *folder.parents)
    if any((parent / ".git").exists() for parent in above):
        return True
    home = Path(os.path.expanduser("~"))  # noqa: PTH111
    # Without a home, or with a relative one, the working folder is not known to be above it.
    no_project: tuple[Path, ...] = ()
    if home.is_absolute():
        home = home.resolve()
        no_project = (home, *home.parents)
    working = Path.cwd()
    return working in above and working not in no_project


def packed(result: Any) -> bytes:
    """A result with every digit; arrays become lists."""
    return msgspec.msgpack.encode(result, enc_hook=lambda value: value.tolist())


def canonical(values: Mapping[str, Any]) -> bytes:
    """Plain values, and the version of the program and its libraries, as bytes."""
    content = {
        "program": _program(),
        "arithmetic": [os.environ.get(name) for name in ARITHMETIC],
        **values,
    }
    return json.dumps(content, sort_keys=True).encode("utf-8", "surrogatepass")


def _run_content(run: Run) -> bytes:
    """A digest of all that was read of a run."""
    spoiled = {}
    for name, causes in run.spoiled.items():
        spoiled[name] = {cause: steps.tolist() for cause, steps in causes.items()}
    content = {
        "name": run.name,
        # A result has the path as it is shown, which depends on the working folder.
        "path": [run.source.path, shown_path(run.source.path)],
        "step": [run.step_column, run.step_why],
        "columns": list(run.columns),
        "dropped": dict(run.dropped),
        "notes": run.notes,
        "texts": dict(run.texts),
        "spoiled": spoiled,
        "unread": run.unread,
        "settings": {str(name): repr(value) for name, value in run.settings.items()},
        "format": run.source.format,
    }
    digest = hashlib.sha256(canonical(content))
    for values in (run.step, *run.columns.values()):
        digest.update(values.tobytes())
    return digest.digest()


@once
def _program() -> str:
    """A digest of the source files of this package, and of the libraries that compute for it."""
    digest = hashlib.sha256(f"{sys.version} {platform.machine()}".encode())
    package = Path(entropylaw.__file__).parent
    files = sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    versions = {"numpy": "version.py", "scipy": "version.py", "matplotlib": "_version.py"}
    for library, file in versions.items():
        spec = find_spec(library)
        if spec and spec.origin:
            files.append(Path(spec.origin).with_name(file))
    for path in files:
        with contextlib.suppress(OSError):
            digest.update(path.read_bytes())
    return digest.hexdigest()
