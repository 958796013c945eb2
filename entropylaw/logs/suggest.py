"""Columns that may have a role that the catalog finds no column for, and the command that names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from operator import itemgetter

import numpy as np

from entropylaw.arrays import FloatArray
from entropylaw.errors import InputError
from entropylaw.escaping import counted, in_shell, listing, nearest, quoted_path, shown, shown_cell
from entropylaw.logs import catalog
from entropylaw.logs.catalog import Match, Trainer
from entropylaw.logs.runs import AXES_DIFFER, FRAME, ROWS_COUNTED, Run, Table
from entropylaw.logs.runs.number_parsing import Column, parse_column, parse_number
from entropylaw.logs.runs.step_column import BY_THE_USER, ROW, STEP_NAMES, folded
from entropylaw.paths import hostless
from entropylaw.units import MOST_NATS, is_rate, is_share, is_token_accuracy

#: What to do about a column of text, at the end of a hint.
NUMBERS = "or write numbers without unit and with a decimal point"

#: What the catalog has keys for, by the role that they can have.
KINDS: Mapping[str, tuple[str, ...]] = {"entropy": ("entropy",), "reward": ("validation", "training")}


def _split(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# Alone, these words name the held-out data of a reward; beside other words of a reward they come first.
_HELD_OUT = _split("val valid validation eval evaluation dev test heldout validierung")
# Words of names in lower case, the best first.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "step": _split(
        "step steps it iter iters iteration iterations update updates batch schritt schritte paso pasos "
        "étape etape round rollout episode episodes epoch epochs epoche tick idx index i t n"
    ),
    "entropy": ("entropy", "entropie", "entropia", "entropía", "entropies", "ent", "entr", "h"),
    "reward": _split(
        "acc accuracy reward rewards rew score scores return returns ret pass success solved solve correct "
        "win winrate perf performance r belohnung genauigkeit erfolg erfolgsquote trefferquote punkte "
        "récompense exactitude recompensa precisión"
    )
    + _HELD_OUT,
}
# With one of these words a column is something else than the mean.
_OTHERS = frozenset(
    _split(
        "time timestamp timing runtime std sd var variance min max median quantile loss len length tokens "
        "token samples per sec seconds second kl lr rate grad norm clip clipfrac frac fraction ratio coef "
        "coeff coefficient target threshold bonus temperature cross weight memory gb count num number n "
        "groups zero step steps epoch size"
    )
)
_TRAINING = frozenset(("train", "training", "rollout"))
# With one of these words a column is taken for an entropy or a reward that the catalog does not have.
_EVIDENT: Mapping[str, frozenset[str]] = {
    "entropy": frozenset(("entropy", "entropies", "entropie", "entropia", "entropía", "ent", "entr")),
    "reward": frozenset(
        _split(
            "reward rewards rew rews score scores accuracy winrate return ret belohnung récompense recompensa"
        )
    ),
}
# With one of these words a column is a metric, whatever run, class or data set is named before or behind it.
_METRICS = frozenset(("reward", "rewards", "rew", "score", "scores", "acc", "accuracy"))
_DURATIONS = frozenset(("timing", "time", "perf", "profiling"))
# "entropy": 0.31, anywhere in a text that no reader could use.
_NAME_AND_NUMBER = re.compile(r"([A-Za-z_][\w/.@-]{0,80})\\?['\"]?\s{0,3}[:=]\s{0,3}-?\d")
# Names that are quoted where a file has no step: its first line may be no header, and hold a secret key.
_PLAIN = re.compile(r"(?!.*\d{4})[\w /.()%-]{1,40}")
_ASSIGNMENT = re.compile(r"=|(?i:key|secret|password|bearer)\W")


def likely(roles: Iterable[str], columns: Mapping[str, Column], taken: Iterable[str]) -> dict[str, str]:
    """Find the column whose name fits each role best, ``step``, ``entropy`` or ``reward``, one for each.

    Columns that are ``taken`` for other roles are left out. Names alone count: what values look like is no
    sign of what they are.
    """
    chosen: dict[str, str] = {}
    for role in roles:
        used = {*taken, *chosen.values()}
        free = {name: cells for name, cells in columns.items() if name not in used}
        if candidates := _named_alike(role, free):
            chosen[role] = candidates[0]
    return chosen


def _named_alike(role: str, columns: Mapping[str, Column]) -> list[str]:
    """The columns whose names fit a role, the best first, and whose values do not contradict it."""
    ranked = sorted((rank, name) for name in columns if (rank := _rank(role, name)) is not None)
    close = nearest(_known_names(role), [name for name in columns if not _misleading(role, name)])
    names = [*map(itemgetter(1), ranked), *close]
    return [name for name in names if _possible(role, parse_column(columns[name]).values)]


def is_headless(table: Table) -> bool:
    """Whether the names of columns are numbers: the table has no header, or its first lines were lost."""
    values = [parse_number(name.partition("#")[0]) for name in table.columns]
    return bool(np.isfinite(values).sum() * 2 > len(values))


def no_step(table: Table, path: str) -> InputError:
    """Make the error of a table without a step column; its hint is the command that names all that lacks."""
    names = tuple(table.columns)
    if is_headless(table):
        return InputError(
            "no-step-column",
            f"{quoted_path(path)} has numbers in its first line, in place of the names of its columns",
            f"write the names of its {counted(len(names), 'column')} above it: "
            f"(echo step,entropy,reward,…; cat {in_shell(path)}) > named.csv",
        )
    plain = {name: cells for name, cells in table.columns.items() if _PLAIN.fullmatch(name)}
    trainer = catalog.detect(names).trainer
    in_catalog = {
        role: [match.column for kind in kinds for match in catalog.matches(kind, names, trainer)]
        for role, kinds in KINDS.items()
    }
    roles = ["step", *(role for role, columns in in_catalog.items() if not columns)]
    chosen = likely(roles, plain, list(chain.from_iterable(in_catalog.values())))
    rewarded = [chosen["reward"]] if "reward" in chosen else in_catalog["reward"]
    hint = f"name it with --step COLUMN, or --step {ROW}: the rows are counted"
    if "step" in chosen:
        near = f"{shown(chosen['step'])} looks like one"
        hint = _hint(chosen, path)
    else:
        close = nearest(_known_names("step"), names) or sorted(plain)
        near = f"among them {listing(close)}" if close else "none is near"
        if any(np.isfinite(parse_column(table.columns[name]).values).any() for name in rewarded):
            hint = f"{_hint({'step': ROW, **chosen}, path)} ({ROW}: the rows are counted)"
    return InputError(
        "no-step-column",
        f"{quoted_path(path)} has no step column among its {counted(len(names), 'column')}; {near}",
        hint,
    )


def missing(run: Run, known: Sequence[Match], role: str, named: Mapping[str, str]) -> InputError:
    """Make the error where no column can have a role: empty, text, or absent, with the nearest names.

    ``named`` maps a role to the column that the user names for it.
    """
    where = f"{quoted_path(run.source.path)} (run {shown(run.name)})"
    if known:
        empty = listing([match.column for match in known], 4)
        steps = counted(len(run.step), "step")
        return InputError(
            "column-empty",
            f"{where}: {empty} would be the {role} and has no finite value on any of {steps}",
            f"name another column with --{role} COLUMN",
        )
    text = next((name for name in run.texts if catalog.is_metric(name) or _rank(role, name)), None)
    if text is not None:
        return InputError(
            "column-not-numeric",
            f"{where}: {shown(text)} holds no number, its first cell is {shown_cell(run.texts[text])}",
            f"name another column with --{role}, {NUMBERS}",
        )
    trainer = catalog.detect(run.names).trainer
    path = "" if run.source.parts else run.source.path
    taken = [*named.values(), *_in_catalog(run, "entropy"), *_in_catalog(run, "reward")]
    unknown = [unnamed for unnamed in KINDS if unnamed not in named and not _in_catalog(run, unnamed)]
    candidates = likely(unknown, run.columns, taken)
    chosen = dict(named) | candidates
    if role in candidates and _gives_pairs(run, chosen):
        if run.step_why in (BY_THE_USER, ROWS_COUNTED):
            chosen = {"step": run.step_column} | chosen
        near = f"{shown(candidates[role])} looks like one"
        hint = _hint(chosen, path)
    else:
        near = _nearest_names(run, role)
        hint = _where_it_may_be(run, trainer, role, path)
    if role == "entropy" and trainer.absent:
        hint = f"{trainer.absent}; of another name: --entropy COLUMN"
    return InputError(
        f"no-{role}-column",
        f"{where} has no {role} column that is in the catalog; {near}",
        hint,
    )


def _gives_pairs(run: Run, chosen: Mapping[str, str]) -> bool:
    """Whether the columns of a hint, or those of the catalog, have a step with an entropy and a reward."""
    logged = []
    for role in KINDS:
        names = [chosen[role]] if chosen.get(role) in run.columns else _in_catalog(run, role)
        logged.append(np.any([np.isfinite(run.columns[name]) for name in names], axis=0))
    return bool(np.any(logged[0] & logged[1]))


def _where_it_may_be(run: Run, trainer: Trainer, role: str, path: str) -> str:
    """What to do where no column of a log resembles a role."""
    if trainer.halves:
        return f"{trainer.title} logs entropy and reward by two processes: name the folder with both logs"
    if reason := next((note for note in run.notes if note.startswith(AXES_DIFFER)), ""):
        return reason
    if run.partial:
        return f"the file is a part of a log: also name the file with the {role}, or the folder of both"
    command = _command("columns", path) or "entropylaw columns LOG"
    return f"name it with --{role} COLUMN; `{command}` lists all columns"


def _nearest_names(run: Run, role: str) -> str:
    """The columns whose names are nearest to those of a role."""
    columns = run.names[1:]
    if role == "reward":
        named = [name for name in columns if "reward" in folded(name)]
    else:
        named = list(filter(catalog.decoy, columns))
    close = list(dict.fromkeys([*named, *nearest(_known_names(role), columns)]))[:12]
    if close:
        return f"nearest by name: {listing(close)}"
    if columns:
        return f"none of its {counted(run.width, 'column')} is near"
    return "it has only a step column"


def could_be(run: Run) -> dict[str, str]:
    """Map columns of a run that the catalog does not know to what they could be."""
    roles: dict[str, str] = {}
    for role, name in product(("step", "entropy", "reward"), run.columns):
        if _rank(role, name) is not None and _possible(role, run.columns[name]):
            roles.setdefault(name, f"{role}, by its name")
    roles |= {name: f"text, its first cell is {shown_cell(cell)}" for name, cell in run.texts.items()}
    return roles | dict.fromkeys(
        run.unread, "not read: the table is large, and --entropy or --reward reads it"
    )


@lru_cache(maxsize=1 << 14)
def is_like(role: str, name: str) -> bool:
    """Whether a name is that of an entropy or a reward, by the catalog or by a word in it."""
    in_catalog = any(catalog.matches(kind, [name], catalog.trainers()[-1]) for kind in KINDS[role])
    return in_catalog or _rank(role, name) is not None


def names_an_entropy(names: Iterable[str]) -> bool:
    """Whether one of some names is like that of an entropy."""
    return any(is_like("entropy", name) for name in names)


def evident(run: Run, role: str, taken: Iterable[str] = ()) -> str | None:
    """The column of a log of no known trainer that is by its name an entropy, or a reward, beyond doubt."""
    if run.partial or catalog.detect(run.names).trainer is not catalog.trainers()[-1]:
        return None
    named = [name for name in run.columns if name not in taken and is_evident(role, name)]
    ranked = sorted((_rank(role, name), name) for name in named)
    return next((name for _, name in ranked if _possible(role, run.columns[name])), None)


def is_evident(role: str, name: str) -> bool:
    """Whether a name is beyond doubt that of an entropy or of a reward."""
    has_word = not _EVIDENT[role].isdisjoint(_words(name))
    if role == "entropy":
        has_word |= "entrop" in name.casefold()
    else:
        has_word |= is_rate(name)
    return has_word and _rank(role, name) is not None


def measured(names: Iterable[str]) -> list[str]:
    """Return those names that are a metric's, after any prefix or before any suffix.

    Short forms count where there is one of an entropy and one of a reward with the same prefix or suffix,
    such as ``B/ent`` and ``B/ret``, or both alone.
    """
    names = list(dict.fromkeys(names))
    around = {name: (_affixes(name, "entropy"), _affixes(name, "reward")) for name in names}
    entropies, rewards = (set[str]().union(*(pair[role] for pair in around.values())) for role in (0, 1))
    both = entropies & rewards
    return [name for name in names if _is_measured(name) or not both.isdisjoint(set().union(*around[name]))]


def _affixes(name: str, role: str) -> set[str]:
    """The first and the last word of a name, if another one is short for a role; nothing for other names."""
    words = _words(name)
    places = [index for index, word in enumerate(words) if word in _WORDS[role]]
    if not places or (role == "entropy" and catalog.decoy(name) not in (None, catalog.UNKNOWN_NAME)):
        return set()
    if len(words) == 1:
        return {""}
    affixes = set[str]()
    if places[-1] > 0:
        affixes.add(f"{words[0]}/")
    if places[0] < len(words) - 1:
        affixes.add(f"/{words[-1]}")
    return affixes


def measured_numbers(text: str) -> list[str]:
    """The names of entropies and rewards in a text that have a number behind them, as often as they have."""
    names = _NAME_AND_NUMBER.findall(text)
    metrics = set(measured(names))
    return list(filter(metrics.__contains__, names))


@lru_cache(maxsize=1 << 14)
def _is_measured(name: str) -> bool:
    """Whether a name is, or holds, that of an entropy or a reward."""
    if catalog.is_metric(name):
        return True
    if "entrop" in name.casefold():
        return catalog.decoy(name) == catalog.UNKNOWN_NAME
    words = _words(name)
    places = [index for index, word in enumerate(words) if word in _METRICS]
    # None of the words behind it makes it another quantity.
    return bool(places) and words[0] not in _DURATIONS and _OTHERS.isdisjoint(words[places[-1] + 1 :])


def _known_names(role: str) -> Sequence[str]:
    if role == "step":
        return STEP_NAMES[:-1]  # but for `entry`, which is near to an entropy
    return [key.template for key in catalog.keys(*KINDS[role]) if "<" not in key.template]


def _in_catalog(run: Run, role: str) -> list[str]:
    return [match.column for match in catalog.found(run, *KINDS[role]) if run.finite(match.column).size]


def _hint(columns: Mapping[str, str], path: str) -> str:
    """Say which flags to add, and the whole command where the path can be typed."""
    flags = " ".join(f"--{role} {in_shell(column)}" for role, column in columns.items())
    hint = f"add {flags}"
    if command := _command("fit", path):
        hint += f", as in: {command} {flags}"
    return hint


def _command(name: str, path: str) -> str:
    """A command with a file as it was named; empty where the name cannot be typed."""
    if path in ("", "-", FRAME) or hostless(path) != path:
        return ""
    return f"entropylaw {name} {in_shell(path)}"


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[-1000:]).casefold())


def _misleading(role: str, name: str) -> bool:
    """Whether a name says that a column is something else."""
    if role == "reward" and is_share(name):
        return is_token_accuracy(name)
    words = _words(name)
    if len(words) > 1 and words[0] in _DURATIONS:
        return True
    decoy = role == "entropy" and catalog.decoy(name) not in (None, catalog.UNKNOWN_NAME)
    return decoy or (role != "step" and not _OTHERS.isdisjoint(words))


def _rank(role: str, name: str) -> tuple[bool, bool, int] | None:
    """How well a name fits a role, the least best; None where it does not."""
    if _misleading(role, name):
        return None
    words = _words(name)
    known_words = _WORDS[role]
    ranks = [known_words.index(word) for word in words if word in known_words]
    if role == "entropy":
        ranks += [0 for word in words if "entrop" in word]
    if not ranks:
        return None
    held_out = any(word in _HELD_OUT for word in words)
    return not _TRAINING.isdisjoint(words), role == "reward" and not held_out, min(ranks)


def _possible(role: str, values: FloatArray) -> bool:
    """Whether values can be those of a role at all."""
    finite = values[np.isfinite(values)]
    if finite.size < 2 or finite.min() == finite.max():
        return False
    if role == "step":
        return bool((np.diff(finite) >= 0).mean() >= 0.9)
    one_sign = finite.min() >= 0 or finite.max() <= 0
    return role == "reward" or (one_sign and float(np.median(np.abs(finite))) <= MOST_NATS)


def showable(name: str, place: int) -> str:
    """A column's name for a list, or its place where the name is a command line that may hold a key."""
    return f"column {place}, whose name may hold a key" if _ASSIGNMENT.search(name) else name
