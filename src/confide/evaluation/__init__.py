"""Exact evaluation of models."""
