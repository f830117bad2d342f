"""Attempts to refute our own guarantees."""
