"""Evaluations as text, HTML and plots."""
