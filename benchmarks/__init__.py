"""Measurements beside the peers, in one run each: ``nox -s bench``."""
