"""A report as one HTML file that needs no other: the page of its only run, or the index and all pages."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

from entropylaw.files import write_atomically
from entropylaw.paths import check_targets
from entropylaw.pipeline.pages import Making
from entropylaw.pipeline.pool import Progress
from entropylaw.pipeline.site import Outcome, index_of, tasks_of, worked
from entropylaw.report.pages import IN_FILE, index_page, phases_page
from entropylaw.results.result import replace


def one_page(
    sources: Sequence[str],
    making: Making,
    target: Path,
    *,
    jobs: int,
    fixed: Sequence[str] = (),
    progress: Progress = lambda *_: None,
) -> Outcome:
    """Write the report of everything in some sources as one file.

    ``making`` has no folder. Parameters and errors are otherwise as in
    :func:`entropylaw.pipeline.site.report_logs`.
    """
    outcome = tasks_of(sources, making, fixed)
    check_targets([target])
    outcome = worked(outcome, jobs, progress)
    if not outcome.answered:
        return outcome
    pages = [zlib.decompress(run.page).decode() for run in outcome.done]
    write_atomically(target, pages[0] if len(outcome.tasks) == 1 else with_index(outcome, pages))
    return replace(outcome, written=(target,))


def with_index(outcome: Outcome, sections: Sequence[str]) -> str:
    """The index with other pages as ``sections`` below it, first that of the phases over several runs."""
    index = index_of(outcome)
    if index.across is not None:
        slugs = {row.run: row.slug for row in index.rows}
        sections = [phases_page(index.across, slugs, IN_FILE), *sections]
    return index_page(
        index.rows,
        warnings=outcome.interrupted,
        skipped=outcome.warnings,
        phases=index.across is not None,
        arms=outcome.tasks[0].making.arms,
        addresses=IN_FILE,
        sections=sections,
    )
