"""Reading what trainers write: files to runs, runs to paired series, with every decision on record."""

from entropylaw.ingest.content import Content
from entropylaw.ingest.load import Failure, Ignored, Reading, UnreadFileWarning, read_all, read_runs
from entropylaw.ingest.registry import Reader
from entropylaw.ingest.run import Run, Series
from entropylaw.ingest.select import explain, select
from entropylaw.ingest.table import Table
from entropylaw.results.columns import Candidate, Choice, ColumnReport, Decoy, Meaning, Source

__all__ = [
    "Candidate",
    "Choice",
    "ColumnReport",
    "Content",
    "Decoy",
    "Failure",
    "Ignored",
    "Meaning",
    "Reader",
    "Reading",
    "Run",
    "Series",
    "Source",
    "Table",
    "UnreadFileWarning",
    "explain",
    "read_all",
    "read_runs",
    "select",
]
