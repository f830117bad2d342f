"""Where rows come from: arrays, dataframes, files and tables, all counted to the same statistic."""
