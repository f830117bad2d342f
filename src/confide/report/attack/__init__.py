"""Attack reports as text, tables, HTML pages and plots."""
