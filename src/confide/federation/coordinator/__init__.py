"""Coordinator: rounds, decoding, pooled performance, validation."""
