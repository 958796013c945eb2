"""Backtests: what forecasts from parts of finished runs said, and what followed."""

from __future__ import annotations

from operator import attrgetter

from entropylaw.documents.document import BacktestDocument, Entry
from entropylaw.escaping import counted
from entropylaw.report import blocks as b
from entropylaw.report.numbers import format_percent, format_step
from entropylaw.results.forecast import PEERS, Backtest, RunBacktest, Skill
from entropylaw.results.stop import STATES, Replay

NAMES = {
    "forecast": "the forecast",
    "last_value": "the last value",
    "three_lines": "three lines",
    "law": "the law by least squares",
    "scalerl": "the ScaleRL sigmoid",
}
COMPARED = tuple(name for name in PEERS if name in NAMES)

CUTS = (
    b.Column("cut_step", "cut at step", unit="step"),
    b.Column("at_step", "for step", unit="step"),
    b.Column("evaluations", shown_in=(b.DATA,)),
    b.Column("now", "now"),
    b.Column("reward", "forecast"),
    *(b.Column(key, shown_in=(b.DATA,)) for key in ("low", "high", "gain")),
    b.Column("interval", "interval", lambda cut: f"[{cut.low:.3g}, {cut.high:.3g}]", shown_in=(b.PEOPLE,)),
    b.Column("p_gain", "P(gain)", unit="probability"),
    b.Column("outcome", "outcome"),
    b.Column("gained", "gained"),
    b.Column("error", "error", attrgetter("error.forecast")),
    *(b.Column(f"error_{name}", NAMES[name], attrgetter(f"error.{name}")) for name in COMPARED),
)
"""A row per cut of a run."""

BACKTEST = (
    *b.columns("run"),
    *(column for column in CUTS if b.DATA in column.shown_in),
    *b.columns("level", "note"),
)
"""The same in CSV and frames; a run that was not tested has its reason in ``note``."""


LOOKS = (
    b.Column("step", "step", unit="step"),
    b.Column("evaluations", shown_in=(b.DATA,)),
    b.Column("now", "now"),
    # No forecast of a lost reward is meant.
    b.Column("p_gain", "P(gain)", lambda look: None if look.says == "lost" else look.p_gain, "probability"),
    b.Column("at_step", "by step", unit="step"),
    b.Column("gain", shown_in=(b.DATA,)),
    b.Column("reached", "reached"),
    b.Column("gained", "gained"),
    b.Column("low_looks", "looks below 0.1"),
    b.Column("says", "says", lambda look: str(look.says)),
)
"""A row per look of a replay."""

REPLAY = (*b.columns("run"), *LOOKS, *b.columns("note"))
"""The same in CSV and frames."""


Tested = Backtest | BacktestDocument | Entry[RunBacktest] | RunBacktest


def describe(result: Tested) -> list[b.Block]:
    """All cuts together, then every run."""
    runs = _runs(result)
    if not isinstance(result, Backtest | BacktestDocument):
        return _of_run(*runs[0])
    blocks: list[b.Block] = [b.Heading("Backtest of forecasts", 1)]
    if isinstance(result, BacktestDocument):
        blocks.append(b.warned(result.warnings))
    if refused := sum(tested is None for _, tested, _ in runs):
        text = f"Not tested: {refused} of {len(runs)} runs, each with its reason."
        blocks.append(b.paragraphs(text, detail=True))
    score = getattr(result, "replayed", None)
    if score is not None:
        false = f"false in {score.false_stops} of {counted(score.improving, 'improving run')}"
        counts = f"stop in {score.stopped}, {false}; lost in {score.lost}; exploded in {score.exploded}"
        blocks.append(b.Notes([b.Note("stop line", f"{counted(score.runs, 'run')}: {counts}")]))
    if result.overall is not None:
        blocks.append(over_all_cuts(result.overall, result.level))
    return blocks + [block for run in runs for block in _of_run(*run)]


def over_all_cuts(skill: Skill, level: float) -> b.Notes:
    """What has the smallest error, the errors as ratios, and the Brier score."""
    ratios = ((NAMES[name], getattr(skill.error, name)) for name in COMPARED)
    errors = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios if ratio is not None)
    brier, base = skill.brier.forecast, skill.brier.base_rate or 0.0
    cover = f"{format_percent(level)} intervals cover {format_percent(skill.covered)}"
    counts = f"{counted(skill.cuts, 'cut')} of {counted(skill.runs, 'run')}"
    notes = {
        "least error": f"{NAMES[skill.best]}, over {counts}",
        "error to": f"{errors} (geometric means; below 1 the forecast is better)",
        "P(gain)": f"Brier score {brier:.3f}; by the share of cuts that gained {base:.3f}",
        "intervals": f"{cover}; median width {skill.width:.2f} ranges of the reward",
    }
    return b.Notes([b.Note(label, text) for label, text in notes.items()])


def replay_words(played: Replay) -> str:
    """What the stop line said of a run first, and what came."""
    parts = []
    for says in STATES:
        look = played.first(says)
        if look is not None:
            parts.append(f"{says} at step {format_step(look.step)}")
        if look is not None and says == "stop" and look.gained is not None:
            parts[-1] += ", and the gain was reached after it" if look.gained else ", and no gain followed"
    parts.append("it improves" if played.improving else "it does not improve")
    return "; ".join(parts)


def table(result: Tested) -> b.Table:
    """A row per cut of every run, or per look of its replay."""
    level, runs = getattr(result, "level", None), _runs(result)
    replayed = any(tested is not None and tested.replay is not None for _, tested, _ in runs)
    columns = REPLAY if replayed else BACKTEST
    rows: list[list[b.Cell]] = []
    for name, tested, reason in runs:
        if tested is None:
            rows.append([name, *[None] * (len(columns) - 2), reason])
        elif tested.replay is not None:
            rows += [[name, *cells, None] for cells in b.table_of(LOOKS, tested.replay.looks).rows]
        else:
            rows += [[name, *cells, level, None] for cells in b.table_of(CUTS, tested.cuts, b.DATA).rows]
    return b.Table(columns, rows)


def _runs(result: Tested) -> list[tuple[str, RunBacktest | None, str]]:
    """The names of the runs, what was tested of each, and why nothing was."""
    if isinstance(result, Backtest):
        refused = [(name, None, reason) for name, reason in result.refused]
        return [*((run.run, run, "") for run in result.runs), *refused]
    if isinstance(result, RunBacktest):
        return [(result.run, result, "")]
    entries = result.runs if isinstance(result, BacktestDocument) else (result,)
    return [(entry.name, entry.result, getattr(entry.refusal, "message", "")) for entry in entries]


def _of_run(name: str, tested: RunBacktest | None, reason: str) -> list[b.Block]:
    if tested is None:
        return [b.Heading(name, 2), b.Verdict("not tested", reason)]
    if tested.replay is not None:
        return [
            b.Heading(name, 2, counted(tested.n, "evaluation")),
            b.Verdict("replayed", replay_words(tested.replay), True),
            b.table_of(LOOKS, tested.replay.looks, b.PEOPLE, words=0),
        ]
    meaning = "what was forecast half as many steps on, and the mean of three evaluations there"
    return [
        b.Heading(name, 2, counted(tested.n, "evaluation")),
        b.Verdict("tested", meaning, True),
        b.table_of(CUTS, tested.cuts, b.PEOPLE, words=0),
    ]
