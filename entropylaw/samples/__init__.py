"""Samples per problem to one row per step: pass@k, distinct answers, pairs of tables; without the law."""
