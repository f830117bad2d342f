"""Private workflows and models as text and HTML."""
