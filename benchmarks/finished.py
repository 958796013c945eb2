"""The finished runs that forecasts are learned from and tested on: public logs and the lab's runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from entropylaw.errors import EntropyLawError
from entropylaw.logs.load import read_all
from entropylaw.roles.select import select
from entropylaw.roles.series import Series

ROOT = Path(__file__).parent.parent
LAB = ROOT / "data" / "lab"
PUBLIC = ROOT.parent / "shared" / "logs"

FAMILIES = {
    "plain": ("grpo", "rloo", "reinforce", "gppo", "clip_higher", "entropy_bonus_0.02"),
    "held": ("clip_cov", "kl_cov", "kl_penalty", "entropy_bonus_0.1"),
    "clean": ("clean_",),
    "width": ("width_",),
    "sft": ("sft_",),
    "school": ("free_", "school_"),
}
"""The lab's runs that are near copies of each other, by the beginning of the name; they stay together.
A public folder is a family of its own."""

TRAINING_REWARD = ("critic/score/mean", "critic_score_mean")
"""Tested in addition to validation scores, if a log has both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A series, its family, and whether that is in the development half."""

    series: Series
    family: str
    development: bool
    public: bool


def collected() -> list[Entry]:
    """Every series of the logs, each content once."""
    seen: set[bytes] = set()
    entries = []
    for entry in _everything():
        content = entry.series.entropy.tobytes() + entry.series.reward.tobytes()
        if content not in seen:
            seen.add(content)
            entries.append(entry)
    return entries


def _everything() -> Iterator[Entry]:
    for base in (base for base in (PUBLIC, LAB) if base.is_dir()):
        for folder in sorted(path for path in base.iterdir() if path.is_dir()):
            family = folder.name if base == PUBLIC else lab_family(folder.name)
            for series in _series(folder):
                yield Entry(
                    series=series,
                    family=family,
                    development=in_development(family),
                    public=base == PUBLIC,
                )


def _series(folder: Path) -> Iterator[Series]:
    """By the catalog's choice of reward, and by the training reward where that is another."""
    for run in read_all([str(folder)]).runs:
        columns: set[str] = set()
        for reward in (None, *TRAINING_REWARD):
            try:
                series = select(run, reward=reward)
            except EntropyLawError:
                continue
            if series.reward_choice.column not in columns:
                columns.add(series.reward_choice.column)
                yield series


def lab_family(name: str) -> str:
    for family, beginnings in FAMILIES.items():
        if name.startswith(beginnings):
            return family
    return name


def in_development(family: str) -> bool:
    """Half of the families, by a hash of the name."""
    return int(hashlib.sha256(family.encode()).hexdigest(), 16) % 2 == 0
