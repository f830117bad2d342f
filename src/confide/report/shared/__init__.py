"""Page shell, tables, plots and number formats that all reports share."""
