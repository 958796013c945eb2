"""Inference with drift plus noise, both integrated out: arrays in, numbers out, without files or the law."""
