"""One function for each thing that a user does; Python, the command line and services call the same ones."""
