"""Attack reports as text, HTML and plots."""
