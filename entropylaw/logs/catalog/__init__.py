"""The catalog of trainers: ``trainers.toml``, and how columns match it.

Names match as a whole, never in part: ``entropy_coef`` and ``timing_s/old_log_prob_entropy`` are no entropy.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from entropylaw.escaping import listing
from entropylaw.logs.runs import Run
from entropylaw.logs.runs.splitting import BOOKKEEPING, METRIC_NAMES, RUN_NAMES, SECOND_NAMES, VALUE_NAMES
from entropylaw.logs.runs.step_column import COUNTERS, STEP_NAMES, folded
from entropylaw.logs.source import Meaning
from entropylaw.units import is_rate

#: W&B's pages write the least and the greatest of the values behind a point into columns of these names.
LEAST, GREATEST = "__MIN", "__MAX"
_BOUNDS = (LEAST, GREATEST)
#: Why a column with entropy in its name is none, where nothing more is known.
UNKNOWN_NAME = "a name that is not in the catalog"

# Columns with entropy in their name that are not the policy's. The first match gives the reason.
_DECOYS: tuple[tuple[str, str], ...] = (
    (r"(?:.*_)?(?:ent|entropy|entropy_loss)_coef(?:f|ficient)?", "a coefficient, not an entropy"),
    (r"(?:.*_)?target_entropy", "a target, not a measurement"),
    (r"(?:.*_)?entropy_threshold", "a threshold, not a mean"),
    (r"(?:.*_)?cross_entropy(?:_loss)?", "a loss against labels"),
    (r"(?:.*_)?teacher_entropy", "of the teacher, not of the policy"),
    (r"(?:.*_)?correct_entropy", "minus the log-probability of right answers"),
    (r"(?:.*_)?kl_ent_ratio(?:_mean)?", "a ratio"),
    (r"(?:timing|timing_s|perf|profiling|time)_.*", "a duration"),
    (r"(?:.*_)?entropy_(?:min|max|std|median)", "not the mean"),
    (r".*__(?:min|max)", "the least or greatest of the values behind a chart's point"),
    (r"(?:val|eval|validation|test)_.*entropy.*", "measured on validation prompts, not on the rollouts"),
    (r"(?:.*_)?entropy_(?:planning|execution)", "of one class of tokens; see the two-phase curves"),
)

# "reward [eval]" is the reward of records of the kind "eval".
_OF_KIND = re.compile(r"(?P<name>.+) \[(?P<kind>[^\[\]]{1,80})\]", re.DOTALL)
_EVALUATES, _TRAINS = (
    re.compile(rf"(?:.*[^a-z])?(?:{words})(?:[^a-z].*)?", re.IGNORECASE | re.DOTALL)
    for words in (
        "evals?|evaluat(?:e|ed|ing|ions?)|val|valid|validat(?:e|ed|ing|ions?)|test(?:ing)?|dev|held_?out|holdout",
        "train(?:ing|er)?|rollouts?|updates?|learn(?:er|ing)?|optim(?:iz|is)?\\w*|policy|actor|rl|grpo|ppo",
    )
)

_FRAME = frozenset(
    map(folded, (*STEP_NAMES, *COUNTERS, *BOOKKEEPING, *RUN_NAMES, *METRIC_NAMES, *VALUE_NAMES))
) | frozenset(chain.from_iterable(SECOND_NAMES.items()))

_BENCHMARK = re.compile(
    r"(?<![a-z])(?:math_?\d*|gsm8k|aime_?\d*|amc_?\d*|minerva|olympiad_?\w*|gpqa|mmlu|humaneval|mbpp)\Z",
    re.IGNORECASE,
)
_RATE = Meaning(role="reward", trainer="generic", kind="training")

_OF_ALL = frozenset(("keys", "like", "note"))
_FIELDS = {
    "entropy": _OF_ALL | {"aggregation", "estimator", "temperature", "timing", "sign"},
    "training": _OF_ALL,
    "validation": _OF_ALL | {"after_update", "initial", "but_not"},
}
"""Role → the fields of an entry in ``trainers.toml``."""
_FACTS = {
    "entropy": {"role": "entropy", "unit": "nats"},
    "training": {
        "role": "reward",
        "kind": "training",
        "timing": "before the update, on that step's rollouts",
    },
    "validation": {"role": "reward", "kind": "validation"},
}
"""Role → what all of its keys mean."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a trainer logs.

    ``template`` has placeholders for the names of data sets and the like, ``but_not`` are names that it would
    match and that mean something else. ``pair`` says which entropy a reward is paired with: that of the
    ``"same"`` step, or the ``"next"`` one, where the row holds the entropy from before the update and the
    evaluation from after it. ``initial`` is a prefix that is missing where the policy was evaluated before
    training: such values are paired with the entropy of their own step.
    """

    template: str
    meaning: Meaning
    pair: str = "same"
    but_not: tuple[str, ...] = ()
    initial: str | None = None

    @property
    def kind(self) -> str:
        """What it is of any data set; empty for a key that is not of one data set."""
        return self.template.replace("/acc/", "/<score>/") if "<data>" in self.template else ""

    def label(self, column: str) -> str:
        """A short name of a column that it matches, ``gsm8k mean@1``; the column where there is none."""
        for separator in (re.escape("/"), "[/._]"):
            text = re.escape(self.template).replace("<data>", "(.+)").replace("/", separator)
            match = re.fullmatch(re.sub("<[a-z]+>", ".+", text), column, re.IGNORECASE | re.DOTALL)
            if match is not None and match.groups():
                return " ".join([match[1].rpartition("/")[2], *re.findall(r"[a-z]+@\d+", column)[-1:]])
        return column


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """A trainer: one of its ``telltales`` among the columns identifies it.

    ``title`` is its name for people; ``absent`` says why its logs may lack the entropy; ``halves`` whether
    entropy and reward are logged by two processes, into two files.
    """

    name: str
    title: str
    telltales: tuple[str, ...]
    entropy: tuple[Key, ...] = ()
    training: tuple[Key, ...] = ()
    validation: tuple[Key, ...] = ()
    absent: str | None = None
    halves: bool = False


class Detection(NamedTuple):
    """The trainer that the columns identify, and the reason."""

    trainer: Trainer
    why: str


class Match(NamedTuple):
    """A column that the catalog has; ``rank`` 0 is the best."""

    column: str
    key: Key
    rank: int


def trainers() -> tuple[Trainer, ...]:
    """Every trainer in the order in which they are looked for; names in hand-written loops come last."""
    return _contents()[0]


def names(what: str) -> tuple[str, ...]:
    """Names of one kind, such as ``kl``; of several that a run has, the first is used."""
    return _contents()[1][what]


def class_names(kind: str) -> tuple[str, ...]:
    """Names of the entropy of one class of tokens, those in bits among them."""
    entropies = tuple(name.replace("<class>", kind) for name in names("class_entropy"))
    return entropies + tuple(f"{name}_bits" for name in entropies)


@cache
def class_entropies() -> frozenset[str]:
    """Every name of the entropy of a class of tokens, folded."""
    kinds = ("planning", "execution", "semantic")
    return frozenset(map(folded, chain.from_iterable(map(class_names, kinds))))


@cache
def _other_useful() -> Callable[[str], bool]:
    """A test for further columns that an analysis uses."""
    kinds = ("prompt_filter", "kl", "dead_groups", "further")
    return _any_of((*_FRAME, *class_entropies(), *chain.from_iterable(map(names, kinds))))


@cache
def _contents() -> tuple[tuple[Trainer, ...], Mapping[str, tuple[str, ...]]]:
    return parse(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))


def parse(text: str) -> tuple[tuple[Trainer, ...], Mapping[str, tuple[str, ...]]]:
    """Read the text of ``trainers.toml``: every trainer, and the other names by what they mean.

    Raises a :class:`ValueError` for an unknown field of an entry, a :class:`TypeError` for one of a trainer.
    """
    file = tomllib.loads(text)
    tables = {table["name"]: table for table in file["trainer"]}
    every = []
    for name, table in tables.items():
        keys_by_role = {role: tuple(_keys(role, name, name, tables)) for role in _FIELDS}
        every.append(Trainer(**table | keys_by_role | {"telltales": tuple(table.get("telltales", ()))}))
    return tuple(every), {meaning: tuple(listed) for meaning, listed in file["names"].items()}


def _keys(role: str, trainer: str, of: str, tables: Mapping[str, Mapping[str, Any]]) -> Iterator[Key]:
    """Yield the keys of a trainer in the entries ``of`` itself, or of the trainer that one is ``like``."""
    for entry in tables[of].get(role, ()):
        if unknown := sorted(entry.keys() - _FIELDS[role]):
            raise ValueError(f"trainers.toml: trainer {of!r}: {role} has no field {listing(unknown)}")
        if "like" in entry:
            yield from _keys(role, trainer, entry["like"], tables)
            continue
        facts = {"trainer": trainer, **_FACTS[role], **entry}
        pair = "same"
        if entry.get("after_update"):
            facts["timing"] = "after the update"
            pair = "next"
        meaning = msgspec.convert(facts, Meaning)
        for template in entry["keys"]:
            yield Key(template, meaning, pair, tuple(entry.get("but_not", ())), entry.get("initial"))


def detect(columns: Iterable[str]) -> Detection:
    """Find the trainer by the columns that only it logs; the generic one where no column identifies one."""
    every = trainers()
    templates = tuple(chain.from_iterable(trainer.telltales for trainer in every))
    telltales = list(filter(_any_of(templates), (_name_and_kind(column)[0] for column in columns)))
    for trainer in every:
        if logged := list(filter(_any_of(trainer.telltales), telltales)):
            return Detection(trainer, f"{trainer.title} logs {listing(logged, 3)}")
    return Detection(every[-1], "no column points to a known trainer")


def matches(role: str, columns: Sequence[str], trainer: Trainer) -> list[Match]:
    """List every column that has a role for some trainer, by rank: its own keys, generic ones, exact ones.

    The role is ``entropy``, ``training`` or ``validation``, the latter two of rewards.
    """
    *_, generic = trainers()
    # For other trainers' logs, keys with a placeholder match too much.
    exact = (key for key in keys(role) if "<" not in key.template)
    named = {column: _names_in(role, column) for column in columns}
    keyed = [(column, name) for column, names in named.items() for name in filter(_any_key(), names)]
    ranked = [*getattr(trainer, role), *getattr(generic, role), *exact]
    every = _ranked_matches(ranked, keyed)
    if by_kind := [(column, names[-1]) for column, names in named.items() if len(names) > 1]:
        # The reward of evaluations has the name of the reward of training, or that of a rate.
        trained = list(map(_as_validation, (*trainer.training, *generic.training)))
        trained += [_as_validation(Key(name, _RATE)) for _, name in by_kind if is_rate(name)]
        every += _ranked_matches(trained, by_kind, len(ranked))
    if role == "validation" and trainer is generic and not every:
        # A rate or a benchmark, whatever it is called.
        rates = [column for column in columns if is_rate(column) or _BENCHMARK.search(column[-40:])]
        held_out = (column for column in rates if is_evaluation(column) and not column.endswith("]"))
        every = [Match(column, _as_validation(Key(column, _RATE)), len(ranked)) for column in held_out]
    best: dict[str, Match] = {}
    for match in every:
        best.setdefault(match.column, match)
    return list(best.values())


def _ranked_matches(keys: Sequence[Key], named: Sequence[tuple[str, str]], first: int = 0) -> list[Match]:
    """The matches of keys, ranked from ``first`` on, with columns that are looked up by the names."""
    ranks = enumerate(keys, start=first)
    return [Match(column, key, r) for r, key in ranks for column, name in named if _matches(key, name)]


def _names_in(role: str, column: str) -> tuple[str, ...]:
    """The names by which a column is looked up for a role: its own, or that within its kind of record."""
    name, kind = _name_and_kind(column)
    if not kind:
        return (column,)
    if is_evaluation(kind):
        return (f"eval_{name}", name) if role == "validation" else ()
    return (name,) if is_training(kind) and role != "validation" else ()


def _as_validation(key: Key) -> Key:
    return Key(key.template, msgspec.structs.replace(key.meaning, kind="validation", timing=None))


def _name_and_kind(column: str) -> tuple[str, str]:
    """Split ``reward [eval]`` into the metric and the kind of record; the kind is empty for other names."""
    match = _OF_KIND.fullmatch(column)
    return (match["name"], match["kind"]) if match and is_kind(match["kind"]) else (column, "")


def is_kind(kind: str) -> bool:
    """Whether a text is the name of a kind of record."""
    return is_evaluation(kind) or is_training(kind)


def is_evaluation(kind: str) -> bool:
    """Whether the name of a kind of record, of a data set or of a column says that it is held out."""
    return _EVALUATES.fullmatch(kind[:200]) is not None


def is_training(kind: str) -> bool:
    """Whether the name of a kind of record is that of training."""
    return not is_evaluation(kind) and _TRAINS.fullmatch(kind[:200]) is not None


def found(run: Run, *roles: str) -> list[Match]:
    """List every column of a run that has one of the roles, role by role, as :func:`matches`."""
    return [match for role in roles for match in found_in(role, tuple(run.columns), tuple(run.names))]


@lru_cache(maxsize=64)
def found_in(role: str, columns: tuple[str, ...], names: tuple[str, ...]) -> tuple[Match, ...]:
    """The matches of one role in columns of a log with these ``names``.

    They are remembered: the runs of a report often have the same columns.
    """
    return tuple(matches(role, columns, detect(names).trainer))


def initial_column(key: Key, column: str, columns: Iterable[str]) -> str | None:
    """Return the column with the same evaluation of the policy before training."""
    if key.initial is None or not folded(column).startswith(folded(key.initial)):
        return None
    return name if (name := column[len(key.initial) :]) in columns else None


@lru_cache(maxsize=1 << 14)
def is_metric(column: str) -> bool:
    """Whether any trainer logs an entropy or a reward under this name, keys that fit all names excepted."""
    # Under this key a trainer logs whatever it evaluates: any other trainer's columns would match.
    narrow = (key for key in keys(*_FIELDS) if key.template != "eval/<data>")
    return _has_key(column, narrow)


@lru_cache(maxsize=1 << 14)
def is_useful(column: str) -> bool:
    """Whether any analysis uses a column: a metric, step, clock, label, coefficient or decoy."""
    if column.endswith(_BOUNDS):
        return is_useful(column.removesuffix(LEAST).removesuffix(GREATEST))
    if _other_useful()(column) or sample_columns([column]):
        return True
    if decoy(column) or coefficients([column]) or _has_key(column, keys(*_FIELDS)):
        return True
    return any(key.initial and _matches(key, key.initial + column) for key in keys("validation"))


@cache
def keys(*roles: str) -> tuple[Key, ...]:
    """Every key of all trainers that has one of the roles ``entropy``, ``training``, ``validation``."""
    return tuple(key for trainer in trainers() for role in roles for key in getattr(trainer, role))


def decoy(column: str) -> str | None:
    """Give the reason why a column with entropy in its name is none; None where it has no such name."""
    metric, kind = _name_and_kind(column)
    name = folded(metric)
    if not any(mark in name for mark in ("entrop", "ent_coef", "kl_ent")):
        return None
    if kind and not is_training(kind):
        return f"of records of the kind {kind}"
    return next((reason for pattern, reason in _DECOYS if re.fullmatch(pattern, name)), UNKNOWN_NAME)


def coefficients(columns: Iterable[str]) -> list[str]:
    """List the columns with the coefficient of an entropy bonus or of a KL penalty."""
    return list(filter(_any_of(names("coefficient")), columns))


def token_columns(columns: Iterable[str]) -> list[str]:
    """List those columns that mark a record as one token."""
    return [column for column in columns if column.casefold() in names("token")]


def sample_columns(columns: Iterable[str]) -> list[str]:
    """List those columns that mark a record as one token or one sample."""
    marks = {*names("token"), *names("sample")}
    return [column for column in columns if column.casefold() in marks]


def stepless_sample_columns(columns: Collection[str]) -> list[str]:
    """List the columns that mark the records of a table without a step as samples, also within objects.

    None where there is one mark and nothing that identifies its problem.
    """
    last_words = {column: re.split(r"[/.]", column.casefold())[-1] for column in columns}
    marking = [column for column, word in last_words.items() if sample_columns([word])]
    has_key = not {*names("problem_key")}.isdisjoint(last_words.values())
    return marking if len(marking) + has_key > 1 else []


def _has_key(column: str, sought: Iterable[Key]) -> bool:
    name, _ = _name_and_kind(column)
    return _any_key()(name) and any(_matches(key, name) for key in sought)


def _matches(key: Key, column: str) -> bool:
    fits = _any_of((key.template,))(column) and not _any_of(key.but_not)(column)
    return fits and not column.endswith(_BOUNDS)


@cache
def _any_key() -> Callable[[str], bool]:
    """Return one test for all keys: a table can have 10⁵ columns."""
    return _any_of(tuple(key.template for key in keys(*_FIELDS)))


@cache
def _any_of(templates: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a test for whether any of the templates matches a name."""
    exact = frozenset(folded(template) for template in templates if "<" not in template)
    escaped = [re.escape(folded(template)) for template in templates if "<" in template]
    numbered = [text.replace("@", "(?:@|_at_)").replace("<n>", r"\d+") for text in escaped]
    # Bounded: with several placeholders in one template, matching a very long name takes too long.
    patterns = [re.sub(r"<[a-z]+>", ".{1,200}", text) for text in numbered]
    pattern = re.compile("|".join(f"(?:{alternative})" for alternative in patterns) or r"(?!)", re.DOTALL)

    def test(column: str) -> bool:
        name = folded(column)
        return name in exact or pattern.fullmatch(name) is not None

    return test
