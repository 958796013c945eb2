"""Drift plus noise, both integrated out: arrays in, numbers out. The engine knows no files and no law."""
