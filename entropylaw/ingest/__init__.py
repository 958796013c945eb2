"""Reading what trainers write: files to runs, runs to paired series, with every decision on record."""

from entropylaw.ingest.load import Failure, Ignored, Reading, UnreadFileWarning, read_all, read_runs
from entropylaw.ingest.report import Candidate, ColumnReport, Decoy, explain
from entropylaw.ingest.run import Choice, Meaning, Run, Series, Source
from entropylaw.ingest.select import select

__all__ = [
    "Candidate",
    "Choice",
    "ColumnReport",
    "Decoy",
    "Failure",
    "Ignored",
    "Meaning",
    "Reading",
    "Run",
    "Series",
    "Source",
    "UnreadFileWarning",
    "explain",
    "read_all",
    "read_runs",
    "select",
]
