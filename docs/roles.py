"""Roles of docstrings, such as ``:func:`entropylaw.fit```, as code on the site: an extension of griffe."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Roles(griffe.Extension):
    """Takes the role away, and all but the last name where it begins with a tilde."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Of any object with a docstring."""
        if obj.docstring:
            short = re.sub(r":[a-z]+:`~[\w.]*?(\w+)`", r"`\1`", obj.docstring.value)
            obj.docstring.value = re.sub(r":[a-z]+:`([^`]+)`", r"`\1`", short)
