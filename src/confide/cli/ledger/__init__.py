"""`confide ledger`: what was spent on whose data."""
