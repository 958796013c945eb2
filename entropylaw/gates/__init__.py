"""Gates: an expression, a run's stored numbers, and whether a pipeline may go on. No numpy on this path."""
