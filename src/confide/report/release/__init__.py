"""Releases as text, HTML and plots."""
