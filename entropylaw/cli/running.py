"""Running a step on the inputs of a command, behind a progress bar. It imports numpy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import chain
from typing import Any, TypeVar

from entropylaw.cli.output import runs_shown
from entropylaw.documents.document import Entry
from entropylaw.pipeline.cache import OFF, user_cache
from entropylaw.pipeline.inputs import Inputs
from entropylaw.pipeline.pool import cores
from entropylaw.pipeline.steps import Step, answers

R = TypeVar("R")


def answered(
    step: Step[R], subjects: Sequence[Any], jobs: int | None = None, *, anew: bool = False
) -> list[tuple[Entry[R], ...]]:
    """Run a step on inputs or results; ``anew`` uses no cache."""
    several = sum(getattr(subject, "run", None) is not None for subject in subjects) > 1
    with runs_shown("fitting") if several else nullcontext(lambda *_: None) as progress:
        cache = OFF if anew else user_cache()
        return answers(step, subjects, jobs=jobs or cores(), cache=cache, progress=progress)


def result_of(
    step: Step[R], subjects: Sequence[Any], jobs: int | None = None, *, anew: bool = False
) -> list[Entry[R]]:
    """The results of all inputs in one list; parameters as :func:`answered`."""
    return list(chain.from_iterable(answered(step, subjects, jobs, anew=anew)))


def document_of(kind: Any, inputs: Inputs, jobs: int | None = None, *, anew: bool = False) -> Any:
    """The document of a step of that kind on all inputs; parameters as :func:`answered`."""
    step = kind(inputs.settings)
    return step.document(inputs, result_of(step, inputs.entries, jobs, anew=anew))
