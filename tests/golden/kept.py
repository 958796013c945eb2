"""Where the transcripts are kept, and how one is made."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.golden.cases import CASES
from tests.golden.transcript import transcript

FOLDER = Path(__file__).parent


def kept(name: str) -> Path:
    """The file of a case."""
    return FOLDER / f"{name}.txt"


def played(name: str) -> str:
    """The transcript of a case, run now in a folder of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        return transcript(CASES[name].commands, CASES[name].inputs, Path(scratch))


def stale() -> list[Path]:
    """Kept transcripts of no case."""
    return sorted(path for path in FOLDER.glob("*.txt") if path.stem not in CASES)
