"""Attacks that show what published numbers give away.

Import `exposure` for all adversaries at once, `numbers` for numbers that people publish, and the attacks by name.
"""
