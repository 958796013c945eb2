"""Transcripts: commands of the command line, run in this process, with all that they print and write."""

import contextlib
import difflib
import hashlib
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

from entropylaw import __version__
from tests.conftest import ended
from tests.golden.shape import kept_json

SHOWN = (".csv", ".html", ".json", ".md", ".txt", ".xml")
"""Files whose content is text that this package words; of others the name is kept."""

FORCED = ("FORCE_COLOR", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "PY_COLORS", "TERMINAL_WIDTH")

LEAST_REPEATED = 300
"""Characters of a text beyond which it is referred to where it comes again."""

NOTHING = 1e-12
"""Share of a list's mean magnitude below which a number is what rounding left of zero."""

LONGEST_DIFFERENCE = 60
"""Lines of a difference that a failed test shows."""


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """The folder as the working folder of a project of its own, and nothing that a user's settings change."""
    (folder / ".git").mkdir(exist_ok=True)
    ours = [name for name in os.environ if name.startswith("ENTROPYLAW_") and name != "ENTROPYLAW_CACHE"]
    with contextlib.chdir(folder), mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        for name in (*FORCED, *ours):
            os.environ.pop(name, None)
        yield


def transcript(
    commands: Sequence[str],
    inputs: Sequence[Callable[[Path], None]],
    folder: Path,
    documents: set[str] | None = None,
) -> str:
    """Write the inputs into an empty folder and run the commands there, one after another.

    After each command stand its output, its exit code, and every file that it wrote: what is text with its
    content. What stands earlier in the transcript is not repeated. ``documents`` gets the JSON as it is.
    """
    for write in inputs:
        write(folder)
    parts = []
    known: dict[str, str] = {}
    with surroundings(folder):
        before = _files(Path())
        made = {hashlib.sha256(content).hexdigest(): path for path, content in before.items()}
        for number, command in enumerate(commands, 1):
            finished = ended(shlex.split(command), None)
            after = _files(Path())
            written = [path for path, content in after.items() if before.get(path) != content]
            parts.append(f"$ entropylaw {command}\n--- exit {finished.returncode}\n")
            printed = {"stdout": finished.stdout, "stderr": finished.stderr}
            files = {path: after[path].decode("utf-8") if path.endswith(SHOWN) else "" for path in written}
            for title, whole in (printed | files).items():
                if documents is not None and whole.startswith("{"):
                    documents.add(whole)
                text = _without_digests(whole, made)
                if text in known:
                    parts.append(f"--- {title}: as {known[text]}\n")
                elif text or title in files:
                    parts.append(f"--- {title}\n{shortened(text)}")
                if len(text) > LEAST_REPEATED:
                    known[text] = title if title in files else f"{title} of command {number}"
            made |= {hashlib.sha256(after[path]).hexdigest(): path for path in written}
            before = after
    return "".join(parts)


def difference(name: str, old: str, new: str) -> str:
    """A unified diff, shortened; empty where the transcripts agree but for the last decimals of numbers.

    The versions of numpy and scipy decide those; that they are the same on any processor is what the test of
    the sample report says.
    """
    if _agree(old, new):
        return ""
    olds, news = (
        _DECIMAL.sub(lambda found: f"{float(found[0]):.9g}", text).splitlines() for text in (old, new)
    )
    lines = list(difflib.unified_diff(olds, news, f"{name} as kept", f"{name} now", lineterm="", n=1))
    left_out = len(lines) - LONGEST_DIFFERENCE
    return "\n".join(lines[:LONGEST_DIFFERENCE] + ([f"… {left_out} more lines"] if left_out > 0 else []))


def _files(folder: Path) -> dict[str, bytes]:
    """Path → content of every file."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.as_posix(): path.read_bytes() for path in paths}


def _without_digests(text: str, made: Mapping[str, str]) -> str:
    """A text without the digests of files: what we wrote changes with the last decimals of numbers."""
    for digest, path in made.items():
        text = text.replace(digest, f"SHA-256 of {path}")
    return text


_NUMBER = r"-?\d[\d.]*(?:e[+-]?\d+)?"
_LISTS = re.compile(rf"\[[\s\[]*{_NUMBER}(?:[\s\]]*,[\s\[]*{_NUMBER}){{7,}}[\s\]]*\]")
"""Eight numbers or more in a list of JSON, nested or not."""
_FIGURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_CAPTION = re.compile(r"<(title|desc)\b[^>]*>(.*?)</\1>", re.DOTALL)
_STYLE = re.compile(r"(<style>).*?(</style>)", re.DOTALL)
_VERSION = re.compile(rf"(?<![\d.]){re.escape(__version__)}(?!\.?\d)")


def shortened(text: str) -> str:
    """JSON by its shape; a page without its drawings and style; no long lists of numbers, nor the version."""
    text = _VERSION.sub("VERSION", text)
    text = kept_json(text) or text
    text = _FIGURE.sub(_captioned, text)
    text = _STYLE.sub(r"\1…\2", text)
    text = _LISTS.sub(_summed_up, text)
    return text if not text or text.endswith("\n") else f"{text}\n"


def _captioned(figure: re.Match[str]) -> str:
    words = (found[2].strip() for found in _CAPTION.finditer(figure[0]))
    return f"<svg: {' | '.join(words)}>"


def _summed_up(numbers: re.Match[str]) -> str:
    """A list of numbers by its ends and its mean magnitude, so that a difference can be read."""
    values = [float(number) for number in re.findall(_NUMBER, numbers[0])]
    magnitude = math.fsum(map(abs, values)) / len(values)
    first, last = (end if abs(end) > NOTHING * magnitude else 0.0 for end in (values[0], values[-1]))
    return f"[{first:.6g} … {last:.6g}: {len(values)} numbers, mean magnitude {magnitude:.6g}]"


_DECIMAL = re.compile(r"(-?\d+\.\d+(?:e[+-]?\d+)?)")


def _agree(old: str, new: str) -> bool:
    """Whether texts are the same, with numbers that may differ after the ninth digit."""
    olds, news = _DECIMAL.split(old), _DECIMAL.split(new)
    return olds[::2] == news[::2] and all(
        math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-12)
        for one, other in zip(olds[1::2], news[1::2], strict=True)
    )
