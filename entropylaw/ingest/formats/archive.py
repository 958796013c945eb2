"""Archives of several files, which are recognised and not read: each may be a run of its own."""

from __future__ import annotations

from entropylaw.ingest.content import Content


def recognises(content: Content) -> bool:
    """Whether it is a Zip archive or a tar file."""
    return content.head.startswith(b"PK\x03\x04") or content.head[257:262] == b"ustar"
