"""Many runs at once: in parallel, nothing done twice, and every file whole at any moment."""
