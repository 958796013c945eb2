"""The configuration within a ``.wandb`` file: ``ConfigRecord`` in wandb 0.31's wandb_internal.proto."""

from __future__ import annotations

import json

from entropylaw.ingest.formats.records import fields
from entropylaw.ingest.settings import flat_settings

_UPDATE = 1 << 3 | 2
_KEY, _NESTED_KEY, _VALUE_JSON = 1 << 3 | 2, 2 << 3 | 2, 16 << 3 | 2
_LONGEST_NAME = 500
_LONGEST_JSON = 1 << 20
_MOST_ITEMS = 1 << 14


def config_settings(message: bytes) -> dict[str, object]:
    """Return the settings of one record, flat; what is no JSON is left out.

    Raises
    ------
    ValueError
        Where the bytes are no such record.

    """
    found: dict[str, object] = {}
    updates = [value for key, value in fields(message) if key == _UPDATE]
    for item in updates[:_MOST_ITEMS]:
        name, nested, text = b"", [], b""
        for key, value in fields(item):
            if key == _KEY:
                name = value
            elif key == _NESTED_KEY:
                nested.append(value)
            elif key == _VALUE_JSON:
                text = value
        path = (b"/".join(nested) or name).decode(errors="replace")
        if not path or len(path) > _LONGEST_NAME or len(text) > _LONGEST_JSON:
            continue
        try:
            found |= flat_settings({path: json.loads(text)})
        except (ValueError, RecursionError):
            continue
    return found
