"""What a published AUC says about the labels of ranked rows."""
