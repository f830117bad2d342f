"""Attacks on the rows behind the points of a published ROC curve. Import `curve_report` for all of them."""
