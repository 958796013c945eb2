"""What docs/formats.md and docs/trainers.md have from the registry and the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from entropylaw.logs.catalog import Key, Trainer, trainers
from entropylaw.logs.source import Meaning
from entropylaw.logs.sources.bundles import BUNDLES
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
    return _table(("folder", "what is read"), [(f"`{one.name}`", one.about) for one in BUNDLES])


def refused_table() -> str:
    """List what is recognised and refused, why, and what to do."""
    rows = [(reader.title, reader.why, reader.hint) for reader in READERS if reader.refuses]
    return _table(("file", "why it is refused", "instead"), rows)


def trainer_sections() -> str:
    """A section per trainer: its entropies and rewards, and which entropy a validation belongs with."""
    sections = []
    for trainer in trainers():
        lines = [f"## {trainer.title}", ""]
        lines += [f"- entropy {text}" for text in _entropies(trainer)]
        if trainer.validation:
            pairs = " or ".join(dict.fromkeys(f"the {key.pair} step" for key in trainer.validation))
            lines.append(f"- validation {_names(trainer.validation)}; pairs with the entropy of {pairs}")
        if trainer.training:
            lines.append(f"- training reward {_names(trainer.training)}")
        if trainer.absent:
            lines.append(f"- no entropy: {trainer.absent}")
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def _entropies(trainer: Trainer) -> Iterable[str]:
    """Describe each group of keys with one meaning."""
    groups: dict[Meaning, list[Key]] = {}
    for key in trainer.entropy:
        groups.setdefault(key.meaning, []).append(key)
    for meaning, keys in groups.items():
        facts = [meaning.aggregation, meaning.estimator, meaning.temperature, meaning.timing, meaning.note]
        if meaning.sign < 0:
            facts.append("logged as its negative")
        known = [fact for fact in facts if fact]
        yield f"{_names(keys)}: {'; '.join(known) or 'its mean, estimator and temperature are not known'}"


def _names(keys: Iterable[Key]) -> str:
    return ", ".join(f"`{key.template}`" for key in keys)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
