"""Papers' tables and figures, reproduced."""
