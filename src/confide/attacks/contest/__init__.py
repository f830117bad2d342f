"""What a contest that answers submissions gives away of its hidden labels."""
