"""The exact evaluation of models as a value."""
