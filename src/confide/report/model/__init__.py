"""Private workflows and models as text, tables, HTML pages and plots."""
