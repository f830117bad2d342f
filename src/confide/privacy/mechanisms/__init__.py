"""One mechanism a file, each with its proof beside it."""
