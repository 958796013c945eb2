"""One measurement of :mod:`benchmarks.tokens` in a process that imports what it needs: a bare query, DuckDB.

python -m benchmarks.tokens_alone WHO FOLDER

The result goes next to the tokens; the last line is the process's peak in bytes and its processor time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.process import peak

THREADS = min(os.cpu_count() or 1, 8)

SAME = """
SELECT step, is_planning, count(*) AS tokens,
       avg(entropy::DOUBLE) AS mean, stddev_samp(entropy::DOUBLE) AS sd,
       quantile_cont(entropy, [0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99]) AS quantiles
FROM read_parquet($files) GROUP BY ALL ORDER BY ALL
"""
MOMENTS = """
SELECT step, is_planning, count(*) AS tokens, avg(entropy::DOUBLE) AS mean, stddev_samp(entropy::DOUBLE) AS sd
FROM read_parquet($files) GROUP BY ALL ORDER BY ALL
"""
QUERIES = {"same": SAME, "moments": MOMENTS}


def main(who: str, folder: str) -> None:
    if who in QUERIES:
        bare(who, folder)
    else:
        from entropylaw.__main__ import main as command

        more = ["--grams", "default"] if who == "grams" else []
        sys.argv = ["entropylaw", "tokens", f"{folder}/tokens", "-o", f"{folder}/{who}.parquet", "-q", *more]
        with suppress(SystemExit):
            command()
    print(peak(), time.process_time())


def bare(who: str, folder: str) -> None:
    """The rows of a query, by DuckDB with as many threads as ours."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}")
        files = sorted(str(path) for path in Path(folder, "tokens").iterdir())
        rows = connection.execute(QUERIES[who], {"files": files}).fetchall()
    Path(folder, f"{who}.json").write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
