"""Command line: one module for each verb, or group of verbs. It reads options, calls a task and renders the result.

Others import `main` alone, the entry point. Verbs share `options`, `output`, `steps`, `flags` and `lazy_verbs`.
"""
