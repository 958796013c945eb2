"""The public names, each from its home: for type checkers and for the imports on first use."""

__version__: str
from entropylaw.analysis.answer import fit_law as fit_law
from entropylaw.analysis.forecast import forecast as forecast
from entropylaw.analysis.level_shift import find_level_shifts as find_level_shifts
from entropylaw.analysis.lmfit_model import to_lmfit as to_lmfit
from entropylaw.analysis.phases import combine_phases as combine_phases
from entropylaw.analysis.phases import fit_phases as fit_phases
from entropylaw.documents.comparison import ComparisonDocument as ComparisonDocument
from entropylaw.documents.document import FitDocument as FitDocument
from entropylaw.documents.document import PhasesDocument as PhasesDocument
from entropylaw.documents.loading import load_fit as load_fit
from entropylaw.documents.loading import load_phases as load_phases
from entropylaw.errors import EntropyLawError as EntropyLawError
from entropylaw.errors import FitError as FitError
from entropylaw.errors import InputError as InputError
from entropylaw.errors import OutputError as OutputError
from entropylaw.errors import UsageError as UsageError
from entropylaw.logs.load import read_runs as read_runs
from entropylaw.logs.runs import Run as Run
from entropylaw.pipeline.answers import fit_log as fit  # noqa: F401
from entropylaw.pipeline.answers import fit_run as fit_run
from entropylaw.pipeline.compare import compare as compare
from entropylaw.pipeline.samples import samples as summarise_samples  # noqa: F401
from entropylaw.pipeline.steps import fit_logs as fit_logs
from entropylaw.pipeline.watch import EntropyLawCallback as EntropyLawCallback
from entropylaw.pipeline.watch import Watcher as Watcher
from entropylaw.results import EntropySet as EntropySet
from entropylaw.results import Estimate as Estimate
from entropylaw.results import Prediction as Prediction
from entropylaw.results import Verdict as Verdict
from entropylaw.results import Why as Why
from entropylaw.results.arms import ArmComparison as ArmComparison
from entropylaw.results.fit import Fit as Fit
from entropylaw.results.forecast import Forecast as Forecast
from entropylaw.results.law import LawFit as LawFit
from entropylaw.results.phases import PhaseFit as PhaseFit
from entropylaw.results.phases import PhasesAcross as PhasesAcross
from entropylaw.results.stop import StopLine as StopLine
from entropylaw.roles.select import select as select
from entropylaw.roles.series import Series as Series
