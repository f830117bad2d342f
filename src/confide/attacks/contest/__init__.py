"""Attacks on the hidden labels of a contest that scores submissions. Import `rehearsal` for all of them."""
