"""``entropylaw samples``: samples per problem as one row per step, and two tables paired by problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from entropylaw.cli import output
from entropylaw.cli.commands.samples import SamplesCommand
from entropylaw.cli.phases import picture_of
from entropylaw.cli.progress import share_shown
from entropylaw.cli.streams import print_result, say
from entropylaw.errors import FitError
from entropylaw.escaping import one_line
from entropylaw.files import write_atomically
from entropylaw.kinds import PAGES
from entropylaw.paths import check_targets
from entropylaw.pipeline.samples import document_of
from entropylaw.samples.run import column_lines
from entropylaw.tokens.run import as_parquet

if TYPE_CHECKING:
    from entropylaw.report.figures import Need


def samples(options: SamplesCommand) -> None:
    """Run ``entropylaw samples``."""
    if options.tables[0] == "columns" and len(options.tables) > 1:
        lines = column_lines(options.tables[1:], options)
        print_result("".join(f"{one_line(line)}\n" for line in lines))
        return
    special = [path for path in options.output if Path(path).suffix.lower() in (*PAGES, ".parquet")]
    others = [path for path in options.output or ["-"] if path not in special]
    formats = output.destinations(others, options.format)
    picture = picture_of(options.figure)
    with share_shown("counting samples") as progress:
        document = document_of(options.tables, options, options.against, progress)
    used = ", ".join(f"{role} {name}" for role, name in document.columns.items())
    for line in (f"{document.format}: {used}", *(f"note: {note}" for note in document.notes)):
        say(one_line(line), quiet=options.quiet)
    check_targets([*options.output, *filter(None, [options.figure])])
    if options.figure is not None:
        # Not at the top: most summaries draw nothing.
        from entropylaw.report.figures.drawings import write

        try:
            parts: dict[Need, Any] = {"samples_pair": document.against} if document.against else {}
            for path in write(parts | {"samples": document}, options.figure, picture):
                say(f"wrote {path}", quiet=options.quiet)
        except ValueError as error:
            raise FitError(
                "nothing-to-draw", f"the samples have no figure: {error}", "leave out --figure"
            ) from error
    for path in special:
        if Path(path).suffix.lower() == ".parquet":
            write_atomically(path, as_parquet(pa.Table.from_pylist(list(map(dict, document.rows)))))
        else:
            from entropylaw.report.pages import single_page

            write_atomically(path, single_page(document))
        say(f"wrote {path}", quiet=options.quiet)
    output.deliver(document, formats, quiet=options.quiet)
