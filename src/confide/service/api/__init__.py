"""Routes of the API, version 1."""
