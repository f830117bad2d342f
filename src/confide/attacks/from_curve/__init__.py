"""What the points of a published ROC curve say about the rows that it was drawn from."""
