"""Modes of a validation: one protocol (`mode.Mode`), one file a mode, and the registry of their names."""
