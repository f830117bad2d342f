"""Attacks on the labels of ranked rows from a published AUC. Import `posterior` and `labeling_count`."""
