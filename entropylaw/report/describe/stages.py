"""Arms by stage: changes per stage, and rewards on domains after stages."""

from __future__ import annotations

from collections.abc import Iterable

from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.numbers import format_interval
from entropylaw.report.words import quantity_label
from entropylaw.results import Estimate
from entropylaw.results.arms import ArmComparison
from entropylaw.results.result import replace


def bare(estimate: Estimate) -> Estimate:
    """An estimate without its note, which is below the table."""
    return replace(estimate, note=None)


def origins(estimates: Iterable[tuple[str, Estimate]]) -> list[b.Block]:
    """How the numbers of a table were made, and what is missing; what they have in common once."""
    methods: dict[str, dict[str, None]] = {}
    notes: dict[str, dict[str, None]] = {}
    for quantity, estimate in estimates:
        methods.setdefault(estimate.method, {})[quantity] = None
        if estimate.note:
            notes.setdefault(estimate.note, {})[quantity] = None
    lines = b.labelled("method", (f"{', '.join(names)}: {method}" for method, names in methods.items()))
    lines += b.labelled("note", (f"{', '.join(names)}: {note}" for note, names in notes.items()))
    return [b.Notes(lines)]


def stages(result: ArmComparison) -> list[b.Block]:
    """A row per arm, stage and quantity: its change over the stage."""
    if not result.stages:
        return []
    heads = b.columns("arm", "place", "stage", "quantity", "domain", "change", "direction", "seeds")
    rows: list[tuple[b.Cell, ...]] = []
    for stage in result.stages:
        quantity = quantity_label(stage.quantity, stage.unit)
        change = (bare(stage.change), direction(stage.change), stage.seeds)
        rows.append((stage.arm, stage.place, stage.stage, quantity, stage.domain, *change))
    methods = origins((stage.quantity, stage.change) for stage in result.stages)
    return [b.Heading("By stage", name="stages"), b.Table(heads, rows), *methods]


def transfers(result: ArmComparison) -> list[b.Block]:
    """Per arm the backward transfer, and the reward on every domain after every stage."""
    if not result.transfers:
        return []
    blocks: list[b.Block] = [b.Heading("Transfer between domains", name="transfer")]
    for transfer in result.transfers:
        heads = [b.Column("stage", "reward after stage")]
        heads += [b.Column(domain, domain) for domain in transfer.domains]
        cells = zip(transfer.stages, transfer.reward, strict=True)
        rows: list[tuple[b.Cell, ...]] = [(stage, *map(bare, row)) for stage, row in cells]
        backward = transfer.backward
        text = f"{transfer.arm} ({counted(transfer.seeds, 'seed')}): backward transfer "
        text += format_interval(backward)
        if backward.value is not None:
            text += f", {direction(backward)}"
        blocks.append(b.Notes([b.Note("transfer", f"{text} ({backward.method})")]))
        blocks.append(b.Table(heads, rows))
        blocks += origins(("reward", reward) for row in transfer.reward for reward in row)
    return blocks


def direction(change: Estimate) -> str:
    """``rises``, ``falls``, or ``not decided`` where the interval contains 0 or is unknown."""
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "not decided"
    return "rises" if change.low > 0 else "falls"
