"""The word for the axis of a run: steps, or entries where the log has none and they are counted."""

import re

STEP = "step"
ENTRY = "entry"
"""The column of a run whose entries are counted: which steps they are of is not known."""

_WORDS = {"step": "entry", "steps": "entries", "Step": "Entry", "Steps": "Entries", "a step": "an entry"}
# Not in a name, a path or an option, and not in quotes.
_STEP = re.compile(r"(?<![\w'\"./\\=-])(?:a )?[Ss]teps?(?!\w|['\"/\\=]|\.\w)")


def axis_of(step_column: str) -> str:
    """The word for the axis of a run with this step column."""
    return ENTRY if step_column == ENTRY else STEP


def on_axis(text: str, axis: str) -> str:
    """A text about steps as it is for a run with this axis: ``by step 300`` is ``by entry 300``."""
    return _STEP.sub(lambda match: _WORDS.get(match[0], match[0]), text) if axis == ENTRY else text
