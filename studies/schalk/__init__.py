"""Simulation of Schalk et al. (2024) made anew, with the private mode beside it."""
