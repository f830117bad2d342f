"""Validations across sites as text, tables, HTML pages, plots and data frames. Import `pages` for text and page."""
