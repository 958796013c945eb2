"""The methods of results that draw and print them, bound by :mod:`entropylaw.binding`."""

from entropylaw.documents.codec import encode
from entropylaw.report.findings import sentence
from entropylaw.report.notebook import frame, html, plot
from entropylaw.report.render import rendered

__all__ = ["encode", "frame", "html", "plot", "rendered", "sentence"]
