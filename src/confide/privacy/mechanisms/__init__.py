"""Mechanisms: one a file, each with its proof beside it. Releases, contests, learning and audits import them."""
