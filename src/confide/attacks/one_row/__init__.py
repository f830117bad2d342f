"""Attacks on one row by somebody who knows the others. Import `games` and `differencing`."""
