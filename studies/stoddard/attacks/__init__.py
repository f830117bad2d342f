"""Feature selection that was published as private and is not: targets, what refutes them, and a game against them."""
