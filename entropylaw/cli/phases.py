"""``entropylaw tokens`` and ``entropylaw phases``: the entropies of planning and execution tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropylaw import options as opt
from entropylaw.cli import output
from entropylaw.cli.command import takes
from entropylaw.cli.progress import share_shown
from entropylaw.errors import UsageError
from entropylaw.kinds import PATH
from entropylaw.paths import check_targets
from entropylaw.tokens.options import TokenOptions

if TYPE_CHECKING:
    from entropylaw.documents.document import PhasesDocument


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TokensCommand(TokenOptions, opt.Quiet):
    """``entropylaw tokens``."""

    tables: tuple[str, ...] = opt.option(
        "TABLES",
        "Parquet or JSONL files, or folders of them, with a row per token or per sequence.",
        many=True,
        required=True,
    )
    format: str = opt.formats()
    output: str | None = opt.option(
        "-o --output",
        "Write the summary here (.parquet .csv .json), and the histograms next to it (NAME.hist.parquet), "
        "and print nothing.",
        PATH,
    )


@takes(TokensCommand, example="entropylaw tokens data/lab/grpo_s0/tokens.parquet -o steps.parquet")
def tokens(options: TokensCommand) -> None:
    """Summarise token-level logs by step.

    The entropy of all tokens and of each class, for `entropylaw phases`. Every number follows from exact
    sums, so that it does not depend on the order of the rows, on their division into files, or on the
    engine. All files are read as one table: give the shards of a run in one call.
    """
    from entropylaw.escaping import one_line
    from entropylaw.files import write_together
    from entropylaw.pipeline.tokens import token_summary
    from entropylaw.tokens.run import as_parquet, histogram_path, summarise_tokens, table_format

    kind = table_format(options.output)
    target = options.output if kind is not None else None
    with share_shown("summing tokens") as progress:
        summarised = summarise_tokens(options.tables, options, output=target, progress=progress)
    summary = token_summary(summarised)
    used = ", ".join(
        f"{role} {name if isinstance(name, str) else ' + '.join(name)}"
        for role, name in summary.about["columns"].items()
    )
    for line in (f"columns: {used}", *(f"note: {note}" for note in summary.notes)):
        output.say(one_line(line), quiet=options.quiet)
    if target is None or kind is None:
        output.print_result(output.shown(summary, options.format))
        return
    rows = summarised.steps
    data = as_parquet(rows) if kind == "parquet" else output.rendered(summary, kind).encode("utf-8")
    files = {histogram_path(target): as_parquet(summarised.histogram), target: data}
    write_together(files)
    for path in files:
        output.say(one_line(f"wrote {path}"), quiet=options.quiet)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PhasesCommand(opt.Parallel, opt.PhaseOptions, opt.Logs, opt.Written):
    """``entropylaw phases``."""

    figure: str | None = opt.option(
        "--figure",
        "Draw one run into FILE (.svg .png .pdf), or every run into a folder, as SVG and PNG; the "
        "folder also receives the histograms that `entropylaw tokens` wrote with a summary.",
        PATH,
    )


@takes(PhasesCommand, example="entropylaw phases data/lab/grpo_s0/metrics.parquet --figure phases.svg")
def phases(options: PhasesCommand) -> None:
    """Test whether planning or execution turns to rise.

    For each curve that rises after its fall, its turning point and its rise are estimated, and which of the
    two comes first; and whether a curve falls a second time. The null hypothesis is any curve that never
    rises after a fall; drift and noise are integrated out. No turn is a result, and the smallest rise that
    would have been detected is reported with it. LOGS are step-level logs or what
    `entropylaw tokens` wrote. With the entropy of all tokens only, that curve is fitted alone. Exit code
    4 means that no run could be fitted.
    """
    from entropylaw.escaping import one_line
    from entropylaw.pipeline.inputs import histogram_beside

    figure, quiet = options.figure, options.quiet
    targets = output.destinations(options.output or ["-"], options.format)
    picture = picture_of(figure)
    inputs = output.gather(options.logs, options, opt.part(options, opt.PhaseOptions), options.jobs, kinds=())
    from entropylaw.pipeline.steps import Phases

    step = Phases(inputs.settings)
    if picture and len(inputs.runs) > 1:
        message = f"--figure {figure} is one picture, and there are {len(inputs.runs)} runs"
        raise UsageError("one-figure-one-run", message, "name a folder, which gets one picture per run")
    answers = output.answered(step, inputs.entries, options.jobs, quiet=quiet)
    document = step.document(inputs, [answer.result for answer in answers])
    output.say_skipped(document.warnings, quiet=quiet)
    if figure is not None:
        check_targets([figure, *targets])
        histograms: dict[str, str] = {}
        for run in inputs.runs:
            histograms[run.name], warning = histogram_beside(run)
            output.say(one_line(warning), quiet=not warning)
        for written in draw(document, figure, picture, histograms):
            output.say(f"wrote {written}", quiet=quiet)
    output.finish_runs(document, targets, inputs, answers, answered=bool(document.fitted), quiet=quiet)


def picture_of(figure: str | None) -> str:
    """The format of a single picture; empty for a folder, or for no figure."""
    if figure is None or Path(figure).is_dir() or figure.endswith("/") or not Path(figure).suffix:
        return ""
    return output.format_of(figure, opt.PICTURES, flag="--figure")


def draw(document: PhasesDocument, figure: str, picture: str, histograms: dict[str, str]) -> Iterable[str]:
    """Write the ``picture`` of one run, or all of every run's into a folder; yields the paths.

    ``histograms`` are paths by the names of runs, empty where there is none.
    """
    from entropylaw.escaping import safe_name
    from entropylaw.pipeline.tokens import token_histogram
    from entropylaw.report.figures import Need, write

    taken: set[str] = set()
    for run in document.runs:
        slug = safe_name(run.run, taken)
        drawable: dict[Need, Any] = {"phases": run} if run.phases is not None else {}
        # Too few steps for a turning point are still a picture of the tokens.
        if not picture and histograms.get(run.run):
            drawable["tokens"] = token_histogram(histograms[run.run])
        yield from write(drawable, figure, picture, slug)
