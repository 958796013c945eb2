"""``entropylaw samples``: samples per problem as one row per step, and two tables paired by problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from entropylaw.cli import output
from entropylaw.cli.commands import SamplesCommand
from entropylaw.cli.streams import print_result, say, share_shown
from entropylaw.errors import FitError
from entropylaw.escaping import one_line
from entropylaw.files import write_atomically
from entropylaw.kinds import SUFFIXES
from entropylaw.options import PICTURES
from entropylaw.paths import check_targets
from entropylaw.pipeline.samples import document_of
from entropylaw.samples.run import column_lines
from entropylaw.tokens.run import as_parquet

if TYPE_CHECKING:
    from entropylaw.documents.samples import SamplesDocument
    from entropylaw.report.figures import Need


def samples(options: SamplesCommand) -> None:
    """Run ``entropylaw samples``."""
    if options.tables[0] == "columns" and len(options.tables) > 1:
        print_result("\n".join((*map(one_line, column_lines(options.tables[1:], options)), "")))
        return
    choices = (*SUFFIXES, "html", "parquet")
    formats = output.destinations(options.output, output.format_with_details(options), choices)
    picture = picture_of(options.figure)
    with share_shown("counting samples") as progress:
        document = document_of(options.tables, options, options.against, progress)
    used = ", ".join(f"{role} {name}" for role, name in document.columns.items())
    for line in (f"{document.format}: {used}", *map("note: {}".format, document.notes)):
        say(one_line(line), quiet=options.quiet)
    check_targets([*options.output, *filter(None, [options.figure])])
    if options.figure is not None:
        draw(document, options.figure, picture, quiet=options.quiet)
    for path in [path for path, format in formats.items() if format == "parquet"]:
        del formats[path]
        write_atomically(path, as_parquet(pa.Table.from_pylist([*map(dict, document.rows)])))
        say(f"wrote {path}", quiet=options.quiet)
    output.deliver(document, formats, quiet=options.quiet)


def draw(document: SamplesDocument, figure: str, picture: str, *, quiet: bool) -> None:
    """Draw one ``picture`` of samples, or all into a folder; FitError ``nothing-to-draw``."""
    # Not at the top: most summaries draw nothing.
    from entropylaw.report.figures.drawings import write

    parts: dict[Need, Any] = {"samples": document}
    if document.against is not None:
        parts["samples_pair"] = document.against
    try:
        for path in write(parts, figure, picture):
            say(f"wrote {path}", quiet=quiet)
    except ValueError as error:
        message = f"the samples have no figure: {error}"
        raise FitError("nothing-to-draw", message, "leave out --figure") from error


def picture_of(figure: str | None) -> str:
    """The format of a single picture; empty for a folder, or for no figure."""
    if figure is None or Path(figure).is_dir() or figure.endswith("/") or not Path(figure).suffix:
        return ""
    return output.format_of(figure, PICTURES, flag="--figure")
