"""One reader a file format; :mod:`entropylaw.ingest.registry` says in which order they are asked."""
