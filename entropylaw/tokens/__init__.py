"""Token-level logs: their classes, their summaries by step, and the entropy of the plan."""
