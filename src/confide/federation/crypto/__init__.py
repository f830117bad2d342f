"""Keys, signatures, sealed shares and secure sums. Sites and coordinators import them; they know neither."""
