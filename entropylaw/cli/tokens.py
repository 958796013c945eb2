"""``entropylaw tokens``: token-level logs to one row per step."""

from __future__ import annotations

from dataclasses import dataclass

from entropylaw.cli.command import takes
from entropylaw.options import PATH, Quiet, TokenOptions, formats, option


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokensCommand(TokenOptions, Quiet):
    """``entropylaw tokens``."""

    tables: tuple[str, ...] = option(
        "TABLES",
        "Parquet or JSONL files, or folders of them, with a row per token or per sequence; or the "
        ".hist.parquet files of shards, to join them.",
        many=True,
        required=True,
    )
    format: str = formats()
    output: str | None = option(
        "-o --output",
        "Write the summary here (.parquet .csv .json), and the histograms next to it (NAME.hist.parquet). "
        "'-' prints only.",
        PATH,
    )


@takes(TokensCommand, example="entropylaw tokens data/lab/grpo_s0/tokens.parquet -o steps.parquet")
def tokens(options: TokensCommand) -> None:
    """Summarise token-level logs: entropy by step, overall and by class, for the two-phase curves.

    Every number follows from exact sums, so that it does not depend on the order of the rows, on their
    division into files, or on the engine. That holds for joined shards, too: a response with tokens in two
    of them is one response, unless there are more than a million; what is then unknown is left empty.
    """
    from entropylaw.cli.output import print_result, rendered, say, share_shown, shown
    from entropylaw.escaping import one_line
    from entropylaw.tokens.run import as_parquet, format_of, histogram_path, summarise_tokens, write_together

    kind = format_of(options.output)
    output = options.output if kind is not None else None
    with share_shown("summing tokens") as progress:
        summarised = summarise_tokens(options.tables, options, output=output, progress=progress)
    summary = summarised.result
    used = ", ".join(
        f"{role} {name if isinstance(name, str) else ' + '.join(name)}"
        for role, name in summary.about["columns"].items()
    )
    for line in (f"columns: {used}", *(f"note: {note}" for note in summary.notes)):
        say(one_line(line), quiet=options.quiet)
    if output is not None and kind is not None:
        rows = summarised.steps
        data = as_parquet(rows) if kind == "parquet" else rendered(summary, kind).encode("utf-8")
        files = {histogram_path(output): as_parquet(summarised.histogram), output: data}
        write_together(files)
        for path in files:
            say(one_line(f"wrote {path}"), quiet=options.quiet)
    print_result(shown(summary, options.format))
