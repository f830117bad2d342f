"""Attacks on the hidden labels of a contest that scores submissions."""
