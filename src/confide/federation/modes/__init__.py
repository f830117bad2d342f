"""Modes of a validation: one protocol (`mode.Mode`) and its implementations. Import `registry`, which names them."""
