"""The coordinator: rounds, decoding, pooled performance, validation."""
