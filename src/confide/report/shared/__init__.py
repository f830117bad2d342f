"""Page shell, tables, plot style, curves and number formats that all reports share."""
