"""Verbs of `confide contest`."""
