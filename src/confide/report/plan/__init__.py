"""Plans as text, HTML and plots."""
