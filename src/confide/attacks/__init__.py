"""What somebody learns who reads published numbers."""
