"""Requests: the parameters of each task, declared once as the fields of a frozen value.

Python's verbs have the fields as parameters, commands have them as options. Modules of `tasks` take a request; the
command line makes options of its fields. Nothing heavy is imported before a request is made.
"""
