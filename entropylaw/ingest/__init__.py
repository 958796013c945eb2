"""Reading what trainers write: files to runs, runs to paired series, with every decision on record."""

from entropylaw.ingest.content import Content as Content
from entropylaw.ingest.load import Failure as Failure
from entropylaw.ingest.load import Ignored as Ignored
from entropylaw.ingest.load import Reading as Reading
from entropylaw.ingest.load import UnreadFileWarning as UnreadFileWarning
from entropylaw.ingest.load import read_all as read_all
from entropylaw.ingest.load import read_runs as read_runs
from entropylaw.ingest.registry import Reader as Reader
from entropylaw.ingest.run import Run as Run
from entropylaw.ingest.run import Series as Series
from entropylaw.ingest.select import explain as explain
from entropylaw.ingest.select import select as select
from entropylaw.ingest.table import Table as Table
from entropylaw.results.columns import Candidate as Candidate
from entropylaw.results.columns import Choice as Choice
from entropylaw.results.columns import ColumnReport as ColumnReport
from entropylaw.results.columns import Decoy as Decoy
from entropylaw.results.columns import Meaning as Meaning
from entropylaw.results.columns import Source as Source
