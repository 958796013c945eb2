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
    said = [
        b.Note(label, f"{', '.join(quantities)}: {text}")
        for label, quantities_by_text in (("method", methods), ("note", notes))
        for text, quantities in quantities_by_text.items()
    ]
    return [b.Notes(said)]


def stages(result: ArmComparison) -> list[b.Block]:
    """A row per arm, stage and quantity: its change over the stage."""
    if not result.stages:
        return []
    heads = b.columns("arm", "place", "stage", "quantity", "domain", "change", "direction", "seeds")
    rows = [
        (
            *(one.arm, one.place, one.stage, quantity_label(one.quantity, one.unit), one.domain),
            *(bare(one.change), direction(one.change), one.seeds),
        )
        for one in result.stages
    ]
    methods = origins((one.quantity, one.change) for one in result.stages)
    return [b.Heading("By stage", name="stages"), b.Table(heads, rows), *methods]


def transfers(result: ArmComparison) -> list[b.Block]:
    """Per arm the backward transfer, and the reward on every domain after every stage."""
    blocks: list[b.Block] = [b.Heading("Transfer between domains", name="transfer")] * bool(result.transfers)
    for one in result.transfers:
        heads = [b.Column("stage", "reward after stage"), *(b.Column(name, name) for name in one.domains)]
        cells = zip(one.stages, one.reward, strict=True)
        rows: list[tuple[b.Cell, ...]] = [(stage, *map(bare, row)) for stage, row in cells]
        text = f"{one.arm} ({counted(one.seeds, 'seed')}): backward transfer {format_interval(one.backward)}"
        text += f", {direction(one.backward)}" if one.backward.value is not None else ""
        blocks.append(b.Notes([b.Note("transfer", f"{text} ({one.backward.method})")]))
        blocks.append(b.Table(heads, rows))
        blocks += origins(("reward", reward) for row in one.reward for reward in row)
    return blocks


def direction(change: Estimate) -> str:
    """``rises``, ``falls``, or ``not decided`` where the interval contains 0 or is unknown."""
    if change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "not decided"
    return "rises" if change.low > 0 else "falls"
