"""Validation of a model at sites that share no rows."""
