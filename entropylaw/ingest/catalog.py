"""Looking columns up in the catalog: which trainer wrote them, and what they mean.

Names match as a whole, never in part: ``entropy_coef`` and ``timing_s/old_log_prob_entropy`` are no entropy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from entropylaw.ingest.labels import RUN_NAMES
from entropylaw.ingest.run import Run
from entropylaw.ingest.segments import BOOKKEEPING
from entropylaw.ingest.steps import COUNTERS, STEP_NAMES, folded, sample_columns
from entropylaw.ingest.trainers import Key, Trainer, names, trainers
from entropylaw.ingest.wording import listing

# The least and the greatest value behind a point of a chart; W&B's pages write them beside it.
_BOUNDS = ("__MIN", "__MAX")
_ROLES = ("entropy", "training", "validation")

# What bears entropy in its name and is none of the policy's. The first match gives the reason.
_DECOYS: tuple[tuple[str, str], ...] = (
    (r"(?:.*_)?(?:ent|entropy|entropy_loss)_coef(?:f|ficient)?", "a coefficient, no entropy"),
    (r"(?:.*_)?target_entropy", "a target, no measurement"),
    (r"(?:.*_)?entropy_threshold", "a threshold, no mean"),
    (r"(?:.*_)?cross_entropy(?:_loss)?", "a loss against labels"),
    (r"(?:.*_)?teacher_entropy", "of the teacher, not of the policy"),
    (r"(?:.*_)?kl_ent_ratio(?:_mean)?", "a ratio"),
    (r"(?:timing|timing_s|perf|profiling|time)_.*", "a duration"),
    (r"(?:.*_)?entropy_(?:min|max|std|median)", "not the mean"),
    (r".*__(?:min|max)", "the least or greatest of the values behind a chart's point"),
    (r"(?:val|eval|validation|test)_.*entropy.*", "measured on validation prompts, not on the rollouts"),
    (r"(?:.*_)?entropy_(?:planning|execution)", "of one class of tokens; see the two-phase curves"),
)

_FRAME = frozenset(map(folded, (*STEP_NAMES, *COUNTERS, *BOOKKEEPING, *RUN_NAMES)))


class Detection(NamedTuple):
    """The trainer that the columns point to, and why."""

    trainer: Trainer
    why: str


class Match(NamedTuple):
    """A column that the catalog knows; ``rank`` 0 is the best."""

    column: str
    key: Key
    rank: int


def detect(columns: Iterable[str]) -> Detection:
    """Find the trainer by the columns that only it logs; the generic one where nothing points to another."""
    known = trainers()
    telling = list(filter(_any_of(tuple(one for trainer in known for one in trainer.telltales)), columns))
    for trainer in known:
        if found := list(filter(_any_of(trainer.telltales), telling)):
            return Detection(trainer, f"{trainer.title} logs {listing(found, 3)}")
    return Detection(known[-1], "no column points to a known trainer")


def matches(role: str, columns: Sequence[str], trainer: Trainer) -> list[Match]:
    """List every column that plays a role for some trainer, by rank: its own keys, generic ones, exact ones.

    The role is ``entropy``, ``training`` or ``validation``, the latter two of rewards.
    """
    *others, generic = trainers()
    # Beyond the trainer that they belong to, keys with a placeholder match too much.
    exact = (key for other in others for key in getattr(other, role) if "<" not in key.template)
    known = list(filter(_any_key(), columns))
    ranked = enumerate((*getattr(trainer, role), *getattr(generic, role), *exact))
    every = (Match(one, key, rank) for rank, key in ranked for one in known if _matches(key, one))
    found: dict[str, Match] = {}
    for match in every:
        found.setdefault(match.column, match)
    return list(found.values())


def found(run: Run, *roles: str) -> list[Match]:
    """List every column of a run that plays one of the roles, role by role, as :func:`matches`."""
    trainer = detect(run.names).trainer
    return [match for role in roles for match in matches(role, tuple(run.columns), trainer)]


def initial_column(key: Key, column: str, columns: Iterable[str]) -> str | None:
    """Return the column in which the same evaluation stands for the policy before training."""
    if key.initial is None or not folded(column).startswith(folded(key.initial)):
        return None
    return name if (name := column[len(key.initial) :]) in columns else None


@lru_cache(maxsize=1 << 14)
def is_metric(column: str) -> bool:
    """Whether any trainer logs an entropy or a reward under this name; a key that fits all names says no."""
    # Under this key a trainer logs whatever it evaluates: any other trainer's columns would match.
    narrow = (key for key in keys(*_ROLES) if key.template != "eval/<data>")
    return _any_key()(column) and any(_matches(key, column) for key in narrow)


@lru_cache(maxsize=1 << 14)
def is_useful(column: str) -> bool:
    """Whether anything is ever made of a column: of a metric, step, clock, label, coefficient or decoy."""
    if column.endswith(_BOUNDS):
        return is_useful(column.removesuffix(_BOUNDS[0]).removesuffix(_BOUNDS[1]))
    if folded(column) in _FRAME or sample_columns([column]) or decoy(column) or coefficients([column]):
        return True
    return _any_key()(column) and any(_matches(key, column) for key in keys(*_ROLES))


def exact_names(*roles: str) -> list[str]:
    """List the names without placeholder that play one of the roles, for finding what resembles one."""
    return [key.template for key in keys(*roles) if "<" not in key.template]


@cache
def keys(*roles: str) -> tuple[Key, ...]:
    """Every key of all trainers that plays one of the roles ``entropy``, ``training``, ``validation``."""
    return tuple(key for trainer in trainers() for role in roles for key in getattr(trainer, role))


def decoy(column: str) -> str | None:
    """Say why a column with entropy in its name is none; None where it has no such name."""
    name = folded(column)
    if not any(part in name for part in ("entrop", "ent_coef", "kl_ent")):
        return None
    reasons = (reason for pattern, reason in _DECOYS if re.fullmatch(pattern, name))
    return next(reasons, "a name that the catalog does not know")


def coefficients(columns: Iterable[str]) -> list[str]:
    """List the columns with the weight of an entropy bonus or of a KL penalty."""
    return list(filter(_any_of(names("coefficient")), columns))


def _matches(key: Key, column: str) -> bool:
    fits = _any_of((key.template,))(column) and not _any_of(key.but_not)(column)
    return fits and not column.endswith(_BOUNDS)


@cache
def _any_key() -> Callable[[str], bool]:
    """Return a test for whether some key may match: one look for all, since a table can have 10⁵ columns."""
    return _any_of(tuple(key.template for key in keys(*_ROLES)))


@cache
def _any_of(templates: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a test for whether any of the templates matches a name."""
    exact = frozenset(folded(template) for template in templates if "<" not in template)
    parts = [re.escape(folded(template)) for template in templates if "<" in template]
    numbered = [part.replace("@", "(?:@|_at_)").replace("<n>", r"\d+") for part in parts]
    # Bounded: with several in one template, a name without end would take for ever.
    patterns = [re.sub(r"<[a-z]+>", ".{1,200}", part) for part in numbered]
    pattern = re.compile("|".join(f"(?:{one})" for one in patterns) or r"(?!)", re.DOTALL)

    def test(column: str) -> bool:
        name = folded(column)
        return name in exact or pattern.fullmatch(name) is not None

    return test
