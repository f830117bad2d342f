"""Reports of audits."""
