"""Sources of rows: arrays, dataframes, files and tables, all counted to the same statistic."""
