"""Reading what trainers write: files to runs, runs to paired series, with every decision on record."""

from entropylaw.ingest.explain import explain as explain
from entropylaw.ingest.load import UnreadFileWarning as UnreadFileWarning
from entropylaw.ingest.load import read_all as read_all
from entropylaw.ingest.load import read_runs as read_runs
from entropylaw.ingest.runs import Table as Table
from entropylaw.ingest.select import select as select
