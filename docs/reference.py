"""The tables of docs/formats.md, from the registry and the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from entropylaw.logs.catalog import Key, Trainer, trainers
from entropylaw.logs.source import Meaning
from entropylaw.logs.sources.bundles import bundle_readers
from entropylaw.logs.sources.registry import READERS


def formats_table() -> str:
    """List what is read: the name that forces a format, usual suffixes, what is taken from it."""
    rows = [
        (f"`{reader.name}`", ", ".join(reader.suffixes) or "–", reader.about)
        for reader in READERS
        if not reader.refuses
    ]
    return _table(("format", "usual suffix", "what is read"), rows)


def folders_table() -> str:
    """List folders that are read as one log."""
    return _table(("folder", "what is read"), [(f"`{one.name}`", one.about) for one in bundle_readers()])


def refused_table() -> str:
    """List what is recognised and refused, why, and what to do."""
    rows = [(reader.title, reader.why, reader.hint) for reader in READERS if reader.refuses]
    return _table(("file", "why it is refused", "instead"), rows)


def entropy_table() -> str:
    """List which entropy each trainer logs."""
    return _table(
        ("trainer", "entropy, in nats", "mean over", "estimator", "temperature", "measured", "besides"),
        [row for trainer in trainers() for row in _entropies(trainer)],
    )


def rewards_table() -> str:
    """List which rewards each trainer logs, and with which entropy a validation belongs."""
    rows = []
    for trainer in trainers():
        pairs = dict.fromkeys(f"{key.pair} step" for key in trainer.validation)
        cells = (_names(trainer.validation), ", ".join(pairs) or "–", _names(trainer.training))
        rows.append((trainer.title, *cells))
    return _table(("trainer", "validation reward", "pairs with", "training reward"), rows)


def _entropies(trainer: Trainer) -> Iterable[tuple[str, ...]]:
    """Yield a row for each group of keys with one meaning."""
    groups: dict[Meaning, list[Key]] = {}
    for key in trainer.entropy:
        groups.setdefault(key.meaning, []).append(key)
    title = trainer.title
    for meaning, keys in groups.items():
        sign = "logged as its negative" if meaning.sign < 0 else None
        known = (meaning.aggregation, meaning.estimator, meaning.temperature, meaning.timing)
        besides = [text for text in (sign, meaning.note, trainer.absent if title else None) if text]
        yield (title, _names(keys), *(text or "not known" for text in known), "; ".join(besides) or "–")
        title = ""


def _names(keys: Iterable[Key]) -> str:
    return ", ".join(f"`{key.template}`" for key in keys) or "–"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
