"""Keys, signatures, sealed files and secure sums."""
