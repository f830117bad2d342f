"""Exact samplers of privacy noise: on integers through OpenDP, on a grid of fractions by interval refining.

Only `privacy` draws: other rooms import `privacy.queries`, and checks of parameters and exact
numbers (`reals`).
"""
