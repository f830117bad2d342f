"""Evaluations as text, tables, HTML pages, plots and data frames. Import `text` and `pages`."""
