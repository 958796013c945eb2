"""Samples per problem to one row per step: pass@k, distinct answers, and pairs of tables; of use without the law."""
