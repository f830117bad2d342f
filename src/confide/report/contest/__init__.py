"""Text, plots and pages of contests."""
