"""The law on a run: smoothed entropy, residual models, coefficients with intervals, verdict."""
