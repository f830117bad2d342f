"""What was spent on whose data: charged before noise is drawn, never refunded, chained so that tampering shows."""
