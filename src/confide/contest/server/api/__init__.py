"""Routes of the API, version 1: one module for each kind of caller. Only `run` imports them."""
