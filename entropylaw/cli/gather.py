"""What a command over many logs gathers on the way: files, warnings, errors; and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from entropylaw.documents.document import InputFile
    from entropylaw.errors import EntropyLawError
    from entropylaw.ingest.load import Reading


@dataclass(slots=True)
class Gathered:
    """Files that were read, warnings about files, and the errors of runs and files, log by log."""

    inputs: dict[str, InputFile] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    failures: list[EntropyLawError] = field(default_factory=list)

    def read(
        self, logs: Sequence[str], *, step: str | None, run: str | None, columns: Sequence[str]
    ) -> Reading:
        """Read logs, and note their files; what cannot be read stands among the failures."""
        from entropylaw.documents.document import input_files, skipped_files
        from entropylaw.workflow import read_logs

        reading = read_logs(logs, step=step, run=run, columns=columns)
        self.inputs |= {file.path: file for file in input_files(reading.runs)}
        self.warnings += skipped_files(reading.ignored)
        self.failures += [failure.error for failure in reading.failures]
        return reading

    def refuse(self, run: str, error: EntropyLawError) -> None:
        """Note why a run has no answer; an error about its data does not name it by itself."""
        from entropylaw.errors import FitError

        named = isinstance(error, FitError)
        self.failures.append(FitError(error.slug, f"{run}: {error.message}", error.hint) if named else error)

    def finish(self, *, answered: bool) -> None:
        """Errors go to stderr; exit 4 (or 3, where nothing could even be read) if no run was answered."""
        from entropylaw.cli.output import show_error
        from entropylaw.errors import FitError, InputError

        for error in self.failures:
            show_error(error)
        if not answered:
            read = any(isinstance(error, FitError) for error in self.failures)
            raise typer.Exit(FitError.exit_code if read else InputError.exit_code)
