"""Files that are written whole or not at all; a gate that writes none does without this module."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from entropylaw.errors import OutputError
from entropylaw.paths import check_targets

TEMPORARY = ".entropylaw-"
"""How the names of unfinished files begin; they end in ``.part``."""


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write to a temporary file and move it over the target, so that readers see the old or the new file.

    Raises OutputError ``cannot-write``: the folder cannot be made or written, the disk is full; the old file
    is then unchanged. Raises UsageError ``output-is-input``.
    """
    check_targets([path])
    target = Path(path)
    # A file name that is no UTF-8 has surrogates, which are written as \\udcff.
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    temporary: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=TEMPORARY, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; a report gets the permissions of the user's other files.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(target)
    except OSError as error:
        raise OutputError(
            "cannot-write",
            f"{target} could not be written ({error.strerror or error}); an existing file is unchanged",
            "check the folder's permissions and the space left, or choose another place with -o",
        ) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
