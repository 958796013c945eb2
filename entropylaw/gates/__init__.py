"""Gates: an expression, the quantities of a run that it compares, and whether a pipeline passes."""
