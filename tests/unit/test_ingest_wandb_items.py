"""Records of W&B's history with more items than metrics have."""

import pytest

from entropylaw.logs.readers.trackers import wandb as wandb_log
from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests.fuzz.binary import wandb_frames
from tests.hostile import field


def table_of(records):
    table = reader_of("wandb").read(Content("run-ab12.wandb", wandb_frames(records)[0]))
    columns = {name: [repr(float(cell)) for cell in cells] for name, cells in table.columns.items()}
    return columns, list(columns), table.rows, table.dropped, table.notes


@pytest.mark.parametrize("before", [b"", field(9, 1)], ids=["items first", "items behind another field"])
@pytest.mark.parametrize("text", ["1", " 1"], ids=["usual items", "others"])
def test_a_record_with_more_values_than_metrics_have_is_left_out(monkeypatch, before, text):
    monkeypatch.setattr(wandb_log, "MOST_VALUES", 4)
    items = [field(1, field(2, f"m{number}") + field(16, text)) for number in range(5)]
    records = [field(2, before + b"".join(items[:count])) for count in (4, 5)]
    columns, _, _, dropped, _ = table_of(records)
    assert columns == {f"m{number}": ["1.0"] for number in range(4)}
    assert dropped == {wandb_log.UNREADABLE: 1}
