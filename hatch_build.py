"""The README as a package index shows it, where relative links and pictures lead nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PLACEHOLDER = ".example/"
"""In the address of a repository that is not public yet: a domain that nobody can own (RFC 2606)."""


class Readme(MetadataHookInterface):
    """Sets ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Make it from README.md and the address of the repository."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata["urls"]["Repository"]
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, repository)}


def for_index(text: str, repository: str) -> str:
    """The README without pictures, and with absolute links; while there is no address, with none of these."""
    text = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]+\)\n*", "", text)
    text = re.sub(r"<!-- \w+:(?:begin|end) -->\n*", "", text)
    link = r"\1" if PLACEHOLDER in repository else rf"[\1]({repository}/blob/main/\2)"
    return re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?!https?:)([^)]+)\)", link, text)
