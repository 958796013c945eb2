"""Folders that are one log: their files mean something together only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from entropylaw.ingest.content import Content
from entropylaw.ingest.table import Table


class BundleReader(Protocol):
    """Reads one kind of folder."""

    @property
    def name(self) -> str:
        """The format, as in :class:`~entropylaw.ingest.registry.Reader`."""
        ...

    def files(self, folder: str) -> tuple[str, ...]:
        """List the files of a folder that are one log, in the order in which they are read; often none.

        The paths start with ``folder``. Nobody else reads these files, nor visits the folders they lie in.
        """
        ...

    def read(self, folder: str, contents: Sequence[Content]) -> Table:
        """Read the content of these files.

        Raises
        ------
        InputError
            Where they are not what they seem.

        """
        ...
