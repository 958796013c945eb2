"""Reading what trainers write: files to runs, runs to paired series, with every decision on record."""

from entropylaw.ingest.content import Content as Content
from entropylaw.ingest.load import UnreadFileWarning as UnreadFileWarning
from entropylaw.ingest.load import read_all as read_all
from entropylaw.ingest.load import read_runs as read_runs
from entropylaw.ingest.registry import Reader as Reader
from entropylaw.ingest.select import explain as explain
from entropylaw.ingest.select import select as select
from entropylaw.ingest.table import Table as Table
