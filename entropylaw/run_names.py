"""Arms in the names of runs, which differ by their seed alone, and rewards by their names.

Without numpy: reports name arms by it, too.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from pathlib import PurePath

SEED = re.compile(r"(?i)(?:(?<=[\W_])|\b)(?:(?:random[-_]?)?seed|s)[-_=: ]?\d+(?![^\W_])")
"""A seed in a name: ``_s0``, ``-seed1``, ``seed=3``, ``_seed_2``, ``/s1``."""

_ARM = re.compile(r"(?P<arm>[^=/\\]*[^=/\\\s:])=(?P<path>.+)", re.DOTALL)
_AGAIN = re.compile(r"#\d+\Z")
# A name, and what is added to it in parentheses.
_BARE = re.compile(r"(.*?)(?:\s\(([^()]*)\))?", re.DOTALL)
_ENDS = " -_/.,;:|"


def split_arm(text: str) -> tuple[str, str]:
    """``("grpo", "logs")`` of ``grpo=logs``; ``("", path)`` of a path, which may hold an equals sign."""
    match = _ARM.fullmatch(text)
    if match is None or os.path.lexists(text):
        return "", text
    return match["arm"].strip(), match["path"]


def without_seed(name: str) -> str | None:
    """The rest of a name that has a seed, which is empty for a bare seed; None for a name without one.

    A second start in one file, ``grpo_s0#2``, has the arm of the first.
    """
    rest, last = "", 0
    name = _AGAIN.sub("", name)
    for seed in SEED.finditer(name):
        rest += name[last : seed.start()]
        # The separators before it stay, those behind it go.
        last = seed.end() + len(name[seed.end() :]) - len(name[seed.end() :].lstrip(_ENDS))
    if not last:
        return None
    rest = re.sub(rf"[{re.escape(_ENDS)}]+(?=\))", "", rest + name[last:]).replace("()", "")
    return rest.strip(_ENDS)


def arm_by_seed(name: str, path: str = "") -> str | None:
    """The arm of a run by its name, or by the folders of its ``path`` where the name is a bare seed.

    None where neither has a seed.
    """
    match = _BARE.fullmatch(name)
    bare, added = match.groups("") if match else (name, "")
    rest = without_seed(bare)
    if rest is None:
        rest = without_seed(name)
    if rest != "":
        return rest
    folders = [*PurePath(path.split(" + ")[0]).parts[:-1]]
    # The arm is in the folder of the seed, or above it.
    while any(without_seed(folder) is not None for folder in folders):
        folder = folders.pop()
        if rest := without_seed(folder):
            return rest
    if folders and folders[-1] not in ("..", ".", "/"):
        return folders[-1]
    return added.strip(_ENDS) or None


def seed_of(name: str, path: str = "") -> str:
    """The number of the seed in a name, or in the folders of its path; empty where there is none."""
    for text in (name, *reversed(PurePath(path).parts)):
        if found := SEED.findall(text):
            return re.sub(r"\D", "", found[-1])
    return ""


def arm_by_pattern(name: str, pattern: str) -> str | None:
    """The first group of a regular expression in a name, or all that it matches; None where it does not."""
    match = re.search(pattern, name)
    if match is None:
        return None
    return (match[1] if match.re.groups else match[0]) or None


def reward_matches(pattern: str, *names: str) -> bool:
    """Whether a shell pattern is for a reward with these names: its label or column.

    Capitals, hyphens and underscores do not count, and of the label ``MATH-500 mean@1`` the benchmark's name
    is enough: ``math500``.
    """

    def plain(text: str) -> str:
        return text.casefold().replace("-", "").replace("_", "")

    forms = {form for name in names if name for form in (name, name.partition(" ")[0])}
    return any(fnmatchcase(name, pattern) or fnmatchcase(plain(name), plain(pattern)) for name in forms)
