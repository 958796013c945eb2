"""The document of a comparison of arms: what was grouped, and the result."""

from __future__ import annotations

from msgspec import Struct

from entropylaw.documents.document import AnyDocument, InputFile
from entropylaw.documents.loading import KINDS
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
        named = " … ".join((self.runs[0], self.runs[-1])) if len(self.runs) > 3 else ", ".join(self.runs)
        return f"{self.arm}: {counted(len(self.runs), 'run')} ({named})"


class LeftOut(Struct, frozen=True, kw_only=True):
    """A run that is in no arm, where ``arm`` is empty, or that could not be ``read``; and why."""

    run: str
    why: str
    arm: str = ""
    read: bool = True


class ComparisonDocument(AnyDocument, frozen=True, kw_only=True):
    """Arms compared, with their provenance.

    ``grouped`` has the runs of every arm, ``left_out`` those that belong to none or could not be read, which
    gates need. ``warnings`` are about files.
    """

    inputs: tuple[InputFile, ...]
    settings: CompareOptions
    grouped: tuple[ArmRuns, ...]
    comparison: ArmComparison
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()
    schema: str = KINDS["comparison"].schema

    @property
    def unread(self) -> list[LeftOut]:
        """The runs that could not be read; one in no arm may be of any."""
        return [run for run in self.left_out if not run.read]
