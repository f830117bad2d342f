"""Differential privacy: what is promised, by which noise, and why it holds."""
