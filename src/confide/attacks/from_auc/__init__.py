"""Attacks on the labels of ranked rows from a published AUC."""
