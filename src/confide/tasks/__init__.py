"""One function for each thing that a user does.

Tasks take sources, parameters and, where budget is spent, a ledger. They return frozen results. Python, the command
line and services call the same functions, so that no rule can be forgotten by one of them.
"""
