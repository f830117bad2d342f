"""The papers' tables and figures, reproduced."""
