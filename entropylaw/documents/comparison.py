"""Defines the document of a comparison of arms: what was grouped, and the result."""

from __future__ import annotations

from msgspec import Struct

from entropylaw.documents.document import AnyDocument, InputFile
from entropylaw.documents.kinds import KINDS
from entropylaw.escaping import counted
from entropylaw.options import CompareOptions
from entropylaw.results.arms import ArmComparison


class ArmRuns(Struct, frozen=True, kw_only=True):
    """The runs of an arm, refused ones included; ``by`` says how they were found."""

    arm: str
    by: str
    runs: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """``grpo: 4 runs (grpo_s0 … grpo_s3)``."""
        named = ", ".join(self.runs)
        if len(self.runs) > 3:
            named = f"{self.runs[0]} … {self.runs[-1]}"
        return f"{self.arm}: {counted(len(self.runs), 'run')} ({named})"


class LeftOut(Struct, frozen=True, kw_only=True):
    """A run of an ``arm`` without a result, or one in no arm; why, and whether its log could be ``read``."""

    run: str
    why: str
    arm: str = ""
    read: bool = True


class ComparisonDocument(AnyDocument, frozen=True, kw_only=True):
    """Arms compared, with their provenance.

    ``others`` are the comparisons of other rewards of these runs, decided together with the first.
    ``grouped`` has the runs of every arm, ``left_out`` those of none, and those that could not be read or
    fitted. ``warnings`` are about files.
    """

    inputs: tuple[InputFile, ...]
    settings: CompareOptions
    grouped: tuple[ArmRuns, ...]
    comparison: ArmComparison
    others: tuple[ArmComparison, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["comparison"].schema

    @property
    def missing(self) -> list[LeftOut]:
        """The runs that the differences do not show; one that could not be read may be of any arm."""
        return [run for run in self.left_out if run.arm or not run.read]
