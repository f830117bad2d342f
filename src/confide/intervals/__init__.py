"""Intervals and tests: each says what it assumes and warns where it is known to fail."""
