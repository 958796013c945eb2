"""The public names, each from its home: for type checkers, and for lazy_loader, which takes no other name."""

from .analysis.forecast import forecast as forecast
from .analysis.lmfit_model import to_lmfit as to_lmfit
from .documents.loading import load as load
from .errors import EntropyLawError as EntropyLawError
from .errors import FitError as FitError
from .errors import InputError as InputError
from .errors import UsageError as UsageError
from .logs.load import read_runs as read_runs
from .logs.runs import Run as Run
from .pipeline.answers import fit as fit
from .pipeline.answers import phases as phases
from .pipeline.compare import compare as compare
from .pipeline.samples import summarise_samples as summarise_samples
from .pipeline.steps import fit_logs as fit_logs
from .pipeline.watch import EntropyLawCallback as EntropyLawCallback
from .pipeline.watch import Watcher as Watcher
from .results import Estimate as Estimate
from .results.arms import ArmComparison as ArmComparison
from .results.fit import Fit as Fit
from .results.forecast import Forecast as Forecast
from .results.phases import PhaseFit as PhaseFit
from .version import __version__ as __version__
