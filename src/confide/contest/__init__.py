"""Contests on hidden labels: terms, templates, masked labels, estimates, ranks and finals. No files, no network.

Anybody may import its modules. `client` and `server`, which do reach the network, know this room; it knows neither.
"""
