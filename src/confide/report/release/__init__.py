"""Releases as text, tables, HTML pages, plots and data frames."""
