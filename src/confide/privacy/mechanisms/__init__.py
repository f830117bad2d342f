"""Mechanisms: one per file, each with its proof beside it."""
