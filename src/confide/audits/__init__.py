"""Attempts to refute our own guarantees: audited mechanisms, their broken twins, and the tests that tell them apart.

Import `run`. `targets` and `twins` list what is audited.
"""
