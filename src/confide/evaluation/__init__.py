"""Exact evaluation of models.

Import `evaluate` to evaluate and `evaluation` for the result, which is one frozen value.
"""
