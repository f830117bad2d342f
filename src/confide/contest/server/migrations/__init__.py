"""Changes of the server's tables, from version to version."""
