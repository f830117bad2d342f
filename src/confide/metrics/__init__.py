"""Metrics as pure functions of counts, listed in one registry."""
