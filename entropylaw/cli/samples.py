"""``entropylaw samples``: samples per problem as one row per step, and two tables paired by problem."""

from __future__ import annotations

import pyarrow as pa
from msgspec import to_builtins

from entropylaw.cli import output
from entropylaw.cli.commands import SamplesCommand
from entropylaw.cli.streams import print_result, say, share_shown
from entropylaw.errors import InputError
from entropylaw.escaping import one_line
from entropylaw.files import write_atomically
from entropylaw.kinds import SUFFIXES
from entropylaw.paths import check_targets
from entropylaw.pipeline.samples import document_of
from entropylaw.samples.run import column_lines
from entropylaw.tokens.run import as_parquet, with_metadata


def samples(options: SamplesCommand) -> None:
    """Run ``entropylaw samples``."""
    if options.tables[0] == "columns" and len(options.tables) > 1:
        print_result("\n".join((*map(one_line, column_lines(options.tables[1:], options)), "")))
        return
    choices = (*SUFFIXES, "html", "parquet")
    formats = output.destinations(options.output, output.format_with_details(options), choices)
    with share_shown("counting samples") as progress:
        document = document_of(options.tables, options, options.against, progress)
    used = ", ".join(f"{role} {name}" for role, name in document.columns.items())
    left_out = [file.why for file in document.unread if file.fate != "refused"]
    for line in (f"{document.format}: {used}", *map("note: {}".format, (*left_out, *document.notes))):
        say(one_line(line), quiet=options.quiet)
    check_targets(options.output)
    for path in [path for path, format in formats.items() if format == "parquet"]:
        del formats[path]
        read = {"files": to_builtins(document.tables), "unread": to_builtins(document.unread)}
        table = pa.Table.from_pylist([*map(dict, document.rows)])
        table = with_metadata(table, {"format": "entropylaw samples 1", "read": read})
        write_atomically(path, as_parquet(table))
        say(f"wrote {path}", quiet=options.quiet)
    output.deliver(document, formats, quiet=options.quiet)
    errors = [InputError(file.slug, file.why, file.hint) for file in document.refused]
    output.finish(errors, answered=True, read=True)
