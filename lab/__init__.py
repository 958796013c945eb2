"""Real reinforcement-learning runs on a task with an exact verifier, small enough for a laptop."""
