"""Read ``.wandb`` files with W&B's own reader and print their history: ``python wandb_dump.py FILE…``.

Runs in an environment with nothing but a ``wandb`` that still has its reader in Python, as 0.29 has. A line
for each file: a list of records, each with its step and its items as W&B has them, key and JSON text.
"""

from __future__ import annotations

import json
import sys


def history(path: str) -> list[dict[str, object]]:
    """The history, as ``wandb sync`` reads it."""
    from wandb.proto.wandb_internal_pb2 import Record
    from wandb.sdk.internal.datastore import DataStore

    store = DataStore()
    store.open_for_scan(path)
    found: list[dict[str, object]] = []
    while (data := store.scan_data()) is not None:
        record = Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = [[list(item.nested_key) or [item.key], item.value_json] for item in record.history.item]
            found.append({"step": record.history.step.num, "items": items})
    return found


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps(history(path)))
