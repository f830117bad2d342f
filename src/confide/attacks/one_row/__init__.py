"""What published numbers say about one row, to somebody who knows others."""
