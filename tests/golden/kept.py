"""Where the transcripts are kept, and how one is made."""

import tempfile
from pathlib import Path

from tests.golden.by_hand import BY_HAND
from tests.golden.cases import CASES
from tests.golden.transcript import shortened, transcript

FOLDER = Path(__file__).parent
NAMES = (*CASES, *BY_HAND)


def kept(name: str) -> Path:
    """The file of a case."""
    return FOLDER / f"{name}.txt"


def played(name: str, documents: set[str] | None = None) -> str:
    """The transcript of a case, run now in a folder of its own, or what is said of results made by hand."""
    if name in BY_HAND:
        return shortened(BY_HAND[name]())
    with tempfile.TemporaryDirectory() as scratch:
        return transcript(CASES[name].commands, CASES[name].inputs, Path(scratch), documents)


def stale() -> list[Path]:
    """Kept transcripts of no case."""
    return sorted(path for path in FOLDER.glob("*.txt") if path.stem not in NAMES)
