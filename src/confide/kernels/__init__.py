"""Compiled loops over rows: imported only when the input is large enough to pay for them.

`sources`, `curves`, `intervals`, `evaluation` and `attacks` import them.
"""
