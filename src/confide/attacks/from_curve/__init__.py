"""Attacks on the rows behind the points of a published ROC curve."""
