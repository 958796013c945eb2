"""The runs of logs for ``entropylaw check``, fitted for its gates."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from entropylaw.cli.running import result_of
from entropylaw.gates.quantities import Part
from entropylaw.gates.subjects import joined, subjects_of
from entropylaw.option import part
from entropylaw.options import PhaseOptions
from entropylaw.pipeline import steps
from entropylaw.results.result import replace

if TYPE_CHECKING:
    from entropylaw.gates.subjects import Subject
    from entropylaw.pipeline.inputs import Inputs


def fitted_subjects(inputs: Inputs, parts: Set[Part], jobs: int | None, *, quiet: bool) -> list[Subject]:
    """The runs of logs with the ``parts`` that gates compare; no result of an earlier call is used."""
    law = steps.Fit(inputs.settings)
    phases = steps.Phases(part(inputs.settings, PhaseOptions))
    fits = law.document(inputs, result_of(law, inputs.entries, jobs, quiet=quiet, anew=True))
    subjects = subjects_of(fits, "the fit")
    if Part.phases in parts:
        phased = phases.document(inputs, result_of(phases, inputs.entries, jobs, anew=True))
        subjects += subjects_of(phased, "the fit")
    return [replace(subject, sources=(subject.path,)) for subject in joined(subjects)]
