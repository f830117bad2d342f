"""What can be published: numbers with noise, a guarantee and honest intervals."""
