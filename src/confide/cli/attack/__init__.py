"""Commands of `confide attack`."""
