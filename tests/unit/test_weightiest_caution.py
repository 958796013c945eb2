"""The weightiest caution of a fit is in its first lines, and the others are counted."""

from __future__ import annotations

import re

from entropylaw.report.render import rendered
from entropylaw.results.result import caution, replace
from tests.unit.test_report_samples import by_hand


def test_the_weightiest_caution_is_in_the_first_lines() -> None:
    lag = caution("reward-lags", evaluations=2, probability=0.9)
    outlier = caution(
        "gross-outlier", column="r", value=9.0, step=3.0, distance=20.0, low=0.1, high=0.2, limit=8.0
    )
    rest = {"dropped": 3, "probability": 0.9, "step": 24.0}
    first = caution("rests-on-first", **rest, value=0.8, low=0.7, high=0.9)
    lost = caution("reward-lost", first=0.5, best=0.75, last=0.0123)
    fit = replace(by_hand(), findings=(lag, outlier, lost, first))
    lines = rendered(fit, "text").splitlines()
    cautions = [line for line in lines if line.split()[:1] == ["caution"]]
    assert [line.split(maxsplit=1)[1] for line in cautions] == [
        "the first 3 evaluations are off the curve of the others (P = 0.90); if they were"
    ]
    assert lines.index(cautions[0]) < next(
        i for i, line in enumerate(lines) if "R = b" in line and line.startswith("  R")
    )
    assert "  +3 cautions: --details" in lines
    details = rendered(fit, "details")
    assert "--details" not in details
    assert [len(re.findall(rf"\b{word}", details)) for word in ("are off the curve", "gross outlier")] == [
        1,
        1,
    ]
    assert "caution: --details" not in rendered(replace(fit, findings=(first,)), "text")
    # What the first answer says is not said twice.
    assert "+1 caution: --details" in rendered(replace(fit, findings=(lost,)), "text")
