"""Sources of rows: arrays, dataframes, files and tables, all counted to the same statistic.

Import the constructors of `ScoreCounts` instead where they suffice; `rows`, `tables` and `locations` where not.
"""
