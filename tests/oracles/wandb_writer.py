"""Write an offline run with the W&B that is installed here: ``python wandb_writer.py FOLDER``.

Runs in an environment with nothing but ``wandb``. Beside the run, ``written.json`` has what was logged: for
each of the two parts, before and after a resume, a list of records.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
from pathlib import Path

STEPS = 60


def records(seed: int) -> list[dict[str, object]]:
    """What is logged: metrics, and everything else that people log beside them."""
    chance = random.Random(seed)
    found: list[dict[str, object]] = []
    for step in range(STEPS):
        record: dict[str, object] = {
            "actor/entropy": 0.7 * math.exp(-step / 40) + chance.gauss(0, 0.01),
            "critic/score/mean": chance.gauss(0.5, 0.2),
            "tokens": chance.randrange(1 << 40),
            "dotted.name": -step,
            "nested": {"a": chance.random(), "deep": {"b": step, "text": "words"}},
        }
        if step % 10 == 0:
            record["val-core/gsm8k/acc/mean@16"] = chance.random()
        record |= SPECIAL.get(step, {})
        found.append(record)
    return found


SPECIAL: dict[int, dict[str, object]] = {
    3: {"odd": math.nan},
    4: {"odd": math.inf},
    5: {"odd": -math.inf},
    6: {"odd": None},
    7: {"odd": 5e-324, "text": "a few words"},
    8: {"odd": 1.7976931348623157e308, "flag": True},
    9: {"odd": -0.0, "list": [1, 2, 3], "ünïcödé/名": 1.5},
    10: {"odd": 123456789012345678901234567890, "key with blanks": 2, "x" * 200: 3.5},
    11: {"odd": "0.25", "empty": {}},
}


def main(folder: Path) -> None:
    """Log two parts under one id."""
    os.environ.update(
        WANDB_MODE="offline", WANDB_SILENT="true", WANDB_CONSOLE="off", WANDB_ERROR_REPORTING="false"
    )
    os.environ.update(WANDB_DIR=str(folder), WANDB_CACHE_DIR=str(folder), WANDB_CONFIG_DIR=str(folder))
    os.environ.update(WANDB_DATA_DIR=str(folder), WANDB_DISABLE_GIT="true", WANDB_DISABLE_CODE="true")
    import wandb

    for part in range(2):
        settings = {"id": "oracle1", "name": "an oracle", "resume": "allow" if part else None}
        run = wandb.init(project="oracles", dir=str(folder), **settings)
        for step, record in enumerate(records(part)):
            more = {"histogram": wandb.Histogram(np_histogram=([1, 2], [0, 1, 2]))} if step == 2 else {}
            run.log(record | more)
        run.finish()
    (folder / "written.json").write_text(json.dumps([records(part) for part in range(2)]), encoding="utf-8")
    print(wandb.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
