"""The functional forms R(H) with their names, and the law by least squares, as papers quote it.

Each form is R = c − slope · g(H) with g(0) = 0, so that c is its ceiling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropylaw.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a form R(H) is, whatever the run: one entry of :data:`FORMS`.

    Attributes
    ----------
    label, formula, parameters
        The form in words, for a sentence; in symbols; and the number of its coefficients and shapes.
    shape
        Name of the parameter in which it is not linear.
    colour
        Name of its line's colour, of the palette of reports, in the figure of the law; None for a form that
        is not drawn.
    """

    label: str
    formula: str
    parameters: int = 2
    shape: str | None = None
    colour: str | None = None


def design(column: FloatArray) -> FloatArray:
    """Design matrix of c − slope·g, shape (..., n, 2), from a column g of shape (..., n)."""
    return np.stack([np.ones(column.shape), -column], axis=-1)


def law_line(entropy: FloatArray, reward: FloatArray, later: FloatArray) -> FloatArray:
    """The law by least squares at entropies (n,), as papers quote it, read at ``later`` ones (k,)."""
    ceiling_and_a = np.linalg.lstsq(design(np.expm1(entropy)), reward, rcond=None)[0]
    return np.asarray(design(np.expm1(later)) @ ceiling_and_a)


def r_squared(entropy: FloatArray, reward: FloatArray) -> float:
    """Share of the reward's variance that the law explains by least squares, 0–1; columns (n,) as logged."""
    column = np.expm1(entropy)
    if np.ptp(column) == 0 or np.ptp(reward) == 0:
        return 0.0
    return float(np.corrcoef(column, reward)[0, 1]) ** 2


def lag1(values: FloatArray) -> float | None:
    """Lag-1 autocorrelation; None below three values or where they do not vary."""
    if values.size < 3:
        return None
    centred = values - values.mean()
    total = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / total if total > 0 else None


def form_label(name: str) -> str:
    """A form in words; a stored document may hold one that this version does not know."""
    return FORMS[name].label if name in FORMS else name


FORMS = {
    "law": Form(label="the law", formula="c − a(exp(H) − 1)"),
    "line": Form(label="a straight line in H", formula="c − a·H", colour="vermilion"),
    "constant": Form(label="a constant", formula="c", parameters=1, colour="brown"),
    "rate": Form(
        label="the form with a free rate k",
        formula="c − a(exp(kH) − 1)",
        parameters=3,
        shape="k",
        colour="green",
    ),
    "power": Form(label="a power of H", formula="c − a·H^p", parameters=3, shape="p", colour="purple"),
    "square": Form(label="the square of H", formula="c − a·H²", colour="muted"),
    "lagged": Form(
        label="the law of an earlier entropy", formula="c − a(exp(H̄) − 1)", parameters=3, shape="lag"
    ),
    "free": Form(label="a free curve", formula="c + s(H)", parameters=4, colour="muted"),
}
"""The registry of the forms R(H), by name, all of which are averaged."""
