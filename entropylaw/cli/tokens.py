"""``entropylaw tokens``: token-level logs as one row per step."""

from __future__ import annotations

from entropylaw.cli import output
from entropylaw.cli.commands import TokensCommand
from entropylaw.cli.streams import print_result, say, share_shown
from entropylaw.errors import InputError
from entropylaw.escaping import one_line
from entropylaw.files import write_atomically
from entropylaw.results.tokens import TokenSummary
from entropylaw.tokens.run import as_parquet, summarise_tokens


def tokens(options: TokensCommand) -> None:
    """Run ``entropylaw tokens``."""
    target = options.output if options.output != "-" else None
    kind = options.format if target is None else output.format_of(target, ("parquet", "csv", "json"))
    with share_shown("summing tokens") as progress:
        summarised = summarise_tokens(options.tables, options, output=target, progress=progress)
    rows = tuple(summarised.steps.to_pylist())
    summary = TokenSummary(rows=rows, about=summarised.about, notes=summarised.notes)
    used = ", ".join(
        f"{role} {name if isinstance(name, str) else ' + '.join(name)}"
        for role, name in summary.about["columns"].items()
    )
    unread = summary.about["read"].get("unread", ())
    left_out = [file["why"] for file in unread if file["fate"] != "refused"]
    for line in (f"columns: {used}", *(f"note: {note}" for note in (*left_out, *summary.notes))):
        say(one_line(line), quiet=options.quiet)
    if target is None:
        print_result(output.shown(summary, kind))
    else:
        content = as_parquet(summarised.steps) if kind == "parquet" else output.rendered(summary, kind)
        write_atomically(target, content)
        say(one_line(f"wrote {target}"), quiet=options.quiet)
    refused = [file for file in unread if file["fate"] == "refused"]
    errors = [InputError(file["slug"], file["why"], file["hint"]) for file in refused]
    output.finish(errors, answered=True, read=True)
