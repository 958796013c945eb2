"""From what a user points at to documents and pages: sources, steps on every run, processes, the cache."""
