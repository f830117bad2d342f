"""Exact samplers of privacy noise: on integers through OpenDP, on a grid of fractions by interval refining."""
