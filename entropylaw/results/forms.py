"""What is found of the forms beside the law: all of them compared, and one fitted by lmfit."""

from msgspec import Struct

from entropylaw.results import Estimate, Rival
from entropylaw.results.result import Result


class FormResult(Rival, frozen=True, kw_only=True):
    """A form in a :class:`Comparison`, the law among them; its weight is that among forms of its variable.

    Attributes
    ----------
    variable
        ``"entropy"``, or ``"step"``: the ceiling then is the limit in steps.
    log_odds
        Natural logarithm of its marginal likelihood over the law's: how much the data speak for this form
        against the law, whatever other forms there are.
    shapes
        Estimates of the parameters in which the form is not linear, by name; ``rate`` is None.
    """

    variable: str
    log_odds: float
    shapes: dict[str, Estimate]


class NestedTest(Struct, frozen=True, kw_only=True):
    """Test of a form inside a larger one.

    ``p_value`` is None, with the reason in ``note``, where the run cannot tell the two columns apart.
    """

    null: str
    alternative: str
    p_value: float | None
    method: str
    note: str | None = None


class Comparison(Result, frozen=True, kw_only=True):
    """The law among all forms, of the entropy and of the step.

    Attributes
    ----------
    forms
        The law and its rivals; those of the entropy first, each group heaviest first.
    skipped
        Form → why this run cannot show it.
    alike
        Forms that the data tell from the law neither way: odds between 1/20 and 20.
    law_test, line_test, branch_test
        The law (k = 1) and the line (k = 0) inside the form with a free rate, and the law inside the
        branches.
    rate_tail
        Twice the smaller posterior probability of k < 1 and k > 1, with k flat in its range.
    ceiling
        Reward at H = 0, over the forms of the entropy that are not ruled out.
    limit
        Limit in steps, over the forms of the step that are not ruled out; None without any.
    reach
        ``ceiling`` and ``limit`` together where the entropy is spent, so that both mean the same; else None
        with the reason in ``reach_note``.
    """

    forms: tuple[FormResult, ...]
    skipped: dict[str, str]
    alike: tuple[str, ...]
    law_test: NestedTest
    line_test: NestedTest
    branch_test: NestedTest
    rate_tail: float
    ceiling: Estimate
    limit: Estimate | None
    reach: Estimate | None
    reach_note: str | None


class NonlinearFit(Result, frozen=True, kw_only=True):
    """A form fitted by lmfit.

    Attributes
    ----------
    form, formula
        Key and symbols.
    parameters
        Name → estimate with its profile interval and lmfit's standard error. An end that the profile does
        not reach is None, with the reason in ``note``.
    residual_sd
        Root of the whitened residual sum of squares over n − parameters; reward units.
    length, drift_share, settled, message
        The covariance that was used, in steps and 0–1; whether Levenberg–Marquardt converged, and how.
    """

    form: str
    formula: str
    parameters: dict[str, Estimate]
    residual_sd: float
    length: float
    drift_share: float
    settled: bool
    message: str
