"""Validations across sites as text, HTML and plots."""
