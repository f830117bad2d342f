"""Sources of rows: arrays, dataframes, files and tables, all counted to the same statistic.

DuckDB reads files and databases of its own; Ibis, an extra, reads other databases.

Import the constructors of `ScoreCounts` instead where they suffice; `rows`, `tables` and `locations` where not.
"""
