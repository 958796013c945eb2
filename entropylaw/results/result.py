"""What every result can do: be shown in a notebook, be drawn, be a frame.

How is known to reports alone, which are imported when a result is looked at.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from entropylaw.late import late

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class Result(Struct, frozen=True, kw_only=True):
    """A result or document that has a description (:mod:`entropylaw.report.describe`)."""

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw it on ``ax``, or on new axes of pyplot; returns them."""
        return late("report.notebook.plot", self, ax)  # type: ignore[no-any-return]

    def to_frame(self) -> "DataFrame":
        """Its table, as in its CSV: an estimate has three columns, what is not known is None or nan."""
        return late("report.notebook.frame", self)

    def __str__(self) -> str:
        """What the command line prints."""
        return str(late("report.render.rendered", self, "text"))

    def _repr_html_(self) -> str:
        return late("report.notebook.html", self)  # type: ignore[no-any-return]
