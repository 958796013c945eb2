"""``entropylaw predict``: reward at an entropy or a later step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropylaw.cli import output
from entropylaw.cli.commands import PredictCommand
from entropylaw.cli.running import document_of
from entropylaw.cli.streams import say
from entropylaw.errors import UsageError
from entropylaw.option import part
from entropylaw.options import FOLDER, FitOptions
from entropylaw.pipeline.predictions import predict_runs, with_law
from entropylaw.pipeline.steps import Fit
from entropylaw.results.result import replace

_MOST = 10_000


def predict(options: PredictCommand) -> None:
    """Run ``entropylaw predict``."""
    quiet = options.quiet
    targets: dict[str, Any] = {
        "entropies": parse_entropies(options.target_entropy),
        "rewards": options.target_reward,
        "at_step": options.at_step,
        "gain": options.gain,
    }
    source = options.source
    if source is None:
        # The one that was written last.
        paths = (path for path in Path(FOLDER).glob("*.fit.json") if path.is_file())
        newest = max(paths, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)
        if newest is None:
            raise UsageError(
                "no-fit-yet",
                f"no FIT was given and {FOLDER}/ holds no *.fit.json",
                "run `entropylaw fit LOG` first, or name a log or a fit document",
            )
        source = str(newest)
        say(f"reading {source}", quiet=quiet)
    formats = output.destinations(options.output, options.format)
    unset = [name for name in ("gain", "level") if getattr(options, name) is None]
    fresh = part(options, FitOptions, **{name: getattr(FitOptions, name) for name in unset})
    inputs = output.gather([source], options, fresh, kinds=("fit",))

    output.say_skipped(inputs.warnings, quiet=quiet)
    fits = document_of(Fit, inputs)
    if targets["entropies"] or targets["rewards"]:
        fits = with_law(fits)
    if fits.fitted:
        document = replace(predict_runs(fits, **targets, level=options.level), config=options.config)
        output.deliver(document, formats, quiet=quiet)
    output.finish_fits(fits.runs)


def parse_entropies(texts: Sequence[str]) -> list[float]:
    """Entropies from ``"0.1"`` or ``"0:0.5:0.05"`` (both ends included); every value once, as given."""
    values: list[float] = []
    for text in texts:
        try:
            parts = list(map(float, text.split(":")))
        except ValueError:
            raise _bad(text, "a number, or START:STOP:STEP") from None
        if not all(map(math.isfinite, parts)):
            raise _bad(text, "a finite number")
        if len(parts) == 1:
            values += parts
            continue
        if len(parts) != 3:
            raise _bad(text, "START:STOP:STEP")
        start, stop, step = parts
        if step <= 0 or stop < start:
            raise _bad(text, "START ≤ STOP and STEP > 0")
        count = math.floor((stop - start) / step + 1e-9) + 1
        if count > _MOST:
            raise _bad(text, f"at most {_MOST} values")
        # start + i·step adds up no error; rounding removes the last bit's noise (0.15000000000000002).
        values += [float(f"{start + i * step:.12g}") for i in range(count)]
    return list(dict.fromkeys(values))


def _bad(text: str, expected: str) -> UsageError:
    return UsageError(
        "bad-target",
        f"--target-entropy {text!r}, expected {expected}",
        "for example --target-entropy 0:0.5:0.05",
    )
