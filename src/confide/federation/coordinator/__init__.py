"""What the coordinator does: rounds, the sum, pooled performance, plans and series.

Import `rounds`, `validation` and `performance`; no site imports anything from here.
"""
