"""What a reader sees: the evaluation as a value, as text, as HTML and as plots."""
